// The plan of each version, from /versions, and a client's own calls to old ones, from /versions/mine.
const QUOTES = {
  v1: '/v1/quote',
};
const rowsOf = (value, path, most) => (Array.isArray(field(value, path)) ? field(value, path).slice(0, most) : []);

async function showVersions() {
  const answer = await ask('/versions');
  const versions = rowsOf(answer.body, 'versions', 20);
  $('lives').replaceChildren(...(answer.ok ? versions.map(lifeOf) : [el('p', {}, titleOf(answer))]));
}

// The key is in the field and in one request, and nowhere else: not stored, not in the address, gone with the page.
async function showMine() {
  $('own-calls').replaceChildren(...await tellMine($('own-key').value.trim()));
}
async function tellMine(key) {
  if (!/^[\x21-\x7e]+$/.test(key)) return [el('p', {}, 'Enter your API key.')];
  const answer = await ask('/versions/mine', { 'API-Key': key });
  if (!answer.ok) return [el('p', {}, titleOf(answer))];
  const versions = rowsOf(answer.body, 'versions', 20);
  return [el('p', {}, `You are ${read(answer.body, 'client', 80)}.`), ...versions.map(myVersion)];
}
function refusalOf(version) {
  const state = read(version, 'state', 30);
  if (state === 'retired') return 'Every call gets 410.';
  if (state === 'held') return 'Its planned sunset has passed: it may end any day.';
  if (field(version, 'exempt') === true) return 'You are exempt from brownouts, not from the sunset.';
  if (!field(version, 'window')) return 'No brownout is planned.';
  const includes = field(version, 'window.refused') === true ? 'includes you.' : 'does not include you.';
  return `The next brownout, ${day(timeOf(field(version, 'window.from')))}, ${includes}`;
}
function myVersion(version) {
  const days = rowsOf(version, 'days').slice(-90);
  const sum = (name) => days.reduce((all, row) => all + (Number(field(row, name)) || 0), 0);
  const calls = `${sum('served')} calls served, ${sum('refused')} refused and ${sum('failed')} with errors`;
  const moved = timeOf(field(version, 'moved'));
  const rows = days.map((row) => [
    el('th', { scope: 'row' }, read(row, 'day', 20)),
    ['served', 'refused', 'failed'].map((name) => el('td', {}, read(row, name, 20))),
  ]);
  return el('div', {}, el('h3', {}, read(version, 'name', 30), ' ', tag(read(version, 'state', 30))),
    list([
      days.length ? `${calls} within 90 days` : 'No call within 90 days',
      moved && `You have moved: the current version served you on ${day(moved)}, after your last call here`,
      refusalOf(version),
      ...rowsOf(version, 'findings', 20).map((finding) => read(finding, 'says', 300)),
    ].filter(Boolean)),
    days.length > 0 && fold('Day by day', table(['Day', 'Served', 'Refused', 'Errors'], rows)));
}

// A state that this page does not know is shown as it is, without a colour.
const STATES = ['active', 'deprecated', 'brownout', 'held', 'retired'];
const tag = (state) => el('span', { class: `tag ${STATES.includes(state) ? state : ''}` }, state);

// A plan has times in milliseconds, 0 where it says nothing.
function planOf(version) {
  const time = (path, of = version) => timeOf(field(of, path));
  return {
    name: read(version, 'name', 30),
    state: read(version, 'state', 30),
    deprecated: time('deprecated'),
    sunset: time('sunset'),
    isGated: Boolean(field(version, 'gate')),
    brownouts: rowsOf(version, 'brownouts', 50).map((window) => ({
      from: time('from', window), to: time('to', window), share: Number(field(window, 'share')),
    })).filter(({ from, to }) => from && from <= to),
  };
}
const moment = (time) => el('time', { datetime: new Date(time).toISOString() }, day(time));
const percent = (share) => `${Math.round(share * 1000) / 10}\u00a0%`;

// What a state means for a client now.
function standingOf({ state, deprecated, sunset, isGated, brownouts }) {
  const end = sunset && moment(sunset);
  if (state === 'retired') return ['Every call gets 410', end ? [' since ', end] : '', '.'];
  if (state === 'held') {
    return ['The planned sunset', end ? [', ', end, ','] : '', ' has passed. Still served; may end any day.'];
  }
  const open = brownouts.find(({ from, to }) => from <= Date.now() && Date.now() < to);
  if (state === 'brownout') {
    if (!open) return 'A brownout is open: a share of the clients gets 410.';
    return ['A brownout is open until ', moment(open.to), `: ${percent(open.share)} of clients get 410.`];
  }
  if (end) return ['Served until ', end, isGated ? ' or later.' : '.'];
  return deprecated ? 'Served. No sunset planned.' : 'No sunset planned.';
}
function sunsetOf({ state, isGated }) {
  if (state === 'held') return 'planned sunset, held back: clients are still served';
  if (isGated && state !== 'retired') return 'planned sunset: every client gets 410, then or later';
  return 'sunset: every client gets 410';
}
function eventsOf(plan) {
  const events = [
    [plan.deprecated, 'deprecated'],
    ...plan.brownouts.map(({ from, to, share }) => [
      from, 'brownout until ', moment(to), `: ${percent(share)} of clients get 410`,
    ]),
    [plan.sunset, sunsetOf(plan)],
  ].filter(([at]) => at);
  return events.length > 0 ? [...events, [Date.now(), 'today']].sort(([a], [b]) => a - b) : [];
}

