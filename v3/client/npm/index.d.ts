// Types of @quotegate/client. Names in unions are those of this version: a misspelt one does not compile. A gateway may
// be newer and say others at run time, so a switch over them needs a default.

/** Hexadecimal digits after `0x`: an address, calldata, a hash, or a number as wallets write it. */
export type Hex = `0x${string}`;
/** An integer in the smallest unit of its token, in decimal digits. */
export type Amount = string;
/** An RFC 3339 time. */
export type Time = string;
/** A routing ID: that of a network, or one of a privacy pool (69696969, 96969696). */
export type ChainID = string | number;

/** `DIRECT`: a pool of the service is paid. `CCTP_INBOUND`: the issuer of USDC burns it here and mints it there. */
export type RouteType = 'DIRECT' | 'CCTP_INBOUND';
/** How far a swap is. Only with `final` does it stay so. */
export type SwapState = 'NOT_FOUND' | 'PENDING' | 'FAILED' | 'NOT_A_SWAP' | 'SETTLING' | 'SETTLED';
/** What the issuer of USDC says of a burn. */
export type AttestationState = 'unseen' | 'pending' | 'complete' | 'unknown';
/** Where the gateway has the issuer's fee from. */
export type FeeOrigin = 'live' | 'last good' | 'built-in';
/** Why a recipient was refused. */
export type RecipientReason =
  | 'ZERO' | 'CHECKSUM' | 'NAME' | 'CONTRACT' | 'TOKEN' | 'RESERVED'
  | 'PRIVATE_ON_PUBLIC' | 'PUBLIC_ON_PRIVATE' | 'MALFORMED';

/** What to ask for. Chains are routing IDs, tokens symbols or addresses. */
export interface Request {
  /** A symbol in any case, or an address. */
  srcToken: string;
  /** A symbol in any case, or an address. */
  dstToken: string;
  /** What to send, in the smallest unit of `srcToken`: `100000000` or `100_000_000n` for 100 USDC of 6 decimals. */
  amount: Amount | bigint;
  /** Where it is sent. */
  srcChain: ChainID;
  /** Where it arrives. */
  dstChain: ChainID;
  /** An address, or the `0zk…` address of a private balance. */
  recipient: string;
  /** Not needed: `recipient` says it. */
  recipientType?: 0 | 2 | '0' | '2' | undefined;
  /** The wallet address of a registered partner. Its fee is added. Empty is a TypeError. */
  integratorId?: string | undefined;
  /** The account that will send: its balance and allowance are read, and calls that it does not need are left out. */
  from?: string | undefined;
}

/** A token on a network. */
export interface Token {
  address: Hex;
  symbol: string;
  decimals: number;
  /** A network, also for a privacy pool. */
  chainId: number;
}

/** One transaction. `chainId` is the network it must be sent on, in hexadecimal, as wallets want it. */
export interface Call {
  chainId: Hex;
  to: Hex;
  data: Hex;
  value: Hex;
}

/** The parameters of `wallet_sendCalls` (EIP-5792). */
export interface SendCalls {
  version: '2.0.0';
  from?: Hex;
  chainId: Hex;
  atomicRequired: boolean;
  calls: { to: Hex; data: Hex; value: Hex }[];
}

/** What an account has, beside what the calls need. */
export interface Check {
  /** As the gateway read it. */
  actual: Amount;
  /** As worked out from the request; for `native`, as the gateway says. */
  needed: Amount;
}

/** The fees, in the smallest unit of the token that arrives. */
export interface Fee {
  /** The network of the pool that pays out. */
  chainId: number;
  token: 'destination';
  protocol: { percentage: number; amount: Amount };
  integrator: { percentage: number; amount: Amount; id?: Hex; address?: Hex };
  total: { amount: Amount };
}

/** The approval that the main call needs. */
export interface Approval {
  token: Hex;
  spender: Hex;
  amount: Amount;
  calldata: Hex;
}

/** An answer of `/v3/swap/quote`. */
export interface Quote {
  /** The contract of the main call. */
  to: Hex;
  srcToken: Token;
  destToken: Token;
  srcAmount: Amount;
  /** What is paid out. `details.arrival.amount` is what is left of it for the recipient. */
  destAmount: Amount;
  fee: Fee;
  /** Absent when the source is native. */
  approval?: Approval;
  methodParameters: { calldata: Hex; value: Hex };
  route: { type: RouteType };
  details?: Details;
}

