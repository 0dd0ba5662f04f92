// The life of each version, from /versions, and a client's own calls to old ones, from /versions/mine.
const QUOTES = {
  v1: '/v1/quote',
};

async function showVersions() {
  const answer = await ask('/versions');
  const versions = field(answer.body, 'versions');
  if (!answer.ok || !Array.isArray(versions)) {
    $('lives').replaceChildren(el('p', {}, titleOf(answer)));
    return;
  }
  $('lives').replaceChildren(...versions.slice(0, 20).map(lifeOf), ownCalls());
}

// The key is in the field and in one request, and nowhere else: not stored, not in the address, gone with the page.
function ownCalls() {
  const output = el('div', { 'aria-live': 'polite' });
  const key = el(
    'input', { id: 'own-key', type: 'password', autocomplete: 'off', spellcheck: 'false', maxlength: 100 }
  );
  const form = el(
    'form', { id: 'own-form' }, el('label', { for: 'own-key' }, 'API key'), key,
    el('button', { type: 'submit', class: 'second' }, 'Show my calls')
  );
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    output.replaceChildren(...await tellMine(key.value.trim()));
  });
  return el('div', { class: 'life' }, el('h3', {}, 'Your own calls'),
    el(
      'p', {},
      'See what your client still calls, what v3 would answer, and which brownout includes you. The key is not stored.'
    ), form, output);
}

async function tellMine(key) {
  if (!/^[\x21-\x7e]+$/.test(key)) return [el('p', {}, 'Enter your API key.')];
  const answer = await ask('/versions/mine', { 'API-Key': key });
  const versions = field(answer.body, 'versions');
  if (!answer.ok || !Array.isArray(versions)) return [el('p', {}, titleOf(answer))];
  return [el('p', {}, `You are ${text(field(answer.body, 'client'), 80)}.`), ...versions.slice(0, 20).map(myVersion)];
}

function myVersion(version) {
  const rows = (name) => (Array.isArray(field(version, name)) ? version[name] : []);
  const days = rows('days').slice(-90);
  const of = (name) => days.reduce((sum, row) => sum + (Number(field(row, name)) || 0), 0);
  const window = field(version, 'window');
  const moved = timeOf(field(version, 'moved'));
  const refusal = field(version, 'exempt') === true ? 'You are exempt from brownouts, not from the sunset.'
    : window ? `The next brownout, ${day(timeOf(field(window, 'from')))}, ${field(window, 'refused') === true ? 'includes you.' : 'does not include you.'}` : 'No brownout is planned.';
  return el('div', {}, el('h4', {}, `${text(field(version, 'name'), 30)}: ${text(field(version, 'state'), 30)}`),
    list([days.length ? `${of('served')} calls served, ${of('refused')} refused and ${of('failed')} with errors within 90 days` : 'No call within 90 days',
      moved && `You have moved: the current version served you on ${day(moved)}, after your last call here`, refusal,
      ...rows('findings').slice(0, 20).map((finding) => text(field(finding, 'says'), 300))].filter(Boolean)),
    days.length ? el('details', {}, el('summary', {}, 'Day by day'), el('table', {},
      el(
        'thead', {},
        el('tr', {}, ['Day', 'Served', 'Refused', 'Errors'].map((head) => el('th', { scope: 'col' }, head)))
      ),
      el('tbody', {}, days.map((row) => el('tr', {}, el('th', { scope: 'row' }, text(field(row, 'day'), 20)),
        ['served', 'refused', 'failed'].map((name) => el('td', {}, text(String(field(row, name)), 20)))))))) : '');
}

