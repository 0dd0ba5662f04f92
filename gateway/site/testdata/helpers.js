// The hands and eyes of a visitor, and a wallet that does as it is told, for the rows of the tests.
const alice = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed';
const partner = '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359';
const sender = '0x9d7877ec33Cf3397d79A3E06D4a5cb373b7961F1';
const rich = '0x00000000000000000000000000000000000a11ce'; // the gateway of the tests knows its balance
const hidden = '0zk1qyxurtdvcjqmruwenw2m3gsa8zpmagjk7l2rr54f72rzxzzq4hqn9rv7j6fe3z53la0e0u4w4enlgfrctv75s860w8vyalll3' +
  '6xdq7w39djr40dhrdafqpdmhpa';
const router = '0x2ad529b5b3443dd5a054790e84a9ab76a2cd229d';
const usdc = { from: 'USDC@1', to: 'USDC@369', amount: '100', recipient: alice, integrator: '' };
const usdt = { ...usdc, from: 'USDT@1' };
const eth = { ...usdc, from: 'ETH@1', to: 'WETH@369', amount: '0.5' };
const link = `?from=USDC@1&to=USDC@369&amount=100&recipient=${alice}`;
const byQuery = `?srcToken=USDC&dstToken=USDC&amount=100000000&srcChain=1&dstChain=369&recipient=${alice}`;

const scripts = {}; // of the rows, by name: each file of this folder adds its own
const $ = (id) => document.getElementById(id);
const realTimeout = window.realTimeout ??= setTimeout;
const pause = (ms) => new Promise((done) => realTimeout(done, ms));
// The page's waits are short here. The time that an answer may take stays long.
const hasten = () => {
  const answers = { 5_000: 3_000, 15_000: 15_000 };
  window.setTimeout = (done, wait) => realTimeout(done, answers[wait] ?? Math.min(wait, 30));
};
// The clock of the page stands still until a row moves it: on a slow machine, no quote expires and no swap is late.
const opened = window.opened ??= Date.now();
const later = (seconds) => { Date.now = () => opened + seconds * 1000; };
if (Date.now.name === 'now') later(0); // it is the browser's own
// No wait ends before a minute, so that a slow machine does no harm.
const until = async (what) => {
  for (let i = 0; i < 6000; i++) {
    const value = await what();
    if (value) return value;
    await pause(10);
  }
  throw new Error(`it never came: ${what}\n${see()}`);
};

const alertText = () => $('alert').innerText;
const statusText = () => $('answer')?.innerText ?? '';
const status = (words) => until(() => statusText().includes(words));
const cardText = () => $('card').innerText;
const quoted = () => status('You receive');
const isSwap = () => location.hash.startsWith('#swap=0x');
const buttons = () => [...document.querySelectorAll('button')];
const named = (words) => buttons().find((button) => button.textContent.startsWith(words));
const press = async (words) => (await until(() => named(words))).click();
const sendButton = () => named('Swap ');
const openAll = () => { for (const details of document.querySelectorAll('details')) details.open = true; };

const type = (id, value) => { // as keys do, into an empty field
  $(id).value = '';
  $(id).dispatchEvent(new InputEvent('input', { bubbles: true, inputType: 'deleteContentBackward' }));
  $(id).value = value;
  $(id).dispatchEvent(new InputEvent('input', { bubbles: true, inputType: 'insertText', data: value.slice(-1) }));
  $(id).dispatchEvent(new Event('change', { bubbles: true }));
};
const pick = (side, key) => {
  const [token, chain] = key.split('@');
  type(`${side}-chain`, chain);
  type(`${side}-token`, token);
};
const fill = (form) => {
  for (const [id, value] of Object.entries(form)) id === 'from' || id === 'to' ? pick(id, value) : type(id, value);
};
const paste = (id, text) => {
  const clipboardData = new DataTransfer();
  clipboardData.setData('text', text);
  $(id).dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }));
};
const visit = (address) => {
  history.replaceState(null, '', address);
  dispatchEvent(new PopStateEvent('popstate'));
};
const quote = async (form = {}) => {
  fill(form);
  $('ask').click();
  await until(() => alertText() || statusText() && !/^Getting|Retrying in/.test(statusText()));
};
const track = (chain = '1') => {
  $('track').open = true;
  $('tx').value = '0x' + 'a'.repeat(64);
  type('tx-chain', chain);
  named('Track').click();
};
const connect = async () => {
  await press('Connect');
  await until(() => named('Disconnect'));
};
const send = async () => {
  sendButton().focus();
  sendButton().click();
  await until(() => alertText() || /cannot follow|We do not know/.test(statusText()));
};
const pinned = async (text) => {
  $('more').open = true;
  type('pin', '');
  await until(() => $('pin-hint').textContent.startsWith('Nothing is pinned'));
  type('pin', text);
  await until(() => /^Pinned|No quote passes/.test($('pin-hint').textContent + $('pin-error').textContent));
};

