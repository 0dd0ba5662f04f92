// Types of @quotegate/client. Names in unions are those of this version: a misspelt one does not compile. A gateway may
// be newer and say others at run time, so a switch over them needs a default.

export type Hex = `0x${string}`;
/** An integer in the smallest unit of its token, in decimal digits. */
export type Amount = string;
/** An RFC 3339 time. */
export type Time = string;
export type ChainID = string | number;

export type RouteType = 'DIRECT' | 'CCTP_INBOUND';
export type SwapState = 'NOT_FOUND' | 'PENDING' | 'FAILED' | 'NOT_A_SWAP' | 'SETTLING' | 'SETTLED';
export type AttestationState = 'unseen' | 'pending' | 'complete' | 'unknown';
export type FeeOrigin = 'live' | 'last good' | 'built-in';
export type RecipientReason =
  | 'ZERO' | 'CHECKSUM' | 'NAME' | 'CONTRACT' | 'TOKEN' | 'RESERVED' | 'PRIVATE_ON_PUBLIC' | 'PUBLIC_ON_PRIVATE' | 'MALFORMED';

/** What to ask for. Chains are routing IDs, tokens symbols or addresses. */
export interface Request {
  srcToken: string;
  dstToken: string;
  amount: Amount;
  srcChain: ChainID;
  dstChain: ChainID;
  /** An address, or the `0zk…` address of a private balance. */
  recipient: string;
  recipientType?: 0 | 2 | '0' | '2' | undefined;
  /** The wallet address of a registered partner. Its fee is added. */
  integratorId?: string | undefined;
  /** The account that will send: its balance and allowance are read, and calls that it does not need are left out. */
  from?: string | undefined;
}

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

export interface Check {
  actual: Amount;
  needed: Amount;
}

export interface Fee {
  chainId: number;
  token: 'destination';
  protocol: { percentage: number; amount: Amount };
  integrator: { percentage: number; amount: Amount; id?: Hex; address?: Hex };
  total: { amount: Amount };
}

export interface Approval {
  token: Hex;
  spender: Hex;
  amount: Amount;
  calldata: Hex;
}

/** An answer of `/v3/swap/quote`. */
export interface Quote {
  to: Hex;
  srcToken: Token;
  destToken: Token;
  srcAmount: Amount;
  destAmount: Amount;
  fee: Fee;
  /** Absent when the source is native. */
  approval?: Approval;
  methodParameters: { calldata: Hex; value: Hex };
  route: { type: RouteType };
  details?: Details;
}

export interface Decoded {
  function: string;
  arguments: { [name: string]: string };
  hook?: { [name: string]: string };
}

export interface Details {
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
  call: Decoded;
  /** Not for unshielding, which a RAILGUN wallet has to wrap. */
  sendCalls?: SendCalls;
  unshield?: boolean;
  arrival: {
    /** What the recipient really gets. */
    amount: Amount;
    deductions: { by: 'RAILGUN'; percentage: number; amount: Amount }[];
    seconds?: number;
    unshieldAmount?: Amount;
  };
  validUntil: Time;
  /** The same without a clock. */
  validForSeconds?: number;
  issuerFee?: { percentage: number; origin: FeeOrigin; maxFee: Amount };
  integrator?: { registry: Hex; chainId: number; checkedAt: Time };
  /** With `from`. Null if the chain could not be asked: `reason` says why. */
  checks?: { balance: Check; allowance?: Check; native?: Check; checkedAt?: Time } | null;
  reason?: string;
  /** With `simulate` and `from`. Null if no node could: `simulationReason` says why. */
  simulation?: Simulation | null;
  simulationReason?: string;
}

/** The calls, one after the other, on the state of the newest block. */
export interface Simulation {
  blockNumber: number;
  calls: { gasUsed: number; status: 'SUCCESS' | 'FAILED'; error?: string }[];
  /** Whether the pool or the messenger says in its event what was asked for. Absent where the node shows no events. */
  event?: boolean;
  /** The coins needed for value and gas, beside what the account has. */
  native: Check;
}

/** An answer of `/v3/app/pairs`. */
export interface Pairs {
  deployment: string;
  chains: { chainId: number; name: string; network?: number }[];
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
  tracking?: boolean;
  /** The oldest version of this package that understands the gateway. */
  client?: string;
  /** Where to reach the operator, where the operator says. */
  contact?: string;
}

export interface Settlement {
  chainId: number;
  domain: number;
  receiver: Hex;
}

/** An answer of `/v3/app/routers`. */
export interface Routers {
  data: { chainId: number; symbol: string; token: Hex; router: Hex }[];
  settlement: Settlement;
}

export interface Swap {
  dstChain: string;
  dstToken: Hex;
  recipient: Hex;
  recipientType: number;
  amount: Amount;
  integratorId?: Hex;
}

export interface IssuerView {
  domain: number;
  nonce?: Hex;
  attested: boolean;
  attestationState: AttestationState;
  reason?: string;
}

export interface Payout {
  chainId: number;
  txHash?: Hex;
  amount?: Amount;
  /** What the recipient really got, where others took a part, as RAILGUN does. */
  arrived?: Amount;
  timestamp?: Time;
  note?: Hex;
}

interface Progress {
  state: SwapState;
  final: boolean;
  reason?: string;
  burn?: IssuerView;
  settlement?: Payout;
  expectedSeconds?: number;
}

/** An answer of `/v3/swap/status`. */
export interface Status extends Progress {
  srcChain: string;
  txHash: Hex;
  swap?: Swap;
  source?: { blockNumber: number; confirmations: number; timestamp: Time };
  swaps?: (Progress & { swap?: Swap })[];
  omittedSwaps?: number;
  nextCheckSeconds: number;
  /** Whom to ask when it takes too long, where the operator says. */
  contact?: string;
}

