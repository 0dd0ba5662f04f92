// Runs the cases of amounts.json, which v3/client/amount_test.go runs too. AMOUNTS names the file.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { formatAmount, maxAmount, parseAmount } from '@quotegate/client/amount';

const cases = JSON.parse(readFileSync(process.env.AMOUNTS, 'utf8'));
const says = (words) => (error) => error.message.includes(words);

for (const { name, text, decimals, want, says: words } of cases.parse) {
  test(`parseAmount: ${name}`, () => {
    if (words) assert.throws(() => parseAmount(text, decimals), says(words));
    else assert.equal(parseAmount(text, decimals), BigInt(want));
  });
}

for (const { amount, decimals, want } of cases.format) {
  test(`formatAmount: ${amount} with ${decimals} decimals`, () => {
    assert.equal(formatAmount(amount, decimals), want);
    assert.equal(formatAmount(BigInt(amount), decimals), want);
    assert.equal(parseAmount(want, decimals), BigInt(amount));
  });
}

for (const { name, want, says: words, ...holding } of cases.max) {
  test(`maxAmount: ${name}`, () => {
    if (words) return assert.throws(() => maxAmount(holding), says(words));
    assert.equal(maxAmount(holding), BigInt(want));
    const given = Object.entries(holding).map(([key, value]) => [key, typeof value === 'string' ? BigInt(value) : value]);
    assert.equal(maxAmount(Object.fromEntries(given)), BigInt(want));
  });
}

test('what has another type is refused', () => {
  for (const text of [5, 5n, null, undefined, ['5'], { toString: () => '5' }]) {
    assert.throws(() => parseAmount(text, 6), says('is not an amount'));
  }
  for (const decimals of [-1, 1.5, 256, NaN, '6', 6n, null, undefined]) {
    assert.throws(() => parseAmount('5', decimals), says('is not a number of decimals'));
    assert.throws(() => formatAmount('5', decimals), says('is not a number of decimals'));
  }
  for (const amount of [5, -5n, '-5', '0x5', '5.0', '', '9'.repeat(79), null, undefined, ['5']]) {
    assert.throws(() => formatAmount(amount, 6), says('is not an amount'));
    assert.throws(() => maxAmount({ balance: amount }), says('balance is not an amount'));
  }
});