// A wallet that announces itself, and notes what it was asked.
const announce = (info, provider) => dispatchEvent(new CustomEvent('eip6963:announceProvider', {
  detail: Object.freeze({ info: { uuid: crypto.randomUUID(), icon: 'data:,', ...info }, provider }),
}));
const calls = window.calls ??= [];
const methods = () => calls.map(({ method }) => method);
const transactions = () => calls.filter(
  ({ method }) => method === 'eth_sendTransaction').map(({ params }) => params[0]);
const payments = () => methods().filter((name) => name === 'eth_sendTransaction' || name === 'wallet_sendCalls').length;
const listeners = window.listeners ??= {};
const tell = (name, value) => { for (const listen of listeners[name]) listen(value); };
const refuse = (code, message = 'no') => { throw Object.assign(new Error(message), { code }); };
let sentHashes = 0;
const hash = () => '0x' + String(++sentHashes).padStart(64, 'a');
const forever = () => new Promise(() => {});
const wallet = ({ chain = '0x1', account = sender, code = '0x6080', balance, allowance, does = {}, ...info } = {}) => {
  const much = '0xffffffffffffffffffffff';
  const answers = {
    eth_requestAccounts: () => [account],
    eth_accounts: () => [account],
    eth_chainId: () => chain,
    wallet_switchEthereumChain: ([{ chainId }]) => { chain = chainId; return null; },
    wallet_addEthereumChain: () => null,
    eth_getCode: () => code,
    eth_getBalance: () => balance ?? much,
    eth_call: ([{ data }]) => (data.startsWith('0x70a08231') ? balance ?? much : allowance ?? '0x0'),
    eth_sendTransaction: hash,
    eth_getTransactionReceipt: () => ({ status: '0x1' }),
    ...does,
  };
  const request = async ({ method, params }) => {
    calls.push({ method, params });
    return (answers[method] ?? (() => refuse(-32601)))(params ?? []);
  };
  const on = (name, listen) => { (listeners[name] ??= []).push(listen); };
  announce({ name: 'Test wallet', rdns: 'test.example', ...info }, { request, on });
};
const batches = (does) => ({ wallet_getCapabilities: () => ({}), wallet_sendCalls: () => ({ id: 'b' }), ...does });
const once = (first, then) => { let n = 0; return (params) => (n++ ? then(params) : first(params)); };

// What the gateway answers, altered on the way.
const original = window.original ??= window.fetch;
const restore = () => { window.fetch = original; };
const alterText = (target, alter) => {
  window.fetch = async (path, options) => {
    const res = await original(path, options);
    if (!String(path).includes(target)) return res;
    return new Response(alter(await res.text()), { status: res.status, headers: res.headers });
  };
};
const alter = (target, path, value) => alterText(target, (text) => {
  const body = JSON.parse(text);
  const keys = path.split('.');
  const last = keys.pop();
  keys.reduce((node, key) => node[key], body)[last] = value;
  return JSON.stringify(body);
});

// All that a visitor sees, a line for each part of the page, and what a row has noted beside it.
const notes = {};
const note = (name, value) => { notes[name] = String(value); };
const formNow = () => ({
  from: `${$('from-token').value}@${$('from-chain').value}`, to: `${$('to-token').value}@${$('to-chain').value}`,
  amount: $('amount').value, recipient: $('recipient').value, integrator: $('integrator').value,
});
const leaving = () => {
  const event = new Event('beforeunload', { cancelable: true });
  dispatchEvent(event);
  return event.defaultPrevented;
};
const shown = (id) => $(id)?.innerText ?? '';
const sendWords = () => {
  const go = $('send-button');
  if (!go) return 'none';
  const isOff = go.disabled || go.getAttribute('aria-disabled') === 'true';
  return `${isOff ? 'off' : 'on'}, ${go.textContent}: ${$('signatures').textContent}`;
};
const see = () => {
  const { id, textContent } = document.activeElement;
  const focus = document.activeElement === document.body ? '' : id || textContent;
  openAll();
  const stored = localStorage.length + sessionStorage.length + document.cookie.length;
  const seen = {
    alert: alertText(), focus, address: location.pathname + location.search + location.hash, title: document.title,
    said: $('said').textContent, stored: String(stored), transactions: String(transactions().length),
    ...($('form') ? {
      status: statusText(), card: cardText(), wallet: shown('wallet-row'), form: JSON.stringify(formNow()),
      hint: $('recipient-hint').textContent, limits: $('amount-hint').textContent, to: $('to-hint').textContent,
      terms: shown('terms'),
      estimate: shown('estimate'), balance: shown('balance'), send: sendWords(),
      ticks: [...document.querySelectorAll('#send input[type=checkbox]')].map(({ id }) => id).join(' '),
      steps: [...document.querySelectorAll('#steps li')].map((item) => item.textContent).join(' '),
      checks: `${document.querySelectorAll('.checks .yes').length} passed`, leaving: leaving() ? 'asks' : 'free',
    } : { main: document.querySelector('main').innerText }),
    ...notes,
  };
  return Object.entries(seen).map(
    ([name, words]) => `${name}: ${words.trim().replaceAll(/\s*\n\s*/g, '|') || 'none'}`
  ).join('\n') + '\n';
};

scripts['no lock is held'] = () => until(async () => (await navigator.locks.query()).held.length === 0);
