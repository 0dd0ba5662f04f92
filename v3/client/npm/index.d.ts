/**
 * Makes a client of one gateway.
 * @param {ClientOptions} options
 * @returns {Client}
 */
export function createClient(options: ClientOptions): Client;
/**
 * Of this package.
 * @type {string}
 */
export const version: string;
export type ErrorCode = import("./errors.js").ErrorCode;
export type UnreachableReason = import("./errors.js").UnreachableReason;
export type Amount = import("./types.js").Amount;
export type Approval = import("./types.js").Approval;
export type Arrival = import("./types.js").Arrival;
export type AttestationState = import("./types.js").AttestationState;
export type Call = import("./types.js").Call;
export type ChainID = import("./types.js").ChainID;
export type Check = import("./types.js").Check;
export type Checks = import("./types.js").Checks;
export type Decoded = import("./types.js").Decoded;
export type Details = import("./types.js").Details;
export type Fee = import("./types.js").Fee;
export type FeeOrigin = import("./types.js").FeeOrigin;
export type Hex = import("./types.js").Hex;
export type IssuerView = import("./types.js").IssuerView;
export type Known = import("./types.js").Known;
export type ListedChain = import("./types.js").ListedChain;
export type ListedPair = import("./types.js").ListedPair;
export type ListedToken = import("./types.js").ListedToken;
export type Pairs = import("./types.js").Pairs;
export type Payout = import("./types.js").Payout;
export type Quote = import("./types.js").Quote;
export type RecipientCode = import("./types.js").RecipientCode;
export type RecipientReason = import("./types.js").RecipientReason;
export type Report = import("./types.js").Report;
export type Request = import("./types.js").Request;
export type Routers = import("./types.js").Routers;
export type RouteType = import("./types.js").RouteType;
export type SendCalls = import("./types.js").SendCalls;
export type SettledPayout = import("./types.js").SettledPayout;
export type Settlement = import("./types.js").Settlement;
export type Simulation = import("./types.js").Simulation;
export type Status = import("./types.js").Status;
export type Swap = import("./types.js").Swap;
export type SwapState = import("./types.js").SwapState;
export type Time = import("./types.js").Time;
export type Token = import("./types.js").Token;
export type ClientOptions = {
    /**
     * Where the gateway is, such as https://quotes.example.org. Anything else than an address
     * throws a TypeError.
     */
    gateway: string;
    /**
     * For rate limits of its own. In an app or a page it is public.
     */
    apiKey?: string | undefined;
    /**
     * How long to wait for one answer, in milliseconds; 15000 if left out.
     */
    timeout?: number | undefined;
    /**
     * Instead of the global one.
     */
    fetch?: typeof globalThis.fetch | undefined;
    /**
     * A
     * reviewed answer of `/v3/app/pairs` or `/v3/app/routers`, or a function that is asked for it whenever an answer is
     * judged.
     */
    pinned?: Pairs | Routers | (() => Pairs | Routers | undefined | Promise<Pairs | Routers | undefined>);
};
export type QuoteOptions = {
    /**
     * Also has the gateway try the calls of `from` on the newest block:
     * `details.simulation`.
     */
    simulate?: boolean | undefined;
    /**
     * How often to ask again where the gateway does not answer, or refuses for now
     * (429, 502 and their like); 0 if left out. It waits as long as the gateway says, at most a minute.
     */
    retry?: number | undefined;
    signal?: AbortSignal | undefined;
};
export type QuoteRequest = Request & QuoteOptions;
export type Checked = {
    /**
     * As it was sent, in strings.
     */
    request: {
        [name: string]: string;
    };
    /**
     * The answer. To follow the swap, give it to `follow` or `status`.
     */
    quote: CompleteQuote;
    /**
     * The groups of checks that passed.
     */
    checked: string[];
    /**
     * What nobody can check, in sentences. Show it.
     */
    unchecked: string[];
    /**
     * What may be a mistake, in sentences: what the gateway has ignored of the request, and a
     * recipient that has code on one side only. Show it.
     */
    warnings: string[];
    /**
     * The gateway's own, of a quote that must not be signed: only in `error.result`.
     */
    warning?: string;
    /**
     * When the quote ends, by the clock of this machine, in milliseconds since 1970.
     */
    expiresAt: number;
    /**
     * Whether `from` has what the calls need, as the gateway read it: true if
     * a dry run says that all would succeed and be paid for, false if something is lacking or it has failed, undefined if
     * that is not known.
     */
    sufficient: boolean | undefined;
};
export type CompleteQuote = Quote & {
    details: Details;
};
/**
 * `calls` are to be sent one after the other, or `sendCalls` as a batch. `@quotegate/client/send` does both.
 */
