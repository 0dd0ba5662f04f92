// The wallets of this browser, which announce themselves (EIP-6963), and what this page asks of them (EIP-1193).
const wallets = new Map(); // by rdns, or uuid where there is none; the one that announced itself last at the end
const MOST_WALLETS = 20;
const INJECTED = 'injected'; // window.ethereum, where nothing is announced
let chosen = '';
let redrawing; // whether the wallets were drawn a moment ago, and what has changed since
let account; // the address, once a wallet has told it, and its wallet
let balance; // of the account: an amount and a token

// A name without what cannot be seen, or turns text round.
const INVISIBLE = /[\p{C}\p{Default_Ignorable_Code_Point}\u2800]/gu;
const plain = (value, most) => text(value, 1000).replace(INVISIBLE, '').replace(/\s+/g, ' ').trim().slice(0, most);
// With its rdns where two have the same name, or where its letters may be others than they look.
function named({ name, rdns }) {
  const told = rdns.replace(/[^\x20-\x7e]/gu, (letter) => `\\u{${letter.codePointAt(0).toString(16)}}`);
  const clashes = [...wallets.values()].filter((other) => other.name === name).length > 1;
  return rdns && (clashes || told !== rdns) ? `${name} (${told})` : name;
}
const inUse = (wallet) => wallet !== undefined
  && (account?.wallet === wallet || phase === 'signing' && wallets.get(chosen) === wallet);

function watchWallets() {
  if (isReference) return;
  addEventListener('eip6963:announceProvider', ({ detail }) => {
    const { info, provider } = detail ?? {};
    const rdns = plain(field(info, 'rdns'), 80).toLowerCase();
    const id = rdns || read(info, 'uuid', 100);
    if (!id || typeof provider?.request !== 'function') return;
    const before = wallets.get(id);
    wallets.delete(id);
    if (before) return void wallets.set(id, before); // it answers again; another of that rdns does not replace it
    const icon = read(info, 'icon', 60_000);
    const isPicture = /^data:image\/(png|svg\+xml|webp|jpeg|gif)[;,]/.test(icon);
    const name = plain(field(info, 'name'), 60) || 'Unnamed wallet';
    addWallet(id, { name, rdns, provider, icon: isPicture ? icon : '' });
  });
  addEventListener('ethereum#initialized', offerInjected);
  seekWallets();
}
// Wallets that answer now come after, and so instead of, those that announced themselves before.
function seekWallets() {
  if (isReference) return;
  dispatchEvent(new Event('eip6963:requestProvider'));
  offerInjected();
}
function offerInjected() {
  const provider = window.ethereum;
  if (wallets.size || typeof provider?.request !== 'function') return;
  addWallet(INJECTED, { name: 'Browser wallet', rdns: '', provider, icon: '' });
}
function addWallet(id, wallet) {
  wallets.set(id, wallet);
  for (const [other, before] of wallets) {
    const goes = other === INJECTED ? id !== INJECTED : wallets.size > MOST_WALLETS;
    if (goes && !inUse(before)) wallets.delete(other);
  }
  if (!wallets.has(chosen)) chosen = id;
  showWallets();
}
// Draws at once, and then at most every now and then: thousands may announce themselves.
function showWallets() {
  if (redrawing) {
    redrawing.again = true;
    return;
  }
  redrawing = { again: false };
  showAccount();
  if (phase === 'quote') keepFocus(showSend);
  setTimeout(() => {
    const { again } = redrawing;
    redrawing = undefined;
    if (again) showWallets();
  }, 100);
}
function keepFocus(draw) {
  const { id } = document.activeElement;
  draw();
  if (id && document.activeElement === document.body) $(id)?.focus();
}
const iconOf = ({ icon }) => (icon ? el('img', { src: icon, alt: '', width: 20, height: 20 }) : '');

// On a phone, a wallet is an app with a browser of its own, which a link opens.
const isPhone = () => matchMedia('(pointer: coarse), (max-width: 48rem)').matches;
const APPS = {
  MetaMask: () => `https://link.metamask.io/dapp/${location.host}${location.pathname}${location.search}`,
  'Coinbase Wallet': () => `https://go.cb-w.com/dapp?cb_url=${encodeURIComponent(location.href)}`,
  'Trust Wallet': () => `https://link.trustwallet.com/open_url?coin_id=60&url=${encodeURIComponent(location.href)}`,
};
const appLinks = () => Object.entries(APPS).map(([name, href]) =>
  el('a', { href: href(), rel: 'noreferrer' }, `Open in ${name}`));
function withoutWallet() {
  if (!isPhone()) return el('p', { class: 'risk' },
    'No wallet detected. Install or unlock one in this browser. ', small('Look again', seekWallets));
  return el('div', { class: 'risk' }, el('b', {}, 'No wallet in this browser.'),
    ' Open this page in your wallet app, or copy its link there.', list(appLinks()),
    copyButton('the link to this page', () => location.href));
}

