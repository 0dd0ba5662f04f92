// The life of each version, from /versions.
const QUOTES = { v1: '/v1/quote', v3legacy: '/v3legacy/swap/quote' };
const day = (time) => new Date(time).toISOString().slice(0, 16).replace('T', ' ') + ' UTC';
const timeOf = (value) => Date.parse(text(value, 40)) || 0;

async function showVersions() {
  const answer = await ask('/versions');
  const versions = field(answer.body, 'versions');
  if (!answer.ok || !Array.isArray(versions)) {
    $('lives').replaceChildren(el('p', {}, titleOf(answer)));
    return;
  }
  $('lives').replaceChildren(...versions.slice(0, 20).map(lifeOf));
}

function lifeOf(version) {
  const name = text(field(version, 'name'), 30);
  const brownouts = (Array.isArray(field(version, 'brownouts')) ? version.brownouts : []).slice(0, 50)
    .map((window) => ({ from: timeOf(field(window, 'from')), to: timeOf(field(window, 'to')), share: Number(field(window, 'share')) }));
  const [deprecated, sunset] = [timeOf(field(version, 'deprecated')), timeOf(field(version, 'sunset'))];
  const events = [
    ...(deprecated ? [[deprecated, 'deprecated']] : []),
    ...brownouts.map(({ from, to, share }) => [from, `brownout until ${day(to)}: ${Math.round(share * 1000) / 10} % of clients get 410`]),
    ...(sunset ? [[sunset, 'sunset: every client gets 410']] : []),
  ];
  const migration = text(field(version, 'migration'), 300);
  const successor = text(field(version, 'successor'), 100);
  const output = el('div', { 'aria-live': 'polite' });
  const rehearse = (stage) => el('button', { type: 'button', class: 'second small', click: () => rehearsal(name, stage, output) }, `Rehearse ${stage}`);
  return el('div', { class: 'life' }, el('h3', {}, `${name} `, el('span', { class: 'tag' }, text(field(version, 'state'), 30))),
    ...(events.length ? [timeline(deprecated, sunset, brownouts), list([...events, [Date.now(), 'now']].sort(([a], [b]) => a - b).map(([time, what]) => `${day(time)}: ${what}`))] : [el('p', { class: 'hint' }, 'No end is planned.')]),
    successor || migration ? el('p', {}, successor && `Use ${successor} instead. `, /^https:\/\//.test(migration) && el('a', { href: migration, rel: 'noreferrer' }, 'How to move')) : '',
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
  if (deprecated) draw('rect', { x: x(deprecated), y: 14, width: x(sunset || end) - x(deprecated), height: 6, fill: 'var(--soft)' });
  for (const { from, to } of brownouts) draw('rect', { x: x(from) - 2, y: 8, width: Math.max(x(to) - x(from), 4), height: 18, fill: 'var(--accent)' });
  if (sunset) draw('rect', { x: x(sunset) - 3, y: 4, width: 6, height: 26, fill: 'var(--bad)' });
  draw('rect', { x: x(Date.now()) - 1, y: 0, width: 2, height: 34, fill: 'var(--text)' });
  return svg;
}

async function rehearsal(name, stage, output) {
  const path = field(QUOTES, name) ?? `/${name}/swap/quote`;
  const answer = await ask(path, { 'API-Rehearse': stage });
  const told = ['deprecation', 'sunset', 'link', 'api-brownout', 'api-rehearse', 'retry-after'].filter((header) => answer.headers.get(header)).map((header) => `${header}: ${answer.headers.get(header)}`);
  output.replaceChildren(answer.status === 0 ? titleOf(answer)
    : el('pre', { tabindex: 0, 'aria-label': `Rehearsal of ${name}` }, text([`GET ${path}`, `API-Rehearse: ${stage}`, '', `HTTP ${answer.status}`, ...told, '', JSON.stringify(answer.body, null, 2)].join('\n'), 4000)));
}
