// Questions to a wallet and to its node. What they give may be anything. Other files of this package use it; it is no
// entry of the package.
import { until, within } from './wait.js';

/** @import { Hex, Wallet } from './types.js' */

/**
 * Whom to ask, and what ends it.
 * @typedef {{ readonly wallet: Wallet, readonly signal?: AbortSignal | undefined }} Node
 */

const PATIENCE = 5; // seconds for a question that nobody has to confirm

/** @param {unknown} value */
export const text = (value) => (typeof value === 'string' && value.length <= 20000 ? value : '');
/** @param {any} value @param {string} key @returns {any} */
export const own = (value, key) => (typeof value === 'object' && value !== null ? value[key] : undefined);
/** @param {unknown} value @returns {any[]} */
export const listOf = (value) => (Array.isArray(value) ? value : []);
/** @param {unknown} a @param {unknown} b */
export const same = (a, b) => text(a).toLowerCase() === text(b).toLowerCase();
/** @param {unknown} value @returns {value is Hex} */
export const isAddress = (value) => /^0x[0-9a-f]{40}$/i.test(text(value));
/** @param {unknown} value @returns {value is Hex} */
export const isHash = (value) => /^0x[0-9a-f]{64}$/i.test(text(value));
/** @param {unknown} value @returns {value is Hex} */
export const isQuantity = (value) => /^0x[0-9a-f]{1,64}$/i.test(text(value));
/** @param {number | bigint} value @returns {Hex} */
export const hex = (value) => `0x${value.toString(16)}`;
/** @param {string} address */
const word = (address) => address.slice(2).toLowerCase().padStart(64, '0');

/**
 * viem asks again by itself where a wallet fails, unless it is told not to. Other wallets may take that argument for
 * something else.
 * @param {Wallet} wallet
 */
const retries = (wallet) => own(own(wallet, 'transport') ?? own(wallet, 'config'), 'retryCount') !== undefined;
/**
 * Asks once. A wallet that throws at once fails like any other.
 * @param {Node} node
 * @param {string} method
 * @param {unknown} [params]
 */
export const ask = async ({ wallet }, method, params) =>
  wallet.request(params ? { method, params } : { method }, ...(retries(wallet) ? [{ retryCount: 0 }] : []));
/**
 * Asks something that a person may have to confirm.
 * @param {Node} node
 * @param {string} method
 * @param {unknown} [params]
 */
export const read = (node, method, params) => until(ask(node, method, params), node.signal);
/**
 * @param {Node} node
 * @param {string} method
 * @param {unknown} [params]
 */
const readSoon = (node, method, params) => within(PATIENCE, ask(node, method, params), node.signal);

/**
 * Asks something that nobody has to confirm, and gives undefined where there is no answer in time.
 * @param {Node} node
 * @param {string} method
 * @param {unknown} [params]
 */
export async function tryRead(node, method, params) {
  try {
    return await readSoon(node, method, params);
  } catch (error) {
    if (node.signal?.aborted) throw error;
    return undefined;
  }
}

/**
 * A number that a node gives, or undefined where it cannot.
 * @param {Node} node
 * @param {string} method
 * @param {unknown} [params]
 */
export async function readAmount(node, method, params) {
  const value = await tryRead(node, method, params);
  return isQuantity(value) ? BigInt(value) : undefined;
}

/**
 * The chain that a wallet is on; throws what the wallet throws.
 * @param {Node} node
 */
export async function chainOf(node) {
  const id = await readSoon(node, 'eth_chainId');
  return isQuantity(id) ? Number(id) : NaN;
}
/**
 * Whether a node says that it is on a chain; undefined where it does not answer.
 * @param {Node} node
 * @param {number} chain
 */
export async function isOn(node, chain) {
  const id = await readAmount(node, 'eth_chainId');
  return id === undefined ? undefined : id === BigInt(chain);
}

/**
 * What an account has of a token, or what it allows a spender.
 * @param {Node} node
 * @param {string} token
 * @param {string} account
 * @param {string} [spender]
 */
export function readToken(node, token, account, spender) {
  const data = spender ? `0xdd62ed3e${word(account)}${word(spender)}` : `0x70a08231${word(account)}`;
  return readAmount(node, 'eth_call', [{ to: token, data }, 'latest']);
}

