// What this process remembers of swaps: which client gave a result, and which payments were begun. Other files of this
// package use it; it is no entry of the package.

/** @import { Client, PublicQuote } from './index.js' */
/** @import { Pairs } from './types.js' */

/**
 * By result of `client.quote`: the client that gave it.
 * @type {WeakMap<object, Client>}
 */
export const clients = new WeakMap();

/**
 * By client: asks for the listing that its quotes are checked against, the one that is pinned if there is one.
 * @type {WeakMap<object, (signal: AbortSignal | undefined) => Promise<Pairs | undefined>>}
 */
export const listings = new WeakMap();

const HOUR = 3600 * 1000;
const LONGEST = 24 * HOUR; // that a quote counts, whatever a copy of it says

/**
 * A swap of one account. `outcome` is what is known of it once the wallet was asked to pay: how far it came, or what
 * was sent. `taken` is the transaction that was taken for it.
 * @typedef {{ running?: boolean, outcome?: any, taken?: { wallet: object, txHash: string } }} Payment
 */

/**
 * By what swaps are known by: their payments by account, and until when they are remembered.
 * @type {Map<string, { payments: Map<unknown, Payment>, until: number }>}
 */
const swaps = new Map();

/**
 * A copy that was read from JSON is the same swap. The approvals before the last call pay nothing.
 * @param {Pick<PublicQuote, 'request' | 'quote' | 'calls'>} checked
 */
function contentOf({ request: { from: _, ...request }, quote, calls }) {
  const { chainId, to, data, value } = /** @type {PublicQuote['calls'][number]} */ (calls[calls.length - 1]);
  return JSON.stringify([Object.entries(request).sort(), chainId, to, data, value, quote.details?.validUntil]);
}

/**
 * The payments of a swap by account: another account is another payment. They are remembered until an hour after the
 * swap has expired, and while they are running.
 * @param {Pick<PublicQuote, 'request' | 'quote' | 'calls' | 'expiresAt'>} checked
 */
export function paymentsOf(checked) {
  const now = Date.now();
  for (const [content, { payments, until }] of swaps) {
    const isRunning = [...payments.values()].some(({ running }) => running);
    if (now > until && !isRunning) swaps.delete(content);
  }
  const content = contentOf(checked);
  const until = Math.min(checked.expiresAt || Infinity, now + LONGEST) + HOUR;
  const known = swaps.get(content);
  if (known) {
    known.until = Math.max(known.until, until);
    return known.payments;
  }
  /** @type {Map<unknown, Payment>} */
  const payments = new Map();
  swaps.set(content, { payments, until });
  return payments;
}

/**
 * The payment that a transaction of a wallet was taken for.
 * @param {object} wallet
 * @param {string} txHash
 */
export function payerOf(wallet, txHash) {
  const all = [...swaps.values()].flatMap(({ payments }) => [...payments.values()]);
  return all.find(({ taken }) => taken?.wallet === wallet && taken.txHash === txHash);
}
