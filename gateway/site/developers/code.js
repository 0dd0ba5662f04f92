// The request for a program. Every snippet names the chain and checks that the wallet is on it.
const VIEM = { 1: 'mainnet', 56: 'bsc', 369: 'pulsechain', 8453: 'base' }; // others are defined by their number
// The request that the address says, as the swap page's link does, with what it lacks.
function requestOf(query) {
  const { from = byKey.get('USDC@1') ?? tokens[0], to, amount, recipient, integrator } = readQuery(query);
  const pair = pairs.find((one) => one.from === from && one.to === to) ?? pairs.find((one) => one.from === from);
  let units = from.min;
  try {
    units = String(parseAmount(amount, from));
  } catch { /* the least that can be swapped */ }
  const isGiven = isPrivate(pair.to.chain) ? /^0zk\w+$/i.test(recipient) : isAddress(recipient);
  const request = {
    srcToken: from.symbol, dstToken: pair.to.symbol, amount: units,
    srcChain: String(from.chain), dstChain: String(pair.to.chain),
    recipient: isGiven ? recipient : isPrivate(pair.to.chain) ? '0zk…' : '0x…',
  };
  return isAddress(integrator) ? { ...request, integratorId: integrator } : request;
}

const IMPORT = "import { createClient } from '@quotegate/client'";
const newClient = () =>
  `const client = createClient({ gateway: '${location.origin}' }) // add pinned: a reviewed listing`;
const linesOf = (request) => Object.entries(request).map(([name, value]) => `  ${name}: ${JSON.stringify(value)},`);

function curlLines(request) {
  const query = new URLSearchParams({ ...request, include: 'details' }).toString();
  return [`curl '${location.origin}/v3/swap/quote?${query.replaceAll('%E2%80%A6', '…').replaceAll("'", '%27')}'`];
}
function clientLines(request) {
  return [
    IMPORT,
    newClient(),
    'const { quote, calls, unchecked } = await client.quote({ // throws if a check fails',
    ...linesOf(request),
    '})',
    "console.log(quote.details.arrival.amount, 'arrive. To sign:', calls, 'Not checked:', unchecked)",
  ];
}
function viemLines(request) {
  if (isPrivate(request.srcChain)) return ['// Unshielding: give `wrap` of the answer to a RAILGUN wallet.'];
  const id = networkOf(request.srcChain);
  const coin = `{ name: '${coinName(id)}', symbol: '${coinOf(id)}', decimals: 18 }`;
  const ours = `{ id: ${id}, name: '${chainName(id)}', nativeCurrency: ${coin}, rpcUrls: { default: { http: [] } } }`;
  const known = VIEM[id];
  return [
    IMPORT,
    `import { createPublicClient, createWalletClient, custom${known ? '' : ', defineChain'} } from 'viem'`,
    known ? `import { ${known} as chain } from 'viem/chains'` : '',
    "import 'viem/window'",
    known ? '' : `const chain = defineChain(${ours})`,
    "if (!window.ethereum) throw new Error('No wallet detected')",
    'const transport = custom(window.ethereum)',
    'const wallet = createWalletClient({ chain, transport })',
    'const node = createPublicClient({ chain, transport })',
    'const [account] = await wallet.requestAddresses()',
    "if (!account) throw new Error('The wallet gave no account')",
    'if (await wallet.getChainId() !== chain.id) await wallet.switchChain({ id: chain.id })',
    newClient(),
    'const { calls } = await client.quote({',
    ...linesOf(request),
    '  from: account,',
    '})',
    'for (const [i, { chainId, to, data, value }] of calls.entries()) {',
    '  if (Number(chainId) !== chain.id) throw new Error(`These calls are for chain ${chainId}`)',
    '  const txHash = await wallet.sendTransaction({ account, chain, to, data, value: BigInt(value) })',
    '  const { status } = await node.waitForTransactionReceipt({ hash: txHash })',
    "  if (status !== 'success') throw new Error(`${txHash} failed`)",
    '  if (i < calls.length - 1) continue',
    '  for await (const { state, settlement } of client.follow({ srcChain: chain.id, txHash })) {',
    "    console.log(state, settlement?.amount ?? '')",
    '  }',
    '}',
  ].filter(Boolean);
}

function showSnippets() {
  const request = requestOf(new URLSearchParams(location.search));
  const from = byKey.get(`${request.srcToken}@${request.srcChain}`);
  const there = `${request.dstToken} on ${chainName(Number(request.dstChain))}`;
  $('asked').textContent = `${inWords(request.amount, from)} on ${chainName(from.chain)} to ${there}.`;
  const snippets = { curl: curlLines(request), client: clientLines(request), viem: viemLines(request) };
  const all = Object.entries(snippets).map(([name, lines]) => {
    const shown = pre(`${name} example`, lines.join('\n'));
    shown.id = `snippet-${name}`;
    return snippet(name, name, shown);
  });
  $('snippets').replaceChildren(...all);
}