/**
 * The number of an account's next transaction, those that wait counted.
 * @param {Node} node
 * @param {string} account
 */
export const readNonce = (node, account) => readAmount(node, 'eth_getTransactionCount', [account, 'pending']);

/**
 * Where the account and the chain are: what is sent after that is found again by it.
 * @typedef {{ since?: Hex | undefined, nonce?: Hex | undefined }} Position
 */
/**
 * @param {Node} node
 * @param {string} account
 * @returns {Promise<Position>}
 */
export async function positionOf(node, account) {
  const since = await readAmount(node, 'eth_blockNumber', []);
  const nonce = await readNonce(node, account);
  return { since: since === undefined ? since : hex(since), nonce: nonce === undefined ? nonce : hex(nonce) };
}

/** @param {unknown} value @returns {value is string} */
const isCode = (value) => typeof value === 'string' && value.length % 2 === 0 && /^0x[0-9a-f]*$/i.test(value);
/**
 * Whether there is a contract at an address of a chain, by the first of the nodes that tells and is on that chain;
 * undefined where none does. An account that has delegated its code (EIP-7702) is no contract.
 * @param {Node[]} nodes
 * @param {number} chain
 * @param {string} address
 */
export async function isContract(nodes, chain, address) {
  for (const node of nodes) {
    const code = await tryRead(node, 'eth_getCode', [address, 'latest']);
    if (isCode(code) && await isOn(node, chain)) return !/^0x(ef0100|$)/i.test(code);
  }
  return undefined;
}

/**
 * The transactions of a block; undefined if the node does not have it.
 * @param {Node} node
 * @param {string} block
 */
export async function transactionsOf(node, block) {
  const got = await tryRead(node, 'eth_getBlockByNumber', [block, true]);
  return got ? listOf(own(got, 'transactions')).filter((tx) => isHash(own(tx, 'hash'))) : undefined;
}

/**
 * The transaction of the account that took the place of another, by its nonce; undefined if there is none. The block
 * that used the nonce is found by halving. A node may have forgotten the account's number at old blocks only.
 * @param {Node} node
 * @param {string} account
 * @param {Position} position
 * @param {string} txHash
 */
export async function replacementOf(node, account, { nonce, since }, txHash) {
  if (!isQuantity(nonce) || !isQuantity(since)) return undefined;
  /** @param {string} at @returns {Promise<boolean>} false if the node does not say */
  const isUsed = async (at) => {
    const next = await readAmount(node, 'eth_getTransactionCount', [account, at]);
    return next !== undefined && next > BigInt(nonce);
  };
  if (!await isUsed('latest')) return undefined;
  const latest = await readAmount(node, 'eth_blockNumber', []);
  let first = BigInt(since) + 1n;
  if (latest === undefined || latest < first) return undefined;
  let last = latest;
  while (first < last) {
    /** @type {bigint} */
    const middle = (first + last) / 2n;
    if (await isUsed(hex(middle))) last = middle;
    else first = middle + 1n;
  }
  const found = (await transactionsOf(node, hex(first)))?.find((tx) =>
    same(tx.from, account) && isQuantity(tx.nonce) && BigInt(tx.nonce) === BigInt(nonce));
  return found && !same(found.hash, txHash) ? found : undefined;
}

/**
 * Holds a name for this page among all pages of its origin, until it is given back or the page is closed; undefined if
 * another has it. Only browsers know such names; elsewhere every name is free.
 * @param {string} name
 * @returns {Promise<(() => void) | undefined>}
 */
export function hold(name) {
  const locks = globalThis.location && globalThis.navigator?.locks;
  if (!locks) return Promise.resolve(() => undefined);
  return new Promise((resolve) => {
    /** @param {unknown} lock @returns {Promise<void> | undefined} */
    const held = (lock) => {
      if (lock) return new Promise((release) => { resolve(release); });
      resolve(undefined);
      return undefined;
    };
    locks.request(`quotegate ${name}`, { ifAvailable: true }, held).catch(() => resolve(() => undefined));
  });
}
