// What becomes of an older request in v3: docs/migrate.md with the visitor's own request. Only v3 is called: a call of
// the older version would count as a use of it and delay its end. All versions quote alike, so that v3's answer tells.
// Each row of a version stands alone: the chapter "Delete a version" of docs/CONTRIBUTING.md takes them out.
const OLD = {
  '/v1/quote': 'v1',
  '/swap/v1/quote': 'v1',
  '/v3legacy/swap/quote': 'v3legacy',
  '/v3/swap/quote': 'v3legacy',
};
const HEADERS = {
  v3legacy: { 'API-Revision': 'legacy' },
};
const SAME = [
  ...['to', 'srcAmount', 'methodParameters.value'].map((path) => [path, path, 'nothing']),
  ['destAmount', 'destAmount', 'nothing, unless a partner takes a fee'],
  ['methodParameters.calldata', 'methodParameters.calldata',
    'nothing, unless there is a partner or a shield note, which is new in every quote'],
];
const NEW_FEES = [
  ['', 'fee.integrator.amount', 'new: the partner’s fee, 0 without one'],
  ['', 'fee.total.amount', 'new: both fees'],
];
const UNIT = 'the unit: it was in the source token’s smallest unit, and is in the destination token’s';
const MOVED = {
  v1: [...SAME,
    ['fee.percentage', 'fee.protocol.percentage', 'nothing'],
    ['fee.amount', 'fee.protocol.amount', UNIT],
    ...NEW_FEES,
    ['route.paths', 'srcToken.address', 'the two ends are srcToken.address and destToken.address'],
    ['route.swaps.0.pool', 'to', 'nothing'],
    ['', 'approval.spender', 'new: the ERC-20 approval is ready to send; none for a native coin'],
    ['', 'route.type', 'new: DIRECT, or CCTP_INBOUND where to is the issuer’s contract']],
  v3legacy: [...SAME,
    ['fee.percentage', 'fee.protocol.percentage', 'nothing'],
    ['fee.amount', 'fee.protocol.amount', 'nothing: both in the destination token’s smallest unit'],
    ['fee.token', 'fee.token', 'nothing'],
    ...NEW_FEES,
    ['approval.spender', 'approval.spender', 'nothing']],
};

// Asks this gateway. It never throws.
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

async function compareVersions() {
  calm();
  const place = $('moved');
  place.replaceChildren();
  const example = `Paste a URL such as ${Object.keys(OLD)[0]}?srcToken=USDC&….`;
  const refuse = (sentence) => refuseFields([['old', `${sentence} ${example}`]]);
  const old = $('old').value.trim();
  if (!URL.canParse(old, location.origin)) return refuse('This is not a URL.');
  const url = new URL(old, location.origin);
  const version = field(OLD, url.pathname);
  if (!version) return refuse('This is not the path of a quote in an older version.');
  const query = url.searchParams.toString();
  const next = `/v3/swap/quote?${query}`;
  const is = await ask(next, { 'API-Revision': 'v3' }); // on a legacy host too
  if (is.status === 0) return complain(titleOf(is), [], $('move-form'));
  const elsewhere = 'Only the path and the query were used: this page contacts no other host.';
  place.replaceChildren(
    url.origin === location.origin ? '' : el('p', { class: 'hint' }, elsewhere),
    el('h3', {}, 'Next steps'),
    list(adviceOn(version, url.searchParams, is)),
    is.ok ? snippet('New URL', 'the new URL', pre('The new URL', text(next, 4000)), location.origin + next) : '',
    el('h3', {}, `Response of v3: ${is.status}`),
    pre('Response of v3', text(JSON.stringify(is.body, null, 2), 20_000) || 'nothing that can be read'),
    is.ok ? movedTable(version, is.body) : '',
  );
  place.focus();
}

function adviceOn(version, query, is) {
  const fee = read(is.body, 'fee.integrator.amount', 80);
  const less = `v3 pays ${fee} less, in the destination token’s smallest unit: the partner’s fee.`;
  return [
    !is.ok && el('b', {}, `v3 rejects this request: ${titleOf(is)}`),
    !query.get('recipient') && 'Always send recipient: v3 requires one that is not zero.',
    query.get('integratorId') &&
      'v3 does not ignore integratorId: it verifies the partner and adds its fee. Omit it if you do not want that.',
    is.ok && (fee === '0' ? 'Both versions pay the same amount.' : el('b', {}, less)),
    HEADERS[version] && `Remove the header ${Object.entries(HEADERS[version]).flat().join(': ')}.`,
    is.ok ? 'Change the URL, and read the fields from their new places below.'
      : 'Correct the request, then paste it again to see the new URL.',
  ].filter(Boolean);
}

const table = (heads, rows) => el('table', {},
  el('thead', {}, el('tr', {}, heads.map((head) => el('th', { scope: 'col' }, head)))),
  el('tbody', {}, rows.map((cells) => el('tr', {}, cells))));
function movedTable(version, body) {
  return el('div', {}, table(['Before', 'In v3', 'Change'], MOVED[version].map(([before, after, change]) => [
    el('td', {}, before ? el('code', {}, before) : 'none'),
    el('td', {}, el('code', {}, after), el('br'), mono(field(body, after) ?? 'none', 90)),
    el('td', {}, change),
  ])));
}
