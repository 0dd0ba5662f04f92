// Compiled from src/status.js.
import { checkForm, networkOf, show } from './verify.js';
const PROGRESS = {
	state: 'state', final: 'boolean', 'reason?': 'text', 'expectedSeconds?': 'number',
	'swap?': {
		dstChain: 'text', dstToken: 'text', recipient: 'text', recipientType: 'number', amount: 'amount',
		'integratorId?': 'hash',
	},
	'burn?': { domain: 'uint32', 'nonce?': 'hash', attested: 'boolean', attestationState: 'text', 'reason?': 'text' },
	'settlement?': {
		chainId: 'number', 'txHash?': 'hash', amount: 'amount', arrived: 'amount', 'timestamp?': 'time', 'note?': 'hash',
		'short?': { swapped: 'amount', paid: 'amount' },
	},
};
const STATUS = {
	...PROGRESS, srcChain: 'text', txHash: 'hash',
	'source?': { blockNumber: 'number', confirmations: 'number', timestamp: 'time' },
	'swaps?': [PROGRESS], 'omittedSwaps?': 'number', nextCheckSeconds: 'number', 'contact?': 'text',
};
const isEnded = ({ state }) => ['SETTLED', 'FAILED', 'NOT_A_SWAP'].includes(state);
const folded = (value) => (typeof value === 'string' ? value.toLowerCase() : value);
export function same(got, want) {
	return folded(got) === folded(want);
}
export function sourceOf(given, quote) {
	if (quote && !quote.srcToken)
		throw new TypeError('quote must be the field quote of what client.quote has returned');
	const signed = quote?.srcToken.chainId;
	const isNumber = /^(\d+|0x[0-9a-f]+)$/i.test(String(given));
	const chain = given === undefined ? signed : isNumber ? networkOf(Number(given)) : undefined;
	if (!Number.isSafeInteger(chain))
		throw new TypeError(`srcChain must be the ID of a chain, not ${show(given)}`);
	if (signed !== undefined && chain !== signed) {
		throw new TypeError(`srcChain is ${chain}, but quote is sent on chain ${signed}`);
	}
	return String(chain);
}
export function statusProblems(answer, { srcChain, txHash, quote, since }) {
	const problems = [];
	checkForm(problems, '', answer, STATUS);
	if (problems.length)
		return problems;
	const status = answer;
	const { state, final, source } = status;
	const must = (right, sentence) => right || problems.push(sentence);
	must(same(status.txHash, txHash), `txHash is ${status.txHash}, but must be ${txHash}.`);
	must(same(status.srcChain, srcChain), `srcChain is ${show(status.srcChain)}, but must be ${srcChain}.`);
	for (const each of [status, ...(status.swaps ?? [])]) {
		const isPaid = Boolean(each.settlement);
		const isLess = (isEnded(status) && each.state !== state) || (final && !each.final);
		must(isEnded(each) || !each.final, `${each.state} cannot be final.`);
		must(isPaid === (each.state === 'SETTLED'), 'settlement must be there for SETTLED, and only then.');
		must(!each.final || !each.settlement?.short, 'A settlement that is short cannot be final.');
		must(!isLess, `swaps has ${each.state} beside ${state}.`);
	}
	must(Boolean(source) || ['NOT_FOUND', 'PENDING'].includes(state), `source must be there for ${state}.`);
	must(!source || since === undefined || source.blockNumber > Number(since), `source.blockNumber is ${source?.blockNumber}, but it was sent after block ${Number(since)}.`);
	if (quote)
		ownSwap(status, quote, problems);
	return problems;
}
function signedSwap({ destToken, details: { request, call } }) {
	const { dstChain, dstToken, amount, recipientType, integratorId } = request;
	const recipient = recipientType === 2 ? call.arguments['recipient']?.slice(0, 66) : request.recipient;
	return { chainId: destToken.chainId, swap: { dstChain, dstToken, amount, recipient, recipientType, integratorId } };
}
function ownSwap(status, quote, problems) {
	const wanted = signedSwap(quote);
	const differences = ({ state, swap, settlement }) => {
		const found = [];
		const compare = (name, got, want) => {
			if (!same(got ?? undefined, want))
				found.push(`${name} is ${show(got)}, but must be ${show(want)}.`);
		};
		if (settlement)
			compare('settlement.chainId', settlement.chainId, wanted.chainId);
		if (!swap && (state === 'SETTLING' || state === 'SETTLED'))
			found.push('swap must be told.');
		for (const [name, want] of Object.entries(swap ? wanted.swap : {})) {
			compare(`swap.${name}`, Reflect.get((swap), name), want);
		}
		return found;
	};
	const several = status.swaps ?? [];
	const own = several.find((each) => each.swap && !differences(each).length);
	if (own)
		return own;
	if (!several.length)
		problems.push(...differences(status));
	else if (!(Number(status.omittedSwaps) > 0) || isEnded(status)) {
		problems.push('None of swaps is the one that was signed.');
	}
	return status;
}
export function shortOf(status, quote) {
	const { settlement } = ownSwap(status, quote, []);
	if (!settlement || BigInt(settlement.amount) >= BigInt(quote.destAmount))
		return undefined;
	return String(BigInt(quote.destAmount) - BigInt(settlement.amount));
}
