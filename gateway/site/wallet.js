// The wallets of this browser, which announce themselves (EIP-6963), and what this page asks of them (EIP-1193, EIP-5792).
const wallets = new Map(); // by rdns, or uuid where there is none; the one that announced itself last at the end
const MOST_WALLETS = 20;
const INJECTED = 'injected'; // window.ethereum, where nothing is announced
let chosen = '';
let redrawing; // whether the wallets were drawn a moment ago, and what has changed since
// The address, once a wallet has told it, and its wallet.
let account;
// Of the account: an amount and a token.
let balance;

// A name without what cannot be seen, or turns text round.
const plain = (value, most) => text(value, 1000).replace(/[\p{C}\p{Default_Ignorable_Code_Point}\u2800]/gu, '').replace(/\s+/g, ' ').trim().slice(0, most);
// With its rdns where two have the same name, or where its letters may be others than they look.
function named({ name, rdns }) {
  const told = rdns.replace(/[^\x20-\x7e]/gu, (letter) => `\\u{${letter.codePointAt(0).toString(16)}}`);
  const clashes = [...wallets.values()].filter((other) => other.name === name).length > 1;
  return rdns && (clashes || told !== rdns) ? `${name} (${told})` : name;
}
const inUse = (wallet) => wallet !== undefined && (account?.wallet === wallet || phase === 'signing' && wallets.get(chosen) === wallet);

