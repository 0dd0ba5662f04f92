// An older request beside its answer in v3: docs/migrate.md with the visitor's own request.
// Each row of a version stands alone: the chapter "Delete a version" of docs/CONTRIBUTING.md takes them out.
const OLD = {
  '/v1/quote': 'v1',
  '/swap/v1/quote': 'v1',
  '/v3legacy/swap/quote': 'v3legacy',
  '/v3/swap/quote': 'v3legacy',
};
const TITLES = {
  v1: 'v1',
  v3legacy: 'the earlier v3',
};
const HEADERS = {
  v3legacy: { 'API-Revision': 'legacy' },
};
const SAME = [
  'to', 'srcAmount', 'destAmount', 'methodParameters.calldata', 'methodParameters.value',
].map((path) => [path, path, 'nothing']);
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
const OTHER = 'another value: a shield note is new in every quote, and an integrator’s fee counts';

// Asks this gateway as another version's client does. It never throws.
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
  const [was, is] = await Promise.all([ask(`${url.pathname}?${query}`, HEADERS[version]), ask(next)]);
  const gone = [was, is].find((answer) => answer.status === 0);
  if (gone) return complain(titleOf(gone), [], $('move-form'));
  const elsewhere = 'Only the path and the query were used: this page contacts no other host.';
  const response = (title, { status, body }) => el('div', {}, el('h3', {}, `${title}: ${status}`),
    pre(title, text(JSON.stringify(body, null, 2), 20_000) || 'nothing that can be read'));
  place.replaceChildren(
    url.origin === location.origin ? '' : el('p', { class: 'hint' }, elsewhere),
    el('h3', {}, 'Next steps'),
    list(adviceOn(version, url.searchParams, was, is)),
    is.ok ? snippet('New URL', 'the new URL', pre('The new URL', text(next, 4000)), location.origin + next) : '',
    el('div', { class: 'pair' }, response(`Response of ${TITLES[version]}`, was), response('Response of v3', is)),
    was.ok && is.ok ? movedTable(version, was.body, is.body) : '',
  );
  place.focus();
}

function adviceOn(version, query, was, is) {
  const pays = was.ok && is.ok && was.body.destAmount === is.body.destAmount;
  return [
    !is.ok && el('b', {}, `v3 rejects this request: ${titleOf(is)}`),
    !query.get('recipient') && 'Always send recipient: v3 requires one that is not zero.',
    query.get('integratorId') &&
      'v3 does not ignore integratorId: it verifies the partner and adds its fee. Omit it if you do not want that.',
    pays && 'Both versions pay the same amount.',
    was.ok && is.ok && !pays && el('b', {}, 'v3 pays a different amount: check its fees.'),
    HEADERS[version] && `Remove the header ${Object.entries(HEADERS[version]).flat().join(': ')}.`,
    is.ok ? 'Change the URL, and read the fields from their new places below.'
      : 'Correct the request, then paste it again to see the new URL.',
  ].filter(Boolean);
}

const table = (heads, rows) => el('table', {},
  el('thead', {}, el('tr', {}, heads.map((head) => el('th', { scope: 'col' }, head)))),
  el('tbody', {}, rows.map((cells) => el('tr', {}, cells))));
function movedTable(version, was, is) {
  const show = (body, path) => {
    if (!path) return el('td', {}, 'none');
    const value = field(body, path) ?? 'none';
    return el('td', {}, el('code', {}, path), el('br'),
      mono(typeof value === 'object' ? JSON.stringify(value) : value, 90));
  };
  return el('div', {}, table(['Before', 'In v3', 'Change'], MOVED[version].map(([before, after, change]) => {
    const differs = before && change === 'nothing' && field(was, before) !== field(is, after);
    return [show(was, before), show(is, after), el('td', {}, differs ? OTHER : change)];
  })));
}