/** A call in words: its signature, and its arguments by name, numbers as decimal strings. */
export interface Decoded {
  function: string;
  arguments: { [name: string]: string };
  /** Of a burn: the fields of `hookData`. */
  hook?: { [name: string]: string };
}

/** What explains a quote. Everything is compared with the request, or named in `unchecked`. */
export interface Details {
  /** The request as the gateway understood it. */
  request: {
    srcChain: string;
    srcToken: Hex;
    dstChain: string;
    dstToken: Hex;
    amount: Amount;
    recipient: string;
    recipientType: 0 | 2;
    integratorId?: Hex;
  };
  /** The main call. */
  call: Decoded;
  /** Not for unshielding, which a RAILGUN wallet has to wrap. */
  sendCalls?: SendCalls;
  unshield?: boolean;
  /** A contract that the swap needs does not exist. Such a quote is refused as `UNVERIFIED`. */
  contract?: 'MISSING';
  /** What arrives, and when. */
  arrival: {
    /** What the recipient really gets. */
    amount: Amount;
    deductions: { by: 'RAILGUN'; percentage: number; amount: Amount }[];
    /** How long it usually takes. */
    seconds?: number;
    /** For unshielding: what to take out of the pool. */
    unshieldAmount?: Amount;
  };
  /** Until when the operator stands by the quote. No contract enforces it. */
  validUntil: Time;
  /** The same without a clock. */
  validForSeconds: number;
  /** Of a burn. The service pays it. */
  issuerFee?: { percentage: number; origin: FeeOrigin; maxFee: Amount };
  /** Where and when the gateway asked for the integrator's fee. */
  integrator?: { registry: Hex; chainId: number; checkedAt: Time };
  /** With `from`. Null if the chain could not be asked: `reason` says why. */
  checks?: { native: Check; balance: Check; allowance?: Check; recipient?: RecipientCode; checkedAt: Time } | null;
  reason?: string;
  /** With `simulate` and `from`. Null if no node could: `simulationReason` says why. */
  simulation?: Simulation | null;
  simulationReason?: string;
}

/** Whether the recipient is a contract on the two networks of a swap. Null where that is not known. */
export interface RecipientCode {
  source: boolean | null;
  destination: boolean | null;
}

/** The calls, one after the other, on the state of the newest block. */
export interface Simulation {
  blockNumber: number;
  /**
   * In the order of `sendCalls.calls`. `gasLimit` is enough to send the call with.
   * `UNPROVEN`: the main call does not revert, but nobody could see whether it does the swap, as `event` says.
   */
  calls: { gasUsed: number; gasLimit: number; status: 'SUCCESS' | 'FAILED' | 'UNPROVEN'; error?: string }[];
  /** Whether the pool or the messenger says in its event what was asked for. Absent where the node shows no events. */
  event?: boolean;
  /** The coins needed for value and gas, beside what the account has. */
  native: Check;
}

/** An answer of `/v3/app/pairs`. */
export interface Pairs {
  deployment: string;
  chains: {
    chainId: number;
    name: string;
    /** Of a privacy pool. */
    network?: number;
    /** What pays for gas, as `wallet_addEthereumChain` wants it. */
    nativeCurrency?: { name: string; symbol: string; decimals: number };
    /** An https address before `/tx/…` and `/address/…`. */
    explorer?: string;
    /** Public nodes, as `wallet_addEthereumChain` wants them. This package uses none by itself. */
    rpcUrls?: string[];
  }[];
  tokens: { chainId: number; symbol: string; address: Hex; decimals: number; minAmount: Amount; maxAmount: Amount }[];
  pairs: {
    srcChain: number;
    srcToken: string;
    dstChain: number;
    dstToken: string;
    type: RouteType;
    /** In percent. */
    protocolFee: number;
    feeChainId: number;
    to: Hex;
    seconds?: number;
  }[];
  settlement: Settlement;
  /** Whether swaps can be followed. */
  tracking: boolean;
  /** The oldest version of this package that understands the gateway. */
  client: string;
  /** Where to reach the operator, where the operator says. */
  contact?: string;
}

/** Whom burns of the issuer pay. There is no receiver where the gateway quotes no burns. */
export interface Settlement {
  chainId: number;
  domain: number;
  receiver?: Hex;
}

/** An answer of `/v3/app/routers`. */
export interface Routers {
  data: { chainId: number; symbol: string; token: Hex; router: Hex }[];
  settlement: Settlement;
}

