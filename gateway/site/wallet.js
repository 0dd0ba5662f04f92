// The wallets of this browser, which announce themselves (EIP-6963), and what this page asks of them (EIP-1193, EIP-5792).
const wallets = new Map();
let chosen = '';
let account; // the address, once a wallet has told it, and its wallet
let balance; // of the account: an amount and a token

// Stop is an end that the visitor should read about: a title and what to do. It proves that the swap was not sent.
class Stop extends Error {
  constructor(title, ...sentences) {
    super(title);
    this.sentences = sentences;
  }
}
const left = (done) => (done ? `${done} Nothing else was sent.` : 'Nothing was sent.');

function watchWallets() {
  addEventListener('eip6963:announceProvider', (event) => {
    const { info, provider } = event.detail ?? {};
    const id = text(field(info, 'uuid'), 100);
    if (!id || wallets.has(id) || wallets.size >= 20 || typeof provider?.request !== 'function') return;
    const icon = text(field(info, 'icon'), 60_000);
    wallets.set(id, { name: text(field(info, 'name'), 60) || 'a wallet without a name', provider, icon: /^data:image\/(png|svg\+xml|webp|jpeg|gif)[;,]/.test(icon) ? icon : '' });
    if (!wallets.has(chosen)) chosen = id;
    showAccount();
    if (phase === 'quote') showSend();
  });
  dispatchEvent(new Event('eip6963:requestProvider'));
}
const iconOf = ({ icon }) => (icon ? el('img', { src: icon, alt: '', width: 20, height: 20 }) : '');

// The wallet first, if the visitor wants that.
function showAccount() {
  const row = $('wallet-row');
  if (!wallets.size) return row.replaceChildren(el('span', { class: 'hint' }, 'No wallet found yet. A quote needs none.'));
  if (account) {
    row.replaceChildren(iconOf(account.wallet), el('span', {}, `${account.wallet.name}: `, short(account.address, 'your address')),
      button('Disconnect', () => { setAccount(undefined); }, { class: 'second small' }));
    return undefined;
  }
  return row.replaceChildren(...[...wallets].slice(0, 6).map(([id, wallet]) => el('button', { type: 'button', class: 'second small', click: async () => {
    chosen = id;
    try {
      calm();
      setAccount({ address: await connect(wallet.provider), wallet });
    } catch (error) {
      complain(...explain(error, ''), $('form'));
    }
  } }, iconOf(wallet), ` Connect ${wallet.name}`)));
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
  if (!pair || balance?.key === from.key && balance.address === account.address) return;
  const { address } = account;
  try {
    const { quote } = await (await loadClient()).quote({ srcToken: from.symbol, srcChain: from.chain, dstToken: pair.to.symbol, dstChain: pair.to.chain, amount: from.min, recipient: address.toLowerCase(), from: address.toLowerCase() });
    noteBalance(from.key, address, quote);
  } catch { /* it stays unknown */ }
}
function noteBalance(key, address, quote) {
  const actual = text(field(quote, 'details.checks.balance.actual'), 78);
  if (account?.address !== address || !/^\d+$/.test(actual)) return;
  balance = { key, address, amount: BigInt(actual) };
  showBalance();
}
function showBalance() {
  const from = source();
  const place = $('balance');
  if (!account || balance?.key !== from.key) return place.replaceChildren();
  const most = balance.amount < BigInt(from.max) ? balance.amount : BigInt(from.max);
  return place.replaceChildren('You have ', el('span', {}, money(balance.amount, from)), ' ', most >= BigInt(from.min) ? button('Max', () => {
    $('amount').value = showAmount(most, from.decimals);
    changed('amount');
    $('amount').focus();
  }, { class: 'second small', 'aria-label': 'Max: the most that you can send' }) : 'which is below the minimum.');
}

const hex = (number) => '0x' + BigInt(number).toString(16);
const word = (address) => address.slice(2).toLowerCase().padStart(64, '0');

