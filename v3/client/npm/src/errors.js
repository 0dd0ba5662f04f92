// What the client throws, and what an answer that is not usable means.
import { checkForm, plain } from './verify.js';

/** @import { Amount, RecipientReason, Time } from './types.js' */
/** @import { CheckedQuote } from './index.js' */

/**
 * @template {string} Code
 * @typedef {Error & {
 *   readonly name: 'QuoteError',
 *   readonly code: Code,
 *   readonly status: number,
 *   readonly requestId?: string,
 * }} Failure `status` is that of the answer, 0 if there was none. The operator of the gateway finds a request by its
 *   `requestId`.
 */
/** @typedef {{ readonly param?: string }} AtParameter `param` is the parameter at fault. */
/** @typedef {{ readonly retryAfter?: number }} Later `retryAfter` is in seconds. */

/**
 * What the client throws: a union by `code`, with the fields that each code has.
 *
 * `UNVERIFIED`: the check failed. Sign nothing, and believe nothing of it. `quote` is the answer, to be shown and not
 * to be used. `result` is there if nothing is wrong but that the gateway itself warns of the quote: what `quote()`
 * would have returned, to be shown and not to be signed. `OUTDATED`: the gateway needs a newer version of this package.
 * `UNREACHABLE`: there was no answer; `cause` is what `fetch` threw. `UNREADABLE`: there was an answer that cannot be
 * read, such as a page of a proxy.
 * @typedef {(
 *   | Failure<'MISSING_PARAMETER' | 'INVALID_PARAMETER' | 'INVALID_AMOUNT' | 'UNSUPPORTED_CHAIN' | 'UNSUPPORTED_TOKEN'
 *   |
 *       'INVALID_INTEGRATOR' | 'INTEGRATOR_UNREGISTERED' | 'INTEGRATOR_INACTIVE' | 'INTEGRATOR_FEE_TOO_HIGH'> &
 *       AtParameter
 *   | Failure<'AMOUNT_OUT_OF_RANGE'> & AtParameter & { readonly minAmount: Amount, readonly maxAmount: Amount }
 *   | Failure<'UNSUPPORTED_PAIR'> & AtParameter & { readonly alternatives?: { dstChain: string, dstToken: string }[] }
 *   | Failure<'INVALID_RECIPIENT'> & AtParameter & { readonly reason?: RecipientReason }
 *   | Failure<'INTEGRATOR_UNVERIFIED' | 'ISSUER_FEE_TOO_HIGH' | 'STATUS_UNAVAILABLE' | 'CHAIN_UNAVAILABLE' |
 *       'USAGE_UNAVAILABLE' | 'RATE_LIMITED'> & Later
 *   | Failure<'VERSION_BROWNOUT'> & Later & { readonly successor?: string, readonly until?: Time }
 *   | Failure<'VERSION_RETIRED'> & { readonly successor?: string }
 *   | Failure<'NOT_FOUND' | 'METHOD_NOT_ALLOWED' | 'UNKNOWN_KEY' | 'INTERNAL'>
 *   | Failure<'UNVERIFIED'> & {
 *       readonly problems: string[], readonly checked: string[], readonly quote: unknown, readonly result?:
 *       CheckedQuote,
 *     }
 *   | Failure<'OUTDATED'> & { readonly needs: string }
 *   | Failure<'UNREACHABLE'> & Later & { readonly reason: UnreachableReason, readonly cause: unknown }
 *   | Failure<'UNREADABLE'> & Later
 * )} QuoteError
 */
/** @typedef {QuoteError['code']} ErrorCode */
/**
 * Why there was no answer. Browsers tell only `TIMEOUT`, `CORS` (the page may not read the answer) and `NETWORK`, which
 * may be anything else; Node also names the others.
 * @typedef {'TIMEOUT' | 'DNS' | 'REFUSED' | 'TLS' | 'CORS' | 'REDIRECT' | 'INVALID_URL' | 'NETWORK'} UnreachableReason
 */

/**
 * @type {{
 *   new (message: string, fields: { code: ErrorCode, status: number }): QuoteError,
 *   readonly prototype: QuoteError,
 * }}
 */
