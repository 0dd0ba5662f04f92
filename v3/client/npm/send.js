// Compiled from src/send.js.
import { needContracts, neededCalls, needVerified, NOT_VERIFIED } from './check.js';
import { fail, lastOf, newJob, newQuestion, paymentOf, sentSoFar, tell, wrongChain } from './job.js';
import { readOptions } from './options.js';
import { listings } from './payments.js';
import { isNoBatch, isPoor, isRefusal, isUnknownChain, SendError, sendErrorOf } from './send-errors.js';
import { pause, until } from './wait.js';
import { ask, chainOf, hex, hold, isAddress, isHash, isOn, listOf, own, positionOf, read, replacementOf, same, text, tryRead, } from './wallet.js';
import { done, isUntouched, refuse, takenAs, watch, watchBatch } from './watch.js';
export { SendError, sendErrorOf };
const OPTIONS = [
	'client', 'listing', 'unverified', 'onStep', 'signal', 'resume', 'readProvider', 'rpcUrls', 'trustListing', 'batch',
	'interval',
];
const EITHER = [['client', 'listing', 'unverified'], ['rpcUrls', 'trustListing']];
const NO_LISTING = 'trustListing needs a listing';
export async function connect(wallet, wanted) {
	try {
		return await accountOf(newQuestion(wallet), wanted);
	}
	catch (error) {
		throw sendErrorOf(error);
	}
}
async function accountOf(question, wanted) {
	const accounts = listOf(await read(question, 'eth_requestAccounts')).filter(isAddress);
	if (!accounts.length)
		throw fail(question, 'NO_ACCOUNT');
	const from = wanted ? accounts.find((each) => same(each, wanted)) : accounts[0];
	if (!from)
		throw fail(question, 'OTHER_ACCOUNT', {}, wanted);
	return from;
}
async function switchChain(job) {
	const { chainId } = job.swap;
	if (await chainOf(job) === job.chain)
		return;
	const change = () => read(job, 'wallet_switchEthereumChain', [{ chainId }]);
	try {
		await change().catch(async (error) => {
			if (!isUnknownChain(error) || !await addUnknownChain(job))
				throw error;
			if (await chainOf(job) !== job.chain)
				await change();
		});
	}
	catch (error) {
		throw isUnknownChain(error) ? wrongChain(job, 'UNKNOWN_CHAIN', error) : error;
	}
	if (await chainOf(job) !== job.chain)
		throw wrongChain(job, 'OTHER_CHAIN');
}
async function addUnknownChain(job) {
	const { rpcUrls, trustListing, listing, client } = job.options;
	if (!rpcUrls && !trustListing)
		return undefined;
	await tell(job, { step: 'add' });
	const trusted = trustListing ? listing ?? await listings.get(client ?? job)?.(job.signal) : undefined;
	const parameters = await parametersOf(job.chain, { rpcUrls, trustListing, listing: trusted });
	if (parameters)
		await add(job, parameters);
	return parameters;
}
const parametersOf = async (id, options) => (await import('./chain.js')).chainParameters(id, options);
const add = (node, parameters) => read(node, 'wallet_addEthereumChain', [parameters]);
export async function addChain(wallet, chainId, options) {
	readOptions(options, ['rpcUrls', 'listing', 'trustListing', 'signal'], 'addChain', EITHER);
	if (options.trustListing && !options.listing)
		throw new TypeError(NO_LISTING);
	const id = Number(chainId);
	const question = newQuestion(wallet, options.signal);
	const parameters = await parametersOf(id, options);
	if (!parameters)
		throw fail(question, 'UNKNOWN_CHAIN', { chainId: hex(id) }, id);
	try {
		await add(question, parameters);
	}
	catch (error) {
		throw sendErrorOf(error);
	}
}
async function stillThere(job) {
	const accounts = await tryRead(job, 'eth_accounts');
	if (Array.isArray(accounts) && !accounts.some((each) => same(each, job.from)))
		throw fail(job, 'ACCOUNT_GONE');
	if (await chainOf(job) !== job.chain)
		throw wrongChain(job, 'CHAIN_CHANGED');
}
function notExpired(job) {
	if (Date.now() <= job.checked.expiresAt)
		return;
	throw fail(job, 'EXPIRED', {}, sentSoFar(job) === 'NOTHING' ? '' : ' while you were signing');
}
async function execute(job) {
	if (!job.isMet)
		await meet(job);
	await tell(job, { step: 'switch' });
	await switchChain(job);
	await tell(job, { step: 'read' });
	const calls = await neededCalls(job);
	const count = calls.length;
	await needContracts(job, calls);
	const { from, swap: { chainId } } = job;
	if (count > 1 && job.options.batch !== false && await canBatch(job)) {
		const list = calls.map(({ to, data, value }) => ({ to, data, value }));
		const params = { version: '2.0.0', from, chainId, atomicRequired: false, calls: list };
		const sent = await pay(job, { what: 'batch', index: 0, count }, 'wallet_sendCalls', [params]);
		if (sent)
			return sent;
	}
	for (const [index, call] of calls.slice(0, -1).entries()) {
		await stillThere(job);
		await approve(job, { what: count - index === 3 ? 'reset' : 'approval', index, count }, call);
	}
	await stillThere(job);
	await neededCalls(job);
	const { to, data, value } = lastOf(calls);
	const params = [{ from, to, data, value, chainId }];
	const sent = await pay(job, { what: 'swap', index: count - 1, count }, 'eth_sendTransaction', params);
	return (sent);
}
async function canBatch(job) {
	const { from, swap: { chainId } } = job;
	return await tryRead(job, 'wallet_getCapabilities', [from, [chainId]]) !== undefined;
}
async function approve(job, which, { chainId, to, data, value }) {
	const transaction = await newTransaction(job, which);
	let txHash;
	try {
		txHash = await read(job, 'eth_sendTransaction', [{ from: job.from, to, data, value, chainId }]);
	}
	catch (error) {
		if (isRefusal(error))
			transaction.state = 'refused';
		throw error;
	}
	if (!isHash(txHash))
		throw fail(job, 'NO_HASH');
	transaction.state = 'broadcast';
	await confirm(job, transaction, { to, data }, txHash, true);
}
async function newTransaction(job, which) {
	const position = await positionOf(job, job.from);
	const { step } = job;
	await tell(job, { step: 'sign', ...which, ...position });
	const told = job.step;
	job.step = step;
	if (job.signal?.aborted)
		throw fail(job, 'STOPPED');
	notExpired(job);
	job.step = told;
	const transaction = { ...which, ...position, state: 'asked' };
	job.transactions.push(transaction);
	return transaction;
}
async function confirm(job, transaction, approval, txHash, isNew) {
	const { what, index, count, since, nonce } = transaction;
	const show = () => tell(job, { step: 'confirm', what, index, count, since, nonce, approval, txHash });
	if (isNew)
		await show();
	for (;;) {
		const receipt = await tryRead(job, 'eth_getTransactionReceipt', [txHash]);
		if (own(receipt, 'status') === '0x0')
			throw fail(job, 'APPROVAL_FAILED', { txHash }, txHash);
		if (receipt) {
			transaction.state = 'done';
			return;
		}
		if (await isOn(job, job.chain) === false)
			throw wrongChain(job, 'CHAIN_CHANGED');
		const other = await replacementOf(job, job.from, transaction, txHash);
		if (!other) {
			await pause(job.seconds / 2, job.signal);
			continue;
		}
		const isSame = same(other.to, approval.to) && same(other.input, approval.data);
		if (!isSame)
			throw fail(job, 'REPLACED', { txHash: other.hash }, other.hash);
		txHash = other.hash;
		transaction.state = 'replaced';
		await show();
	}
}
export async function findReplacement(wallet, sent, options = {}) {
	readOptions(options, ['signal'], 'findReplacement');
	const node = { wallet, signal: options.signal };
	if (!await isOn(node, Number(sent.chainId)))
		return undefined;
	return (await replacementOf(node, sent.from, sent, sent.txHash))?.hash;
}
async function pay(job, which, method, params) {
	const transaction = await newTransaction(job, which);
	const isBatch = which.what === 'batch';
	const late = ask(job, method, params);
	job.payment.outcome = { late, step: job.step };
	let said;
	try {
		const result = await until(late, job.signal);
		const taken = await takenAs(job, transaction, result);
		if (taken)
			return taken;
	}
	catch (error) {
		if (error instanceof SendError || job.signal?.aborted)
			throw error;
		const unable = isBatch && isNoBatch(error);
		const poor = !isBatch && isPoor(error);
		if (isRefusal(error) || unable || (poor && await isUntouched(job, transaction, error))) {
			refuse(job, transaction);
			if (unable)
				return undefined;
			throw error;
		}
		said = error;
	}
	return watch(job, transaction, said, undefined);
}
const isPaying = (step) => (step?.step === 'sign' && ['swap', 'batch'].includes(step.what)) ||
	['look', 'unclear', 'batch', 'sent'].includes(step?.step);