/** What a quote is checked against. Pinned ones are better than those of the gateway itself. */
export interface Known {
  listing?: Pairs | undefined;
  /** Instead of the contracts of the listing. Without a listing, the pairs are those of this version. */
  routers?: Routers['data'] | undefined;
  settlement?: Settlement | undefined;
  now?: Date | number | undefined;
  /** What the sender allows the spender, read by you: calls that are not needed are left out. */
  allowance?: Amount | bigint | undefined;
}

export interface Report {
  /** There are no problems. */
  ok: boolean;
  /** Every reason to refuse the quote, in sentences. */
  problems: string[];
  /** What the quote alone cannot tell. Show it. */
  unchecked: string[];
  /** The groups of checks that passed. */
  checked: string[];
  /** Built from the request: a reset of the allowance where the token may need one, the approval, the main call. Empty if not ok, and for unshielding. */
  calls: Call[];
  /** For unshielding: the calls that a RAILGUN wallet wraps in its private transaction. Never send them from a public account. */
  wrap: Call[];
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
  /** Where the gateway is, such as https://quotes.example.org. */
  gateway: string;
  apiKey?: string | undefined;
  fetch?: typeof fetch | undefined;
  /** A reviewed answer of `/v3/app/pairs` or `/v3/app/routers`, or a function that is asked for it whenever an answer is judged. */
  pinned?: Pairs | Routers | (() => Pairs | Routers | undefined | Promise<Pairs | Routers | undefined>) | undefined;
}

export interface QuoteRequest extends Request {
  /** Runs the calls on the chain's newest state first: `quote.details.simulation`. Needs `from`. */
  simulate?: boolean | undefined;
  signal?: AbortSignal | undefined;
}

interface Checked {
  /** As it was sent, in strings. */
  request: { [name: string]: string };
  quote: Quote & { details: Details };
  checked: string[];
  unchecked: string[];
  /** When the quote ends, in milliseconds, by this machine's clock. */
  expiresAt: number;
}
export type PublicQuote = Checked & { unshield: false; calls: Call[]; sendCalls: SendCalls };
/** `calls` is empty: hand `wrap` to a RAILGUN wallet. */
export type UnshieldQuote = Checked & { unshield: true; calls: never[]; wrap: Call[] };
export type CheckedQuote = PublicQuote | UnshieldQuote;

export interface FollowRequest {
  srcChain: ChainID;
  txHash: string;
  signal?: AbortSignal | undefined;
  /** Told when the gateway cannot answer now, and in how many seconds it is asked again. */
  onRetry?: ((error: QuoteError, seconds: number) => void) | undefined;
}

export interface Client {
  /** All that a selection list needs. Kept, and asked for again with its tag. */
  pairs(): Promise<Pairs>;
  /** Asks for a quote and checks it. Throws a QuoteError. */
  quote(request: QuoteRequest): Promise<CheckedQuote>;
  /** Gives each status of a transaction, and ends when it is final. Waits as long as the gateway asks for. */
  follow(request: FollowRequest): AsyncGenerator<Status, void, undefined>;
}

export function createClient(options: ClientOptions): Client;

interface Failure<Code extends string> extends Error {
  readonly name: 'QuoteError';
  readonly code: Code;
  /** Of the answer; 0 if there was none. */
  readonly status: number;
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

/** A union by `code`, with the fields that each code has. */
export type QuoteError =
  | (Failure<'MISSING_PARAMETER' | 'INVALID_PARAMETER' | 'INVALID_AMOUNT' | 'UNSUPPORTED_CHAIN' | 'UNSUPPORTED_TOKEN'
      | 'INVALID_INTEGRATOR' | 'INTEGRATOR_UNREGISTERED' | 'INTEGRATOR_INACTIVE' | 'INTEGRATOR_FEE_TOO_HIGH'> & AtParameter)
  | (Failure<'AMOUNT_OUT_OF_RANGE'> & AtParameter & { readonly minAmount: Amount; readonly maxAmount: Amount })
  | (Failure<'UNSUPPORTED_PAIR'> & AtParameter & { readonly alternatives?: { dstChain: string; dstToken: string }[] })
  | (Failure<'INVALID_RECIPIENT'> & AtParameter & { readonly reason?: RecipientReason })
  | (Failure<'INTEGRATOR_UNVERIFIED' | 'STATUS_UNAVAILABLE' | 'CHAIN_UNAVAILABLE' | 'RATE_LIMITED'> & Later)
  | (Failure<'VERSION_BROWNOUT'> & Later & { readonly successor?: string; readonly until?: Time })
  | (Failure<'VERSION_RETIRED'> & { readonly successor?: string })
  | Failure<'NOT_FOUND' | 'METHOD_NOT_ALLOWED' | 'UNKNOWN_KEY' | 'INTERNAL'>
  /** The check failed: sign nothing. `quote` is the answer, to be shown and not to be used. */
  | (Failure<'UNVERIFIED'> & { readonly problems: string[]; readonly checked: string[]; readonly quote: unknown })
  /** The gateway needs a newer version of this package. */
  | (Failure<'OUTDATED'> & { readonly needs: string })
  /** There was no answer, or one that cannot be read. */
  | (Failure<'UNREACHABLE' | 'UNREADABLE'> & Later);

export type ErrorCode = QuoteError['code'];

export const QuoteError: { new (message: string, fields: { code: ErrorCode; status: number }): QuoteError; readonly prototype: QuoteError };
