// What can be swapped, from the listing in the page, and a request as an address says it.
const tokens = listing.tokens.map(
  ([chain, symbol, decimals, min, max]) => ({ chain, symbol, decimals, min, max, key: `${symbol}@${chain}` })
);
const byKey = new Map(tokens.map((token) => [token.key, token]));
const pairs = listing.pairs.map(([from, to, fee, seconds]) => ({ from: tokens[from], to: tokens[to], fee, seconds }));
const HUB = 369;
const coinOf = (chain) => field(listing.coins, String(networkOf(chain))) ?? 'ETH';

// Reads the query of this page, or of the interface, whose amounts are in the smallest unit.
function readQuery(query) {
  const read = (name) => text(query.get(name), 200);
  if (!read('srcToken') && !read('srcChain')) return {
    from: byKey.get(read('from')), to: byKey.get(read('to')), amount: read('amount'), recipient: read('recipient'),
    integrator: read('integrator')
  };
  const find = (symbol, chain) => byKey.get(`${symbol.toUpperCase()}@${chain}`);
  const from = find(read('srcToken'), read('srcChain'));
  const amount = read('amount');
  return {
    from, to: find(read('dstToken'), read('dstChain')),
    amount: from && /^\d{1,60}$/.test(amount) ? showAmount(amount, from.decimals) : amount,
    recipient: read('recipient'), integrator: read('integratorId')
  };
}
