/**
 * Asks a wallet for its accounts, and gives the first one, or the one that is wanted. Throws a SendError.
 * @param {Wallet} wallet
 * @param {string} [wanted]
 * @returns {Promise<Hex>}
 */
export function connect(wallet: Wallet, wanted?: string): Promise<Hex>;
/**
 * Asks a wallet to add a chain. Throws a SendError: `UNKNOWN_CHAIN` if there is nothing to add it with, `REFUSED` if
 * the person refuses. A wallet need not be on the chain afterwards.
 * @param {Wallet} wallet
 * @param {ChainID} chainId
 * @param {AddOptions} options
 * @returns {Promise<void>}
 */
export function addChain(wallet: Wallet, chainId: ChainID, options: AddOptions): Promise<void>;
/**
 * Finds the transaction that took the place of one that was sent, by account and nonce: the wallet has sped it up or
 * cancelled it. Gives its hash, or undefined if there is none. Give it to `client.follow` as `replacement`.
 * @param {Wallet} wallet
 * @param {Sent} sent
 * @param {{ signal?: AbortSignal | undefined }} [options]
 * @returns {Promise<Hex | undefined>}
 */
export function findReplacement(wallet: Wallet, sent: Sent, options?: {
    signal?: AbortSignal | undefined;
}): Promise<Hex | undefined>;
/**
 * Sends a quote. Gives the hash once the wallet has told it, or once it was found on the chain: where it is unclear
 * whether the swap was sent, it is watched for until `signal` ends that. Throws a SendError.
 *
 * A copy of the quote, such as one read from JSON, is the same swap. Until an hour after the quote has expired, an
 * account that has sent it is given what was sent, and is not asked again.
 * @param {Wallet} wallet
 * @param {PublicQuote} checked
 * @param {SendOptions} [options]
 * @returns {Promise<Sent>}
 */
export function send(wallet: Wallet, checked: PublicQuote, options?: SendOptions): Promise<Sent>;
export type SentSoFar = import("./send-errors.js").SentSoFar;
export type Wallet = import("./types.js").Wallet;
/**
 * A call that the wallet is asked for: a reset of the allowance, an approval, the swap, or all of them as a batch.
 */
export type Signed = "reset" | "approval" | "swap" | "batch";
/**
 * What a step is about: the chain that everything is sent on, the account, once the wallet has told it, and the swap.
 */
export type AtStep = {
    chainId: Hex;
    from?: Hex;
    call: {
        to: Hex;
        data: Hex;
        value: Hex;
    };
};
/**
 * which of the calls it is, from 0
 */
export type Counted = {
    what: Signed;
    index: number;
    count: number;
};
/**
 * What is being done, as plain JSON: keep the last one, and give it as `resume` after a reload. From `sign` with `what`
 * swap or batch on, the swap may have been sent.
 *
 * `connect`, `switch`, `add`, `read`: the wallet is asked for its accounts, then for the chain, which it adds if it
 * does not know it; then its node is asked what the account has. `unchecked`: no node said whether there is a contract
 * at these addresses, which are about to be approved or called. Tell the person. Coins are not sent then: that is
 * `CONTRACT_UNKNOWN`. `sign`: the wallet is about to be asked to sign; `since` is the block before, `nonce` the number
 * of the account's next transaction. `confirm`: an approval was sent, and is waited for; it is told again if the wallet
 * replaces it, with another hash. `look`: the wallet said that the account has too little money, and the account is
 * looked at, whether the swap was sent all the same. `unclear`: nobody knows whether the swap was sent; it is looked
 * for on the chain, and `reason` is what the wallet said. `batch`: the wallet has taken the batch; `DONE` if it does
 * not say in which transaction, `SILENT` if it cannot tell how far it is. `sent`: the swap was sent.
 */
