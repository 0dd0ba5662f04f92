// A request as a program makes it, and what this gateway answers to it.
const EXAMPLE = {
  public: '0x1234567890AbcdEF1234567890aBcdef12345678',
  private: '0zk1qyxurtdvcjqmruwenw2m3gsa8zpmagjk7l2rr54f72rzxzzq4hqn9rv7j6fe3z53la0e0u4w4enlgfrctv75s860w8vyalll3' +
    '6xdq7w39djr40dhrdafqpdmhpa',
};
// The request that the address says, as the swap page's link does, with what it lacks.
function requestOf(query) {
  const { from = byKey.get('USDC@1') ?? tokens[0], to, amount, recipient, integrator } = readQuery(query);
  const pair = pairs.find((one) => one.from === from && one.to === to) ?? pairs.find((one) => one.from === from);
  let units = from.min;
  try {
    units = String(parseAmount(amount, from));
  } catch { /* the least that can be swapped */ }
  const isToPool = isPrivate(pair.to.chain);
  const isGiven = isToPool ? /^0zk\w+$/i.test(recipient) : isAddress(recipient);
  const request = {
    srcToken: from.symbol, dstToken: pair.to.symbol, amount: units,
    srcChain: String(from.chain), dstChain: String(pair.to.chain),
    recipient: isGiven ? recipient : EXAMPLE[isToPool ? 'private' : 'public'],
  };
  if (isAddress(integrator)) request.integratorId = integrator;
  return { request, from, isGiven, isToPool, isUnshielding: isPrivate(from.chain) };
}

const quoted = (value) => `'${value}'`;
const newClient = () =>
  `const client = createClient({ gateway: '${location.origin}' }) // add pinned: a reviewed listing`;
const REPLACE = ' // an example: replace it';
function jsFields({ request, isGiven }, recipient = quoted(request.recipient) + (isGiven ? ',' : `,${REPLACE}`)) {
  return Object.entries(request).map(([name, value]) =>
    `  ${name}: ${name === 'recipient' ? recipient : `${/Chain/.test(name) ? value : quoted(value)},`}`);
}

function curlLines({ request }) {
  const fields = Object.entries({ ...request, include: 'details' });
  return [`curl -G '${location.origin}/v3/swap/quote' \\`,
    ...fields.map(([name, value], i) => `  -d ${name}=${value}${i < fields.length - 1 ? ' \\' : ''}`)];
}
function clientLines(asked) {
  const [calls, purpose] = asked.isUnshielding ? ['wrap', 'For a RAILGUN wallet:'] : ['calls', 'To sign:'];
  return [
    "import { createClient } from '@quotegate/client'",
    '',
    newClient(),
    `const { quote, ${calls}, unchecked } = await client.quote({ // throws if a check fails`,
    ...jsFields(asked),
    '})',
    `console.log(quote.details.arrival.amount, 'arrive. ${purpose}', ${calls}, 'Not checked:', unchecked)`,
  ];
}
function viemLines(asked) {
  if (asked.isUnshielding) return ['// Unshielding: give `wrap` of the client’s quote to a RAILGUN wallet.'];
  return [
    "import { createClient } from '@quotegate/client'",
    "import { send } from '@quotegate/client/send'",
    "import { createWalletClient, custom } from 'viem'",
    "import 'viem/window'",
    '',
    "if (!window.ethereum) throw new Error('No wallet detected')",
    "// A local account, such as a private key, needs fromViem of '@quotegate/client/viem'.",
    'const wallet = createWalletClient({ transport: custom(window.ethereum) })',
    'const [from] = await wallet.requestAddresses()',
    "if (!from) throw new Error('No account connected')",
    '',
    newClient(),
    'const swap = await client.quote({ // throws if a check fails',
    ...jsFields(asked, asked.isGiven || asked.isToPool ? undefined : 'from,'),
    '  from,',
    '})',
    "if (swap.unshield) throw new Error('This is for a RAILGUN wallet')",
    'const { txHash, since } = await send(wallet, swap, { client })',
    'for await (const status of client.follow({ txHash, quote: swap.quote, since })) console.log(status.state)',
  ];
}
function goLines({ request, from, isGiven, isUnshielding }) {
  const { srcChain, srcToken, dstChain, dstToken, amount, recipient, integratorId } = request;
  const typed = showAmount(amount, from.decimals);
  return [
    'package main',
    '',
    'import (',
    '\t"context"',
    '\t"fmt"',
    '\t"log"',
    '',
    ...(integratorId ? ['\t"github.com/ethereum/go-ethereum/common"'] : []),
    '\t"github.com/quotegate/quotegate/v3/client"',
    ')',
    '',
    'func main() {',
    `\tc, err := client.New("${location.origin}") // add client.WithPinned: a reviewed listing`,
    '\tif err != nil {',
    '\t\tlog.Fatal(err)',
    '\t}',
    `\tamount, err := client.ParseAmount("${typed}", ${from.decimals})`,
    '\tif err != nil {',
    '\t\tlog.Fatal(err)',
    '\t}',
    '\tchecked, err := c.Quote(context.Background(), client.Request{',
    `\t\tSrcChain: ${srcChain}, SrcToken: "${srcToken}", DstChain: ${dstChain}, DstToken: "${dstToken}",`,
    '\t\tAmount: amount,',
    `\t\tRecipient: "${recipient}",${isGiven ? '' : REPLACE}`,
    ...(integratorId ? [`\t\tIntegrator: common.HexToAddress("${integratorId}"),`] : []),
    '\t})',
    '\tif err != nil {',
    '\t\tlog.Fatal(err) // a check has failed, too',
    '\t}',
    '\tfmt.Println(checked.Arrives, "arrive")',
    `\tfor _, call := range checked.${isUnshielding ? 'Wrap' : 'Calls'} { // to send them once: the package send`,
    '\t\tfmt.Printf("to %s on chain %d, value %s: %x\\n", call.To, call.ChainID, call.Value, call.Data)',
    '\t}',
    '\tfmt.Println("Not checked:", checked.Unchecked)',
    '}',
  ];
}

