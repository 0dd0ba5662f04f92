// The life of each version, from /versions, and a client's own calls to old ones, from /versions/mine.
const QUOTES = {
  v1: '/v1/quote',
};
const rowsOf = (value, path, most) => (Array.isArray(field(value, path)) ? field(value, path).slice(0, most) : []);

async function showVersions() {
  const answer = await ask('/versions');
  const versions = rowsOf(answer.body, 'versions', 20);
  $('lives').replaceChildren(...(answer.ok ? [...versions.map(lifeOf), ownCalls()]
    : [el('p', {}, titleOf(answer))]));
}

// The key is in the field and in one request, and nowhere else: not stored, not in the address, gone with the page.
function ownCalls() {
  const output = el('div', { 'aria-live': 'polite' });
  const input = { id: 'own-key', type: 'password', autocomplete: 'off', spellcheck: 'false', maxlength: 100 };
  const key = el('input', input);
  const form = el('form', { id: 'own-form' }, el('label', { for: 'own-key' }, 'API key'), key,
    el('button', { type: 'submit', class: 'second' }, 'Show my calls'));
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    output.replaceChildren(...await tellMine(key.value.trim()));
  });
  const purpose = 'See what your client still calls, what v3 would answer, and which brownout includes you.';
  return el('div', { class: 'life' }, el('h3', {}, 'Your own calls'),
    el('p', {}, `${purpose} The key is not stored.`), form, output);
}
async function tellMine(key) {
  if (!/^[\x21-\x7e]+$/.test(key)) return [el('p', {}, 'Enter your API key.')];
  const answer = await ask('/versions/mine', { 'API-Key': key });
  if (!answer.ok) return [el('p', {}, titleOf(answer))];
  const versions = rowsOf(answer.body, 'versions', 20);
  return [el('p', {}, `You are ${read(answer.body, 'client', 80)}.`), ...versions.map(myVersion)];
}
function refusalOf(version) {
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
  return el('div', {}, el('h4', {}, `${read(version, 'name', 30)}: ${read(version, 'state', 30)}`),
    list([
      days.length ? `${calls} within 90 days` : 'No call within 90 days',
      moved && `You have moved: the current version served you on ${day(moved)}, after your last call here`,
      refusalOf(version),
      ...rowsOf(version, 'findings', 20).map((finding) => read(finding, 'says', 300)),
    ].filter(Boolean)),
    days.length > 0 && fold('Day by day', table(['Day', 'Served', 'Refused', 'Errors'], rows)));
}

function lifeOf(version) {
  const name = read(version, 'name', 30);
  const time = (path, of = version) => timeOf(field(of, path));
  const brownouts = rowsOf(version, 'brownouts', 50).map((window) => ({
    from: time('from', window), to: time('to', window), share: Number(field(window, 'share')),
  }));
  const [deprecated, sunset] = [time('deprecated'), time('sunset')];
  const events = [
    [deprecated, 'deprecated'],
    ...brownouts.map(({ from, to, share }) => [
      from, `brownout until ${day(to)}: ${Math.round(share * 1000) / 10} % of clients get 410`,
    ]),
    [sunset, 'sunset: every client gets 410'],
  ].filter(([at]) => at);
  const inOrder = [...events, [Date.now(), 'now']].sort(([a], [b]) => a - b);
  const [migration, successor] = [read(version, 'migration', 300), read(version, 'successor', 100)];
  const guide = /^https:\/\//.test(migration) && el('a', { href: migration, rel: 'noreferrer' }, 'Migration guide');
  const output = el('div', { 'aria-live': 'polite' });
  const rehearse = (stage) => small(`Rehearse ${stage}`, () => rehearsal(name, stage, output));
  return el('div', { class: 'life' },
    el('h3', {}, `${name} `, el('span', { class: 'tag' }, read(version, 'state', 30))),
    events.length > 0 && timeline(deprecated, sunset, brownouts),
    events.length ? list(inOrder.map(([at, what]) => `${day(at)}: ${what}`))
      : el('p', { class: 'hint' }, 'No sunset planned.'),
    (successor || migration) && el('p', {}, successor && `Use ${successor} instead. `, guide),
    el('div', {}, rehearse('retired'), rehearse('brownout')), output);
}

// A bar from the deprecation to the sunset, with the brownouts and today. The list below it says the same in words.
function timeline(deprecated, sunset, brownouts) {
  const now = Date.now();
  const times = [deprecated, sunset, now, ...brownouts.map(({ to }) => to)].filter(Boolean);
  const [begin, end] = [Math.min(...times), Math.max(...times)];
  const x = (time) => 10 + (980 * (time - begin)) / (end - begin || 1);
  const shape = (name, attributes, ...children) => {
    const made = document.createElementNS('http://www.w3.org/2000/svg', name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  };
  const bar = (left, width, y, height, colour) =>
    shape('rect', { x: left, y, width, height, fill: `var(--${colour})` });
  return shape('svg', { viewBox: '0 0 1000 34', preserveAspectRatio: 'none', 'aria-hidden': 'true' },
    bar(10, 980, 14, 6, 'line'),
    ...(deprecated ? [bar(x(deprecated), x(sunset || end) - x(deprecated), 14, 6, 'soft')] : []),
    ...brownouts.map(({ from, to }) => bar(x(from) - 2, Math.max(x(to) - x(from), 4), 8, 18, 'accent')),
    ...(sunset ? [bar(x(sunset) - 3, 6, 4, 26, 'bad')] : []),
    bar(x(now) - 1, 2, 0, 34, 'text'));
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

showSnippets();
showVersions();
$('move-form').addEventListener('submit', (event) => {
  event.preventDefault();
  compareVersions();
});
