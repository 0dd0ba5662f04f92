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
const SAME = ['to', 'srcAmount', 'destAmount', 'methodParameters.calldata', 'methodParameters.value'].map((path) => [path, path, 'nothing']);
const MOVED = {
  v1: [...SAME,
    ['fee.percentage', 'fee.protocol.percentage', 'nothing'],
    ['fee.amount', 'fee.protocol.amount', 'the unit: it was in the source token’s smallest unit, and is in the destination token’s'],
    ['', 'fee.integrator.amount', 'new: the partner’s fee, 0 without one'],
    ['', 'fee.total.amount', 'new: both fees'],
    ['route.paths', 'srcToken.address', 'the two ends are srcToken.address and destToken.address'],
    ['route.swaps.0.pool', 'to', 'nothing'],
    ['', 'approval.spender', 'new: the ERC-20 approval is ready to send; none for a native coin'],
    ['', 'route.type', 'new: DIRECT, or CCTP_INBOUND where to is the issuer’s contract']],
  v3legacy: [...SAME,
    ['fee.percentage', 'fee.protocol.percentage', 'nothing'],
    ['fee.amount', 'fee.protocol.amount', 'nothing: both in the destination token’s smallest unit'],
    ['fee.token', 'fee.token', 'nothing'],
    ['', 'fee.integrator.amount', 'new: the partner’s fee, 0 without one'],
    ['', 'fee.total.amount', 'new: both fees'],
    ['approval.spender', 'approval.spender', 'nothing']],
};

// Asks this gateway as another version's client does. It never throws.
async function ask(path, headers = {}) {
  try {
    const res = await fetch(path, { headers, cache: 'no-cache', redirect: 'error', signal: AbortSignal.timeout(15_000) });
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
const titleOf = ({ status, body }) => (status === 0 ? 'The gateway does not answer.' : text(field(body, 'error'), 600) || `The gateway answered with status ${status} and an unreadable body.`);

async function compareVersions() {
  calm();
  const place = $('moved');
  place.replaceChildren();
  const refuse = (sentence) => refuseFields([['old', `${sentence} Paste a URL such as ${Object.keys(OLD)[0]}?srcToken=USDC&….`]]);
  let url;
  try {
    url = new URL($('old').value.trim(), location.origin);
  } catch {
    return refuse('This is not a URL.');
  }
  const version = field(OLD, url.pathname);
  if (!version) return refuse('This is not the path of a quote in an older version.');
  const query = url.searchParams.toString();
  const next = `/v3/swap/quote?${query}`;
  const [was, is] = await Promise.all([
    ask(`${url.pathname}?${query}`, HEADERS[version]), ask(next)]);
  const gone = [was, is].find((answer) => answer.status === 0);
  if (gone) return complain(titleOf(gone), [], $('move-form'));
  place.replaceChildren(
    url.origin === location.origin ? '' : el('p', { class: 'hint' }, 'Only the path and the query were used: this page contacts no other host.'),
    el('h3', {}, 'Next steps'), advice(version, url.searchParams, was, is),
    is.ok && el('div', { class: 'snippet' }, el('div', {}, el('b', {}, 'New URL'), copyButton('the new URL', () => location.origin + next)), el('pre', { tabindex: 0, 'aria-label': 'The new URL' }, text(next, 4000))) || '',
    el('div', { class: 'pair' }, ...[[`Response of ${TITLES[version]}`, was], ['Response of v3', is]].map(([title, answer]) =>
      el('div', {}, el('h3', {}, `${title}: ${answer.status}`), el('pre', { tabindex: 0, 'aria-label': title }, text(JSON.stringify(answer.body, null, 2), 20_000) || 'nothing that can be read')))),
    was.ok && is.ok ? movedTable(version, was.body, is.body) : '',
  );
  place.focus();
}

function advice(version, query, was, is) {
  const items = [];
  if (!is.ok) items.push(el('b', {}, `v3 rejects this request: ${titleOf(is)}`));
  if (!query.get('recipient')) items.push('Always send recipient: v3 requires one that is not zero.');
  if (query.get('integratorId')) items.push('v3 does not ignore integratorId: it verifies the partner and adds its fee. Omit it if you do not want that.');
  if (was.ok && is.ok) items.push(was.body.destAmount === is.body.destAmount ? 'Both versions pay the same amount.' : el('b', {}, 'v3 pays a different amount: check its fees.'));
  if (HEADERS[version]) items.push(`Remove the header ${Object.entries(HEADERS[version]).flat().join(': ')}.`);
  items.push(is.ok ? 'Change the URL, and read the fields from their new places below.' : 'Correct the request, then paste it again to see the new URL.');
  return list(items);
}

function movedTable(version, was, is) {
  const show = (body, path) => {
    const value = path && field(body, path);
    return path ? el('td', {}, el('code', {}, path), el('br'), mono(typeof value === 'object' ? JSON.stringify(value) : value ?? 'none', 90)) : el('td', {}, 'none');
  };
  return el('div', {}, el('table', {}, el('thead', {}, el('tr', {}, ['Before', 'In v3', 'Change'].map((title) => el('th', { scope: 'col' }, title)))),
    el('tbody', {}, MOVED[version].map(([before, after, change]) => {
      const differs = before && change === 'nothing' && field(was, before) !== field(is, after);
      return el('tr', {}, show(was, before), show(is, after), el('td', {}, differs ? 'another value: a shield note is new in every quote, and an integrator’s fee counts' : change));
    }))));
}