export type Step = AtStep & ({
    step: "connect" | "switch" | "add" | "read";
} | {
    step: "unchecked";
    addresses: Hex[];
} | ({
    step: "sign";
    since?: Hex;
    nonce?: Hex;
} & Counted) | ({
    step: "confirm";
    txHash: Hex;
    since?: Hex;
    nonce?: Hex;
    approval: {
        to: Hex;
        data: Hex;
    };
} & Counted) | ({
    step: "look";
    since?: Hex;
    nonce: Hex;
    reason?: string;
} & Counted) | ({
    step: "unclear";
    since?: Hex;
    nonce?: Hex;
    reason?: string;
} & Counted) | {
    step: "batch";
    batch: string;
    state: "DONE" | "PENDING" | "SILENT";
    since?: Hex;
} | {
    step: "sent";
    txHash: Hex;
    batch?: string;
    since?: Hex;
    nonce?: Hex;
});
export type SendOptions = {
    /**
     * Checks the quote before the
     * wallet is asked and again before it pays, against what is pinned then. Without `client` and `listing`, the client
     * that gave the quote does. A quote that no client of this process gave, such as one read from JSON, is a TypeError
     * then.
     */
    client?: Pick<Client, "recheck"> | undefined;
    /**
     * Checks the quote against a reviewed answer of `/v3/app/pairs`, in place of
     * `client`.
     */
    listing?: Pairs | undefined;
    /**
     * Sends the calls of a quote unchecked, less an approval that is not
     * needed, where nothing is there to check it.
     */
    unverified?: boolean | undefined;
    /**
     * Told each step, before it is taken. If it gives a promise,
     * that is waited for: write the step down there.
     */
    onStep?: ((step: Step) => unknown) | undefined;
    /**
     * Ends it. Once the wallet was asked to pay, what it throws is `UNCLEAR`,
     * with the step to go on from.
     */
    signal?: AbortSignal | undefined;
    /**
     * A step that `onStep` gave, for the same quote: goes on from there. A swap that
     * may have been sent is only watched for.
     */
    resume?: Step | undefined;
    /**
     * Asked for the code of contracts (`eth_getCode`) where the wallet does
     * not tell it. It counts only if it is on the chain of the swap.
     */
    readProvider?: Wallet | undefined;
    /**
     * Addresses of nodes that you trust. If the wallet does not know the chain
     * of the swap, it is asked to add it with them.
     */
    rpcUrls?: string[] | undefined;
    /**
     * Adds the chain with the `rpcUrls` of `listing` instead, or of the one
     * that `client` checks against: that which is pinned, or the gateway's own.
     */
    trustListing?: boolean | undefined;
    /**
     * False to send one by one, also if the wallet can send batches.
     */
    batch?: boolean | undefined;
    /**
     * How often the chain and the wallet are asked, in milliseconds; 2000 if left
     * out.
     */
    interval?: number | undefined;
};
export type AddOptions = {
    /**
     * Addresses of nodes that you trust: they will answer the questions that
     * check the gateway.
     */
    rpcUrls?: string[] | undefined;
    /**
     * Where to look for them instead, with `trustListing`.
     */
    listing?: Pairs | undefined;
    /**
     * Uses the `rpcUrls` and the explorer of the listing.
     */
    trustListing?: boolean | undefined;
    signal?: AbortSignal | undefined;
};
/**
 * What was sent. Give `txHash` and `since` to `client.follow`. `since` is the block before, and `nonce` the number of
 * the transaction, where the wallet's node has told them. A batch has no number.
 */
export type Sent = {
    txHash: Hex;
    from: Hex;
    chainId: Hex;
    batch?: string;
    since?: Hex;
    nonce?: Hex;
};
import type { Hex } from './types.js';
import type { ChainID } from './types.js';
import type { PublicQuote } from './index.js';
import { SendError } from './send-errors.js';
import { sendErrorOf } from './send-errors.js';
import type { Client } from './index.js';
import type { Pairs } from './types.js';
export { SendError, sendErrorOf };
