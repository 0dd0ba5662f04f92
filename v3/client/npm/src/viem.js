// A wallet client of viem as a wallet: an entry of its own, which imports nothing of viem. A JSON-RPC account has a
// wallet or a node behind it, which is asked for everything. A local or a smart account has only nodes: what a wallet
// would do, the client does.
import { ANSWERS, ask } from './viem-account.js';
import { own } from './wallet.js';

/** @import { Hex, Wallet } from './types.js' */
/** @import { Actions } from './viem-account.js' */

/**
 * A wallet client, whatever its transport, its chain and its account: what `createWalletClient` gives, or a client of a
 * smart account whose `sendTransaction` gives a transaction hash.
 * @typedef {{
 *   readonly account?: { readonly address: Hex, readonly type: string } | undefined,
 *   readonly chain?: { readonly id: number } | undefined,
 *   request(args: never, options?: never): Promise<unknown>,
 *   sendTransaction(args: never): Promise<Hex>,
 * }} ViemClient
 */
const NO_METHOD = [-32601, -32004, 4200]; // a plain node may know eth_accounts alone

/**
 * The account that the client is for, or those that its wallet or node has.
 * @param {Actions} client
 */
async function accountsOf(client) {
  if (client.account) return [client.account.address];
  try {
    return await ask(client, 'eth_requestAccounts');
  } catch (error) {
    if (!NO_METHOD.includes(own(error, 'code'))) throw error;
    return ask(client, 'eth_accounts');
  }
}

/**
 * @param {Actions} client
 * @param {string} method
 * @param {any} params
 */
async function answer(client, method, params) {
  const hasWallet = !client.account || client.account.type === 'json-rpc';
  if (hasWallet) return method === 'eth_requestAccounts' ? accountsOf(client) : ask(client, method, params);
  const does = Object.prototype.hasOwnProperty.call(ANSWERS, method) ? ANSWERS[method] : undefined;
  return does ? does(client, params ?? []) : ask(client, method, params);
}

/** @param {any} client */
function needActions(client) {
  const needed = ['request', 'sendTransaction'];
  if (own(own(client, 'account'), 'type') === 'local') needed.push('prepareTransactionRequest', 'sendRawTransaction');
  const missing = needed.find((name) => typeof own(client, name) !== 'function');
  if (missing) {
    throw new TypeError(`fromViem takes a wallet client, as createWalletClient gives it: this one has no ${missing}`);
  }
}

/**
 * By client: its wallet, so that the same client is the same wallet.
 * @type {WeakMap<object, Wallet>}
 */
const wallets = new WeakMap();

/**
 * Gives the wallet that a wallet client of viem is. With a local account (a private key, a mnemonic, an embedded
 * wallet), the client signs, for its one chain, and its node sends what is signed. With a JSON-RPC account or none, the
 * wallet or node of its transport is asked for everything. With a smart account, the client's `sendTransaction` sends.
 * @param {ViemClient} client
 * @returns {Wallet}
 */
export function fromViem(client) {
  const known = wallets.get(client);
  if (known) return known;
  needActions(client);
  const actions = /** @type {Actions} */ (/** @type {unknown} */ (client));
  /** @type {Wallet} */
  const wallet = { request: async ({ method, params }) => answer(actions, method, params) };
  wallets.set(client, wallet);
  return wallet;
}
