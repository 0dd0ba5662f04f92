// What sending throws, and what an error of a wallet means.
import { own, text } from './wallet.js';

/** @import { Step } from './send.js' */
/** @import { Hex } from './types.js' */

// 5000 and on are WalletConnect's; NOT_SENT is that of viem.js, where something failed before it was signed.
const REFUSALS = [4001, 4100, 5750, 5000, 5001, 5002, 5003, 'ACTION_REJECTED', 'NOT_SENT'];
const NO_BATCH = [4200, -32601, 5700, 5710, 5740, 5760]; // the wallet has not taken the batch, and would not
const UNKNOWN_CHAIN = 4902;
/** @type {Record<string, SendError['code']>} */
const CODES = {
  4001: 'REFUSED', 5750: 'REFUSED', 5000: 'REFUSED', 5001: 'REFUSED', 5002: 'REFUSED', 5003: 'REFUSED',
  ACTION_REJECTED: 'REFUSED', 4100: 'UNAUTHORIZED', 4900: 'DISCONNECTED', 4901: 'DISCONNECTED', '-32002': 'BUSY',
};
const POOR = /insufficient (funds|balance)|not enough funds/i;
const DENIED = /\buser (has )?(rejected|denied|declined|cancell?ed)/i;

/**
 * What an error says, and what to do; * is for a detail. What was sent follows, unless it is said already.
 * @type {Record<SendError['code'], string>}
 */
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
  CHAIN_CHANGED:
    'The wallet has changed to another chain. Switch it back to chain *, then try again. The swap was not sent.',
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
/** @type {Record<SentSoFar, string>} */
const LEFT = {
  NOTHING: 'Nothing was sent.',
  APPROVAL: 'The approval was sent and stands. Nothing else was sent.',
  APPROVAL_PERHAPS: 'The approval may have been sent, which pays nothing. The swap was not sent.',
  UNKNOWN: 'The swap may have been sent: look in the wallet first.',
};

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
export const SendError = /** @type {any} */ (class SendError extends Error {
  /** @param {string} code @param {string} message @param {{ sent: SentSoFar }} fields */
  constructor(code, message, fields) {
    super(message.endsWith('not sent.') ? message : `${message} ${LEFT[fields.sent]}`);
    Object.setPrototypeOf(this, SendError.prototype); // for compilers that turn classes into functions
    this.name = 'SendError';
    Object.assign(this, { code, ...fields });
  }
});

/**
 * Makes an error with the fields of its code.
 * @internal
 * @param {SendError['code']} code
 * @param {{ sent: SentSoFar, [name: string]: unknown }} fields
 * @param {unknown} detail
 */
export function failed(code, fields, detail = '') {
  return new SendError(code, SAYS[code].replace('*', () => String(detail)), fields);
}

/**
 * What a wallet throws, and what libraries have wrapped it in. Some throw a text.
 * @param {unknown} error
 */
function layersOf(error) {
  const layers = [typeof error === 'string' ? { message: error } : error];
  for (let n = 0; n < layers.length && n < 20; n++) {
    const inner = ['cause', 'data', 'error', 'info', 'originalError'].map((name) => own(layers[n], name));
    layers.push(...inner.filter((each) => typeof each === 'object' && each !== null));
  }
  return layers.slice(0, 20);
}
/** @param {unknown} error @param {RegExp} what */
const says = (error, what) =>
  layersOf(error).some((each) => [own(each, 'message'), own(each, 'details')].some((said) => what.test(text(said))));
/**
 * A refusal may have no code of its own, only -32603 for all that fails.
 * @param {unknown} error
 */
function codesOf(error) {
  const codes = layersOf(error).map((each) => own(each, 'code'));
  const isOther = codes.some((code) => code !== undefined && code !== -32603);
  return !isOther && says(error, DENIED) ? [4001] : codes;
}
/** @param {unknown} error @param {unknown[]} list */
const hasCode = (error, list) => codesOf(error).some((code) => list.includes(code));

/**
 * Whether the wallet has certainly not done what it was asked for.
 * @internal
 * @param {unknown} error
 */
export function isRefusal(error) {
  return hasCode(error, REFUSALS);
}
/**
 * Whether the wallet cannot take a batch, and has not taken it.
 * @internal
 * @param {unknown} error
 */
export function isNoBatch(error) {
  return hasCode(error, NO_BATCH);
}
/**
 * Whether the wallet does not know the chain.
 * @internal
 * @param {unknown} error
 */
export function isUnknownChain(error) {
  return hasCode(error, [UNKNOWN_CHAIN]);
}
/**
 * Whether the wallet says that there is too little money.
 * @internal
 * @param {unknown} error
 */
export function isPoor(error) {
  return says(error, POOR);
}

/**
 * What an error of a wallet means, also for requests of your own that pay nothing, such as `wallet_watchAsset`.
 * @param {unknown} error
 * @param {SentSoFar} [sent]
 * @param {Step | undefined} [step]
 * @returns {SendError}
 */
export function sendErrorOf(error, sent = 'NOTHING', step = undefined) {
  if (error instanceof SendError) return error;
  const said = text(own(error, 'message') ?? error).slice(0, 300).replace(/\.$/, '');
  const known = codesOf(error).find((each) => Object.prototype.hasOwnProperty.call(CODES, each));
  const code = CODES[known] ?? (isPoor(error) ? 'INSUFFICIENT_FUNDS' : 'WALLET');
  return failed(code, { sent, step, cause: error }, said ? `: ${said}` : ' without a reason');
}