// A button that opens a list below it. One that is open stays open when it is drawn again.
function menu(title, inside) {
  const { open } = $('wallet-row').querySelector('details') ?? {};
  const words = el('span', { class: 'cut' }, title);
  return el('details', { class: 'menu', open }, el('summary', {}, words), el('div', {}, inside));
}
// One menu of the header is open at a time. It closes with a click elsewhere, and with Escape.
function watchMenus() {
  const opened = () => [...document.querySelectorAll('header details[open]')];
  addEventListener('click', ({ target }) => {
    for (const one of opened()) one.open = one.contains(target);
  });
  addEventListener('keydown', ({ key }) => {
    const one = opened().at(-1);
    if (key !== 'Escape' || !one) return;
    one.open = false;
    one.querySelector('summary').focus();
  });
  $('follow-form').addEventListener('submit', () => {
    if (!$('tx').hasAttribute('aria-invalid')) $('track').open = false;
  });
  const track = () => {
    if (location.hash !== '#track') return;
    $('track').open = true;
    $('tx').focus();
  };
  addEventListener('hashchange', track);
  addEventListener('load', () => setTimeout(track)); // once the browser has gone there, which takes the focus
}

// The wallet first, if the visitor wants that.
const showAccount = () => put($('wallet-row'), accountRow());
function accountRow() {
  if (isReference) return el('span', { class: 'hint' }, 'View only');
  if (account) {
    const { address, wallet, chain } = account;
    const network = chain ? chainName(chain) : '';
    const [start, end] = brieflyOf(address).split(/(?=…)/);
    const few = el('span', { class: 'mono' }, el('span', { class: 'far' }, start), end);
    const title = [iconOf(wallet), el('span', { class: 'network' }, `${network} `), few];
    return menu(title, [
      el('p', {}, el('b', {}, named(wallet)), el('br'), network),
      el('p', {}, short(address, 'your address')),
      small('Disconnect', () => setAccount(undefined)),
    ]);
  }
  if (!wallets.size && isPhone()) return menu('Open in wallet', appLinks());
  if (!wallets.size) return el('span', { class: 'hint' }, 'No wallet detected');
  const entries = [...wallets].reverse();
  const [[first, only]] = entries;
  if (entries.length === 1) return connectButton(first, only, ['Connect', more(` ${named(only)}`)]);
  return menu(['Connect', more(' wallet')], entries.map(([id, wallet]) => connectButton(id, wallet, named(wallet))));
}
const more = (words) => el('span', { class: 'more' }, words); // where there is room for it
const brieflyOf = (address) => `${address.slice(0, 6)}…${address.slice(-4)}`;
function connectButton(id, wallet, words) {
  return button([iconOf(wallet), el('span', { class: 'cut' }, words)], async () => {
    chosen = id;
    try {
      calm();
      const { connect } = await loadSender((waiting) => { say(waiting); return true; });
      note(`Confirm in ${named(wallet)}.`, 'If it does not open, open and unlock it yourself.');
      const address = await connect(wallet.provider);
      calm();
      setAccount({ address, wallet });
    } catch (error) {
      showAccount();
      complain(...explain(error), nearby());
    }
  });
}
// What the visitor should know, and nothing is wrong with.
const nearby = () => $(phase === 'form' ? 'ask-alert' : 'send-alert');
function note(title, sentence) {
  complain(title, sentence ? [sentence] : [], nearby());
  $('alert').className = 'risk';
}

// A wallet that changes account or network by itself. Each is listened to once, whatever is connected how often.
const watched = new WeakSet();
function watchProvider({ provider }) {
  if (watched.has(provider) || typeof provider.on !== 'function') return;
  watched.add(provider);
  const concerns = () => account?.wallet.provider === provider && phase !== 'signing';
  const next = () => (['quote', 'asking'].includes(phase) ? 'Get a new quote.' : '');
  provider.on('accountsChanged', (accounts) => {
    const [other] = Array.isArray(accounts) ? accounts : [];
    if (!concerns() || isAddress(other) && other.toLowerCase() === account.address.toLowerCase()) return;
    const advice = next();
    setAccount(isAddress(other) ? { address: other, wallet: account.wallet } : undefined);
    note(account ? `Your wallet switched to account ${brieflyOf(other)}.` : 'Your wallet disconnected.', advice);
  });
  provider.on('chainChanged', (id) => {
    const chain = Number(id);
    if (account?.wallet.provider !== provider || chain === account.chain) return;
    account.chain = chain;
    showAccount();
    if (!concerns()) return;
    const advice = next();
    dropAnswer();
    note(`Your wallet switched to ${chainName(chain)}.`, advice);
  });
}
function setAccount(next) {
  meetAccount(next);
  dropAnswer();
  prefill();
  showRecipientHint();
  readBalance();
}
// An account that is connected by signing is shown as well, and the quote stays.
function meetAccount(next) {
  account = next;
  balance = undefined;
  showAccount();
  if (!next) return;
  watchProvider(next.wallet);
  readAccount(next);
}
// The network of the account, and whether it is a contract, which may not exist on another chain. One that has only
// delegated to a contract (EIP-7702) is an account everywhere.
async function readAccount(mine) {
  const ask = async (method, params = []) => {
    try {
      return await mine.wallet.provider.request({ method, params });
    } catch {
      return undefined;
    }
  };
  const [chain, code] = await Promise.all([ask('eth_chainId'), ask('eth_getCode', [mine.address, 'latest'])]);
  if (account !== mine) return;
  mine.chain ??= Number(chain) || undefined;
  mine.isPlain = typeof code === 'string' && code.startsWith('0x') ? /^0x(ef0100|$)/i.test(code) : undefined;
  showAccount();
  prefill();
  showRecipientHint();
  if (phase === 'quote') keepFocus(showSend); // its button names the chain to switch to
}

