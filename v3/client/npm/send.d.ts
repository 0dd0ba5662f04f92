// Types of @quotegate/client/send: sends a checked quote with a wallet, and never asks for a swap twice.
import type { Client, Hex, Pairs, PublicQuote } from './index.js';

/**
 * Any wallet with `request` of EIP-1193: of a browser, a viem client or transport, a wagmi connector's provider or
 * client.
 */
export interface Wallet {
  request(args: { method: string; params?: any }, options?: any): Promise<unknown>;
}

/** A call that the wallet is asked for: a reset of the allowance, an approval, the swap, or all of them as a batch. */
export type Signed = 'reset' | 'approval' | 'swap' | 'batch';

interface AtStep {
  /** The chain that everything is sent on. */
  chainId: Hex;
  /** The account, once the wallet has told it. */
  from?: Hex;
  /** The swap. */
  call: { to: Hex; data: Hex; value: Hex };
}
interface Counted {
  what: Signed;
  /** Which of the calls it is, from 0. */
  index: number;
  count: number;
}
/**
 * What is being done, as plain JSON: keep the last one, and give it as `resume` after a reload. From `sign` with `what`
 * swap or batch on, the swap may have been sent.
 */
export type Step = AtStep & (
  /** The wallet is asked for its accounts, then for the chain; then its node is asked what the account has. */
  | { step: 'connect' | 'switch' | 'read' }
  /**
   * No node said whether there is a contract at these addresses, which are about to be approved or called. Tell the
   * person. Coins are not sent then: that is `CONTRACT_UNKNOWN`.
   */
  | { step: 'unchecked'; addresses: Hex[] }
  /**
   * The wallet is about to be asked to sign. `since` is the block before, `nonce` the number of the account's next
   * transaction.
   */
  | ({ step: 'sign'; since?: Hex; nonce?: Hex } & Counted)
  /** An approval was sent, and is waited for. It is told again if the wallet replaces it: it has another hash then. */
  | ({ step: 'confirm'; txHash: Hex; since?: Hex; nonce?: Hex; approval: { to: Hex; data: Hex } } & Counted)
  /**
   * The wallet said that the account has too little money. The account is looked at, whether the swap was sent all
   * the same.
   */
  | ({ step: 'look'; since?: Hex; nonce: Hex; reason?: string } & Counted)
  /** Nobody knows whether the swap was sent. It is looked for on the chain. `reason` is what the wallet said. */
  | ({ step: 'unclear'; since?: Hex; nonce?: Hex; reason?: string } & Counted)
  /**
   * The wallet has taken the batch. `DONE`: it does not say in which transaction. `SILENT`: it cannot tell how far it
   * is.
   */
  | { step: 'batch'; batch: string; state: 'DONE' | 'PENDING' | 'SILENT'; since?: Hex }
  /** The swap was sent. */
  | { step: 'sent'; txHash: Hex; batch?: string; since?: Hex; nonce?: Hex }
);

export interface SendOptions {
  /**
   * Checks the quote before the wallet is asked and again before it pays, against what is pinned then. Without `client`
   * and `listing`, the client that gave the quote does. A quote that no client of this process gave, such as one read
   * from JSON, is a TypeError then.
   */
  client?: Pick<Client, 'recheck'> | undefined;
  /** Checks the quote against a reviewed answer of `/v3/app/pairs`, in place of `client`. */
  listing?: Pairs | undefined;
  /** Sends the calls of a quote unchecked, less an approval that is not needed, where nothing is there to check it. */
  unverified?: boolean | undefined;
  /** Told each step, before it is taken. If it gives a promise, that is waited for: write the step down there. */
  onStep?: ((step: Step) => unknown) | undefined;
  /** Ends it. Once the wallet was asked to pay, what it throws is `UNCLEAR`, with the step to go on from. */
  signal?: AbortSignal | undefined;
  /**
   * A step that `onStep` gave, for the same quote: goes on from there. A swap that may have been sent is only watched
   * for.
   */
  resume?: Step | undefined;
  /**
   * Asked for the code of contracts (`eth_getCode`) where the wallet does not tell it. It counts only if it is on the
   * chain of the swap.
   */
  readProvider?: Wallet | undefined;
  /** False to send one by one, also if the wallet can send batches. */
  batch?: boolean | undefined;
  /** How often the chain and the wallet are asked, in milliseconds; 2000 if left out. */
  interval?: number | undefined;
}

/** What was sent. Give `txHash` and `since` to `client.follow`. */
export interface Sent {
  txHash: Hex;
  from: Hex;
  chainId: Hex;
  batch?: string;
  /** The block before, where the wallet's node has told it. */
  since?: Hex;
  /** The number of the transaction, where the wallet's node has told it. A batch has none. */
  nonce?: Hex;
}