// Says what an error of a wallet means before anything was sent, and what to do.
function explain(error, done) {
  if (error instanceof Stop) return [error.message, error.sentences.length ? error.sentences : [left(done)]];
  const said = text(field(error, 'message') ?? error?.message, 300);
  switch (error?.code) {
    case 4001: case 5750: return ['You refused in the wallet.', [`${left(done)} Press the button to try again.`]];
    case 4100: return ['The wallet does not let this page use that account.', [`${left(done)} Allow it in the wallet, then try again.`]];
    case 4900: case 4901: return ['The wallet is disconnected from the chain.', [`${left(done)} Check its connection, then try again.`]];
    case -32002: return ['The wallet is already asking you something.', ['Open the wallet, answer it, then try again.']];
    default: return ['The wallet could not do it.', [said ? `It says: ${said}` : 'It does not say why.', left(done)]];
  }
}

async function connect(provider) {
  const accounts = await provider.request({ method: 'eth_requestAccounts' });
  const first = text(Array.isArray(accounts) ? accounts[0] : '');
  if (!isAddress(first)) throw new Stop('The wallet gave no account.', 'Choose an account in the wallet, then try again.');
  return first;
}
const onChain = async (provider) => {
  const id = await provider.request({ method: 'eth_chainId' });
  return /^0x[0-9a-f]{1,12}$/i.test(text(id)) ? Number(id) : NaN;
};
async function switchTo(provider, chain) {
  if (await onChain(provider) === chain) return;
  try {
    await provider.request({ method: 'wallet_switchEthereumChain', params: [{ chainId: hex(chain) }] });
  } catch (error) {
    if (error?.code === 4902 || field(error, 'data.originalError.code') === 4902) {
      offerToAdd(provider, chain);
      throw new Stop(`Your wallet does not know ${chainName(chain)}, chain ${chain}.`,
        'Add it in the wallet, or below with the address of a node that you trust: this page knows none. Then try again. Nothing was sent.');
    }
    throw error;
  }
  if (await onChain(provider) !== chain) throw new Stop('The wallet is on another chain.', `Switch it to ${chainName(chain)}, chain ${chain}, then try again. Nothing was sent.`);
}

// Asks for what a wallet needs to know of a chain, since the gateway lists no nodes.
function offerToAdd(provider, chain) {
  const node = el('input', { id: 'node', type: 'url', placeholder: 'https://…', maxlength: 300 });
  const coin = el('input', { id: 'coin', maxlength: 6, placeholder: 'ETH' });
  $('add')?.remove();
  $('send').append(el('div', { id: 'add' }, el('label', { for: 'node' }, `Address of a node of ${chainName(chain)}`), node,
    el('label', { for: 'coin' }, 'Symbol of its coin'), coin,
    button('Add the chain', async () => {
      calm();
      try {
        await provider.request({ method: 'wallet_addEthereumChain', params: [{
          chainId: hex(chain), chainName: chainName(chain), rpcUrls: [node.value.trim()],
          nativeCurrency: { name: coin.value.trim(), symbol: coin.value.trim(), decimals: 18 } }] });
        $('add')?.remove();
      } catch (error) {
        complain(...explain(error, ''), $('send-alert'));
      }
    })));
}

// Reads what the account has and has allowed, through the wallet's own node. It gives undefined where that fails.
async function readAmount(provider, method, params) {
  try {
    const value = await provider.request({ method, params });
    return /^0x[0-9a-f]{1,64}$/i.test(text(value)) ? BigInt(value) : undefined;
  } catch {
    return undefined;
  }
}

// The calls that are needed, built anew for what the account allows now, and checked against what is pinned now.
async function neededCalls(provider, from, { request, quote }) {
  const { srcToken, approval, to } = quote;
  const amount = BigInt(request.amount);
  const view = (data) => readAmount(provider, 'eth_call', [{ to: approval.token, data }, 'latest']);
  const has = await (approval ? view('0x70a08231' + word(from)) : readAmount(provider, 'eth_getBalance', [from, 'latest']));
  if (has !== undefined && has < amount) {
    throw new Stop(`The account has too little ${srcToken.symbol}.`,
      `${from} has ${inWords(has, srcToken)} on ${chainName(networkOf(request.srcChain))}, and ${inWords(amount, srcToken)} are needed. The swap was not sent.`);
  }
  const allowance = approval ? await view('0xdd62ed3e' + word(from) + word(to)) : undefined;
  const { ok, problems, calls } = tool.verify(request, quote, { ...await knownNow(), ...(allowance !== undefined && { allowance }) });
  if (!ok) throw new Stop('This quote does not pass the checks any more.', ...problems.slice(0, 9), 'The swap was not sent.');
  return calls;
}
