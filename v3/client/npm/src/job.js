// What a sending is, how far it is, and how that is told. Other files of this package use it; it is no entry of the
// package.
import { clients, paymentsOf } from './payments.js';
import { failed } from './send-errors.js';

/** @import { Client, PublicQuote } from './index.js' */
/** @import { Payment } from './payments.js' */
/** @import { SendError, SentSoFar } from './send-errors.js' */
/** @import { Counted, SendOptions, Step } from './send.js' */
/** @import { Call, Hex, Wallet } from './types.js' */
/** @import { Position } from './wallet.js' */

/**
 * A transaction, or a batch, that the wallet was asked to sign.
 *
 * `asked`: the wallet has not said what became of it, so that it may be out. `broadcast`: it gave a hash, or took the
 * batch. `replaced`: it has sent the same call under another hash. `done`: an approval is in a block, the hash of a
 * swap is known. `refused`: it is certainly not out.
 * @typedef {Counted & Position & { state: 'asked' | 'broadcast' | 'replaced' | 'done' | 'refused' }} Transaction
 */

/**
 * What is sent, and how: as it was given, and never changed.
 * @typedef {object} Given
 * @property {Wallet} wallet
 * @property {AbortSignal | undefined} signal
 * @property {SendOptions} options
 * @property {PublicQuote} checked a copy: what the caller changes in the quote from here on is not paid
 * @property {Client['recheck'] | undefined} recheck
 * @property {Call} swap
 * @property {number} chain
 * @property {number} seconds between two questions
 * @property {Map<unknown, Payment>} payments of the swap, by account
 */
/**
 * How far it is.
 * @typedef {object} Progress
 * @property {string | undefined} account that must pay, once it is known
 * @property {Hex | ''} from the account that the wallet has told
 * @property {boolean} isMet
 * @property {Transaction[]} transactions in the order they were asked for
 * @property {Step | undefined} step the last that was told
 * @property {boolean} isBegun another sending of the swap may be this account's
 * @property {Payment} payment
 * @property {unknown[]} running keys of payments
 * @property {(() => void) | undefined} release
 */
/** @typedef {Readonly<Given> & Progress} Job */

/**
 * As much of a sending as a question to a wallet needs.
 * @typedef {Pick<Job, 'wallet' | 'signal' | 'transactions' | 'isBegun' | 'step'>} Question
 */

const INTERVAL = 2000;

/** @param {object} fields @returns {any} without those that are undefined, as in JSON */
export const defined = (fields) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));

/** @param {Call[]} calls */
export const lastOf = (calls) => /** @type {Call} */ (calls[calls.length - 1]);

/**
 * @param {Wallet} wallet
 * @param {AbortSignal | undefined} [signal]
 * @returns {Question}
 */
export const newQuestion = (wallet, signal) => ({ wallet, signal, transactions: [], isBegun: false, step: undefined });

/**
 * @param {Wallet} wallet
 * @param {PublicQuote} given
 * @param {SendOptions} options
 * @returns {Job}
 */
export function newJob(wallet, given, options) {
  const { request, quote, calls, expiresAt, sufficient, warning } = given;
  /** @type {PublicQuote} */
  const checked = JSON.parse(JSON.stringify({ request, quote, calls, expiresAt, sufficient, warning }));
  const swap = lastOf(checked.calls);
  return {
    ...newQuestion(wallet, options.signal), options, checked, recheck: recheckOf(options, clients.get(given)), swap,
    chain: Number(swap.chainId), seconds: (options.interval ?? INTERVAL) / 1000, payments: paymentsOf(checked),
    account: checked.request['from'], from: '', isMet: false, payment: {}, running: [], release: undefined,
  };
}
/**
 * Checks a quote again, and gives its calls: against what was given to send, or with the client that gave the quote.
 * @param {SendOptions} options
 * @param {Client | undefined} origin
 * @returns {Client['recheck'] | undefined}
 */
function recheckOf({ client, listing, unverified }, origin) {
  if (unverified) return undefined;
  if (client) return (...given) => client.recheck(...given);
  if (!listing) return origin?.recheck;
  return async (checked, { allowance } = {}) => {
    const { verify } = await import('./verify.js'); // only here, since a client brings its own check
    const { request, quote } = checked;
    const known = { listing, now: Date.now(), ...(allowance !== undefined && { allowance }) };
    const { problems, calls } = verify(/** @type {any} */ (request), quote, known);
    if (problems.length) throw Object.assign(new Error(problems[0]), { problems });
    return { ...checked, calls };
  };
}

/** @param {Transaction} transaction */
const isOut = ({ state }) => state !== 'refused';
/** @param {Question} job */
export const paymentOf = ({ transactions }) =>
  transactions.find((each) => isOut(each) && (each.what === 'swap' || each.what === 'batch'));

/**
 * What was sent, as far as it is known.
 * @param {Question} job
 * @returns {SentSoFar}
 */
export function sentSoFar(job) {
  if (job.isBegun || paymentOf(job)) return 'UNKNOWN';
  const approvals = job.transactions.filter(isOut);
  const last = approvals[approvals.length - 1];
  if (!last) return 'NOTHING';
  return last.state === 'asked' ? 'APPROVAL_PERHAPS' : 'APPROVAL';
}

/**
 * @param {Question} job
 * @param {SendError['code']} code
 * @param {object} [more]
 * @param {unknown} [detail]
 */
export const fail = (job, code, more = {}, detail = '') =>
  failed(code, { sent: sentSoFar(job), step: job.step, ...more }, detail);
/**
 * @param {Job} job
 * @param {SendError['code']} code
 * @param {unknown} [cause]
 */
export const wrongChain = (job, code, cause) => fail(job, code, { chainId: job.swap.chainId, cause }, job.chain);
/**
 * Tells a step, and waits until it is noted: what comes next may be lost.
 * @param {Job} job
 * @param {any} step
 */
export async function tell(job, step) {
  const { from, step: before, swap: { chainId, to, data, value } } = job;
  job.step = defined({ ...step, chainId, from: from || undefined, call: { to, data, value } });
  try {
    await job.options.onStep?.(/** @type {Step} */ (job.step));
  } catch (error) {
    job.step = before; // what was told is not done
    throw fail(job, 'LISTENER', { cause: error });
  }
}
/**
 * Once the wallet was asked to pay, nothing that a listener throws may hide what became of it.
 * @param {Job} job
 * @param {any} step
 */
export async function tellSafely(job, step) {
  try {
    await tell(job, step);
  } catch { /* it is the listener's own */ }
}
