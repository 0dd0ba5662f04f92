// What a client of viem does whose account has no wallet behind it: it signs by itself, for one account on one chain.
// viem.js uses it; it is no entry of the package.
import { hex, own, same, text } from './wallet.js';

/** @import { Hex } from './types.js' */

/**
 * @typedef {object} Account
 * @property {Hex} address
 * @property {'local' | 'smart' | 'json-rpc'} type
 * @property {(transaction: object, options: object) => Promise<Hex>} signTransaction
 * @property {NonceManager} [nonceManager]
 */
/**
 * @typedef {object} NonceManager
 * @property {(of: { address: Hex, chainId: number, client: Actions }) => Promise<number>} consume
 * @property {(of: { address: Hex, chainId: number }) => void} reset
 */
/**
 * A client with the actions that are used here. Those of EIP-5792 may be missing.
 * @typedef {object} Actions
 * @property {Account} account
 * @property {{ id: number, serializers?: { transaction?: unknown } }} [chain]
 * @property {(args: { method: string, params?: unknown }, options: { retryCount: number }) => Promise<unknown>} request
 * @property {(transaction: object) => Promise<object>} prepareTransactionRequest
 * @property {(signed: { serializedTransaction: Hex }) => Promise<Hex>} sendRawTransaction
 * @property {(transaction: object) => Promise<Hex>} sendTransaction
 * @property {(of: { account: Account, chainId: number }) => Promise<object | undefined>} [getCapabilities]
 * @property {(batch: object) => Promise<unknown>} [sendCalls]
 * @property {(batch: { id: string }) => Promise<unknown>} [getCallsStatus]
 */
/**
 * @typedef {{ from?: unknown, to?: Hex, data?: Hex, value?: Hex, chainId?: unknown }} Sending
 */
/**
 * @typedef {Required<Pick<Actions, 'getCapabilities' | 'sendCalls' | 'getCallsStatus'>>} Batches
 */

const NOT_SENT = 'NOT_SENT';
const UNAUTHORIZED = 4100;
const UNSUPPORTED = 4200;
const UNKNOWN_CHAIN = 4902;
const FAILED = -32000;

/**
 * An error as wallets throw it.
 * @param {number | string} code
 * @param {string} message
 * @param {unknown} [cause]
 */
const errorOf = (code, message, cause) => Object.assign(new Error(message), { code, cause });
/**
 * What fails before anything is signed proves that nothing was sent.
 * @param {any} error
 * @returns {never}
 */
function unsent(error) {
  const { shortMessage, details, message } = Object(error);
  throw errorOf(NOT_SENT, text(shortMessage ? `${shortMessage} Details: ${details}` : message), error);
}

/**
 * Asks once: viem would ask again by itself.
 * @param {Actions} client
 * @param {string} method
 * @param {unknown} [params]
 */
export const ask = async (client, method, params) =>
  client.request(params === undefined ? { method } : { method, params }, { retryCount: 0 });

/**
 * A client without a wallet has one account and one chain.
 * @param {Actions} client
 * @param {unknown} chainId
 * @param {number | string} code of the error on another chain
 */
async function needChain(client, chainId, code) {
  const { chain } = client;
  const wanted = Number(chainId);
  const actual = Number(await ask(client, 'eth_chainId'));
  if (actual === wanted && (!chain || chain.id === wanted)) return wanted;
  const other = actual === wanted ? chain?.id : actual;
  throw errorOf(code, `This viem client is for chain ${other}: use one for chain ${wanted}`);
}
/**
 * @param {Actions} client
 * @param {Sending} sending
 */
async function needOwn(client, { from, chainId }) {
  const { address } = client.account;
  if (!same(from, address)) throw errorOf(UNAUTHORIZED, `This viem client is for the account ${address}`);
  return needChain(client, chainId, NOT_SENT);
}

/**
 * What to sign: for the chain that the transaction names and for no other, whatever a node fills in.
 * @param {Actions} client
 * @param {Sending} sending
 */