/** What was swapped, as the events of the transaction say it. */
export interface Swap {
  dstChain: string;
  dstToken: Hex;
  /** An address; for type 2, the npk of the shield note. */
  recipient: Hex;
  recipientType: number;
  amount: Amount;
  integratorId?: Hex;
}

/** How far the issuer is with the burn that carries the money. */
export interface IssuerView {
  domain: number;
  nonce?: Hex;
  attested: boolean;
  attestationState: AttestationState;
  reason?: string;
}

/** A payout. */
export interface Payout {
  chainId: number;
  /** Absent where the issuer minted the money, and the transaction is not among the newest. */
  txHash?: Hex;
  /** What was paid. */
  amount: Amount;
  /** What the recipient really got of it: less where others took a part, as RAILGUN does. */
  arrived: Amount;
  /** Absent where `txHash` is. */
  timestamp?: Time;
  /** The npk of the shield note that was paid. */
  note?: Hex;
  /** What was paid, with its fees, is not what was swapped. It is not final then. */
  short?: { swapped: Amount; paid: Amount };
}
/** The payout of a swap that is settled. */
export type SettledPayout = Payout;

interface Progress {
  /** Whether the state can no longer change. */
  final: boolean;
  /** `FAILED`: with what it reverted, if the node tells. Otherwise why more is not known. */
  reason?: string;
  burn?: IssuerView;
  settlement?: Payout;
  expectedSeconds?: number;
}
interface Told {
  srcChain: string;
  txHash: Hex;
  /** What was swapped. Absent if it cannot be read yet, or if nothing was. */
  swap?: Swap;
  /** The block of the transaction. Absent while it is in none. */
  source?: { blockNumber: number; confirmations: number; timestamp: Time };
  /** Of a transaction with several swaps, the first sixteen. `state` and what is beside it is of the least advanced. */
  swaps?: (Progress & { state: SwapState; swap?: Swap })[];
  omittedSwaps?: number;
  /** In how many seconds to ask again; 0 for never. */
  nextCheckSeconds: number;
  /** Whom to ask when it takes too long, where the operator says. */
  contact?: string;
}

/** An answer of `/v3/swap/status`, a union by `state`: what is `SETTLED` says what arrived. */
export type Status = Told & (
  | (Progress & { state: 'NOT_FOUND' | 'PENDING' })
  | (Progress & { state: 'FAILED' | 'NOT_A_SWAP' })
  | (Progress & { state: 'SETTLING' })
  | (Omit<Progress, 'settlement'> & { state: 'SETTLED'; settlement: SettledPayout })
);

/** What a quote is checked against. Pinned ones are better than those of the gateway itself. */
export interface Known {
  /** An answer of `/v3/app/pairs`. */
  listing?: Pairs | undefined;
  /** Instead of the contracts of the listing. Without a listing, the pairs are those of this version. */
  routers?: Routers['data'] | undefined;
  /** Instead of that of the listing. */
  settlement?: Settlement | undefined;
  /** The time, for `expired`. */
  now?: Date | number | undefined;
  /** What the sender allows the spender, read by you: calls that are not needed are left out. */
  allowance?: Amount | bigint | undefined;
}

/** What `verify` found. */
export interface Report {
  /** There are no problems. */
  ok: boolean;
  /** Every reason to refuse the quote, in sentences. */
  problems: string[];
  /**
   * What the quote alone cannot tell, in sentences: always that the contracts enforce no minimum and no deadline and
   * give no refund, and every field that could not be compared. Show it.
   */
  unchecked: string[];
  /** What may be a mistake, in sentences: a recipient that has code on one side only. Show it. */
  warnings: string[];
  /** The groups of checks that passed. */
  checked: string[];
  /**
   * Built from the request: a reset of the allowance where the token may need one, the approval, the main call. Empty
   * if not ok, and for unshielding.
   */
  calls: Call[];
  /**
   * For unshielding: the calls that a RAILGUN wallet wraps in its private transaction. Never send them from a public
   * account.
   */
  wrap: Call[];
  /** The calls as parameters of `wallet_sendCalls`. Absent if not ok, and for unshielding. */
  sendCalls?: SendCalls;
  /** `now` is after `details.validUntil`. */
  expired: boolean;
}

/** Works a quote out again from the request. It never throws. */
export function verify(request: Request, quote: unknown, known: Known): Report;

/** Says what calldata does, or null if it is no approval, swap or burn in canonical encoding. */
export function decode(calldata: unknown): Decoded | null;

/** Of this package. */
export const version: string;

