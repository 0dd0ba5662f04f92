// Compiled from src/estimate.js.
import { failure } from './errors.js';
import { readOptions } from './options.js';
import { findPair, NO_PAIR, show, split, unitOf } from './verify.js';
const OPTIONS = ['srcToken', 'dstToken', 'srcChain', 'dstChain', 'amount', 'destAmount', 'integratorPercentage'];
const MOST = 10;
export function estimate(listing, request) {
	readOptions(request, OPTIONS, 'estimate', [['amount', 'destAmount']]);
	const { amount, destAmount, integratorPercentage: rate = 0 } = request;
	if (!(rate >= 0 && rate <= MOST && Math.round(rate * 100) / 100 === rate)) {
		throw new TypeError(`integratorPercentage must be 0 to ${MOST}, with at most two decimals, not ${show(rate)}`);
	}
	const pair = pairOf(listing, request);
	const isForward = destAmount === undefined;
	const sent = isForward ? read('amount', amount) : amountFor(pair, read('destAmount', destAmount), rate);
	if (sent < pair.min || sent > pair.max) {
		const sentence = `The amount to send is ${sent}, but must be ${pair.min} to ${pair.max}`;
		throw failure('AMOUNT_OUT_OF_RANGE', sentence, { minAmount: String(pair.min), maxAmount: String(pair.max) });
	}
	const { protocol, integrator, dest } = split(pair, sent, rate);
	return {
		srcToken: pair.srcToken, destToken: pair.dstToken, srcAmount: String(sent), destAmount: String(dest),
		fee: {
			protocol: { percentage: pair.fee, amount: String(protocol) },
			integrator: { percentage: rate, amount: String(integrator) },
			total: { amount: String(protocol + integrator) },
		},
	};
}
function read(name, value) {
	const isNumber = typeof value === 'bigint' || Number.isSafeInteger(value);
	const digits = isNumber ? String(value) : value;
	if (typeof digits !== 'string' || !/^[0-9]{1,78}$/.test(digits)) {
		throw new TypeError(`${name} must be an integer in digits or a bigint, not ${show(value)}`);
	}
	return BigInt(digits);
}
function pairOf(listing, request) {
	if (!listing)
		throw new TypeError('estimate needs a listing, such as client.pairs() gives');
	const problems = [];
	const report = { ok: false, problems, unchecked: [], warnings: [], checked: [], calls: [], wrap: [], expired: false };
	const pair = findPair((request), listing, report);
	if (pair)
		return pair;
	const [problem = ''] = problems;
	if (problem === NO_PAIR)
		throw failure('UNSUPPORTED_PAIR', 'The listing has no such pair of tokens and chains');
	throw failure('UNVERIFIED', problem, { problems, checked: [], quote: undefined });
}
function amountFor(pair, least, rate) {
	const hundredths = (percentage) => BigInt(Math.round(percentage * 100));
	const left = 10000n - hundredths(pair.fee) - hundredths(rate);
	const [src, dst] = [unitOf(pair.srcToken.decimals), unitOf(pair.dstToken.decimals)];
	let gross = (least < 2n ? 0n : least - 2n) * 10000n / left;
	const from = split(pair, pair.min, rate).dest > least ? 0n : pair.min;
	for (;;) {
		const exact = (gross * src + dst - 1n) / dst;
		const amount = exact < from ? from : exact;
		const { protocol, integrator, dest } = split(pair, amount, rate);
		if (dest >= least)
			return amount;
		gross = protocol + integrator + dest + 1n;
	}
}
