// Amounts of tokens: an entry of its own, which the others do not need. An amount is an integer in the smallest unit of
// a token. amount.go does the same in Go.

const MAX_DIGITS = 78; // more than any amount has

/**
 * In the smallest unit of a token: digits, as answers have them, or a bigint.
 * @typedef {string | bigint} AmountLike
 */

/**
 * Refuses everything that is not a number of decimals.
 * @param {number} decimals
 */
function checkDecimals(decimals) {
  if (!Number.isInteger(decimals) || decimals < 0 || decimals > 255) {
    throw new TypeError(`${decimals} is not a number of decimals`);
  }
}

/**
 * Gives an amount as a bigint, also if it is written in digits, as answers have it.
 * @param {string} name
 * @param {AmountLike | undefined} amount
 */
function amountOf(name, amount) {
  const isDigits = typeof amount === 'string' && /^[0-9]+$/.test(amount) && amount.length <= MAX_DIGITS;
  const isNatural = typeof amount === 'bigint' && amount >= 0n;
  if (!isDigits && !isNatural) throw new TypeError(`${name} is not an amount in digits or a bigint`);
  return BigInt(amount);
}

/**
 * Reads whole tokens, such as `100` or `0.5`, into the smallest unit of a token with so many decimals. Throws a
 * RangeError if the amount needs more decimals, and a TypeError if it is none; it never rounds.
 * @param {string} text
 * @param {number} decimals
 * @returns {bigint}
 */
export function parseAmount(text, decimals) {
  checkDecimals(decimals);
  const parts = typeof text === 'string' && text.length <= MAX_DIGITS && /^([0-9]+)(?:\.([0-9]+))?$/.exec(text);
  if (!parts) throw new TypeError(`${JSON.stringify(String(text).slice(0, 100))} is not an amount such as 100 or 0.5`);
  const [, whole, fraction = ''] = parts;
  const needed = fraction.replace(/0+$/, '');
  if (needed.length > decimals) {
    throw new RangeError(`${text} has more decimals than the token, which has ${decimals}`);
  }
  return BigInt(/** @type {string} */ (whole) + needed.padEnd(decimals, '0'));
}

/**
 * The reverse of `parseAmount`: `0.5` for `500000n` of a token with 6 decimals.
 * @param {AmountLike} amount
 * @param {number} decimals
 * @returns {string}
 */
export function formatAmount(amount, decimals) {
  checkDecimals(decimals);
  const digits = String(amountOf('amount', amount)).padStart(decimals + 1, '0');
  const point = digits.length - decimals;
  const fraction = digits.slice(point).replace(/0+$/, '');
  return digits.slice(0, point) + (fraction && `.${fraction}`);
}

/**
 * What an account has of the token that it wants to swap. `max` is the most that one swap may move: `maxAmount` of the
 * listing. The chain's own coin pays for gas too: `gas` is what the dry run of a quote for less says that is needed
 * beyond the amount, `details.simulation.native.needed` less `srcAmount`.
 * @typedef {{ balance: AmountLike, max?: AmountLike | undefined } & (
 *   | { native?: false | undefined, gas?: AmountLike | undefined }
 *   | { native: true, gas: AmountLike }
 * )} Holding
 */

/**
 * The most that an account can swap: its balance, less the gas if it is the chain's own coin, and at most `max`.
 * @param {Holding} holding
 * @returns {bigint}
 */
export function maxAmount(holding) {
  const { balance, native, gas, max, ...others } = holding;
  const [unknown] = Object.keys(others);
  if (unknown) throw new TypeError(`maxAmount has no ${unknown}; it has balance, native, gas, max`);
  let most = amountOf('balance', balance);
  if (native) most -= amountOf('gas', gas);
  if (most < 0n) most = 0n;
  const limit = max === undefined ? most : amountOf('max', max);
  return limit < most ? limit : most;
}
