/**
 * Hexadecimal digits after `0x`: an address, calldata, a hash, or a number as wallets write it.
 */
export type Hex = `0x${string}`;
/**
 * An integer in the smallest unit of its token, in decimal digits.
 */
export type Amount = string;
/**
 * An RFC 3339 time.
 */
export type Time = string;
/**
 * A routing ID: that of a network, or one of a privacy pool (69696969, 96969696).
 */
export type ChainID = string | number;
/**
 * `DIRECT`: a pool of the service is paid. `CCTP_INBOUND`: the issuer of USDC burns it here and mints it there.
 */
export type RouteType = "DIRECT" | "CCTP_INBOUND";
/**
 * How far a swap is. Only with `final` does it stay so.
 */
export type SwapState = "NOT_FOUND" | "PENDING" | "FAILED" | "NOT_A_SWAP" | "SETTLING" | "SETTLED";
/**
 * What the issuer of USDC says of a burn.
 */
export type AttestationState = "unseen" | "pending" | "complete" | "unknown";
/**
 * Where the gateway has the issuer's fee from.
 */
export type FeeOrigin = "live" | "last good" | "built-in";
/**
 * Why a recipient was refused.
 */
export type RecipientReason = "ZERO" | "CHECKSUM" | "NAME" | "CONTRACT" | "TOKEN" | "RESERVED" | "PRIVATE_ON_PUBLIC" | "PUBLIC_ON_PRIVATE" | "MALFORMED";
/**
 * What to ask for. Chains are routing IDs, tokens symbols in any case or addresses.
 */
export type Request = {
    srcToken: string;
    dstToken: string;
    /**
     * What to send, in the smallest unit of `srcToken`: `100000000` or `100_000_000n`
     * for 100 USDC of 6 decimals.
     */
    amount: Amount | bigint;
    /**
     * Where it is sent.
     */
    srcChain: ChainID;
    /**
     * Where it arrives.
     */
    dstChain: ChainID;
    /**
     * An address, or the `0zk…` address of a private balance.
     */
    recipient: string;
    /**
     * Not needed: `recipient` says it.
     */
    recipientType?: 0 | 2 | "0" | "2" | undefined;
    /**
     * The wallet address of a registered partner. Its fee is added. Empty is
     * a TypeError.
     */
    integratorId?: string | undefined;
    /**
     * The account that will send: its balance and allowance are read, and calls that
     * it does not need are left out.
     */
    from?: string | undefined;
};
/**
 * A token on a network.
 */
export type Token = {
    address: Hex;
    symbol: string;
    decimals: number;
    /**
     * A network, also for a privacy pool.
     */
    chainId: number;
};
/**
 * One transaction.
 */
export type Call = {
    /**
     * The network it must be sent on, in hexadecimal, as wallets want it.
     */
    chainId: Hex;
    to: Hex;
    data: Hex;
    value: Hex;
};
/**
 * The parameters of `wallet_sendCalls` (EIP-5792).
 */
export type SendCalls = {
    version: "2.0.0";
    from?: Hex;
    chainId: Hex;
    atomicRequired: boolean;
    calls: {
        to: Hex;
        data: Hex;
        value: Hex;
    }[];
};
/**
 * What an account has, beside what the calls need.
 */
export type Check = {
    /**
     * As the gateway read it.
     */
    actual: Amount;
    /**
     * As worked out from the request; for `native`, as the gateway says.
     */
    needed: Amount;
};
/**
 * The fees, in the smallest unit of the token that arrives.
 */
export type Fee = {
    /**
     * The network of the pool that pays out.
     */
    chainId: number;
    token: "destination";
    protocol: {
        percentage: number;
        amount: Amount;
    };
    integrator: {
        percentage: number;
        amount: Amount;
        id?: Hex;
        address?: Hex;
    };
    total: {
        amount: Amount;
    };
};
/**
 * The approval that the main call needs.
 */