export interface ClientOptions {
  /** Where the gateway is, such as https://quotes.example.org. Anything else than an address throws a TypeError. */
  gateway: string;
  /** For rate limits of its own. In an app or a page it is public. */
  apiKey?: string | undefined;
  /** How long to wait for one answer, in milliseconds; 15000 if left out. */
  timeout?: number | undefined;
  /** Instead of the global one. */
  fetch?: typeof fetch | undefined;
  /**
   * A reviewed answer of `/v3/app/pairs` or `/v3/app/routers`, or a function that is asked for it whenever an answer
   * is judged.
   */
  pinned?: Pairs | Routers | (() => Pairs | Routers | undefined | Promise<Pairs | Routers | undefined>);
}

export interface QuoteRequest extends Request {
  /** Runs the calls on the chain's newest state first: `quote.details.simulation`. Needs `from`. */
  simulate?: boolean | undefined;
  /** Ends everything that the call does, at once. It throws the signal's reason. */
  signal?: AbortSignal | undefined;
}

/** What quotes that passed the check have in common. */
export interface Checked {
  /** As it was sent, in strings. */
  request: { [name: string]: string };
  /** The answer. To follow the swap, give it to `follow` or `status`. */
  quote: CompleteQuote;
  /** The groups of checks that passed. */
  checked: string[];
  /** What nobody can check, in sentences. Show it. */
  unchecked: string[];
  /**
   * What may be a mistake, in sentences: what the gateway says of the request, such as a parameter that it does not
   * know, and a recipient that has code on one side only. Show it.
   */
  warnings: string[];
  /**
   * Whether `from` has the tokens and coins that the calls need, as the gateway read it: true if a dry run (`simulate`)
   * says that all calls would succeed and be paid for, false if some tokens or coins are lacking, or the dry run has
   * failed, undefined if that is not known. An account without coins cannot pay for gas.
   */
  sufficient: boolean | undefined;
  /** When the quote ends, in milliseconds, by this machine's clock. */
  expiresAt: number;
  /** The gateway's own, of a quote that must not be signed: only in the result of a refusal. */
  warning?: string;
}
/** A quote with the details that were asked for. */
export type CompleteQuote = Quote & { details: Details };
/** `calls` are to be sent one after the other, or `sendCalls` as a batch. `@quotegate/client/send` does both. */
export type PublicQuote = Checked & { unshield: false; calls: Call[]; sendCalls: SendCalls };
/** `calls` is empty: hand `wrap` to a RAILGUN wallet. */
export type UnshieldQuote = Checked & { unshield: true; calls: never[]; wrap: Call[] };
/** What `client.quote` gives, a union by `unshield`. */
export type CheckedQuote = PublicQuote | UnshieldQuote;

/** Which transaction to ask about. */
export type StatusRequest = SentOn & {
  txHash: string;
  /**
   * The block before it was sent, as `send` gives it. A status of a transaction in that block or an older one is then
   * `UNVERIFIED`.
   */
  since?: Hex | undefined;
  signal?: AbortSignal | undefined;
};
/**
 * The chain that it was sent on, also in hexadecimal as `send` gives it, or the quote that was signed, or both. A
 * status of another swap than that of the quote is `UNVERIFIED`; a chain that is not the quote's throws a TypeError.
 */
export type SentOn =
  | { srcChain: ChainID; quote?: CompleteQuote | undefined }
  | { srcChain?: ChainID | undefined; quote: CompleteQuote };
export type FollowRequest = StatusRequest & {
  /**
   * Asked while no node of the gateway has the transaction in a block. It may give the hash of one that took its place,
   * which is followed from then on. `findReplacement` of `@quotegate/client/send` finds it.
   */
  replacement?: ((status: Status) => string | undefined | Promise<string | undefined>) | undefined;
  /** Told when the gateway cannot answer now, and in how many seconds it is asked again. */
  onRetry?: ((error: QuoteError, seconds: number) => void) | undefined;
};

