/**
 * Works out a swap from an answer of `/v3/app/pairs`, without a request. Throws a QuoteError if the listing has no such
 * pair, or the amount is outside its limits, and a TypeError if what is asked for makes no sense.
 * @param {Pairs} listing
 * @param {EstimateRequest} request
 * @returns {Estimate}
 */
export function estimate(listing: Pairs, request: EstimateRequest): Estimate;
/**
 * What to estimate: what an `amount` leaves, or what to send so that at least `destAmount` is paid out.
 */
export type EstimateRequest = {
    srcToken: string;
    dstToken: string;
    srcChain: ChainID;
    dstChain: ChainID;
    integratorPercentage?: number | undefined;
} & ({
    amount: Amount | bigint;
    destAmount?: undefined;
} | {
    destAmount: Amount | bigint;
    amount?: undefined;
});
/**
 * The fields that the quote will have. `destAmount` is what is paid out: of a swap into a privacy pool, RAILGUN takes
 * its own fee from it, which only a quote tells.
 */
export type Estimate = {
    srcToken: Token;
    destToken: Token;
    srcAmount: Amount;
    destAmount: Amount;
    fee: {
        protocol: {
            percentage: number;
            amount: Amount;
        };
        integrator: {
            percentage: number;
            amount: Amount;
        };
        total: {
            amount: Amount;
        };
    };
};
import type { Pairs } from './types.js';
import type { ChainID } from './types.js';
import type { Amount } from './types.js';
import type { Token } from './types.js';