function lifeOf(version) {
  const plan = planOf(version);
  const events = eventsOf(plan);
  const [migration, successor] = [read(version, 'migration', 300), read(version, 'successor', 100)];
  const guide = /^https:\/\//.test(migration) && el('a', { href: migration, rel: 'noreferrer' }, 'Migration guide');
  const output = el('div', { 'aria-live': 'polite' });
  const rehearse = (stage) => small(`Rehearse ${stage}`, () => rehearsal(plan.name, stage, output), {
    class: 'second small', 'aria-label': `Rehearse ${stage}, ${plan.name}`,
  });
  return el('div', { class: 'life card' },
    el('h3', {}, plan.name, ' ', tag(plan.state)),
    el('p', {}, standingOf(plan)),
    events.length > 0 && timeline(plan),
    events.length > 0 && list(events.map(([at, ...what]) => [moment(at), ': ', ...what])),
    (successor || guide) && el('p', {}, successor && `Use ${successor} instead. `, guide),
    plan.state !== 'retired' && el('div', { class: 'buttons' }, rehearse('brownout'), rehearse('retired')),
    output);
}

function shape(name, attributes, ...children) {
  const made = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}
const MOST_LABELS = 4; // of brownouts; where there are more, only the open or next one has a label
function marksOf({ deprecated, sunset, brownouts }) {
  const now = Date.now();
  const next = brownouts.find(({ to }) => to > now) ?? brownouts.at(-1);
  const named = brownouts.length > MOST_LABELS ? [next] : brownouts;
  return [
    [deprecated, 'deprecated'],
    ...named.map(({ from }) => [from, 'brownout']),
    [now, 'today'],
    [sunset, 'sunset'],
  ].filter(([at]) => at).sort(([a], [b]) => a - b);
}

const ROW = 20;
// A line from the first event to the last, and a label for each mark. Positions are in percent, so that text keeps its
// size. No two labels overlap at any width, and no line crosses one: those of the left half stand below the line, the
// leftmost lowest, and those of the right half above it, the rightmost highest. The list says the same in words.
function timeline(plan) {
  const { deprecated, sunset, brownouts, state } = plan;
  const marks = marksOf(plan);
  const times = [...marks.map(([at]) => at), ...brownouts.flatMap(({ from, to }) => [from, to])];
  const begin = Math.min(...times);
  const end = Math.max(...times);
  const x = (time) => 1 + (98 * (time - begin)) / (end - begin || 1);
  const left = marks.filter(([at]) => x(at) < 50);
  const right = marks.slice(left.length);
  const line = right.length * ROW + 8;
  const bar = (kind, from, to, height) => shape('rect', {
    class: kind, x: `${x(from)}%`, width: `${Math.max(x(to) - x(from), 0)}%`, y: line - height / 2, height, rx: 2,
  });
  const label = ([at, word], y, anchor) => [
    shape('line', { class: word, x1: `${x(at)}%`, x2: `${x(at)}%`, y1: line + Math.sign(line - y) * 7, y2: y }),
    shape('text', {
      x: `${x(at)}%`, y, dx: anchor === 'start' ? 6 : -6, dy: y < line ? 9 : 0, 'text-anchor': anchor,
    }, `${word} ${day(at).slice(0, 10)}`),
  ];
  const height = line + left.length * ROW + 12;
  return shape('svg', { class: 'timeline', width: '100%', height, 'aria-hidden': 'true' },
    bar('span', begin, end, 4),
    ...(deprecated && sunset ? [bar('span planned', deprecated, sunset, 4)] : []),
    ...(state === 'held' && sunset ? [bar('span held', sunset, Date.now(), 4)] : []),
    ...brownouts.map(({ from, to }) => bar('window', from, to, 14)),
    ...right.flatMap((mark, i) => label(mark, line - (i + 1) * ROW, 'end')),
    ...left.flatMap((mark, i) => label(mark, line + (left.length - i) * ROW, 'start')));
}

const TOLD = ['deprecation', 'sunset', 'link', 'api-brownout', 'api-rehearse', 'retry-after'];
async function rehearsal(name, stage, output) {
  const path = field(QUOTES, name) ?? `/${name}/swap/quote`;
  const { status, headers, body } = await ask(path, { 'API-Rehearse': stage });
  if (status === 0) return output.replaceChildren(titleOf({ status }));
  const told = TOLD.filter((header) => headers.get(header)).map((header) => `${header}: ${headers.get(header)}`);
  const lines = [`GET ${path}`, `API-Rehearse: ${stage}`, '', `HTTP ${status}`, ...told, ''];
  const all = [...lines, JSON.stringify(body, null, 2)].join('\n');
  return output.replaceChildren(pre(`Rehearsal of ${name}`, text(all, 4000)));
}

const asked = requestOf(new URLSearchParams(location.search));
showRequest(asked);
showResponse(asked);
showExamples(asked);
showVersions();
for (const [form, act] of [['move-form', compareVersions], ['own-form', showMine]]) {
  $(form).addEventListener('submit', (event) => {
    event.preventDefault();
    act();
  });
}