export interface Client {
  /** All that a selection list needs. Kept, and asked for again with its tag. */
  pairs(options?: { signal?: AbortSignal | undefined }): Promise<Pairs>;
  /** Asks for a quote and checks it. Throws a QuoteError. */
  quote(request: QuoteRequest): Promise<CheckedQuote>;
  /**
   * Checks a quote again, without asking for another: against what is pinned now, and for what the account allows the
   * spender now, so that calls that it does not need are left out.
   */
  recheck<Q extends CheckedQuote>(
    quote: Q, options?: { allowance?: Amount | bigint | undefined; signal?: AbortSignal | undefined },
  ): Promise<Q>;
  /** What became of a transaction, asked once. An answer about another one is a QuoteError, `UNVERIFIED`. */
  status(request: StatusRequest): Promise<Status>;
  /**
   * Gives each status of a transaction, and ends when it is final. Waits as long as the gateway asks for, and goes on
   * through outages. An answer about another transaction is never given, and throws.
   */
  follow(request: FollowRequest): AsyncGenerator<Status, void, undefined>;
  /** The same with a callback, for where `for await` is not at hand. Gives the last status. */
  follow(request: FollowRequest, onStatus: (status: Status) => unknown): Promise<Status>;
}

/** Makes a client of one gateway. */
export function createClient(options: ClientOptions): Client;
/** By how much less than the quote said was paid out; undefined for none, or if the status does not say. */
export function shortOf(status: Status, quote: CompleteQuote): Amount | undefined;

interface Failure<Code extends string> extends Error {
  readonly name: 'QuoteError';
  readonly code: Code;
  /** Of the answer; 0 if there was none. */
  readonly status: number;
  /** For the operator of the gateway, who finds the request by it. */
  readonly requestId?: string;
}
interface AtParameter {
  /** The parameter at fault. */
  readonly param?: string;
}
interface Later {
  /** Seconds. */
  readonly retryAfter?: number;
}

/** What the client throws: a union by `code`, with the fields that each code has. */
export type QuoteError =
  | (Failure<'MISSING_PARAMETER' | 'INVALID_PARAMETER' | 'INVALID_AMOUNT' | 'UNSUPPORTED_CHAIN' | 'UNSUPPORTED_TOKEN'
      | 'INVALID_INTEGRATOR' | 'INTEGRATOR_UNREGISTERED' | 'INTEGRATOR_INACTIVE'
      | 'INTEGRATOR_FEE_TOO_HIGH'> & AtParameter)
  | (Failure<'AMOUNT_OUT_OF_RANGE'> & AtParameter & { readonly minAmount: Amount; readonly maxAmount: Amount })
  | (Failure<'UNSUPPORTED_PAIR'> & AtParameter & { readonly alternatives?: { dstChain: string; dstToken: string }[] })
  | (Failure<'INVALID_RECIPIENT'> & AtParameter & { readonly reason?: RecipientReason })
  | (Failure<'INTEGRATOR_UNVERIFIED' | 'ISSUER_FEE_TOO_HIGH' | 'STATUS_UNAVAILABLE' | 'CHAIN_UNAVAILABLE'
      | 'USAGE_UNAVAILABLE' | 'RATE_LIMITED'> & Later)
  | (Failure<'VERSION_BROWNOUT'> & Later & { readonly successor?: string; readonly until?: Time })
  | (Failure<'VERSION_RETIRED'> & { readonly successor?: string })
  | Failure<'NOT_FOUND' | 'METHOD_NOT_ALLOWED' | 'UNKNOWN_KEY' | 'INTERNAL'>
  /**
   * The check failed: sign nothing, and believe nothing of it. `quote` is the answer, to be shown and not to be used.
   * `result` is there if nothing is wrong but that the gateway itself warns of the quote: what `quote()` would have
   * returned, to be shown and not to be signed.
   */
  | (Failure<'UNVERIFIED'> & {
      readonly problems: string[]; readonly checked: string[]; readonly quote: unknown; readonly result?: CheckedQuote;
    })
  /** The gateway needs a newer version of this package. */
  | (Failure<'OUTDATED'> & { readonly needs: string })
  /** There was no answer. `cause` is what `fetch` threw. */
  | (Failure<'UNREACHABLE'> & Later & { readonly reason: UnreachableReason; readonly cause: unknown })
  /** There was an answer that cannot be read, such as a page of a proxy. */
  | (Failure<'UNREADABLE'> & Later);

/**
 * Why there was no answer. Browsers tell only `TIMEOUT`, `CORS` (the page may not read the answer) and `NETWORK`,
 * which may be anything else; Node also names the others.
 */
export type UnreachableReason = 'TIMEOUT' | 'DNS' | 'REFUSED' | 'TLS' | 'CORS' | 'REDIRECT' | 'INVALID_URL' | 'NETWORK';

export type ErrorCode = QuoteError['code'];

export const QuoteError: {
  new (message: string, fields: { code: ErrorCode; status: number }): QuoteError;
  readonly prototype: QuoteError;
};
