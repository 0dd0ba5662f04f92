// Compiled from src/errors.js.
import { checkForm, plain } from './verify.js';
export const QuoteError = (class QuoteError extends Error {
	constructor(message, fields) {
		super(message);
		Object.setPrototypeOf(this, QuoteError.prototype);
		this.name = 'QuoteError';
		Object.assign(this, fields);
	}
});
export function failure(code, message, fields = {}) {
	return new QuoteError(message, { status: 0, ...fields, code });
}
function retryAfterOf(headers) {
	const told = headers?.get('retry-after') ?? '';
	const now = Date.parse(headers?.get('date') ?? '') || Date.now();
	const seconds = /^\d+$/.test(told) ? Number(told) : Math.ceil((Date.parse(told) - now) / 1000);
	return Number.isNaN(seconds) ? undefined : Math.min(Math.max(seconds, 0), 86400);
}
export function unreachableReason(cause) {
	for (let error = cause, depth = 0; error && depth < 5; error = error.cause, depth++) {
		const said = `${error.code ?? ''} ${error.message ?? ''}`;
		if (/ENOTFOUND|EAI_/.test(said))
			return 'DNS';
		if (/ECONNREFUSED/.test(said))
			return 'REFUSED';
		if (/CERT|ERR_TLS|ERR_SSL|EPROTO|UNABLE_TO_|ALTNAME/.test(said))
			return 'TLS';
		if (/ERR_INVALID_URL/.test(said))
			return 'INVALID_URL';
		if (/unexpected redirect/.test(said))
			return 'REDIRECT';
	}
	return 'NETWORK';
}
const ERROR = {
	error: 'text', code: 'text', 'requestId?': 'text', 'param?': 'text', 'reason?': 'text', 'minAmount?': 'amount',
	'maxAmount?': 'amount', 'successor?': 'text', 'until?': 'text',
	'alternatives?': [{ dstChain: 'text', dstToken: 'text' }],
};
export function errorOf({ status, body, headers, cause, why }) {
	const problems = [];
	checkForm(problems, '', body, ERROR);
	const known = !problems.length && body.code && body.error;
	const fields = { status };
	const names = known ? Object.keys(ERROR).slice(2).map((name) => name.replace('?', '')) : [];
	for (const name of names)
		if (body[name])
			fields[name] = body[name];
	const requestId = fields['requestId'] ?? headers?.get('x-request-id') ?? undefined;
	if (requestId !== undefined)
		fields['requestId'] = requestId;
	const retryAfter = retryAfterOf(headers);
	if (retryAfter !== undefined)
		fields['retryAfter'] = retryAfter;
	if (known)
		return failure(body.code, plain(body.error, 300), fields);
	if (!status)
		return failure('UNREACHABLE', 'The gateway does not answer', { ...fields, reason: why, cause });
	return failure('UNREADABLE', `The gateway answered with status ${status} and nothing that can be read`, fields);
}
const PASSING = [0, 408, 425, 429, 500, 502, 503, 504];
export function isPassing(error) {
	if (!(error instanceof QuoteError))
		return false;
	const { code, status } = error;
	return PASSING.includes(status) || (code === 'UNREADABLE' && (status < 400 || status >= 500));
}