function watchWallets() {
  if (listing.demo) return;
  addEventListener('eip6963:announceProvider', ({ detail }) => {
    const { info, provider } = detail ?? {};
    const rdns = plain(field(info, 'rdns'), 80).toLowerCase();
    const id = rdns || text(field(info, 'uuid'), 100);
    if (!id || typeof provider?.request !== 'function' || inUse(wallets.get(id))) return;
    const before = wallets.get(id);
    wallets.delete(id);
    if (before) return void wallets.set(id, before); // it answers again; another of that rdns does not replace it
    const icon = text(field(info, 'icon'), 60_000);
    addWallet(id, { name: plain(field(info, 'name'), 60) || 'a wallet without a name', rdns, provider, icon: /^data:image\/(png|svg\+xml|webp|jpeg|gif)[;,]/.test(icon) ? icon : '' });
  });
  addEventListener('ethereum#initialized', offerInjected);
  seekWallets();
}
// Wallets that answer now come after, and so instead of, those that announced themselves before.
function seekWallets() {
  if (listing.demo) return;
  dispatchEvent(new Event('eip6963:requestProvider'));
  offerInjected();
}
function offerInjected() {
  const provider = window.ethereum;
  if (!wallets.size && typeof provider?.request === 'function') addWallet(INJECTED, { name: 'this browser’s wallet', rdns: '', provider, icon: '' });
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

// On a phone, a wallet is an app with a browser of its own.
function withoutWallet() {
  if (!matchMedia('(pointer: coarse), (max-width: 48rem)').matches) {
    return [el('p', {}, 'No wallet has announced itself in this browser. Install or unlock one, or send the transactions with a program.'), button('Look again', seekWallets)];
  }
  const link = () => location.href;
  return [el('p', {}, el('b', {}, 'There is no wallet in this browser.'), ' Open this page in your wallet’s browser: copy the link, and paste it there.'),
    el('p', {}, mono(link(), 4000), ' ', copyButton('the link to this page', link))];
}

// The wallet first, if the visitor wants that.
function showAccount() {
  const row = $('wallet-row');
  if (listing.demo) return put(row, el('span', { class: 'hint' }, 'Demo deployment: no wallet is needed.'));
  if (!wallets.size) return put(row, el('span', { class: 'hint' }, 'No wallet found yet. A quote needs none.'));
  if (account) {
    put(row, iconOf(account.wallet), el('span', {}, `${named(account.wallet)}: `, short(account.address, 'your address')),
      button('Disconnect', () => { setAccount(undefined); }, { class: 'second small' }));
    return undefined;
  }
  const buttons = [...wallets].map(([id, wallet]) => el('button', { type: 'button', class: 'second small', click: async () => {
    chosen = id;
    const tell = (words) => {
      say(words);
      put(row, el('span', { class: 'hint' }, words), ...row.querySelectorAll('button'));
      return true;
    };
    try {
      calm();
      const { connect } = await loadSender(tell);
      tell(`Confirm in ${named(wallet)}. If it does not open, open it yourself and unlock it.`);
      setAccount({ address: await connect(wallet.provider), wallet });
    } catch (error) {
      showAccount();
      complain(...explain(error), $('form'));
    }
  } }, iconOf(wallet), ` Connect ${named(wallet)}`));
  const rest = buttons.slice(0, -6);
  return put(row, ...buttons.slice(-6), ...(rest.length ? [fold(`${rest.length} more`, ...rest)] : []));
}
function setAccount(next) {
  account = next;
  balance = undefined;
  account?.wallet.provider.on?.('accountsChanged', ([other]) => {
    if (account === next && phase !== 'signing') setAccount(isAddress(other) ? { ...next, address: other } : undefined);
  });
  showAccount();
  showRecipientHint();
  showBalance();
  dropAnswer();
  readBalance();
}

// What the account has comes with a quote for it: the least that can be swapped, on a pair whose recipient it can be.
async function readBalance() {
  const from = source();
  showBalance();
  const pair = account && pairsFrom(from).find(({ to }) => !isPrivate(to.chain));
  const simulate = simulates && isCoin(from); // to know what the gas takes of it
  if (!pair || balance?.key === from.key && balance.address === account.address) return;
  const { address } = account;
  try {
    const { quote } = await (await loadClient()).quote({ srcToken: from.symbol, srcChain: from.chain, dstToken: pair.to.symbol, dstChain: pair.to.chain, amount: from.min, recipient: address.toLowerCase(), from: address.toLowerCase(), simulate });
    noteBalance(from.key, address, quote);
  } catch { /* it stays unknown */ }
}
function noteBalance(key, address, quote) {
  const actual = text(field(quote, 'details.checks.balance.actual'), 78);
  if (account?.address !== address || !/^\d+$/.test(actual)) return;
  balance = { key, address, amount: BigInt(actual), gas: isCoin(byKey.get(key)) ? gasOf(quote) : 0n };
  showBalance();
}
const isCoin = ({ chain, symbol }) => !isPrivate(chain) && symbol === coinOf(chain);
// What the gas of a swap of coins takes at most: half more than the dry run says, since the price moves until it is signed.
// Undefined if there was none.
function gasOf({ srcAmount, details }) {
  const needed = text(field(details, 'simulation.native.needed'), 78);
  if (!/^\d+$/.test(needed) || !details.simulation.calls.every(({ status, gasLimit }) => status !== 'FAILED' && gasLimit > 0)) return undefined;
  const gas = BigInt(needed) - BigInt(srcAmount);
  return gas > 0n ? gas * 3n / 2n : undefined;
}
function showBalance() {
  const from = source();
  const place = $('balance');
  if (!account || balance?.key !== from.key) return place.replaceChildren();
  const { amount, gas } = balance;
  const left = amount - (gas ?? 0n);
  const most = left < BigInt(from.max) ? left : BigInt(from.max);
  const max = () => button('Max', () => {
    $('amount').value = showAmount(most, from.decimals);
    changed('amount');
    $('amount').focus();
  }, { class: 'second small', 'aria-label': `Max: the most that you can send${gas ? ', less what the gas may take' : ''}` });
  const few = () => (amount < BigInt(from.min) ? 'which is below the minimum.' : 'which is too little for the gas and the minimum.');
  return place.replaceChildren('You have ', el('span', {}, money(amount, from)), ' ', most < BigInt(from.min) ? few() : gas === undefined ? 'of which the gas takes a part.' : max());
}

// Says what it means that a wallet did not send, and what to do: a title, and sentences.
function explain({ code, message, chainId, step, actual, needed, problems }, { request, quote } = {}) {
  const said = text(message, 900);
  const end = said.indexOf('. ') + 1 || said.length;
  const title = said.slice(0, end);
  const amount = (units) => inWords(units, quote.srcToken);
  if (code === 'UNKNOWN_CHAIN') {
    return [`Your wallet does not know ${chainName(Number(chainId))}, chain ${Number(chainId)}.`, ['Add it in the wallet, or below with the address of a node that you trust: this page knows none. Then try again. Nothing was sent.']];
  }
  if (code === 'NO_ACCOUNT') return [title, ['It may be locked: open and unlock it, choose an account there, then try again. Nothing was sent.']];
  if (code === 'TOO_LITTLE') return [title, [`${text(step?.from, 42)} has ${amount(actual)} on ${chainName(networkOf(request.srcChain))}, and ${amount(needed)} are needed. The swap was not sent.`]];
  if (code === 'UNVERIFIED') return [title, [...problems.slice(0, 9).map((problem) => text(problem, 600)), 'The swap was not sent.']];
  return [title, [said.slice(end).trim() || 'Nothing was sent.']];
}