// What the account has comes with a quote for it: the least that can be swapped, on a pair whose recipient it can be.
async function readBalance() {
  const from = source();
  showBalance();
  const pair = account && pairsFrom(from).find(({ to }) => !isPrivate(to.chain));
  if (!pair || balance?.key === from.key && balance.address === account.address) return;
  const { address } = account;
  const own = address.toLowerCase();
  try {
    const { quote } = await (await loadClient()).quote({
      srcToken: from.symbol, srcChain: from.chain, dstToken: pair.to.symbol, dstChain: pair.to.chain, amount: from.min,
      recipient: own, from: own, simulate: simulates && isCoin(from), // to know what the gas takes of it
    });
    noteBalance(from.key, address, quote);
  } catch { /* it stays unknown */ }
}
function noteBalance(key, address, quote) {
  const [amount] = amountsAt(field(quote, 'details'), 'checks.balance');
  if (account?.address !== address || amount === undefined) return;
  balance = { key, address, amount, gas: isCoin(byKey.get(key)) ? gasOf(quote) : 0n };
  showBalance();
}
const isCoin = ({ chain, symbol }) => !isPrivate(chain) && symbol === coinOf(chain);
// What the gas of a swap of coins takes at most: half more than the dry run says, since the price moves until it is
// signed. Undefined if there was none.
function gasOf({ srcAmount, details }) {
  const [, needed] = amountsAt(details, 'simulation.native');
  const ran = ({ status, gasLimit }) => status !== 'FAILED' && gasLimit > 0;
  if (needed === undefined || !details.simulation.calls.every(ran)) return undefined;
  const gas = needed - BigInt(srcAmount);
  return gas > 0n ? gas * 3n / 2n : undefined;
}
function showBalance() {
  const from = source();
  if (!account || balance?.key !== from.key) return $('balance').replaceChildren();
  const { amount, gas } = balance;
  const [min, max] = [BigInt(from.min), BigInt(from.max)];
  const left = amount - (gas ?? 0n);
  const most = left < max ? left : max;
  const useMost = () => {
    $('amount').value = showAmount(most, from.decimals);
    changed('amount');
    $('amount').focus();
  };
  const has = ['Balance ', el('span', {}, money(amount, from))];
  let lack = gas === undefined && '(gas comes off it)';
  if (most < min) lack = amount < min ? '(below the minimum)' : '(too little for gas and the minimum)';
  if (lack) return $('balance').replaceChildren(...has, ` ${lack}`);
  const offer = small('Max', useMost, { 'aria-label': `Max: the most you can send${gas ? ', less gas' : ''}` });
  return $('balance').replaceChildren(el('span', { class: 'fit' }, el('span', { class: 'cut' }, has), offer));
}

// Says what it means that a wallet did not send, and what to do: a title, and sentences.
function explain({ code, message, chainId, step, actual, needed, problems }, { request, quote } = {}) {
  const said = text(message, 900);
  const end = said.indexOf('. ') + 1 || said.length;
  const title = said.slice(0, end);
  const network = chainName(Number(chainId ?? step?.chainId));
  const isSwitch = code === 'REFUSED' && step?.step === 'switch';
  switch (isSwitch ? 'NOT_SWITCHED' : code) {
    case 'UNKNOWN_CHAIN': return [`Your wallet does not know ${network}.`, [
      'Add it in the wallet, or below with the address of a node that you trust. Then try again. Nothing was sent.',
    ]];
    case 'NOT_SWITCHED': return [`You rejected the switch to ${network}.`, [
      `The swap is sent on ${network}: switch your wallet to it, then try again. Nothing was sent.`,
    ]];
    case 'OTHER_CHAIN':
    case 'CHAIN_CHANGED': return [`Your wallet is not on ${network}.`, [
      `Switch it to ${network}, then try again. The swap was not sent.`,
    ]];
    case 'NO_ACCOUNT': return [title, [
      'It may be locked: unlock it, choose an account, then try again. Nothing was sent.',
    ]];
    case 'TOO_LITTLE': {
      const [has, needs] = [actual, needed].map((units) => inWords(units, quote.srcToken));
      const where = chainName(networkOf(request.srcChain));
      const lack = `${text(step?.from, 42)} has ${has} on ${where}, and ${needs} are needed.`;
      return [title, [`${lack} The swap was not sent.`]];
    }
    case 'UNVERIFIED': return [title, [
      ...problems.slice(0, 9).map((problem) => text(problem, 600)), 'The swap was not sent.',
    ]];
    default: return [title, [said.slice(end).trim() || 'Nothing was sent.']];
  }
}
