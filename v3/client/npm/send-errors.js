// Compiled from src/send-errors.js.
import { own, text } from './wallet.js';
const REFUSALS = [4001, 4100, 5750, 5000, 5001, 5002, 5003, 'ACTION_REJECTED', 'NOT_SENT'];
const NO_BATCH = [4200, -32601, 5700, 5710, 5740, 5760];
const UNKNOWN_CHAIN = 4902;
const CODES = {
	4001: 'REFUSED', 5750: 'REFUSED', 5000: 'REFUSED', 5001: 'REFUSED', 5002: 'REFUSED', 5003: 'REFUSED',
	ACTION_REJECTED: 'REFUSED', 4100: 'UNAUTHORIZED', 4900: 'DISCONNECTED', 4901: 'DISCONNECTED', '-32002': 'BUSY',
};
const POOR = /insufficient (funds|balance)|not enough funds/i;
const DENIED = /\buser (has )?(rejected|denied|declined|cancell?ed)/i;
const SAYS = {
	REFUSED: 'You rejected the request in your wallet.',
	UNAUTHORIZED: 'The wallet does not let this page use that account. Allow it in the wallet, then try again.',
	DISCONNECTED: 'The wallet is disconnected from the chain. Check its connection, then try again.',
	BUSY: 'The wallet is already asking you something. Answer it there, then try again.',
	WALLET: 'The wallet failed*.',
	NO_ACCOUNT: 'The wallet gave no account. Choose one in the wallet, then try again.',
	OTHER_ACCOUNT: 'The wallet shows another account. The quote is for *: choose it in the wallet, then try again.',
	ACCOUNT_GONE: 'The wallet has disconnected the account. Connect it again, then try again. The swap was not sent.',
	UNKNOWN_CHAIN: 'The wallet does not know chain *.',
	OTHER_CHAIN: 'The wallet is on another chain. Switch it to chain *, then try again.',
	CHAIN_CHANGED: 'The wallet has changed to another chain. Switch it back to chain *, then try again. The swap was not sent.',
	NO_CONTRACT: 'There is no contract at *: funds sent there are lost. Do not pay this quote anywhere.',
	CONTRACT_UNKNOWN: 'No node says whether there is a contract at *. Try again, or use another wallet.',
	TOO_LITTLE: 'The account has too little *. The swap was not sent.',
	INSUFFICIENT_FUNDS: 'The wallet says that the account has too little for amount and gas. Add funds or send less.',
	WOULD_FAIL: 'The dry run of this quote has failed. Renew the quote.',
	UNVERIFIED: 'This quote does not pass the checks any more. The swap was not sent.',
	EXPIRED: 'This quote has expired*. Renew it.',
	ALLOWANCE: 'The account allows less than before. Renew the quote.',
	REPLACED: 'The wallet has replaced the approval by another transaction, *. The swap was not sent.',
	APPROVAL_FAILED: 'The approval failed on the chain. It is *. The swap was not sent.',
	NO_HASH: 'The wallet gave no hash of the approval. Look in the wallet whether it was sent.',
	BATCH_FAILED: 'The batch failed.',
	BATCH_IN_PART: 'Part of the batch was executed.',
	STOPPED: 'You stopped waiting for the wallet. If it still asks you something, reject it.',
	UNCLEAR: 'You stopped waiting for the wallet.',
	RUNNING: 'Already being sent, here or in another tab.',
	OTHER_SWAP: 'resume is of another swap.',
	LISTENER: 'onStep threw.',
};
const LEFT = {
	NOTHING: 'Nothing was sent.',
	APPROVAL: 'The approval was sent and stands. Nothing else was sent.',
	APPROVAL_PERHAPS: 'The approval may have been sent, which pays nothing. The swap was not sent.',
	UNKNOWN: 'The swap may have been sent: look in the wallet first.',
};
export const SendError = (class SendError extends Error {
	constructor(code, message, fields) {
		super(message.endsWith('not sent.') ? message : `${message} ${LEFT[fields.sent]}`);
		Object.setPrototypeOf(this, SendError.prototype);
		this.name = 'SendError';
		Object.assign(this, { code, ...fields });
	}
});
export function failed(code, fields, detail = '') {
	return new SendError(code, SAYS[code].replace('*', () => String(detail)), fields);
}
function layersOf(error) {
	const layers = [typeof error === 'string' ? { message: error } : error];
	for (let n = 0; n < layers.length && n < 20; n++) {
		const inner = ['cause', 'data', 'error', 'info', 'originalError'].map((name) => own(layers[n], name));
		layers.push(...inner.filter((each) => typeof each === 'object' && each !== null));
	}
	return layers.slice(0, 20);
}
const says = (error, what) => layersOf(error).some((each) => [own(each, 'message'), own(each, 'details')].some((said) => what.test(text(said))));
function codesOf(error) {
	const codes = layersOf(error).map((each) => own(each, 'code'));
	const isOther = codes.some((code) => code !== undefined && code !== -32603);
	return !isOther && says(error, DENIED) ? [4001] : codes;
}
const hasCode = (error, list) => codesOf(error).some((code) => list.includes(code));
export function isRefusal(error) {
	return hasCode(error, REFUSALS);
}
export function isNoBatch(error) {
	return hasCode(error, NO_BATCH);
}
export function isUnknownChain(error) {
	return hasCode(error, [UNKNOWN_CHAIN]);
}
export function isPoor(error) {
	return says(error, POOR);
}
export function sendErrorOf(error, sent = 'NOTHING', step = undefined) {
	if (error instanceof SendError)
		return error;
	const said = text(own(error, 'message') ?? error).slice(0, 300).replace(/\.$/, '');
	const known = codesOf(error).find((each) => Object.prototype.hasOwnProperty.call(CODES, each));
	const code = CODES[known] ?? (isPoor(error) ? 'INSUFFICIENT_FUNDS' : 'WALLET');
	return failed(code, { sent, step, cause: error }, said ? `: ${said}` : ' without a reason');
}
