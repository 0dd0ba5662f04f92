// What this process remembers of swaps: which client gave a result, and which payments were begun. Other files of this
// package use it; it is no entry of the package.

/** By result of `client.quote`: the client that gave it. */
export const clients = new WeakMap();

const HOUR = 3600 * 1000;
const LONGEST = 24 * HOUR; // that a quote counts, whatever a copy of it says
const swaps = new Map(); // by what they are known by: their payers, and until when they are remembered

// A copy that was read from JSON is the same swap. The approvals before the last call pay nothing.
function contentOf({ request: { from: _, ...request }, quote, calls }) {
  const { chainId, to, data, value } = calls[calls.length - 1];
  return JSON.stringify([Object.entries(request).sort(), chainId, to, data, value, quote.details?.validUntil]);
}

/**
 * The payments of a swap by account: another account is another payment. They are remembered until an hour after the
 * swap has expired, and while they are running.
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
  const payments = new Map();
  swaps.set(content, { payments, until });
  return payments;
}

/** The payment that a transaction of a wallet was taken for. */
export function payerOf(wallet, txHash) {
  const all = [...swaps.values()].flatMap(({ payments }) => [...payments.values()]);
  return all.find(({ taken }) => taken?.wallet === wallet && taken.txHash === txHash);
}
