// What both pages use. Everything that comes from the gateway, a wallet, a file or the address bar may be
// anything: it is shown as text, cut to a length, and never as markup.
const $ = (id) => document.getElementById(id);
const listing = JSON.parse($('listing').textContent);
const TITLE = document.title;
const text = (value, most = 400) => (
  typeof value === 'string' ? value : typeof value === 'number' ? String(value) : ''
).slice(0, most);
const field = (value, path) => path.split('.').reduce((inner, key) =>
  (typeof inner === 'object' && inner !== null && Object.hasOwn(inner, key) ? inner[key] : undefined), value);
const read = (value, path, most) => text(field(value, path), most);
const networkOf = (id) => Number(field(listing.networks, String(id)) ?? id);
const isPrivate = (id) => Object.hasOwn(listing.networks, String(id));
function chainName(id) {
  if (isPrivate(id)) return `RAILGUN (${listing.chains[networkOf(id)]})`;
  return field(listing.chains, String(id)) ?? `chain ${text(id, 30)}`;
}
const timeOf = (value) => Date.parse(text(value, 40)) || 0;
const day = (time) => new Date(time).toISOString().slice(0, 16).replace('T', ' ') + ' UTC';
const isHash = (value) => /^0x[0-9a-f]{64}$/i.test(text(value));
const isAddress = (value) => /^0x[0-9a-f]{40}$/i.test(text(value));

function el(name, attributes, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes ?? {})) {
    if (key === 'click') element.addEventListener('click', value);
    else if (value !== false && value !== undefined) element.setAttribute(key, value === true ? '' : value);
  }
  element.append(...children.flat(9).filter((child) => child !== undefined && child !== false && child !== ''));
  return element;
}
const button = (words, click, more = {}) => el('button', { type: 'button', class: 'second', click, ...more }, words);
const small = (words, click, more = {}) => button(words, click, { class: 'second small', ...more });
const hint = (...words) => el('p', { class: 'hint' }, words);
const mono = (value, most) => el('span', { class: 'mono' }, text(value, most));
const list = (items) => el('ul', {}, items.map((item) => el('li', {}, item)));
const facts = (rows, kind = '') => el('dl', { class: kind },
  rows.filter(Boolean).map(([name, value]) => [el('dt', {}, name), el('dd', {}, value)]));
const pre = (label, words) => el('pre', { tabindex: 0, 'aria-label': label }, words);
const fold = (title, ...inside) => el('details', {}, el('summary', {}, title), ...inside);

// There is one alert. It moves to the part of the page that it is about.
function complain(title, sentences = [], place = $('result')) {
  const alert = $('alert');
  place.prepend(alert);
  alert.className = 'alarm';
  alert.replaceChildren(el('p', {}, el('strong', {}, title)),
    ...(sentences.length > 1 ? [list(sentences)] : sentences.map((sentence) => el('p', {}, sentence))));
}
function calm() {
  $('result').prepend($('alert'));
  $('alert').className = '';
  $('alert').replaceChildren();
  for (const input of document.querySelectorAll('[aria-invalid]')) markField(input, '');
}
function markField(input, sentence) {
  if (sentence) input.setAttribute('aria-invalid', 'true');
  else input.removeAttribute('aria-invalid');
  $(input.getAttribute('aria-errormessage')).textContent = sentence;
}
// Errors stand at their fields, all at once. The alert has them for those who do not see where they stand.
function refuseFields(errors) {
  calm();
  for (const [id, sentence] of errors) {
    markField($(id), sentence);
    const folded = $(id).closest('details');
    if (folded) folded.open = true;
  }
  $('alert').className = 'unseen';
  $('alert').textContent = errors.map(([, sentence]) => sentence).join(' ');
  $(errors[0][0]).focus();
}
const say = (words) => { $('said').textContent = words; };

// Replaces what is in a place. Whoever has the focus in it keeps it: on what is there again, or on what is next to it.
function put(place, ...children) {
  const had = document.activeElement;
  const name = (element) => element.id || element.getAttribute('aria-label') || element.textContent;
  const inside = place !== had && place.contains(had) && name(had);
  place.replaceChildren(...children.filter((child) => child !== ''));
  if (!inside) return;
  const controls = [...place.querySelectorAll('a, button, input, select, summary')];
  const visible = controls.filter((control) => control.checkVisibility());
  const next = visible.find((element) => name(element) === inside) ?? visible.at(-1) ?? $('answer');
  next.focus({ preventScroll: true });
}

// Waits until the browser is online again, or for some seconds.
const OFFLINE = 'You are offline. What you have typed stays, and this page continues when you are online again.';
const SILENT = 'The gateway does not answer. This page retries automatically.';
const online = (seconds) => new Promise((done) => {
  addEventListener('online', done, { once: true });
  if (seconds) setTimeout(done, seconds * 1000);
});
// Loads a module of this gateway. Where someone is told, it waits for a connection, and goes on.
async function loadPart(path, tell) {
  for (let failures = 0; ; failures++) {
    try {
      return await import(failures ? `${path}${path.includes('?') ? '&' : '?'}again=${failures}` : path);
    } catch (error) {
      const words = navigator.onLine ? SILENT : OFFLINE;
      if (!tell?.(words)) throw new Error('A part of this page could not be loaded.', { cause: error });
      await online(Math.min(2 ** failures, 5));
    }
  }
}

// Says what an error of the client means: a title, and sentences.
function problemOf(error) {
  const sentences = error.retryAfter ? [`Try again in ${error.retryAfter} s.`] : [];
  const said = text(error.message, 600);
  if (error.status === 429) {
    const what = /^Rate limit exceeded: \d+ ([a-z]+) /.exec(said)?.[1] ?? 'requests';
    return [`Too many ${what} from your internet connection.`, sentences];
  }
  if (error.code === 'UNREACHABLE') sentences.push('Check your connection, or try again later. Nothing was sent.');
  else if (error.code && (error.code !== 'UNREADABLE' || error.requestId)) sentences.push(
    `Code ${text(error.code, 60)}, request ID ${text(error.requestId, 100) || 'unknown'}.`
  );
  return [`${said.replace(/\.$/, '')}.`, sentences];
}

const plural = (count, noun) => `${count} ${noun}${count === 1 ? '' : 's'}`;

function copyButton(what, value) {
  const copy = small('Copy', async () => {
    try {
      await navigator.clipboard.writeText(value());
      copy.textContent = 'Copied';
      say(`Copied ${what}`);
    } catch {
      copy.textContent = 'Select and copy';
      say('This browser cannot copy: select the text and copy it');
    }
    setTimeout(() => { copy.textContent = 'Copy'; }, 2000);
  }, { 'aria-label': `Copy ${what}` });
  return copy;
}
const snippet = (title, what, shown, value = shown.textContent) => el('div', { class: 'snippet' },
  el('div', {}, el('b', {}, title), copyButton(what, () => value)), shown);
// An address or a hash: short, with all of it in reach.
function short(value, what, chain, kind = 'address') {
  const whole = text(value, 200);
  const base = listing.explorers?.[chain];
  const few = `${whole.slice(0, whole.startsWith('0zk') ? 10 : 6)}…${whole.slice(-4)}`;
  const words = el('span', { class: 'mono', title: whole }, whole.length > 24 ? few : whole);
  const isKnown = base && (isHash(whole) || isAddress(whole));
  const linked = isKnown ? el('a', { href: `${base}/${kind}/${whole}`, rel: 'noreferrer' }, words) : words;
  return el('span', { class: 'short' }, linked,
    el('span', { class: 'paper mono' }, whole), ' ', copyButton(what, () => whole));
}
