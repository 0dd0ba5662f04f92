/**
 * Reads whole tokens, such as `100` or `0.5`, into the smallest unit of a token with so many decimals. Throws a
 * RangeError if the amount needs more decimals, and a TypeError if it is none; it never rounds.
 * @param {string} text
 * @param {number} decimals
 * @returns {bigint}
 */
export function parseAmount(text: string, decimals: number): bigint;
/**
 * The reverse of `parseAmount`: `0.5` for `500000n` of a token with 6 decimals.
 * @param {AmountLike} amount
 * @param {number} decimals
 * @returns {string}
 */
export function formatAmount(amount: AmountLike, decimals: number): string;
/**
 * What an account has of the token that it wants to swap. `max` is the most that one swap may move: `maxAmount` of the
 * listing. The chain's own coin pays for gas too: `gas` is what the dry run of a quote for less says that is needed
 * beyond the amount, `details.simulation.native.needed` less `srcAmount`.
 * @typedef {{ balance: AmountLike, max?: AmountLike | undefined } & (
 *   | { native?: false | undefined, gas?: AmountLike | undefined }
 *   | { native: true, gas: AmountLike }
 * )} Holding
 */
/**
 * The most that an account can swap: its balance, less the gas if it is the chain's own coin, and at most `max`.
 * @param {Holding} holding
 * @returns {bigint}
 */
export function maxAmount(holding: Holding): bigint;
/**
 * In the smallest unit of a token: digits, as answers have them, or a bigint.
 */
export type AmountLike = string | bigint;
/**
 * What an account has of the token that it wants to swap. `max` is the most that one swap may move: `maxAmount` of the
 * listing. The chain's own coin pays for gas too: `gas` is what the dry run of a quote for less says that is needed
 * beyond the amount, `details.simulation.native.needed` less `srcAmount`.
 */
export type Holding = {
    balance: AmountLike;
    max?: AmountLike | undefined;
} & ({
    native?: false | undefined;
    gas?: AmountLike | undefined;
} | {
    native: true;
    gas: AmountLike;
});
