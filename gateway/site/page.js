// What all parts of the page use. Everything that comes from the gateway, a wallet, a file or the address bar may be
// anything: it is shown as text, cut to a length, and never as markup.
const $ = (id) => document.getElementById(id);
const listing = JSON.parse($('listing').textContent);
const text = (value, most = 400) => (typeof value === 'string' ? value : typeof value === 'number' ? String(value) : '').slice(0, most);
const field = (value, path) => path.split('.').reduce((inner, key) =>
  (typeof inner === 'object' && inner !== null && Object.hasOwn(inner, key) ? inner[key] : undefined), value);
const chainName = (id) => listing.chains[id] ?? `chain ${id}`;
const networkOf = (id) => Number(listing.networks[id] ?? id);
const pause = (seconds) => new Promise((done) => setTimeout(done, seconds * 1000));

function el(name, attributes, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes ?? {})) {
    if (key === 'click') element.addEventListener('click', value);
    else if (value !== false) element.setAttribute(key, value === true ? '' : value);
  }
  element.append(...children.flat(9).filter((child) => child !== undefined && child !== false));
  return element;
}
const mono = (value, most) => el('span', { class: 'mono' }, text(value, most));
const list = (items) => el('ul', {}, items.map((item) => el('li', {}, item)));
const facts = (rows, kind = '') => el('dl', { class: kind }, rows.filter(Boolean).map(([name, value]) => [el('dt', {}, name), el('dd', {}, value)]));

// There is one alert. It moves to the part of the page that it is about.
function complain(title, sentences = [], place = $('result'), focus = $('alert')) {
  const alert = $('alert');
  if (alert.parentNode !== place) place.prepend(alert);
  alert.replaceChildren(el('p', {}, el('strong', {}, title)),
    ...(sentences.length > 1 ? [list(sentences)] : sentences.map((sentence) => el('p', {}, sentence))));
  focus.focus();
}
function calm() {
  $('alert').replaceChildren();
  for (const input of document.querySelectorAll('[aria-invalid]')) input.removeAttribute('aria-invalid');
}

// Asks this gateway and nobody else. It never throws.
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

// Says what is wrong with an answer that is not ok: a title, and sentences.
function problemOf({ status, body, headers }) {
  if (status === 0) return ['The gateway does not answer.', ['Check your connection, or try again in a while. Nothing was sent.']];
  const wait = text(headers.get('retry-after'), 10);
  const sentences = [];
  if (wait) sentences.push(`Try again in ${wait} seconds.`);
  const code = text(field(body, 'code'), 60);
  const id = text(field(body, 'requestId'), 100) || text(headers.get('x-request-id'), 100);
  if (code || id) sentences.push(`Code ${code || 'unknown'}, request ID ${id || 'unknown'}.`);
  return [text(field(body, 'error'), 600) || `The gateway answered with status ${status} and nothing that this page can read.`, sentences];
}

function copyButton(what, value) {
  const button = el('button', { type: 'button', class: 'second small', 'aria-label': `Copy ${what}`, click: async () => {
    try {
      await navigator.clipboard.writeText(value());
      button.textContent = 'Copied';
    } catch {
      button.textContent = 'Select and copy it yourself';
    }
    setTimeout(() => { button.textContent = 'Copy'; }, 2000);
  } }, 'Copy');
  return button;
}
