// Compiled from src/viem.js.
import { ANSWERS, ask } from './viem-account.js';
import { own } from './wallet.js';
const NO_METHOD = [-32601, -32004, 4200];
async function accountsOf(client) {
	if (client.account)
		return [client.account.address];
	try {
		return await ask(client, 'eth_requestAccounts');
	}
	catch (error) {
		if (!NO_METHOD.includes(own(error, 'code')))
			throw error;
		return ask(client, 'eth_accounts');
	}
}
async function answer(client, method, params) {
	const hasWallet = !client.account || client.account.type === 'json-rpc';
	if (hasWallet)
		return method === 'eth_requestAccounts' ? accountsOf(client) : ask(client, method, params);
	const does = Object.prototype.hasOwnProperty.call(ANSWERS, method) ? ANSWERS[method] : undefined;
	return does ? does(client, params ?? []) : ask(client, method, params);
}
function needActions(client) {
	const needed = ['request', 'sendTransaction'];
	if (own(own(client, 'account'), 'type') === 'local')
		needed.push('prepareTransactionRequest', 'sendRawTransaction');
	const missing = needed.find((name) => typeof own(client, name) !== 'function');
	if (missing) {
		throw new TypeError(`fromViem takes a wallet client, as createWalletClient gives it: this one has no ${missing}`);
	}
}
const wallets = new WeakMap();
export function fromViem(client) {
	const known = wallets.get(client);
	if (known)
		return known;
	needActions(client);
	const actions = ((client));
	const wallet = { request: async ({ method, params }) => answer(actions, method, params) };
	wallets.set(client, wallet);
	return wallet;
}