export const QuoteError = /** @type {any} */ (class QuoteError extends Error {
  /** @param {string} message @param {object} fields */
  constructor(message, fields) {
    super(message);
    Object.setPrototypeOf(this, QuoteError.prototype); // for compilers that turn classes into functions
    this.name = 'QuoteError';
    Object.assign(this, fields);
  }
});

/**
 * Makes an error with the fields of its code.
 * @internal
 * @param {ErrorCode} code
 * @param {string} message
 * @param {object} fields
 */
export function failure(code, message, fields = {}) {
  return new QuoteError(message, { status: 0, ...fields, code });
}

/**
 * What a question to the gateway gave: the status, the body and the headers of an answer, or status 0 and why.
 * @typedef {{
 *   status: number, body?: any, headers?: Headers, cause?: unknown, why?: UnreachableReason,
 * }} Answer
 */

/**
 * Retry-After in seconds: it may be a number or a date.
 * @param {Headers | undefined} headers
 */
function retryAfterOf(headers) {
  const told = headers?.get('retry-after') ?? '';
  const now = Date.parse(headers?.get('date') ?? '') || Date.now();
  const seconds = /^\d+$/.test(told) ? Number(told) : Math.ceil((Date.parse(told) - now) / 1000);
  return Number.isNaN(seconds) ? undefined : Math.min(Math.max(seconds, 0), 86400);
}

/**
 * Why there was no answer, as far as the cause tells. Node names it; a browser does not.
 * @internal
 * @param {any} cause
 * @returns {UnreachableReason}
 */
export function unreachableReason(cause) {
  for (let error = cause, depth = 0; error && depth < 5; error = error.cause, depth++) {
    const said = `${error.code ?? ''} ${error.message ?? ''}`;
    if (/ENOTFOUND|EAI_/.test(said)) return 'DNS';
    if (/ECONNREFUSED/.test(said)) return 'REFUSED';
    if (/CERT|ERR_TLS|ERR_SSL|EPROTO|UNABLE_TO_|ALTNAME/.test(said)) return 'TLS';
    if (/ERR_INVALID_URL/.test(said)) return 'INVALID_URL';
    if (/unexpected redirect/.test(said)) return 'REDIRECT';
  }
  return 'NETWORK';
}

// The form of an error. ? may be left out.
const ERROR = {
  error: 'text', code: 'text', 'requestId?': 'text', 'param?': 'text', 'reason?': 'text', 'minAmount?': 'amount',
  'maxAmount?': 'amount', 'successor?': 'text', 'until?': 'text',
  'alternatives?': [{ dstChain: 'text', dstToken: 'text' }],
};

/**
 * Says what an answer that is not usable means. Of a body, only what is known is taken.
 * @internal
 * @param {Answer} answer
 */
export function errorOf({ status, body, headers, cause, why }) {
  /** @type {string[]} */
  const problems = [];
  checkForm(problems, '', body, ERROR);
  const known = !problems.length && body.code && body.error;
  /** @type {Record<string, any>} */
  const fields = { status };
  const names = known ? Object.keys(ERROR).slice(2).map((name) => name.replace('?', '')) : [];
  for (const name of names) if (body[name]) fields[name] = body[name];
  const requestId = fields['requestId'] ?? headers?.get('x-request-id') ?? undefined;
  if (requestId !== undefined) fields['requestId'] = requestId;
  const retryAfter = retryAfterOf(headers);
  if (retryAfter !== undefined) fields['retryAfter'] = retryAfter;
  if (known) return failure(body.code, plain(body.error, 300), fields);
  if (!status) return failure('UNREACHABLE', 'The gateway does not answer', { ...fields, reason: why, cause });
  return failure('UNREADABLE', `The gateway answered with status ${status} and nothing that can be read`, fields);
}

const PASSING = [0, 408, 425, 429, 500, 502, 503, 504]; // states of an answer that may be another one soon

/**
 * Whether the same question may be answered later.
 * @internal
 * @param {unknown} error
 * @returns {error is QuoteError & Later}
 */
export function isPassing(error) {
  if (!(error instanceof QuoteError)) return false;
  const { code, status } = error;
  return PASSING.includes(status) || (code === 'UNREADABLE' && (status < 400 || status >= 500));
}
