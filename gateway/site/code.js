// The request of the form, for a program. Every snippet names the chain and checks that the wallet is on it.
const VIEM = { 1: 'mainnet', 56: 'bsc', 369: 'pulsechain', 8453: 'base' }; // others are defined by their number
function showSnippets() {
  const { request, errors } = readForm();
  if (errors.length) Object.assign(request, { amount: source().min, recipient: isPrivate(target().chain) ? '0zk…' : '0x…' });
  const chain = networkOf(request.srcChain);
  const url = `${location.origin}/v3/swap/quote?${new URLSearchParams({ ...request, include: 'details' })}`.replaceAll('%E2%80%A6', '…').replaceAll("'", '%27');
  const asked = Object.entries(request).map(([name, value]) => `  ${name}: ${JSON.stringify(value)},`);
  const start = ["import { createClient } from '@quotegate/client'"];
  const ask = [`const client = createClient({ gateway: '${location.origin}' }) // add pinned: a listing that you have reviewed`];
  const named = VIEM[chain] ? [`import { ${VIEM[chain]} as chain } from 'viem/chains'`] : [];
  const snippets = {
    curl: [`curl '${url}'`],
    client: [...start, ...ask, 'const { quote, calls, unchecked } = await client.quote({ // throws if the answer is not what was asked for', ...asked, '})',
      "console.log(quote.details.arrival.amount, 'arrive. To sign:', calls, 'What nobody can check:', unchecked)"],
    viem: isPrivate(source().chain) ? ['// Taking money out of a private balance: give `wrap` of the answer to a RAILGUN wallet.'] : [...start,
      `import { createPublicClient, createWalletClient, custom${VIEM[chain] ? '' : ', defineChain'} } from 'viem'`, ...named, "import 'viem/window'",
      ...(VIEM[chain] ? [] : [`const chain = defineChain({ id: ${chain}, name: '${chainName(chain)}', nativeCurrency: { name: 'Coin', symbol: 'COIN', decimals: 18 }, rpcUrls: { default: { http: [] } } })`]),
      "if (!window.ethereum) throw new Error('There is no wallet in this browser')", 'const transport = custom(window.ethereum)',
      'const wallet = createWalletClient({ chain, transport })', 'const node = createPublicClient({ chain, transport })',
      'const [account] = await wallet.requestAddresses()', "if (!account) throw new Error('The wallet gave no account')",
      'if (await wallet.getChainId() !== chain.id) await wallet.switchChain({ id: chain.id })', ...ask, 'const { calls } = await client.quote({', ...asked, '  from: account,', '})',
      'for (const [i, { chainId, to, data, value }] of calls.entries()) {', '  if (Number(chainId) !== chain.id) throw new Error(`These calls are for chain ${chainId}`)',
      '  const txHash = await wallet.sendTransaction({ account, chain, to, data, value: BigInt(value) }) // refused on another chain',
      '  const { status } = await node.waitForTransactionReceipt({ hash: txHash })', '  if (status !== \'success\') throw new Error(`${txHash} failed`)', '  if (i < calls.length - 1) continue',
      "  for await (const { state, settlement } of client.follow({ srcChain: chain.id, txHash })) console.log(state, settlement?.amount ?? '')", '}'],
  };
  $('snippets').replaceChildren(...Object.entries(snippets).map(([name, lines]) => el('div', { class: 'snippet' },
    el('div', {}, el('b', {}, name), copyButton(name, () => lines.join('\n'))), el('pre', { tabindex: 0, id: `snippet-${name}`, 'aria-label': `${name} example` }, lines.join('\n')))));
}

// What to do about an error, and where everything is.
const CODES = [
  ['400', 'MISSING_PARAMETER, INVALID_PARAMETER, INVALID_AMOUNT, AMOUNT_OUT_OF_RANGE, UNSUPPORTED_CHAIN, UNSUPPORTED_TOKEN, UNSUPPORTED_PAIR, INVALID_RECIPIENT, INVALID_INTEGRATOR, INTEGRATOR_UNREGISTERED, INTEGRATOR_INACTIVE, INTEGRATOR_FEE_TOO_HIGH', 'Correct the request.'],
  ['401', 'UNKNOWN_KEY', 'Leave the key out, or send a known one.'],
  ['404, 405', 'NOT_FOUND, METHOD_NOT_ALLOWED', 'See the contract file.'],
  ['410', 'VERSION_BROWNOUT, VERSION_RETIRED', 'Move to what successor names.'],
  ['429', 'RATE_LIMITED', 'Wait as long as Retry-After says.'],
  ['500', 'INTERNAL', 'Tell us the requestId.'],
  ['501, 503', 'STATUS_UNAVAILABLE, CHAIN_UNAVAILABLE, INTEGRATOR_UNVERIFIED, ISSUER_FEE_TOO_HIGH', 'Wait as long as Retry-After says, or go without the status or the integrator.'],
];
function showReference() {
  $('errors').append(el('p', {}, 'Errors are JSON: ', mono('error'), ' is a sentence, ', mono('code'), ' is stable, ', mono('requestId'), ' helps us to find it.'),
    el('table', {}, el('thead', {}, el('tr', {}, ['Status', 'Codes', 'Do'].map((title) => el('th', { scope: 'col' }, title)))),
      el('tbody', {}, CODES.map((row) => el('tr', {}, row.map((words) => el('td', {}, words)))))));
  const link = (path, words = path) => el('a', { href: path }, words);
  $('contracts').replaceChildren('Contract files: ', ...listing.versions.flatMap((name) => [link(`/${name}/openapi.yaml`), ' ']),
    '· The client to copy: ', link('/v3/client/index.js'), ' ', link('/v3/client/verify.js'), ' ', link('/v3/client/index.d.ts'), ' · Lists: ', link('/v3/app/pairs'), ' ', link('/v3/app/routers'));
}