export type Approval = {
    token: Hex;
    spender: Hex;
    amount: Amount;
    calldata: Hex;
};
/**
 * An answer of `/v3/swap/quote`.
 */
export type Quote = {
    /**
     * The contract of the main call.
     */
    to: Hex;
    srcToken: Token;
    destToken: Token;
    srcAmount: Amount;
    /**
     * What is paid out. `details.arrival.amount` is what is left of it for the recipient.
     */
    destAmount: Amount;
    fee: Fee;
    /**
     * Absent when the source is native.
     */
    approval?: Approval;
    methodParameters: {
        calldata: Hex;
        value: Hex;
    };
    route: {
        type: RouteType;
    };
    details?: Details;
};
/**
 * A call in words.
 */
export type Decoded = {
    /**
     * Its signature.
     */
    function: string;
    /**
     * By name, numbers as decimal strings.
     */
    arguments: {
        [name: string]: string;
    };
    /**
     * Of a burn: the fields of `hookData`.
     */
    hook?: {
        [name: string]: string;
    };
};
/**
 * What explains a quote. Everything is compared with the request, or named in `unchecked`.
 */
export type Details = {
    /**
     * The request as the gateway understood it.
     */
    request: DetailsRequest;
    /**
     * The main call.
     */
    call: Decoded;
    /**
     * Not for unshielding, which a RAILGUN wallet has to wrap.
     */
    sendCalls?: SendCalls;
    unshield?: boolean;
    /**
     * A contract that the swap needs does not exist. Such a quote is refused as
     * `UNVERIFIED`.
     */
    contract?: "MISSING";
    arrival: Arrival;
    /**
     * Until when the operator stands by the quote. No contract enforces it.
     */
    validUntil: Time;
    /**
     * The same without a clock.
     */
    validForSeconds: number;
    /**
     * Of a burn. The service pays it.
     */
    issuerFee?: {
        percentage: number;
        origin: FeeOrigin;
        maxFee: Amount;
    };
    /**
     * Where and when the gateway asked for the
     * integrator's fee.
     */
    integrator?: {
        registry: Hex;
        chainId: number;
        checkedAt: Time;
    };
    /**
     * With `from`. Null if the chain could not be asked: `reason` says why.
     */
    checks?: Checks | null;
    reason?: string;
    /**
     * With `simulate` and `from`. Null if no node could: `simulationReason` says
     * why.
     */
    simulation?: Simulation | null;
    simulationReason?: string;
};
/**
 * A request as the gateway understood it.
 */
export type DetailsRequest = {
    srcChain: string;
    srcToken: Hex;
    dstChain: string;
    dstToken: Hex;
    amount: Amount;
    recipient: string;
    recipientType: 0 | 2;
    integratorId?: Hex;
};
/**
 * What arrives, and when.
 */
export type Arrival = {
    /**
     * What the recipient really gets.
     */
    amount: Amount;
    deductions: {
        by: "RAILGUN";
        percentage: number;
        amount: Amount;
    }[];
    /**
     * How long it usually takes.
     */
    seconds?: number;
    /**
     * For unshielding: what to take out of the pool.
     */
    unshieldAmount?: Amount;
};
/**
 * What the account of `from` has.
 */
export type Checks = {
    native: Check;
    balance: Check;
    allowance?: Check;
    recipient?: RecipientCode;
    checkedAt: Time;
};
/**
 * Whether the recipient is a contract on the two networks of a swap. Null where that is not known.
 */
export type RecipientCode = {
    source: boolean | null;
    destination: boolean | null;
};
/**
 * The calls, one after the other, on the state of the newest block.
 */
export type Simulation = {
    blockNumber: number;
    /**
     * In the order of `sendCalls.calls`.
     */
    calls: SimulatedCall[];
    /**
     * Whether the pool or the messenger says in its event what was asked for. Absent where the
     * node shows no events.
     */
    event?: boolean;
    /**
     * The coins needed for value and gas, beside what the account has.
     */
    native: Check;
};
/**
 * `UNPROVEN`: the main call does not revert, but nobody could see whether it does the swap, as `event` says.
 */
