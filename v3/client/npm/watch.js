// Compiled from src/watch.js.
import { defined, fail, tellSafely } from './job.js';
import { payerOf } from './payments.js';
import { isRefusal } from './send-errors.js';
import { pause } from './wait.js';
import { hex, hold, isHash, isOn, isQuantity, listOf, own, readAmount, readNonce, same, text, transactionsOf, tryRead, } from './wallet.js';
const AHEAD = 20;
const LOOKS = 3;
export function refuse(job, transaction) {
	transaction.state = 'refused';
	job.payment.outcome = undefined;
}
export async function isUntouched(job, transaction, error) {
	const { nonce } = transaction;
	if (!nonce)
		return false;
	await tellSafely(job, { step: 'look', ...saidOf(transaction, error) });
	for (let n = 0; n < LOOKS; n++) {
		if (n)
			await pause(job.seconds, job.signal);
		const isThere = await isOn(job, job.chain);
		const next = await readNonce(job, job.from);
		const waiting = await ownTransactions(job, transaction, 'pending');
		if (!isThere || next !== BigInt(nonce) || waiting?.length)
			return false;
	}
	return true;
}
function saidOf({ what, index, count, since, nonce }, error) {
	const reason = text(own(error, 'message')).slice(0, 300);
	return { what, index, count, since, nonce, reason: reason || undefined };
}
export async function takenAs(job, transaction, result) {
	if (transaction.what !== 'batch') {
		return isHash(result) && await claim(job, result) ? done(job, transaction, result) : undefined;
	}
	const batch = text(own(result, 'id') ?? result);
	return batch ? watchBatch(job, transaction, batch) : undefined;
}
async function claim(job, txHash) {
	const key = `${job.chain} ${txHash.toLowerCase()}`;
	const owner = payerOf(job.wallet, key);
	if (owner)
		return owner === job.payment;
	if (!await hold(key))
		return false;
	job.payment.taken = { wallet: job.wallet, txHash: key };
	return true;
}
export async function done(job, transaction, txHash, batch) {
	const { since, nonce } = transaction;
	const more = { txHash, batch, since, nonce: batch ? undefined : nonce };
	const result = defined({ ...more, from: job.from, chainId: job.swap.chainId });
	transaction.state = 'done';
	job.payment.outcome = { result };
	await tellSafely(job, { step: 'sent', ...more });
	return result;
}
export async function watch(job, transaction, said, late) {
	await tellSafely(job, { step: 'unclear', ...saidOf(transaction, said) });
	let answer;
	const heard = late?.then((result) => { answer = { result }; }, (error) => { answer = { error }; });
	let next = firstBlock(transaction);
	for (;;) {
		const found = await lookInBlocks(job, transaction, next);
		if (found.txHash)
			return done(job, transaction, found.txHash);
		next = found.next;
		const idle = pause(job.seconds, job.signal);
		await (heard && !answer ? Promise.race([idle, heard]) : idle);
		if (!answer)
			continue;
		if (answer.error && isRefusal(answer.error)) {
			refuse(job, transaction);
			throw answer.error;
		}
		const taken = await takenAs(job, transaction, answer.result);
		if (taken)
			return taken;
	}
}
export async function watchBatch(job, transaction, batch) {
	const { since } = transaction;
	const show = (state) => tellSafely(job, { step: 'batch', batch, state, since });
	let next = firstBlock(transaction);
	let shown = 'PENDING';
	transaction.state = 'broadcast';
	await show(shown);
	for (;;) {
		const got = await tryRead(job, 'wallet_getCallsStatus', [batch]);
		const status = Number(own(got, 'status'));
		const receipts = listOf(own(got, 'receipts'));
		const txHash = own(receipts[receipts.length - 1], 'transactionHash');
		if (status >= 200 && status < 400 && isHash(txHash))
			return done(job, transaction, txHash, batch);
		if (status === 600)
			throw fail(job, 'BATCH_IN_PART', { batch });
		if (status >= 400) {
			refuse(job, transaction);
			throw fail(job, 'BATCH_FAILED', { batch });
		}
		const state = status >= 200 ? 'DONE' : status >= 100 ? 'PENDING' : 'SILENT';
		if (state !== shown)
			await show(state);
		shown = state;
		const found = await lookInBlocks(job, transaction, next);
		if (found.txHash)
			return done(job, transaction, found.txHash, batch);
		next = found.next;
		await pause(job.seconds, job.signal);
	}
}
const firstBlock = ({ since }) => (isQuantity(since) ? BigInt(since) + 1n : undefined);
async function lookInBlocks(job, transaction, next) {
	const latest = await readAmount(job, 'eth_blockNumber', []);
	if (latest === undefined || !await isOn(job, job.chain))
		return { next };
	let number = next ?? latest;
	for (let n = 0; number <= latest && n < AHEAD; n++, number++) {
		const found = await ownTransactions(job, transaction, hex(number));
		if (!found)
			return { next: number };
		for (const { hash } of found)
			if (await claim(job, hash))
				return { txHash: hash };
	}
	return { next: number };
}
async function ownTransactions(job, { nonce }, block) {
	const { from, swap: { to, data } } = job;
	const isEarlier = (tx) => isQuantity(nonce) && isQuantity(tx.nonce) && BigInt(tx.nonce) < BigInt(nonce);
	const all = await transactionsOf(job, block);
	return all?.filter((tx) => same(tx.from, from) && same(tx.to, to) && same(tx.input, data) && !isEarlier(tx));
}