function transactionsAt({ step, what, index, count, since, nonce, batch }) {
	if (step !== 'sign' && step !== 'confirm' && !isPaying({ step }))
		return [];
	const state = step === 'confirm' ? 'broadcast' : 'asked';
	const last = { what: batch ? 'batch' : what ?? 'swap', index, count, since, nonce, state };
	return (index ? [{ ...last, what: 'approval', state: 'done' }, last] : [last]);
}
function takeUp(job, { step, late }) {
	recall(job, step);
	job.payment.outcome = { step, late };
	const transaction = (paymentOf(job));
	if (isHash(step.txHash))
		return done(job, transaction, step.txHash, step.batch);
	return step.batch ? watchBatch(job, transaction, text(step.batch)) : watch(job, transaction, undefined, late);
}
function recall(job, step) {
	job.from = step.from ?? '';
	job.step = step;
	job.transactions = transactionsAt(step);
}
function isOther(job, step) {
	const hasFrom = isAddress(step.from) || step.step === 'connect';
	const isSame = same(own(step.call, 'data'), job.swap.data) && same(step.chainId, job.swap.chainId);
	return !hasFrom || !isSame || (job.account !== undefined && step.from !== undefined && !same(step.from, job.account));
}
function begin(job, who) {
	const payment = job.payments.get(who) ?? {};
	if (payment.running)
		throw fail(job, 'RUNNING', { sent: 'UNKNOWN' });
	payment.running = true;
	job.payments.set(who, payment);
	job.running.push(who);
	job.payment = payment;
}
async function beginAs(job, account) {
	begin(job, account.toLowerCase());
	job.account = account;
	const { to, data } = job.swap;
	job.release = await hold(`${account.toLowerCase()} ${job.chain} ${to} ${data}`);
	if (!job.release)
		throw fail(job, 'RUNNING', { sent: 'UNKNOWN' });
}
function end(job) {
	for (const who of job.running) {
		const payment = (job.payments.get(who));
		payment.running = false;
		if (!payment.outcome)
			job.payments.delete(who);
	}
	job.release?.();
}
async function meet(job) {
	await tell(job, { step: 'connect' });
	job.from = await accountOf(job, job.account);
	job.isMet = true;
	if (!job.account)
		await beginAs(job, job.from);
}
async function proceed(job, resume) {
	const earlier = job.payment.outcome ?? (resume && { step: resume });
	if (earlier?.result)
		return earlier.result;
	if (isPaying(earlier?.step))
		return takeUp(job, earlier);
	if (resume && resume.step !== 'connect')
		recall(job, resume);
	job.isBegun = !job.account && job.payments.size > 1;
	if (!job.isBegun) {
		notExpired(job);
		await needVerified(job);
	}
	if (!job.account) {
		await meet(job);
		job.isBegun = false;
		return proceed(job, resume);
	}
	const [transaction] = job.transactions.slice(-1);
	if (transaction && resume?.step === 'confirm' && isHash(resume.txHash) && await chainOf(job) === job.chain) {
		await confirm(job, transaction, resume.approval, resume.txHash, false);
	}
	return execute(job);
}
export async function send(wallet, checked, options = {}) {
	readOptions(options, OPTIONS, 'send', EITHER);
	const { resume, trustListing, listing, client, rpcUrls } = options;
	if (rpcUrls)
		await parametersOf(0, { rpcUrls });
	if (trustListing && !listing && !client)
		throw new TypeError(NO_LISTING);
	if (checked.unshield || !checked.calls.length) {
		throw new TypeError('An unshielding swap is for a RAILGUN wallet to wrap');
	}
	const job = newJob(wallet, checked, options);
	try {
		if (resume && isOther(job, resume))
			throw fail(job, 'OTHER_SWAP', { sent: 'UNKNOWN' });
		job.account ??= resume?.from;
		if (job.account)
			await beginAs(job, job.account);
		else
			begin(job, wallet);
		return await proceed(job, resume);
	}
	catch (error) {
		if (own(error, 'message') === NOT_VERIFIED)
			throw error;
		const isOwn = error instanceof SendError;
		const isStopped = job.signal?.aborted;
		if (paymentOf(job) && (isStopped || !isOwn))
			throw fail(job, 'UNCLEAR', { sent: 'UNKNOWN', cause: error });
		if (isStopped && !isOwn)
			throw fail(job, 'STOPPED', { cause: error });
		throw sendErrorOf(error, sentSoFar(job), job.step);
	}
	finally {
		end(job);
	}
}
