// Compiled from src/viem-account.js.
import { hex, own, same, text } from './wallet.js';
const NOT_SENT = 'NOT_SENT';
const UNAUTHORIZED = 4100;
const UNSUPPORTED = 4200;
const UNKNOWN_CHAIN = 4902;
const FAILED = -32000;
const errorOf = (code, message, cause) => Object.assign(new Error(message), { code, cause });
function unsent(error) {
	const { shortMessage, details, message } = Object(error);
	throw errorOf(NOT_SENT, text(shortMessage ? `${shortMessage} Details: ${details}` : message), error);
}
export const ask = async (client, method, params) => client.request(params === undefined ? { method } : { method, params }, { retryCount: 0 });
async function needChain(client, chainId, code) {
	const { chain } = client;
	const wanted = Number(chainId);
	const actual = Number(await ask(client, 'eth_chainId'));
	if (actual === wanted && (!chain || chain.id === wanted))
		return wanted;
	const other = actual === wanted ? chain?.id : actual;
	throw errorOf(code, `This viem client is for chain ${other}: use one for chain ${wanted}`);
}
async function needOwn(client, { from, chainId }) {
	const { address } = client.account;
	if (!same(from, address))
		throw errorOf(UNAUTHORIZED, `This viem client is for the account ${address}`);
	return needChain(client, chainId, NOT_SENT);
}
async function prepare(client, sending) {
	const { account, chain } = client;
	const chainId = await needOwn(client, sending);
	const { to, data, value } = sending;
	const exact = { to, data, value: BigInt(value ?? 0), chainId };
	return { ...await client.prepareTransactionRequest({ account, chain, ...exact }), ...exact };
}
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
	}
	catch (error) {
		nonceManager?.reset({ address, chainId });
		throw signed ? errorOf(FAILED, text(own(error, 'message'))) : unsent(error);
	}
}
async function sendSmart(client, sending) {
	const { account, chain } = client;
	await needOwn(client, sending).catch(unsent);
	const { to, data, value } = sending;
	try {
		return await client.sendTransaction({ account, chain, to, data, value: BigInt(value ?? 0) });
	}
	catch (error) {
		throw own(error, 'name') === 'AccountTypeNotSupportedError' ? unsent(error) : error;
	}
}
function batchesOf(client) {
	if (client.getCapabilities && client.sendCalls && client.getCallsStatus)
		return (client);
	throw errorOf(UNSUPPORTED, 'This viem client sends no batches');
}
export const ANSWERS = {
	eth_requestAccounts: async ({ account }) => [account.address],
	eth_accounts: async ({ account }) => [account.address],
	eth_sendTransaction: async (client, [sending]) => client.account.type === 'local' ? signAndSend(client, sending) : sendSmart(client, sending),
	eth_getTransactionCount: async (client, params) => {
		const isSmart = client.account.type === 'smart' && same(params[0], client.account.address);
		if (isSmart)
			throw errorOf(UNSUPPORTED, 'A smart account has no number of transactions');
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
		if (!found)
			throw errorOf(UNSUPPORTED, 'This viem client sends no batches on this chain');
		return { [hex(chainId)]: found };
	},
	wallet_sendCalls: async (client, [batch]) => {
		const batches = batchesOf(client);
		const id = await needOwn(client, batch).catch(unsent);
		const { account, chain = { id } } = client;
		const calls = batch.calls.map(({ to, data, value }) => ({ to, data, value: BigInt(value ?? 0) }));
		const sent = await batches.sendCalls({ account, chain, calls, forceAtomic: batch.atomicRequired === true });
		return { id: own(sent, 'id') ?? sent };
	},
	wallet_getCallsStatus: async (client, [id]) => {
		const got = await batchesOf(client).getCallsStatus({ id });
		return { id, status: own(got, 'statusCode') ?? own(got, 'status'), receipts: own(got, 'receipts') };
	},
};