async function prepare(client, sending) {
  const { account, chain } = client;
  const chainId = await needOwn(client, sending);
  const { to, data, value } = sending;
  const exact = { to, data, value: BigInt(value ?? 0), chainId };
  return { ...await client.prepareTransactionRequest({ account, chain, ...exact }), ...exact };
}
/**
 * Signs a transaction and hands it to the node. Whatever the node says then, it may have passed it on: no code of its
 * error may be taken for a refusal.
 * @param {Actions} client
 * @param {Sending} sending
 */
async function signAndSend(client, sending) {
  const { account, chain } = client;
  const { address, nonceManager } = account;
  const prepared = await prepare(client, sending).catch(unsent);
  const { chainId } = prepared;
  let signed;
  try {
    const nonce = await nonceManager?.consume({ address, chainId, client });
    const transaction = { ...prepared, ...(nonceManager && { nonce }) };
    signed = await account.signTransaction(transaction, { serializer: chain?.serializers?.transaction });
    return await client.sendRawTransaction({ serializedTransaction: signed });
  } catch (error) {
    nonceManager?.reset({ address, chainId });
    throw signed ? errorOf(FAILED, text(own(error, 'message'))) : unsent(error);
  }
}
/**
 * Has a client of a smart account send. It may do so with a bundler, which tells nothing apart.
 * @param {Actions} client
 * @param {Sending} sending
 */
async function sendSmart(client, sending) {
  const { account, chain } = client;
  await needOwn(client, sending).catch(unsent);
  const { to, data, value } = sending;
  try {
    return await client.sendTransaction({ account, chain, to, data, value: BigInt(value ?? 0) });
  } catch (error) {
    throw own(error, 'name') === 'AccountTypeNotSupportedError' ? unsent(error) : error;
  }
}

/** @param {Actions} client @returns {Batches} */
function batchesOf(client) {
  if (client.getCapabilities && client.sendCalls && client.getCallsStatus) return /** @type {Batches} */ (client);
  throw errorOf(UNSUPPORTED, 'This viem client sends no batches');
}

/**
 * What a client without a wallet answers in place of its node. Batches are in the forms of EIP-5792, not of viem.
 * @type {Record<string, (client: Actions, params: any[]) => Promise<unknown>>}
 */
export const ANSWERS = {
  eth_requestAccounts: async ({ account }) => [account.address],
  eth_accounts: async ({ account }) => [account.address],
  eth_sendTransaction: async (client, [sending]) =>
    client.account.type === 'local' ? signAndSend(client, sending) : sendSmart(client, sending),
  // Operations of a smart account do not count as its transactions, so its number says nothing of them.
  eth_getTransactionCount: async (client, params) => {
    const isSmart = client.account.type === 'smart' && same(params[0], client.account.address);
    if (isSmart) throw errorOf(UNSUPPORTED, 'A smart account has no number of transactions');
    return ask(client, 'eth_getTransactionCount', params);
  },
  wallet_switchEthereumChain: async (client, [{ chainId }]) => {
    await needChain(client, chainId, UNKNOWN_CHAIN);
    return null;
  },
  wallet_addEthereumChain: async () => {
    throw errorOf(UNSUPPORTED, 'A viem client is for one chain: use one for the chain of the swap');
  },
  wallet_getCapabilities: async (client, [, chains]) => {
    const chainId = Number(chains?.[0] ?? client.chain?.id);
    const found = await batchesOf(client).getCapabilities({ account: client.account, chainId });
    if (!found) throw errorOf(UNSUPPORTED, 'This viem client sends no batches on this chain');
    return { [hex(chainId)]: found };
  },
  wallet_sendCalls: async (client, [batch]) => {
    const batches = batchesOf(client);
    const id = await needOwn(client, batch).catch(unsent);
    const { account, chain = { id } } = client;
    const calls = batch.calls.map((/** @type {Sending} */ { to, data, value }) =>
      ({ to, data, value: BigInt(value ?? 0) }));
    const sent = await batches.sendCalls({ account, chain, calls, forceAtomic: batch.atomicRequired === true });
    return { id: own(sent, 'id') ?? sent };
  },
  wallet_getCallsStatus: async (client, [id]) => {
    const got = await batchesOf(client).getCallsStatus({ id });
    return { id, status: own(got, 'statusCode') ?? own(got, 'status'), receipts: own(got, 'receipts') };
  },
};
