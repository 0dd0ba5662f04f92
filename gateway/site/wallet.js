// The wallets of this browser, which announce themselves (EIP-6963), and what this page asks of them (EIP-1193, EIP-5792).
const wallets = new Map();
let chosen = '';

// Stop is an end that the visitor should read about: a title and what to do.
class Stop extends Error {
  constructor(title, ...sentences) {
    super(title);
    this.sentences = sentences;
  }
}

function watchWallets() {
  addEventListener('eip6963:announceProvider', (event) => {
    const { info, provider } = event.detail ?? {};
    const id = text(field(info, 'uuid'), 100);
    if (!id || wallets.has(id) || wallets.size >= 20 || typeof provider?.request !== 'function') return;
    wallets.set(id, { name: text(field(info, 'name'), 60) || 'A wallet without a name', provider });
    if (shown) showSend();
  });
  dispatchEvent(new Event('eip6963:requestProvider'));
}

const hex = (number) => '0x' + BigInt(number).toString(16);
const word = (address) => address.slice(2).toLowerCase().padStart(64, '0');
const isHash = (value) => /^0x[0-9a-f]{64}$/i.test(text(value));

// Says what an error of a wallet means, and what to do.
function explain(error, done) {
  const left = done ? `${done} Nothing else was sent.` : 'Nothing was sent.';
  if (error instanceof Stop) return [error.message, error.sentences.length ? error.sentences : [left]];
  const said = text(field(error, 'message') ?? error?.message, 300);
  switch (error?.code) {
    case 4001: return ['You refused in the wallet.', [`${left} Press Send to try again.`]];
    case 4100: return ['The wallet does not let this page use that account.', [`${left} Allow it in the wallet, then press Send again.`]];
    case 4900: case 4901: return ['The wallet is disconnected from the chain.', [`${left} Check its connection, then press Send again.`]];
    case -32002: return ['The wallet is already asking you something.', ['Open the wallet, answer it, then press Send again.']];
    default: return ['The wallet could not do it.', [said ? `It says: ${said}` : 'It does not say why.', left]];
  }
}

async function connect(provider) {
  const accounts = await provider.request({ method: 'eth_requestAccounts' });
  const account = text(Array.isArray(accounts) ? accounts[0] : '');
  if (!/^0x[0-9a-f]{40}$/i.test(account)) throw new Stop('The wallet gave no account.', 'Choose an account in the wallet, then press Send again.');
  return account;
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
        'Add it in the wallet, or below with the address of a node that you trust: this page knows none. Then press Send again.');
    }
    throw error;
  }
  if (await onChain(provider) !== chain) throw new Stop('The wallet is on another chain.', `Switch it to ${chainName(chain)}, chain ${chain}, then press Send again. Nothing was sent.`);
}

// Asks for what a wallet needs to know of a chain, since the gateway lists no nodes.
function offerToAdd(provider, chain) {
  const node = el('input', { id: 'node', type: 'url', placeholder: 'https://…', maxlength: 300 });
  const coin = el('input', { id: 'coin', maxlength: 6, placeholder: 'ETH' });
  $('add')?.remove();
  $('send').append(el('div', { id: 'add' }, el('label', { for: 'node' }, `Address of a node of ${chainName(chain)}`), node,
    el('label', { for: 'coin' }, 'Symbol of its coin'), coin,
    el('button', { type: 'button', class: 'second', click: async () => {
      calm();
      try {
        await provider.request({ method: 'wallet_addEthereumChain', params: [{
          chainId: hex(chain), chainName: chainName(chain), rpcUrls: [node.value.trim()],
          nativeCurrency: { name: coin.value.trim(), symbol: coin.value.trim(), decimals: 18 } }] });
        $('add')?.remove();
      } catch (error) {
        complain(...explain(error));
      }
    } }, 'Add the chain')));
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

// Leaves out the approval that is not needed, and wants enough money to be there.
async function neededCalls(provider, account, { request, quote }) {
  const { calls } = quote.details.sendCalls;
  const { srcToken } = quote;
  const amount = BigInt(request.amount);
  const token = calls.length > 1 && calls[0].to;
  const view = (data) => readAmount(provider, 'eth_call', [{ to: token, data }, 'latest']);
  const balance = await (token ? view('0x70a08231' + word(account)) : readAmount(provider, 'eth_getBalance', [account, 'latest']));
  if (balance !== undefined && balance < amount) {
    throw new Stop(`The account has too little ${srcToken.symbol}.`,
      `${account} has ${money(balance, srcToken)} on ${chainName(networkOf(request.srcChain))}, and ${money(amount, srcToken)} are needed. Nothing was sent.`);
  }
  const main = calls.at(-1);
  const allowed = token ? await view('0xdd62ed3e' + word(account) + word(main.to)) : 0n;
  if (allowed === undefined || !token) return calls;
  if (allowed >= amount) return [main];
  return allowed === 0n ? calls.slice(-2) : calls;
}
