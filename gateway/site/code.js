// The request of the form, for a program.
function showSnippets() {
  let request;
  try {
    request = readForm();
  } catch {
    const [source, target] = [byKey.get($('from').value), byKey.get($('to').value)];
    request = { srcToken: source.symbol, dstToken: target.symbol, amount: source.min, srcChain: String(source.chain), dstChain: String(target.chain), recipient: isPrivate(target) ? '0zk…' : '0x…' };
  }
  const url = `${location.origin}/v3/swap/quote?${new URLSearchParams({ ...request, include: 'details' })}`.replaceAll('%E2%80%A6', '…');
  const quoted = url.replaceAll("'", '%27');
  const known = Object.entries(request).map(([name, value]) => `  ${name}: ${JSON.stringify(value)},`);
  const snippets = {
    curl: [`curl '${quoted}'`],
    fetch: ["import { verify } from './verify.mjs' // your reviewed copy of /v3/verify.js", 'const request = {', ...known, '}',
      `const gateway = '${location.origin}'`,
      "const quote = await (await fetch(`${gateway}/v3/swap/quote?${new URLSearchParams({ ...request, include: 'details' })}`)).json()",
      'const { data: routers, settlement } = await (await fetch(`${gateway}/v3/app/routers`)).json() // or those you have reviewed',
      'const { ok, problems } = verify(request, quote, { routers, settlement, now: Date.now() })',
      "if (!ok) throw new Error(problems.join(' '))"],
    viem: ['// after the check above, with a wallet client and a public client of viem on the source chain',
      'for (const { to, data, value } of quote.details.sendCalls.calls) {',
      '  const hash = await wallet.sendTransaction({ to, data, value: BigInt(value) })',
      '  await client.waitForTransactionReceipt({ hash })', '}'],
  };
  $('snippets').replaceChildren(...Object.entries(snippets).map(([name, lines]) => el('div', { class: 'snippet' },
    el('div', {}, el('b', {}, name), copyButton(name, () => lines.join('\n'))), el('pre', { tabindex: 0, 'aria-label': `${name} example` }, lines.join('\n')))));
}

function showLinks() {
  const link = (path, words = path) => el('a', { href: path }, words);
  $('contracts').replaceChildren('Contract files: ', ...listing.versions.flatMap((name) => [link(`/${name}/openapi.yaml`), ' ']),
    '· Checks to copy: ', link('/v3/verify.js'), ' · Lists: ', link('/v3/app/pairs'), ' ', link('/v3/app/routers'), ' · ', link('#move', 'How to move from an older version'));
  $('about').textContent = `Deployment “${listing.deployment}”. This page asks nobody but this gateway and your wallet, and stores nothing.`;
}
