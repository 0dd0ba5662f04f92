// Compiled from src/check.js.
import { fail, lastOf, tell, wrongChain } from './job.js';
import { chainOf, isContract, listOf, own, readAmount, readToken, same } from './wallet.js';
const FOR_GAS = "of the chain's coin to pay for gas";
export const NOT_VERIFIED = 'This quote is not from client.quote of this process: give the client or listing to check it against';
const sameCall = (a, b) => same(a.chainId, b.chainId) && same(a.to, b.to) && same(a.data, b.data) && same(a.value, b.value);
const tooLittle = (job, { actual, needed }, what) => fail(job, 'TOO_LITTLE', { actual: String(actual), needed: String(needed) }, what);
export async function needVerified(job) {
	const { checked } = job;
	const refuse = (problem) => fail(job, 'UNVERIFIED', { problems: [problem] });
	let { sufficient } = checked;
	if (checked.warning)
		throw refuse('The gateway itself warns of this quote.');
	if (job.recheck) {
		const most = await recheck(job, 1n);
		const isNeeded = (call) => most.calls.some((each) => sameCall(call, each));
		const isSame = most.calls.length && sameCall(job.swap, lastOf(most.calls)) && checked.calls.every(isNeeded);
		if (!isSame)
			throw refuse('calls are not those of the quote.');
		sufficient = most.sufficient;
	}
	else if (!job.options.unverified)
		throw new TypeError(NOT_VERIFIED);
	if (sufficient !== false)
		return;
	const { srcToken, details: { checks, simulation } } = checked.quote;
	const isLacking = ({ actual, needed }) => BigInt(actual) < BigInt(needed);
	if (checks && isLacking(checks.balance))
		throw tooLittle(job, checks.balance, srcToken.symbol);
	const coins = simulation?.native ?? checks?.native;
	if (coins && (isLacking(coins) || BigInt(coins.actual) === 0n))
		throw tooLittle(job, coins, FOR_GAS);
	throw fail(job, 'WOULD_FAIL');
}
async function recheck(job, allowance) {
	const { checked, signal } = job;
	try {
		return await (job.recheck)(checked, { allowance, signal });
	}
	catch (error) {
		if (signal?.aborted)
			throw error;
		const problems = listOf(own(error, 'problems') ?? [own(error, 'message')]);
		throw fail(job, 'UNVERIFIED', { problems, cause: error });
	}
}
export async function neededCalls(job) {
	const { checked, from } = job;
	const { request, calls, quote: { approval, srcToken, to } } = checked;
	const amount = BigInt((request['amount']));
	const tokens = approval && await readToken(job, approval.token, from);
	if (tokens !== undefined && tokens < amount) {
		throw tooLittle(job, { actual: tokens, needed: amount }, srcToken.symbol);
	}
	const value = BigInt(job.swap.value);
	const coins = await readAmount(job, 'eth_getBalance', [from, 'latest']);
	if (coins !== undefined && coins < value)
		throw tooLittle(job, { actual: coins, needed: value }, srcToken.symbol);
	if (coins === value)
		throw tooLittle(job, { actual: coins, needed: value + 1n }, FOR_GAS);
	const allowance = approval && await readToken(job, approval.token, from, to);
	if (job.recheck)
		return (await recheck(job, allowance)).calls;
	if (allowance === undefined)
		return calls;
	if (allowance >= amount)
		return calls.slice(-1);
	if (calls.length === 1)
		throw fail(job, 'ALLOWANCE');
	return calls;
}
export async function needContracts(job, calls) {
	const { chain, signal, options: { readProvider } } = job;
	const nodes = readProvider ? [job, { wallet: readProvider, signal }] : [job];
	const targets = calls.map(({ to }) => to);
	const spenders = calls.slice(0, -1).map(({ data }) => `0x${data.slice(34, 74)}`);
	const addresses = [...new Set([...spenders, ...targets].map((each) => each.toLowerCase()))];
	const found = await Promise.all(addresses.map((address) => isContract(nodes, chain, address)));
	if (await chainOf(job) !== chain)
		throw wrongChain(job, 'CHAIN_CHANGED');
	const refuse = (code, address) => fail(job, code, { address }, `${address} on chain ${chain}`);
	if (found.includes(false))
		throw refuse('NO_CONTRACT', addresses[found.indexOf(false)]);
	const unknown = addresses.filter((_, i) => found[i] === undefined);
	if (!unknown.length)
		return;
	if (calls.some(({ value }) => BigInt(value) > 0n))
		throw refuse('CONTRACT_UNKNOWN', unknown[0]);
	await tell(job, { step: 'unchecked', addresses: unknown });
}
