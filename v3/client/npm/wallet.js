// Compiled from src/wallet.js.
import { until, within } from './wait.js';
const PATIENCE = 5;
export const text = (value) => (typeof value === 'string' && value.length <= 20000 ? value : '');
export const own = (value, key) => (typeof value === 'object' && value !== null ? value[key] : undefined);
export const listOf = (value) => (Array.isArray(value) ? value : []);
export const same = (a, b) => text(a).toLowerCase() === text(b).toLowerCase();
export const isAddress = (value) => /^0x[0-9a-f]{40}$/i.test(text(value));
export const isHash = (value) => /^0x[0-9a-f]{64}$/i.test(text(value));
export const isQuantity = (value) => /^0x[0-9a-f]{1,64}$/i.test(text(value));
export const hex = (value) => `0x${value.toString(16)}`;
const word = (address) => address.slice(2).toLowerCase().padStart(64, '0');
const retries = (wallet) => own(own(wallet, 'transport') ?? own(wallet, 'config'), 'retryCount') !== undefined;
export const ask = async ({ wallet }, method, params) => wallet.request(params ? { method, params } : { method }, ...(retries(wallet) ? [{ retryCount: 0 }] : []));
export const read = (node, method, params) => until(ask(node, method, params), node.signal);
const readSoon = (node, method, params) => within(PATIENCE, ask(node, method, params), node.signal);
export async function tryRead(node, method, params) {
	try {
		return await readSoon(node, method, params);
	}
	catch (error) {
		if (node.signal?.aborted)
			throw error;
		return undefined;
	}
}
export async function readAmount(node, method, params) {
	const value = await tryRead(node, method, params);
	return isQuantity(value) ? BigInt(value) : undefined;
}
export async function chainOf(node) {
	const id = await readSoon(node, 'eth_chainId');
	return isQuantity(id) ? Number(id) : NaN;
}
export async function isOn(node, chain) {
	const id = await readAmount(node, 'eth_chainId');
	return id === undefined ? undefined : id === BigInt(chain);
}
export function readToken(node, token, account, spender) {
	const data = spender ? `0xdd62ed3e${word(account)}${word(spender)}` : `0x70a08231${word(account)}`;
	return readAmount(node, 'eth_call', [{ to: token, data }, 'latest']);
}
export const readNonce = (node, account) => readAmount(node, 'eth_getTransactionCount', [account, 'pending']);
export async function positionOf(node, account) {
	const since = await readAmount(node, 'eth_blockNumber', []);
	const nonce = await readNonce(node, account);
	return { since: since === undefined ? since : hex(since), nonce: nonce === undefined ? nonce : hex(nonce) };
}
const isCode = (value) => typeof value === 'string' && value.length % 2 === 0 && /^0x[0-9a-f]*$/i.test(value);
export async function isContract(nodes, chain, address) {
	for (const node of nodes) {
		const code = await tryRead(node, 'eth_getCode', [address, 'latest']);
		if (isCode(code) && await isOn(node, chain))
			return !/^0x(ef0100|$)/i.test(code);
	}
	return undefined;
}
export async function transactionsOf(node, block) {
	const got = await tryRead(node, 'eth_getBlockByNumber', [block, true]);
	return got ? listOf(own(got, 'transactions')).filter((tx) => isHash(own(tx, 'hash'))) : undefined;
}
export async function replacementOf(node, account, { nonce, since }, txHash) {
	if (!isQuantity(nonce) || !isQuantity(since))
		return undefined;
	const isUsed = async (at) => {
		const next = await readAmount(node, 'eth_getTransactionCount', [account, at]);
		return next !== undefined && next > BigInt(nonce);
	};
	if (!await isUsed('latest'))
		return undefined;
	const latest = await readAmount(node, 'eth_blockNumber', []);
	let first = BigInt(since) + 1n;
	if (latest === undefined || latest < first)
		return undefined;
	let last = latest;
	while (first < last) {
		const middle = (first + last) / 2n;
		if (await isUsed(hex(middle)))
			last = middle;
		else
			first = middle + 1n;
	}
	const found = (await transactionsOf(node, hex(first)))?.find((tx) => same(tx.from, account) && isQuantity(tx.nonce) && BigInt(tx.nonce) === BigInt(nonce));
	return found && !same(found.hash, txHash) ? found : undefined;
}
export function hold(name) {
	const locks = globalThis.location && globalThis.navigator?.locks;
	if (!locks)
		return Promise.resolve(() => undefined);
	return new Promise((resolve) => {
		const held = (lock) => {
			if (lock)
				return new Promise((release) => { resolve(release); });
			resolve(undefined);
			return undefined;
		};
		locks.request(`quotegate ${name}`, { ifAvailable: true }, held).catch(() => resolve(() => undefined));
	});
}
