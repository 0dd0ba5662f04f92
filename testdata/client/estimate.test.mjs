// What a swap leaves and what it takes, worked out without a request: the cases of estimate.json, which
// v3/client/estimate_test.go runs too, the quotes on record, and every pair at amounts of chance. ESTIMATE names the file,
// GOLDENS the folder of the exchanges.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import test from 'node:test';
import { QuoteError } from '@quotegate/client';
import { estimate } from '@quotegate/client/estimate';

const { listing, cases } = JSON.parse(readFileSync(process.env.ESTIMATE, 'utf8'));

for (const { name, request, want, code, minAmount, maxAmount } of cases) {
  test(`estimate: ${name}`, () => {
    if (want) {
      const { srcAmount, destAmount, fee } = estimate(listing, request);
      assert.deepEqual({ srcAmount, destAmount, protocol: fee.protocol.amount, integrator: fee.integrator.amount }, want);
      return;
    }
    assert.throws(() => estimate(listing, request), (error) => {
      if (code === 'INVALID_REQUEST') return error instanceof TypeError;
      const { minAmount: least, maxAmount: most } = error;
      assert.deepEqual({ code: error.code, least, most }, { code, least: minAmount, most: maxAmount });
      return error instanceof QuoteError && error.status === 0;
    });
  });
}

/** The exchanges on record: what was asked for, and the answer. */
const exchanges = readdirSync(process.env.GOLDENS).map((name) => {
  const [request, answer] = readFileSync(`${process.env.GOLDENS}/${name}`, 'utf8').split(/\n\n(?=\d{3}\n)/);
  const url = new URL(request.split('\n')[0].split(' ')[1], 'http://x');
  return { url, status: answer.slice(0, 3), body: answer.slice(answer.indexOf('\n\n') + 2) };
});
const all = JSON.parse(exchanges.find(({ url, status }) => url.pathname === '/v3/app/pairs' && status === '200').body);

test('what is estimated is what is quoted', () => {
  let count = 0;
  for (const { url, status, body } of exchanges) {
    if (status !== '200' || url.pathname !== '/v3/swap/quote') continue;
    const { srcToken, dstToken, srcChain, dstChain } = Object.fromEntries(url.searchParams);
    const quote = JSON.parse(body.replaceAll('(note)', ''));
    const { protocol, integrator, total } = quote.fee;
    const { percentage, amount } = integrator;
    const want = {
      srcToken: quote.srcToken, destToken: quote.destToken, srcAmount: quote.srcAmount, destAmount: quote.destAmount,
      fee: { protocol, integrator: { percentage, amount }, total },
    };
    const asked = { srcToken, dstToken, srcChain, dstChain, integratorPercentage: percentage };
    assert.deepEqual(estimate(all, { ...asked, amount: BigInt(quote.srcAmount) }), want, url.search);
    count++;
  }
  assert.ok(count > 30, `${count} quotes`);
});

test('the other direction never falls short, and is the least that does not', () => {
  const tokenOf = (chain, symbol) => all.tokens.find((row) => row.chainId === chain && row.symbol === symbol);
  for (const { srcChain, srcToken, dstChain, dstToken } of all.pairs) {
    const pair = { srcChain, srcToken, dstChain, dstToken };
    const { minAmount, maxAmount } = tokenOf(srcChain, srcToken);
    const [least, most] = [BigInt(minAmount), BigInt(maxAmount)];
    const leaves = (amount, integratorPercentage) => BigInt(estimate(all, { ...pair, amount, integratorPercentage }).destAmount);
    for (let n = 0; n < 20; n++) {
      const integratorPercentage = [0, 0.25, 0.01, 3.33, 10][n % 5];
      const part = BigInt(Math.floor(Math.random() * 1e9));
      const wanted = leaves(least + (most - least) * part / 1_000_000_000n, integratorPercentage);
      const { srcAmount, destAmount } = estimate(all, { ...pair, destAmount: wanted, integratorPercentage });
      const told = `${JSON.stringify(pair)} ${wanted} at ${integratorPercentage} %: ${srcAmount} leaves ${destAmount}`;
      assert.ok(BigInt(destAmount) >= wanted, told);
      const less = BigInt(srcAmount) - 1n;
      assert.ok(less < least || leaves(less, integratorPercentage) < wanted, told);
    }
  }
});

test('a listing that cannot be, and what makes no sense', () => {
  const asked = cases[0].request;
  const lying = structuredClone(listing);
  lying.tokens.find(({ symbol }) => symbol === 'USDC').decimals = 18;
  assert.throws(() => estimate(lying, asked), { code: 'UNVERIFIED' });
  assert.throws(() => estimate({}, asked), { code: 'UNVERIFIED' });
  for (const [bad, says] of [
    [{ ...asked, recipient: '0x' }, /estimate has no option recipient; it has srcToken, .*integratorPercentage$/],
    [{ ...asked, destAmount: '1' }, /estimate takes one of amount, destAmount/],
    [{ ...asked, amount: 0.5 }, /amount must be an integer in digits or a bigint, not 0.5/],
    [{ ...asked, amount: 2 ** 53 }, /amount must be/], [{ ...asked, amount: '-1' }, /amount must be/],
    [{ ...asked, integratorPercentage: 0.123 }, /integratorPercentage must be 0 to 10, with at most two decimals, not 0.123/],
    [{ ...asked, integratorPercentage: -1 }, /integratorPercentage/], [{ ...asked, integratorPercentage: '1' }, /integratorPercentage/],
  ]) assert.throws(() => estimate(listing, bad), (error) => error instanceof TypeError && says.test(error.message), says.source);
  assert.throws(() => estimate(undefined, asked), { name: 'TypeError', message: /needs a listing/ });
});
