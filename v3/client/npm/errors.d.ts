/**
 * What the client throws: a union by `code`, with the fields that each code has.
 *
 * `UNVERIFIED`: the check failed. Sign nothing, and believe nothing of it. `quote` is the answer, to be shown and not
 * to be used. `result` is there if nothing is wrong but that the gateway itself warns of the quote: what `quote()`
 * would have returned, to be shown and not to be signed. `OUTDATED`: the gateway needs a newer version of this package.
 * `UNREACHABLE`: there was no answer; `cause` is what `fetch` threw. `UNREADABLE`: there was an answer that cannot be
 * read, such as a page of a proxy.
 */
export type QuoteError = ((Failure<"MISSING_PARAMETER" | "INVALID_PARAMETER" | "INVALID_AMOUNT" | "UNSUPPORTED_CHAIN" | "UNSUPPORTED_TOKEN" | "INVALID_INTEGRATOR" | "INTEGRATOR_UNREGISTERED" | "INTEGRATOR_INACTIVE" | "INTEGRATOR_FEE_TOO_HIGH"> & AtParameter) | (Failure<"AMOUNT_OUT_OF_RANGE"> & AtParameter & {
    readonly minAmount: Amount;
    readonly maxAmount: Amount;
}) | (Failure<"UNSUPPORTED_PAIR"> & AtParameter & {
    readonly alternatives?: {
        dstChain: string;
        dstToken: string;
    }[];
}) | (Failure<"INVALID_RECIPIENT"> & AtParameter & {
    readonly reason?: RecipientReason;
}) | (Failure<"INTEGRATOR_UNVERIFIED" | "ISSUER_FEE_TOO_HIGH" | "STATUS_UNAVAILABLE" | "CHAIN_UNAVAILABLE" | "USAGE_UNAVAILABLE" | "RATE_LIMITED"> & Later) | (Failure<"VERSION_BROWNOUT"> & Later & {
    readonly successor?: string;
    readonly until?: Time;
}) | (Failure<"VERSION_RETIRED"> & {
    readonly successor?: string;
}) | Failure<"NOT_FOUND" | "METHOD_NOT_ALLOWED" | "UNKNOWN_KEY" | "INTERNAL"> | (Failure<"UNVERIFIED"> & {
    readonly problems: string[];
    readonly checked: string[];
    readonly quote: unknown;
    readonly result?: CheckedQuote;
}) | (Failure<"OUTDATED"> & {
    readonly needs: string;
}) | (Failure<"UNREACHABLE"> & Later & {
    readonly reason: UnreachableReason;
    readonly cause: unknown;
}) | (Failure<"UNREADABLE"> & Later));
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
export const QuoteError: {
    new (message: string, fields: {
        code: ErrorCode;
        status: number;
    }): QuoteError;
    readonly prototype: QuoteError;
};
/**
 * What a question to the gateway gave: the status, the body and the headers of an answer, or status 0 and why.
 */
export type Answer = {
    status: number;
    body?: any;
    headers?: Headers;
    cause?: unknown;
    why?: UnreachableReason;
};
/**
 * `status` is that of the answer, 0 if there was none. The operator of the gateway finds a request by its
 *   `requestId`.
 */
export type Failure<Code extends string> = Error & {
    readonly name: "QuoteError";
    readonly code: Code;
    readonly status: number;
    readonly requestId?: string;
};
/**
 * `param` is the parameter at fault.
 */
export type AtParameter = {
    readonly param?: string;
};
/**
 * `retryAfter` is in seconds.
 */
export type Later = {
    readonly retryAfter?: number;
};
export type ErrorCode = QuoteError["code"];
/**
 * Why there was no answer. Browsers tell only `TIMEOUT`, `CORS` (the page may not read the answer) and `NETWORK`, which
 * may be anything else; Node also names the others.
 */
export type UnreachableReason = "TIMEOUT" | "DNS" | "REFUSED" | "TLS" | "CORS" | "REDIRECT" | "INVALID_URL" | "NETWORK";
import type { Amount } from './types.js';
import type { RecipientReason } from './types.js';
import type { Time } from './types.js';
import type { CheckedQuote } from './index.js';