/**
 * What was sent when it ended. `APPROVAL`: one or two approvals, which stand; not the swap. `APPROVAL_PERHAPS`: an
 * approval may have been; not the swap. `UNKNOWN`: the swap may have been. Do not send anew, but go on from `step`.
 */
export type SentSoFar = 'NOTHING' | 'APPROVAL' | 'APPROVAL_PERHAPS' | 'UNKNOWN';

interface Failed<Code extends string> extends Error {
  readonly name: 'SendError';
  readonly code: Code;
  readonly sent: SentSoFar;
  /** The last step, to go on from. */
  readonly step?: Step;
  /** What the wallet threw, where it did. */
  readonly cause?: unknown;
}
/** What `send` throws: a union by `code`. Its message ends with what was sent. */
export type SendError =
  /**
   * The person refused, the wallet does not let this page use the account, is not connected, is already asking
   * something, or failed.
   */
  | Failed<'REFUSED' | 'UNAUTHORIZED' | 'DISCONNECTED' | 'BUSY' | 'WALLET'>
  /** There is no account, not the one of the quote, or it is gone. */
  | Failed<'NO_ACCOUNT' | 'OTHER_ACCOUNT' | 'ACCOUNT_GONE'>
  /** The wallet does not know the chain, has not switched to it, or has left it. */
  | (Failed<'UNKNOWN_CHAIN' | 'OTHER_CHAIN' | 'CHAIN_CHANGED'> & { readonly chainId: Hex })
  /**
   * At an address that was about to be paid or approved there is no contract, and an account that has delegated its
   * code (EIP-7702) is none; or coins were about to be paid, and no node said whether there is one.
   */
  | (Failed<'NO_CONTRACT' | 'CONTRACT_UNKNOWN'> & { readonly address: Hex })
  /** Of the token, or of coins: for the value, or for gas. The gateway or the wallet's node has read it. */
  | (Failed<'TOO_LITTLE'> & { readonly actual: string; readonly needed: string })
  /** The dry run of the quote (`simulate`) has failed. */
  | Failed<'WOULD_FAIL'>
  /**
   * The wallet says that the account has too little for amount and gas. If it was asked for the swap, the account
   * agrees that it was not sent.
   */
  | Failed<'INSUFFICIENT_FUNDS'>
  | (Failed<'UNVERIFIED'> & { readonly problems: string[] })
  /** Ask for a new quote. */
  | Failed<'EXPIRED' | 'ALLOWANCE'>
  /** The approval reverted, or the wallet replaced it by another call. */
  | (Failed<'APPROVAL_FAILED' | 'REPLACED'> & { readonly txHash: Hex })
  /** The wallet gave no hash of the approval. */
  | Failed<'NO_HASH'>
  | (Failed<'BATCH_FAILED' | 'BATCH_IN_PART'> & { readonly batch: string })
  /** `signal` ended it: before, and after the wallet was asked to pay. */
  | Failed<'STOPPED' | 'UNCLEAR'>
  /**
   * It is being sent already, here or in another tab of the same origin, also as a copy of the quote; `resume` is of
   * another swap; `onStep` has thrown.
   */
  | Failed<'RUNNING' | 'OTHER_SWAP' | 'LISTENER'>;

export const SendError: {
  new (code: SendError['code'], message: string, fields: { sent: SentSoFar }): SendError;
  readonly prototype: SendError;
};

/**
 * Sends a quote. Gives the hash once the wallet has told it, or once it was found on the chain: where it is unclear
 * whether the swap was sent, it is watched for until `signal` ends that. Throws a SendError.
 *
 * A copy of the quote, such as one read from JSON, is the same swap. Until an hour after the quote has expired, an
 * account that has sent it is given what was sent, and is not asked again.
 */
export function send(wallet: Wallet, quote: PublicQuote, options?: SendOptions): Promise<Sent>;

/**
 * Finds the transaction that took the place of one that was sent, by account and nonce: the wallet has sped it up or
 * cancelled it. Gives its hash, or undefined if there is none. Give it to `client.follow` as `replacement`.
 */
export function findReplacement(
  wallet: Wallet, sent: Sent, options?: { signal?: AbortSignal | undefined },
): Promise<Hex | undefined>;

/** Asks a wallet for its accounts, and gives the first one, or the one that is wanted. Throws a SendError. */
export function connect(wallet: Wallet, wanted?: string): Promise<Hex>;

/** What an error of a wallet means, for requests of your own that pay nothing, such as `wallet_addEthereumChain`. */
export function sendErrorOf(error: unknown): SendError;
