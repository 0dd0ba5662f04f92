// Compiled from src/payments.js.
export const clients = new WeakMap();
export const listings = new WeakMap();
const HOUR = 3600 * 1000;
const LONGEST = 24 * HOUR;
const swaps = new Map();
function contentOf({ request: { from: _, ...request }, quote, calls }) {
	const { chainId, to, data, value } = (calls[calls.length - 1]);
	return JSON.stringify([Object.entries(request).sort(), chainId, to, data, value, quote.details?.validUntil]);
}
export function paymentsOf(checked) {
	const now = Date.now();
	for (const [content, { payments, until }] of swaps) {
		const isRunning = [...payments.values()].some(({ running }) => running);
		if (now > until && !isRunning)
			swaps.delete(content);
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
export function payerOf(wallet, txHash) {
	const all = [...swaps.values()].flatMap(({ payments }) => [...payments.values()]);
	return all.find(({ taken }) => taken?.wallet === wallet && taken.txHash === txHash);
}