export type PublicQuote = Checked & {
    unshield: false;
    calls: Call[];
    sendCalls: SendCalls;
};
/**
 * `calls` is empty: hand `wrap` to a RAILGUN wallet.
 */
export type UnshieldQuote = Checked & {
    unshield: true;
    calls: never[];
    wrap: Call[];
};
/**
 * What `client.quote` gives, a union by `unshield`.
 */
export type CheckedQuote = PublicQuote | UnshieldQuote;
/**
 * The chain that a transaction was sent on, also in hexadecimal as `send` gives it, or the quote that was signed, or
 * both. A status of another swap than that of the quote is `UNVERIFIED`; a chain that is not the quote's throws a
 * TypeError.
 */
export type SentOn = ({
    srcChain: ChainID;
    quote?: CompleteQuote | undefined;
} | {
    srcChain?: ChainID | undefined;
    quote: CompleteQuote;
});
/**
 * Which transaction to ask about. `since` is the block before it was sent, as `send` gives it: a status of a
 * transaction in that block or an older one is then `UNVERIFIED`.
 */
export type StatusRequest = SentOn & {
    txHash: string;
    since?: Hex | undefined;
    signal?: AbortSignal | undefined;
};
export type FollowOptions = {
    /**
     * Asked
     * while no node of the gateway has the transaction in a block. It may give the hash of one that took its place, which
     * is followed from then on. `findReplacement` of `@quotegate/client/send` finds it.
     */
    replacement?: ((status: Status) => string | undefined | Promise<string | undefined>) | undefined;
    /**
     * Told when the gateway cannot answer
     * now, and in how many seconds it is asked again.
     */
    onRetry?: ((error: QuoteError, seconds: number) => void) | undefined;
};
export type FollowRequest = StatusRequest & FollowOptions;
export type Follow = {
    (request: FollowRequest): AsyncGenerator<Status, void, undefined>;
    (request: FollowRequest, onStatus: (status: Status) => unknown): Promise<Status>;
};
export type Client = {
    /**
     * All that a selection list needs.
     * Kept, and asked for again with its tag.
     */
    pairs: (options?: {
        signal?: AbortSignal | undefined;
    }) => Promise<Pairs>;
    /**
     * Asks for a quote and checks it. Throws a
     * QuoteError.
     */
    quote: (request: QuoteRequest) => Promise<CheckedQuote>;
    /**
     * Checks a quote again, without asking for another: against what is pinned now, and for what
     * the
     * account allows the spender now, so that calls that it does not need are left out.
     */
    recheck: <Q extends CheckedQuote>(quote: Q, options?: {
        allowance?: Amount | bigint | undefined;
        signal?: AbortSignal | undefined;
    }) => Promise<Q>;
    /**
     * What became of a transaction, asked once. An answer
     * about another one is a QuoteError, `UNVERIFIED`.
     */
    status: (request: StatusRequest) => Promise<Status>;
    /**
     * Gives each status of a transaction, and ends when it is final. Waits as long as the gateway
     * asks for, and goes on through outages. An answer about another transaction is never given, and throws. With a
     * callback, for where `for await` is not at hand, it gives the last status.
     */
    follow: Follow;
};
import { decode } from './verify.js';
import { QuoteError } from './errors.js';
import { shortOf } from './status.js';
import { verify } from './verify.js';
export { decode, QuoteError, shortOf, verify };
