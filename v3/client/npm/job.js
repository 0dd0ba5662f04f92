// Compiled from src/job.js.
import { clients, paymentsOf } from './payments.js';
import { failed } from './send-errors.js';
const INTERVAL = 2000;
export const defined = (fields) => Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
export const lastOf = (calls) => (calls[calls.length - 1]);
export const newQuestion = (wallet, signal) => ({ wallet, signal, transactions: [], isBegun: false, step: undefined });
export function newJob(wallet, given, options) {
	const { request, quote, calls, expiresAt, sufficient, warning } = given;
	const checked = JSON.parse(JSON.stringify({ request, quote, calls, expiresAt, sufficient, warning }));
	const swap = lastOf(checked.calls);
	return {
		...newQuestion(wallet, options.signal), options, checked, recheck: recheckOf(options, clients.get(given)), swap,
		chain: Number(swap.chainId), seconds: (options.interval ?? INTERVAL) / 1000, payments: paymentsOf(checked),
		account: checked.request['from'], from: '', isMet: false, payment: {}, running: [], release: undefined,
	};
}
function recheckOf({ client, listing, unverified }, origin) {
	if (unverified)
		return undefined;
	if (client)
		return (...given) => client.recheck(...given);
	if (!listing)
		return origin?.recheck;
	return async (checked, { allowance } = {}) => {
		const { verify } = await import('./verify.js');
		const { request, quote } = checked;
		const known = { listing, now: Date.now(), ...(allowance !== undefined && { allowance }) };
		const { problems, calls } = verify((request), quote, known);
		if (problems.length)
			throw Object.assign(new Error(problems[0]), { problems });
		return { ...checked, calls };
	};
}
const isOut = ({ state }) => state !== 'refused';
export const paymentOf = ({ transactions }) => transactions.find((each) => isOut(each) && (each.what === 'swap' || each.what === 'batch'));
export function sentSoFar(job) {
	if (job.isBegun || paymentOf(job))
		return 'UNKNOWN';
	const approvals = job.transactions.filter(isOut);
	const last = approvals[approvals.length - 1];
	if (!last)
		return 'NOTHING';
	return last.state === 'asked' ? 'APPROVAL_PERHAPS' : 'APPROVAL';
}
export const fail = (job, code, more = {}, detail = '') => failed(code, { sent: sentSoFar(job), step: job.step, ...more }, detail);
export const wrongChain = (job, code, cause) => fail(job, code, { chainId: job.swap.chainId, cause }, job.chain);
export async function tell(job, step) {
	const { from, step: before, swap: { chainId, to, data, value } } = job;
	job.step = defined({ ...step, chainId, from: from || undefined, call: { to, data, value } });
	try {
		await job.options.onStep?.((job.step));
	}
	catch (error) {
		job.step = before;
		throw fail(job, 'LISTENER', { cause: error });
	}
}
export async function tellSafely(job, step) {
	try {
		await tell(job, step);
	}
	catch { }
}
