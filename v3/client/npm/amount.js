// Amounts of tokens: an entry of its own, which the others do not need. An amount is an integer in the smallest unit of
// a token. amount.go does the same in Go.

const MAX_DIGITS = 78; // more than any amount has

/** Refuses everything that is not a number of decimals. */
function checkDecimals(decimals) {
  if (!Number.isInteger(decimals) || decimals < 0 || decimals > 255) {
    throw new TypeError(`${String(decimals)} is not a number of decimals`);
  }
}

/** Gives an amount as a bigint, also if it is written in digits, as answers have it. */
function amountOf(name, amount) {
  const isDigits = typeof amount === 'string' && /^[0-9]+$/.test(amount) && amount.length <= MAX_DIGITS;
  const isNatural = typeof amount === 'bigint' && amount >= 0n;
  if (!isDigits && !isNatural) throw new TypeError(`${name} is not an amount in digits or a bigint`);
  return BigInt(amount);
}

/** Reads whole tokens, such as 100 or 0.5. More decimals than the token has are refused, never rounded. */
export function parseAmount(text, decimals) {
  checkDecimals(decimals);
  const parts = typeof text === 'string' && text.length <= MAX_DIGITS && /^([0-9]+)(?:\.([0-9]+))?$/.exec(text);
  if (!parts) throw new TypeError(`${JSON.stringify(String(text).slice(0, 100))} is not an amount such as 100 or 0.5`);
  const [, whole, fraction = ''] = parts;
  const needed = fraction.replace(/0+$/, '');
  if (needed.length > decimals) {
    throw new RangeError(`${text} has more decimals than the token, which has ${decimals}`);
  }
  return BigInt(whole + needed.padEnd(decimals, '0'));
}

/** The reverse of parseAmount. */
export function formatAmount(amount, decimals) {
  checkDecimals(decimals);
  const digits = String(amountOf('amount', amount)).padStart(decimals + 1, '0');
  const point = digits.length - decimals;
  const fraction = digits.slice(point).replace(/0+$/, '');
  return digits.slice(0, point) + (fraction && `.${fraction}`);
}

/** The most that an account can swap. Of a chain's own coin, what the gas needs is left. */
export function maxAmount({ balance, native, gas, max }) {
  let most = amountOf('balance', balance);
  if (native) most -= amountOf('gas', gas);
  if (most < 0n) most = 0n;
  const limit = max === undefined ? most : amountOf('max', max);
  return limit < most ? limit : most;
}
