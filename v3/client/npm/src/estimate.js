// What a swap leaves, and what to send so that enough arrives, without a request: the fees of a pair are fixed.
import { failure } from './errors.js';
import { readOptions } from './options.js';
import { findPair, NO_PAIR, show, split, unitOf } from './verify.js';

/** @import { Amount, ChainID, Pairs, Request, Token } from './types.js' */

/**
 * What to estimate: what an `amount` leaves, or what to send so that at least `destAmount` is paid out.
 * @typedef {{
 *   srcToken: string, dstToken: string, srcChain: ChainID, dstChain: ChainID, integratorPercentage?: number |
 *   undefined,
 * } & (
 *   | { amount: Amount | bigint, destAmount?: undefined }
 *   | { destAmount: Amount | bigint, amount?: undefined }
 * )} EstimateRequest
 */
/**
 * The fields that the quote will have. `destAmount` is what is paid out: of a swap into a privacy pool, RAILGUN takes
 * its own fee from it, which only a quote tells.
 * @typedef {object} Estimate
 * @property {Token} srcToken
 * @property {Token} destToken
 * @property {Amount} srcAmount
 * @property {Amount} destAmount
 * @property {{
 *   protocol: { percentage: number, amount: Amount },
 *   integrator: { percentage: number, amount: Amount },
 *   total: { amount: Amount },
 * }} fee
 */

const OPTIONS = ['srcToken', 'dstToken', 'srcChain', 'dstChain', 'amount', 'destAmount', 'integratorPercentage'];
const MOST = 10; // percent that an integrator may take

/**
 * Works out a swap from an answer of `/v3/app/pairs`, without a request. Throws a QuoteError if the listing has no such
 * pair, or the amount is outside its limits, and a TypeError if what is asked for makes no sense.
 * @param {Pairs} listing
 * @param {EstimateRequest} request
 * @returns {Estimate}
 */
export function estimate(listing, request) {
  readOptions(request, OPTIONS, 'estimate', [['amount', 'destAmount']]);
  const { amount, destAmount, integratorPercentage: rate = 0 } = request;
  if (!(rate >= 0 && rate <= MOST && Math.round(rate * 100) / 100 === rate)) {
    throw new TypeError(`integratorPercentage must be 0 to ${MOST}, with at most two decimals, not ${show(rate)}`);
  }
  const pair = pairOf(listing, request);
  const isForward = destAmount === undefined;
  const sent = isForward ? read('amount', amount) : amountFor(pair, read('destAmount', destAmount), rate);
  if (sent < pair.min || sent > pair.max) {
    const sentence = `The amount to send is ${sent}, but must be ${pair.min} to ${pair.max}`;
    throw failure('AMOUNT_OUT_OF_RANGE', sentence, { minAmount: String(pair.min), maxAmount: String(pair.max) });
  }
  const { protocol, integrator, dest } = split(pair, sent, rate);
  return {
    srcToken: pair.srcToken, destToken: pair.dstToken, srcAmount: String(sent), destAmount: String(dest),
    fee: {
      protocol: { percentage: pair.fee, amount: String(protocol) },
      integrator: { percentage: rate, amount: String(integrator) },
      total: { amount: String(protocol + integrator) },
    },
  };
}

/**
 * @param {string} name
 * @param {unknown} value
 */
function read(name, value) {
  const isNumber = typeof value === 'bigint' || Number.isSafeInteger(value);
  const digits = isNumber ? String(value) : value;
  if (typeof digits !== 'string' || !/^[0-9]{1,78}$/.test(digits)) {
    throw new TypeError(`${name} must be an integer in digits or a bigint, not ${show(value)}`);
  }
  return BigInt(digits);
}

/**
 * @param {Pairs} listing
 * @param {EstimateRequest} request
 */
function pairOf(listing, request) {
  if (!listing) throw new TypeError('estimate needs a listing, such as client.pairs() gives');
  /** @type {string[]} */
  const problems = [];
  const report = { ok: false, problems, unchecked: [], warnings: [], checked: [], calls: [], wrap: [], expired: false };
  const pair = findPair(/** @type {Request} */ (request), listing, report);
  if (pair) return pair;
  const [problem = ''] = problems;
  if (problem === NO_PAIR) throw failure('UNSUPPORTED_PAIR', 'The listing has no such pair of tokens and chains');
  throw failure('UNVERIFIED', problem, { problems, checked: [], quote: undefined });
}

/**
 * The least to send so that at least so much is paid out: of what may be sent, unless it is less than the lower limit
 * leaves. Both fees are rounded down, so that one unit more may leave one less: of the few units from the lowest bound
 * on, the first that is enough counts.
 * @param {NonNullable<ReturnType<typeof findPair>>} pair
 * @param {bigint} least
 * @param {number} rate
 */
function amountFor(pair, least, rate) {
  const hundredths = (/** @type {number} */ percentage) => BigInt(Math.round(percentage * 100));
  const left = 10000n - hundredths(pair.fee) - hundredths(rate);
  const [src, dst] = [unitOf(pair.srcToken.decimals), unitOf(pair.dstToken.decimals)];
  // In units of what arrives. Rounding leaves less than 2 of them more than the rates do.
  let gross = (least < 2n ? 0n : least - 2n) * 10000n / left;
  const from = split(pair, pair.min, rate).dest > least ? 0n : pair.min;
  for (;;) {
    const exact = (gross * src + dst - 1n) / dst;
    const amount = exact < from ? from : exact;
    const { protocol, integrator, dest } = split(pair, amount, rate);
    if (dest >= least) return amount;
    gross = protocol + integrator + dest + 1n;
  }
}
