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
  ['', 'fee.chainId', 'new: where the fee is taken'],
  ['', 'fee.integrator', 'new: the partner’s fee, 0 without one'],
  ['', 'fee.total', 'new: both fees'],
];
const UNIT = 'the unit: it was in the source token’s smallest unit, and is in the destination token’s';
const MOVED = {
  v1: [...SAME,
    ['fee.percentage', 'fee.protocol.percentage', 'nothing'],
    ['fee.amount', 'fee.protocol.amount', UNIT],
    ...NEW_FEES,
    ['', 'fee.token', 'new: always destination'],
    ['route.paths.0', 'srcToken.address', 'the same address'],
    ['route.paths.1', 'destToken.address', 'the same address'],
    ['route.swaps.0.pool', 'to', 'nothing'],
    ['', 'approval', 'new: the ERC-20 approval is ready to send; none for a native coin'],
    ['', 'route.type', 'new: DIRECT, or CCTP_INBOUND where to is the issuer’s contract']],
  v3legacy: [...SAME,
    ['fee.percentage', 'fee.protocol.percentage', 'nothing'],
    ['fee.amount', 'fee.protocol.amount', 'nothing: both in the destination token’s smallest unit'],
    ['fee.token', 'fee.token', 'nothing'],
    ...NEW_FEES,
    ['approval.spender', 'approval.spender', 'nothing']],
};
// What a row says of its key in a word or two, or nothing if the key is as it was.
function noteOf([before, after, change]) {
  if (!before) return 'new';
  const unit = change === UNIT ? ', other unit' : '';
  return before === after ? unit.slice(2) : `moved from ${before}${unit}`;
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
  const is = await ask(next, V3);
  if (is.status === 0) return complain(titleOf(is), [], $('move-form'));
  const elsewhere = 'Only the path and the query were used: this page contacts no other host.';
  place.replaceChildren(
    url.origin === location.origin ? '' : el('p', { class: 'hint' }, elsewhere),
    el('h3', {}, 'Next steps'),
    list(adviceOn(version, url.searchParams, is)),
    is.ok ? snippet('New URL', 'the new URL', pre('The new URL', text(next, 4000)), location.origin + next) : '',
    el('h3', {}, `Response of v3: ${is.status}`),
    is.ok ? hint(el('mark', {}, 'Marked'), ' keys are new, have moved or have another unit.') : '',
    pre('Response of v3', is.ok ? marked(bodyOf(is), MOVED[version]) : bodyOf(is) || 'nothing that can be read'),
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
  const valueAt = (path) => {
    const value = field(body, path);
    return typeof value === 'object' ? JSON.stringify(value) : value;
  };
  return el('div', {}, table(['Before', 'In v3', 'Change'], MOVED[version].map(([before, after, change]) => [
    el('td', {}, before ? el('code', {}, before) : 'none'),
    el('td', {}, el('code', {}, after), el('br'), mono(valueAt(after) ?? 'none', 90)),
    el('td', {}, change),
  ])));
}

// JSON, a line for each value. Keys that changed are marked, with a comment above them. What is indented by two more is
// inside.
function marked(json, rows) {
  const notes = new Map();
  for (const row of rows) if (noteOf(row)) notes.set(row[1], noteOf(row));
  const path = [];
  return json.split('\n').map((line) => {
    const [, indent, key = '', rest] = /^( *)(?:("(?:[^"\\]|\\.)*"): )?(.*)$/.exec(line);
    const depth = indent.length / 2;
    path.length = depth;
    if (depth > 0) path[depth - 1] = key.slice(1, -1);
    const note = key && notes.get(path.join('.'));
    if (!note) return `${line}\n`;
    return [indent, el('span', { class: 'note' }, `// ${note}`), `\n${indent}`, el('mark', {}, key), `: ${rest}\n`];
  });
}

// Fills in what a client of an older version calls, for each that is served here.
function showExamples({ request }) {
  const paths = {};
  for (const [path, version] of Object.entries(OLD)) paths[version] ??= path;
  const served = listing.versions.filter((version) => Object.hasOwn(paths, version));
  $('move-buttons').append(...served.map((version) => button(`Example of ${version}`, () => {
    $('old').value = `${paths[version]}?${new URLSearchParams(request)}`;
    compareVersions();
  })));
}
