/**
 * By how much less than the quote said was paid out; undefined for none, or if the status does not say.
 * @param {Status} status
 * @param {CompleteQuote} quote
 * @returns {Amount | undefined}
 */
export function shortOf(status: Status, quote: CompleteQuote): Amount | undefined;
import type { CompleteQuote } from './index.js';
import type { Status } from './types.js';
import type { Amount } from './types.js';