function lifeOf(version) {
  const name = text(field(version, 'name'), 30);
  const brownouts = (Array.isArray(field(version, 'brownouts')) ? version.brownouts : []).slice(0, 50)
    .map(
      (window) => ({
        from: timeOf(field(window, 'from')), to: timeOf(field(window, 'to')), share: Number(field(window, 'share'))
      })
    );
  const [deprecated, sunset] = [timeOf(field(version, 'deprecated')), timeOf(field(version, 'sunset'))];
  const events = [
    ...(deprecated ? [[deprecated, 'deprecated']] : []),
    ...brownouts.map(({ from, to, share }) => [
      from, `brownout until ${day(to)}: ${Math.round(share * 1000) / 10} % of clients get 410`,
    ]),
    ...(sunset ? [[sunset, 'sunset: every client gets 410']] : []),
  ];
  const migration = text(field(version, 'migration'), 300);
  const successor = text(field(version, 'successor'), 100);
  const output = el('div', { 'aria-live': 'polite' });
  const rehearse = (stage) => el(
    'button', { type: 'button', class: 'second small', click: () => rehearsal(name, stage, output) },
    `Rehearse ${stage}`
  );
  return el('div', { class: 'life' },
    el('h3', {}, `${name} `, el('span', { class: 'tag' }, text(field(version, 'state'), 30))),
    ...(events.length ? [
      timeline(deprecated, sunset, brownouts),
      list([...events, [Date.now(), 'now']].sort(([a], [b]) => a - b).map(([time, what]) => `${day(time)}: ${what}`)),
    ] : [el('p', { class: 'hint' }, 'No sunset planned.')]),
    successor || migration ? el(
      'p', {}, successor && `Use ${successor} instead. `,
      /^https:\/\//.test(migration) && el('a', { href: migration, rel: 'noreferrer' }, 'Migration guide')
    ) : '',
    el('div', {}, rehearse('retired'), rehearse('brownout')), output);
}

// A bar from the deprecation to the sunset, with the brownouts and today. The list below it says the same in words.
function timeline(deprecated, sunset, brownouts) {
  const SVG = 'http://www.w3.org/2000/svg';
  const times = [deprecated, sunset, Date.now(), ...brownouts.map(({ to }) => to)].filter(Boolean);
  const [begin, end] = [Math.min(...times), Math.max(...times)];
  const x = (time) => 10 + (980 * (time - begin)) / (end - begin || 1);
  const svg = document.createElementNS(SVG, 'svg');
  const draw = (name, attributes) => {
    const shape = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) shape.setAttribute(key, value);
    svg.append(shape);
  };
  svg.setAttribute('viewBox', '0 0 1000 34');
  svg.setAttribute('preserveAspectRatio', 'none');
  svg.setAttribute('aria-hidden', 'true');
  draw('rect', { x: 10, y: 14, width: 980, height: 6, rx: 3, fill: 'var(--line)' });
  if (deprecated) draw(
    'rect', { x: x(deprecated), y: 14, width: x(sunset || end) - x(deprecated), height: 6, fill: 'var(--soft)' }
  );
  for (const { from, to } of brownouts) draw(
    'rect', { x: x(from) - 2, y: 8, width: Math.max(x(to) - x(from), 4), height: 18, fill: 'var(--accent)' }
  );
  if (sunset) draw('rect', { x: x(sunset) - 3, y: 4, width: 6, height: 26, fill: 'var(--bad)' });
  draw('rect', { x: x(Date.now()) - 1, y: 0, width: 2, height: 34, fill: 'var(--text)' });
  return svg;
}

async function rehearsal(name, stage, output) {
  const path = field(QUOTES, name) ?? `/${name}/swap/quote`;
  const answer = await ask(path, { 'API-Rehearse': stage });
  const told = [
    'deprecation', 'sunset', 'link', 'api-brownout', 'api-rehearse', 'retry-after',
  ].filter((header) => answer.headers.get(header)).map((header) => `${header}: ${answer.headers.get(header)}`);
  output.replaceChildren(answer.status === 0 ? titleOf(answer)
    : el(
      'pre', { tabindex: 0, 'aria-label': `Rehearsal of ${name}` },
      text(
        [
          `GET ${path}`, `API-Rehearse: ${stage}`, '', `HTTP ${answer.status}`, ...told, '',
          JSON.stringify(answer.body, null, 2),
        ].join('\n'),
        4000
      )
    ));
}

showSnippets();
showVersions();
$('move-form').addEventListener('submit', (event) => {
  event.preventDefault();
  compareVersions();
});
