// Types of @quotegate/client/amount: reads and writes amounts of tokens. It needs nothing else of the package.

/** In the smallest unit of a token: digits, as answers have them, or a bigint. */
export type AmountLike = string | bigint;

/**
 * Reads whole tokens, such as `100` or `0.5`, into the smallest unit of a token with so many decimals. Throws a
 * RangeError if the amount needs more decimals, and a TypeError if it is none; it never rounds.
 */
export function parseAmount(text: string, decimals: number): bigint;

/** The reverse of `parseAmount`: `0.5` for `500000n` of a token with 6 decimals. */
export function formatAmount(amount: AmountLike, decimals: number): string;

/** What an account has of the token that it wants to swap. */
export type Holding = {
  balance: AmountLike;
  /** The most that one swap may move: `maxAmount` of the listing. */
  max?: AmountLike | undefined;
} & (
  | { native?: false | undefined; gas?: AmountLike | undefined }
  /**
   * The chain's own coin, which pays for gas too. `gas` is what the dry run of a quote for less says that is needed
   * beyond the amount: `details.simulation.native.needed` less `srcAmount`.
   */
  | { native: true; gas: AmountLike }
);

/** The most that an account can swap: its balance, less the gas if it is the chain's own coin, and at most `max`. */
export function maxAmount(holding: Holding): bigint;