export type SimulatedCall = {
    gasUsed: number;
    /**
     * Enough to send the call with.
     */
    gasLimit: number;
    status: "SUCCESS" | "FAILED" | "UNPROVEN";
    error?: string;
};
/**
 * An answer of `/v3/app/pairs`.
 */
export type Pairs = {
    deployment: string;
    chains: ListedChain[];
    tokens: ListedToken[];
    pairs: ListedPair[];
    settlement: Settlement;
    /**
     * Whether swaps can be followed.
     */
    tracking: boolean;
    /**
     * The oldest version of this package that understands the gateway.
     */
    client: string;
    /**
     * Where to reach the operator, where the operator says.
     */
    contact?: string;
};
/**
 * A network, or the privacy pool on one.
 */
export type ListedChain = {
    chainId: number;
    name: string;
    /**
     * Of a privacy pool.
     */
    network?: number;
    /**
     * What pays for gas, as `wallet_addEthereumChain` wants it.
     */
    nativeCurrency?: Coin;
    /**
     * Public nodes, as `wallet_addEthereumChain` wants them, where the operator names some.
     */
    rpcUrls?: string[];
    /**
     * An https address before `/tx/…` and `/address/…`.
     */
    explorer?: string;
};
export type Coin = {
    name: string;
    symbol: string;
    decimals: number;
};
/**
 * A token on a chain or in a privacy pool, and how much of it one swap may move.
 */
export type ListedToken = {
    chainId: number;
    symbol: string;
    address: Hex;
    decimals: number;
    minAmount: Amount;
    maxAmount: Amount;
};
/**
 * A swap that can be made. Tokens are symbols.
 */
export type ListedPair = {
    srcChain: number;
    srcToken: string;
    dstChain: number;
    dstToken: string;
    type: RouteType;
    /**
     * In percent.
     */
    protocolFee: number;
    feeChainId: number;
    to: Hex;
    seconds?: number;
};
/**
 * Whom burns of the issuer pay. There is no receiver where the gateway quotes no burns.
 */
export type Settlement = {
    chainId: number;
    domain: number;
    receiver?: Hex;
};
/**
 * An answer of `/v3/app/routers`.
 */
export type Routers = {
    data: {
        chainId: number;
        symbol: string;
        token: Hex;
        router: Hex;
    }[];
    settlement: Settlement;
};
/**
 * What was swapped, as the events of the transaction say it.
 */
export type Swap = {
    dstChain: string;
    dstToken: Hex;
    /**
     * An address; for type 2, the npk of the shield note.
     */
    recipient: Hex;
    recipientType: number;
    amount: Amount;
    integratorId?: Hex;
};
/**
 * How far the issuer is with the burn that carries the money.
 */
export type IssuerView = {
    domain: number;
    nonce?: Hex;
    attested: boolean;
    attestationState: AttestationState;
    reason?: string;
};
/**
 * A payout.
 */
export type Payout = {
    chainId: number;
    /**
     * Absent where the issuer minted the money, and the transaction is not among the newest.
     */
    txHash?: Hex;
    /**
     * What was paid.
     */
    amount: Amount;
    /**
     * What the recipient really got of it: less where others took a part, as RAILGUN does.
     */
    arrived: Amount;
    /**
     * Absent where `txHash` is.
     */
    timestamp?: Time;
    /**
     * The npk of the shield note that was paid.
     */
    note?: Hex;
    /**
     * What was paid, with its fees, is not what was swapped. It is
     * not final then.
     */
    short?: {
        swapped: Amount;
        paid: Amount;
    };
};
/**
 * The payout of a swap that is settled.
 */