// Tabs with one stop for the Tab key; the arrow keys go from one to the next.
function tabs(label, panels) {
  const all = panels.map(([name, shown], i) => {
    const id = shown.id;
    const tab = el('button', {
      type: 'button', role: 'tab', id: `tab-${id}`, 'aria-controls': `panel-${id}`, click: () => select(i),
    }, name);
    const labels = { role: 'tabpanel', id: `panel-${id}`, 'aria-labelledby': tab.id, 'data-name': name };
    return { tab, panel: el('div', labels, shown), shown };
  });
  let chosen = 0;
  function select(next) {
    chosen = next;
    for (const [i, { tab, panel }] of all.entries()) {
      tab.setAttribute('aria-selected', String(i === chosen));
      tab.tabIndex = i === chosen ? 0 : -1;
      panel.hidden = i !== chosen;
    }
  }
  const list = el('div', { role: 'tablist', 'aria-label': label }, all.map(({ tab }) => tab));
  list.addEventListener('keydown', (event) => {
    const to = { ArrowRight: chosen + 1, ArrowLeft: chosen - 1, Home: 0, End: -1 }[event.key];
    if (to === undefined || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    select((to + all.length) % all.length);
    all[chosen].tab.focus();
  });
  select(0);
  const copy = copyButton('the request', () => all[chosen].shown.textContent);
  return [el('div', { class: 'bar' }, list, copy), ...all.map(({ panel }) => panel)];
}

function showRequest(asked) {
  const { request, from, isGiven } = asked;
  const there = `${request.dstToken} on ${chainName(Number(request.dstChain))}`;
  const swap = `${inWords(request.amount, from)} on ${chainName(from.chain)} to ${there}.`;
  $('example').textContent = `${swap} ${isGiven ? '' : 'The recipient is an example: replace it.'}`;
  const lines = { curl: curlLines, client: clientLines, viem: viemLines, Go: goLines };
  $('request').replaceChildren(...tabs('Request', Object.entries(lines).map(([name, linesOf]) => {
    const shown = pre(`Request: ${name}`, linesOf(asked).join('\n'));
    shown.id = `snippet-${name.toLowerCase()}`;
    return [name, shown];
  })));
}

// Asks this gateway for v3, on a legacy host too. It never throws.
const V3 = { 'API-Revision': 'v3' };
async function ask(path, headers = {}) {
  try {
    const signal = AbortSignal.timeout(15_000);
    const res = await fetch(path, { headers, cache: 'no-cache', redirect: 'error', signal });
    const raw = await res.text();
    let body;
    try {
      body = raw.length < 500_000 ? JSON.parse(raw) : undefined;
    } catch { /* body stays undefined */ }
    return { status: res.status, ok: res.ok && typeof body === 'object' && body !== null, headers: res.headers, body };
  } catch {
    return { status: 0, ok: false, headers: new Headers() };
  }
}
function titleOf({ status, body }) {
  if (status === 0) return 'The gateway does not answer.';
  return read(body, 'error', 600) || `The gateway answered with status ${status} and an unreadable body.`;
}
const bodyOf = ({ body }) => text(JSON.stringify(body, null, 2), 20_000);

// Shows the real answer to the request, or that it was refused.
async function showResponse({ request }) {
  const is = await ask(`/v3/swap/quote?${new URLSearchParams({ ...request, include: 'details' })}`, V3);
  const code = read(is.body, 'code', 60);
  const warnings = ['Quote-Warning', 'Request-Warning'].filter((name) => is.headers.get(name));
  $('answered').className = is.ok ? '' : 'error';
  $('answered').textContent = is.ok ? `${is.status} from this gateway` : `Refused: ${is.status || ''} ${code}`;
  $('response').before(
    ...(is.ok ? [] : [el('p', { class: 'told' }, titleOf(is))]),
    ...warnings.map((name) => el('p', { class: 'told' }, `${name}: ${text(is.headers.get(name), 300)}`)),
  );
  $('response').textContent = bodyOf(is);
}
