/**
 * What an error of a wallet means, also for requests of your own that pay nothing, such as `wallet_watchAsset`.
 * @param {unknown} error
 * @param {SentSoFar} [sent]
 * @param {Step | undefined} [step]
 * @returns {SendError}
 */
export function sendErrorOf(error: unknown, sent?: SentSoFar, step?: Step | undefined): SendError;
/**
 * What `send` throws: a union by `code`. Its message ends with what was sent.
 *
 * The person refused, the wallet does not let this page use the account, is not connected, is already asking something,
 * or failed: `REFUSED`, `UNAUTHORIZED`, `DISCONNECTED`, `BUSY`, `WALLET`. There is no account, not the one of the
 * quote, or it is gone: `NO_ACCOUNT`, `OTHER_ACCOUNT`, `ACCOUNT_GONE`. The wallet does not know the chain, has not
 * switched to it, or has left it: `UNKNOWN_CHAIN`, `OTHER_CHAIN`, `CHAIN_CHANGED`. At an address that was about to be
 * paid or approved there is no contract (`NO_CONTRACT`), or coins were about to be paid and no node said whether there
 * is one (`CONTRACT_UNKNOWN`). `TOO_LITTLE`: of the token, or of coins for the value or for gas, as the gateway or the
 * wallet's node has read it. `WOULD_FAIL`: the dry run of the quote has failed. `INSUFFICIENT_FUNDS`: the wallet says
 * so; if it was asked for the swap, the account agrees that it was not sent. `EXPIRED`, `ALLOWANCE`: ask for a new
 * quote. The approval reverted, was replaced by another call, or has no hash: `APPROVAL_FAILED`, `REPLACED`, `NO_HASH`.
 * `signal` ended it before, or after the wallet was asked to pay: `STOPPED`, `UNCLEAR`. `RUNNING`: it is being sent
 * already, here or in another tab of the same origin, also as a copy of the quote. `OTHER_SWAP`: `resume` is of another
 * one. `LISTENER`: `onStep` has thrown.
 */
export type SendError = (Failed<"REFUSED" | "UNAUTHORIZED" | "DISCONNECTED" | "BUSY" | "WALLET"> | Failed<"NO_ACCOUNT" | "OTHER_ACCOUNT" | "ACCOUNT_GONE"> | (Failed<"UNKNOWN_CHAIN" | "OTHER_CHAIN" | "CHAIN_CHANGED"> & {
    readonly chainId: Hex;
}) | (Failed<"NO_CONTRACT" | "CONTRACT_UNKNOWN"> & {
    readonly address: Hex;
}) | (Failed<"TOO_LITTLE"> & {
    readonly actual: string;
    readonly needed: string;
}) | Failed<"WOULD_FAIL" | "INSUFFICIENT_FUNDS" | "EXPIRED" | "ALLOWANCE" | "NO_HASH"> | (Failed<"UNVERIFIED"> & {
    readonly problems: string[];
}) | (Failed<"APPROVAL_FAILED" | "REPLACED"> & {
    readonly txHash: Hex;
}) | (Failed<"BATCH_FAILED" | "BATCH_IN_PART"> & {
    readonly batch: string;
}) | Failed<"STOPPED" | "UNCLEAR" | "RUNNING" | "OTHER_SWAP" | "LISTENER">);
/**
 * What was sent when it ended. `APPROVAL`: one or two approvals, which stand; not the swap. `APPROVAL_PERHAPS`: an
 * approval may have been; not the swap. `UNKNOWN`: the swap may have been. Do not send anew, but go on from `step`.
 * @typedef {'NOTHING' | 'APPROVAL' | 'APPROVAL_PERHAPS' | 'UNKNOWN'} SentSoFar
 */
/**
 * `step` is the last one, to go on from, and `cause` is what the wallet threw, where it did.
 * @template {string} Code
 * @typedef {Error & {
 *   readonly name: 'SendError', readonly code: Code, readonly sent: SentSoFar, readonly step?: Step,
 *   readonly cause?: unknown,
 * }} Failed
 */