export type SettledPayout = Payout;
export type Progress = {
    /**
     * Whether the state can no longer change.
     */
    final: boolean;
    /**
     * `FAILED`: with what it reverted, if the node tells. Otherwise why more is not known.
     */
    reason?: string;
    burn?: IssuerView;
    settlement?: Payout;
    expectedSeconds?: number;
};
export type Told = {
    srcChain: string;
    txHash: Hex;
    /**
     * What was swapped. Absent if it cannot be read yet, or if nothing was.
     */
    swap?: Swap;
    /**
     * The block of the transaction.
     * Absent while it is in none.
     */
    source?: {
        blockNumber: number;
        confirmations: number;
        timestamp: Time;
    };
    /**
     * Of a transaction with several swaps, the first
     * sixteen. `state` and what is beside it is of the least advanced.
     */
    swaps?: (Progress & {
        state: SwapState;
        swap?: Swap;
    })[];
    omittedSwaps?: number;
    /**
     * In how many seconds to ask again; 0 for never.
     */
    nextCheckSeconds: number;
    /**
     * Whom to ask when it takes too long, where the operator says.
     */
    contact?: string;
};
/**
 * An answer of `/v3/swap/status`, a union by `state`: what is `SETTLED` says what arrived.
 */
export type Status = Told & ((Progress & {
    state: "NOT_FOUND" | "PENDING";
}) | (Progress & {
    state: "FAILED" | "NOT_A_SWAP";
}) | (Progress & {
    state: "SETTLING";
}) | (Omit<Progress, "settlement"> & {
    state: "SETTLED";
    settlement: SettledPayout;
}));
/**
 * What a quote is checked against. Pinned ones are better than those of the gateway itself.
 */
export type Known = {
    /**
     * An answer of `/v3/app/pairs`.
     */
    listing?: Pairs | undefined;
    /**
     * Instead of the contracts of the listing. Without a listing, the
     * pairs are those of this version.
     */
    routers?: Routers["data"] | undefined;
    /**
     * Instead of that of the listing.
     */
    settlement?: Settlement | undefined;
    /**
     * The time, for `expired`.
     */
    now?: Date | number | undefined;
    /**
     * What the sender allows the spender, read by you: calls that are
     * not needed are left out.
     */
    allowance?: Amount | bigint | undefined;
};
/**
 * What `verify` found.
 */
export type Report = {
    /**
     * There are no problems.
     */
    ok: boolean;
    /**
     * Every reason to refuse the quote, in sentences, the worst first. That of a field says
     * what it would mean, and has the path of the field in parentheses at its end.
     */
    problems: string[];
    /**
     * What the quote alone cannot tell, in sentences: always that the contracts enforce no
     * minimum and no deadline and give no refund, and every field that could not be compared. Show it.
     */
    unchecked: string[];
    /**
     * What may be a mistake, in sentences: a recipient that has code on one side only. Show
     * it.
     */
    warnings: string[];
    /**
     * The groups of checks that passed.
     */
    checked: string[];
    /**
     * Built from the request: a reset of the allowance where the token may need one, the approval,
     * the main call. Empty if not ok, and for unshielding.
     */
    calls: Call[];
    /**
     * For unshielding: the calls that a RAILGUN wallet wraps in its private transaction. Never send
     * them from a public account.
     */
    wrap: Call[];
    /**
     * The calls as parameters of `wallet_sendCalls`. Absent if not ok, and for
     * unshielding.
     */
    sendCalls?: SendCalls;
    /**
     * `now` is after `details.validUntil`.
     */
    expired: boolean;
};
/**
 * Any wallet with `request` of EIP-1193: of a browser, of a wagmi connector, or a viem client of a JSON-RPC account.
 * For local accounts of viem, there is `@quotegate/client/viem`.
 */
export type Wallet = {
    request(args: {
        method: string;
        params?: unknown;
    }, options?: unknown): Promise<unknown>;
};