/**
 * What `send` throws: a union by `code`. Its message ends with what was sent.
 *
 * The person refused, the wallet does not let this page use the account, is not connected, is already asking something,
 * or failed: `REFUSED`, `UNAUTHORIZED`, `DISCONNECTED`, `BUSY`, `WALLET`. There is no account, not the one of the
 * quote, or it is gone: `NO_ACCOUNT`, `OTHER_ACCOUNT`, `ACCOUNT_GONE`. The wallet does not know the chain, has not
 * switched to it, or has left it: `UNKNOWN_CHAIN`, `OTHER_CHAIN`, `CHAIN_CHANGED`. At an address that was about to be
 * paid or approved there is no contract (`NO_CONTRACT`), or coins were about to be paid and no node said whether there
 * is one (`CONTRACT_UNKNOWN`). `TOO_LITTLE`: of the token, or of coins for the value or for gas, as the gateway or the
 * wallet's node has read it. `WOULD_FAIL`: the dry run of the quote has failed. `INSUFFICIENT_FUNDS`: the wallet says
 * so; if it was asked for the swap, the account agrees that it was not sent. `EXPIRED`, `ALLOWANCE`: ask for a new
 * quote. The approval reverted, was replaced by another call, or has no hash: `APPROVAL_FAILED`, `REPLACED`, `NO_HASH`.
 * `signal` ended it before, or after the wallet was asked to pay: `STOPPED`, `UNCLEAR`. `RUNNING`: it is being sent
 * already, here or in another tab of the same origin, also as a copy of the quote. `OTHER_SWAP`: `resume` is of another
 * one. `LISTENER`: `onStep` has thrown.
 * @typedef {(
 *   | Failed<'REFUSED' | 'UNAUTHORIZED' | 'DISCONNECTED' | 'BUSY' | 'WALLET'>
 *   | Failed<'NO_ACCOUNT' | 'OTHER_ACCOUNT' | 'ACCOUNT_GONE'>
 *   | Failed<'UNKNOWN_CHAIN' | 'OTHER_CHAIN' | 'CHAIN_CHANGED'> & { readonly chainId: Hex }
 *   | Failed<'NO_CONTRACT' | 'CONTRACT_UNKNOWN'> & { readonly address: Hex }
 *   | Failed<'TOO_LITTLE'> & { readonly actual: string, readonly needed: string }
 *   | Failed<'WOULD_FAIL' | 'INSUFFICIENT_FUNDS' | 'EXPIRED' | 'ALLOWANCE' | 'NO_HASH'>
 *   | Failed<'UNVERIFIED'> & { readonly problems: string[] }
 *   | Failed<'APPROVAL_FAILED' | 'REPLACED'> & { readonly txHash: Hex }
 *   | Failed<'BATCH_FAILED' | 'BATCH_IN_PART'> & { readonly batch: string }
 *   | Failed<'STOPPED' | 'UNCLEAR' | 'RUNNING' | 'OTHER_SWAP' | 'LISTENER'>
 * )} SendError
 */
/**
 * @type {{
 *   new (code: SendError['code'], message: string, fields: { sent: SentSoFar }): SendError,
 *   readonly prototype: SendError,
 * }}
 */
export const SendError: {
    new (code: SendError["code"], message: string, fields: {
        sent: SentSoFar;
    }): SendError;
    readonly prototype: SendError;
};
/**
 * What was sent when it ended. `APPROVAL`: one or two approvals, which stand; not the swap. `APPROVAL_PERHAPS`: an
 * approval may have been; not the swap. `UNKNOWN`: the swap may have been. Do not send anew, but go on from `step`.
 */
export type SentSoFar = "NOTHING" | "APPROVAL" | "APPROVAL_PERHAPS" | "UNKNOWN";
/**
 * `step` is the last one, to go on from, and `cause` is what the wallet threw, where it did.
 */
export type Failed<Code extends string> = Error & {
    readonly name: "SendError";
    readonly code: Code;
    readonly sent: SentSoFar;
    readonly step?: Step;
    readonly cause?: unknown;
};
import type { Step } from './send.js';
import type { Hex } from './types.js';
