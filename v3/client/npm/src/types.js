/**
 * @file Types of requests and answers. Names in unions are those of this version: a misspelt one does not compile.
 * Error codes of a newer gateway may be others, so a switch over them needs a default.
 */

/**
 * Hexadecimal digits after `0x`: an address, calldata, a hash, or a number as wallets write it.
 * @typedef {`0x${string}`} Hex
 */
/**
 * An integer in the smallest unit of its token, in decimal digits.
 * @typedef {string} Amount
 */
/**
 * An RFC 3339 time.
 * @typedef {string} Time
 */
/**
 * A routing ID: that of a network, or one of a privacy pool (69696969, 96969696).
 * @typedef {string | number} ChainID
 */
/**
 * `DIRECT`: a pool of the service is paid. `CCTP_INBOUND`: the issuer of USDC burns it here and mints it there.
 * @typedef {'DIRECT' | 'CCTP_INBOUND'} RouteType
 */
/**
 * How far a swap is. Only with `final` does it stay so.
 * @typedef {'NOT_FOUND' | 'PENDING' | 'FAILED' | 'NOT_A_SWAP' | 'SETTLING' | 'SETTLED'} SwapState
 */
/**
 * What the issuer of USDC says of a burn.
 * @typedef {'unseen' | 'pending' | 'complete' | 'unknown'} AttestationState
 */
/**
 * Where the gateway has the issuer's fee from.
 * @typedef {'live' | 'last good' | 'built-in'} FeeOrigin
 */
/**
 * Why a recipient was refused.
 * @typedef {'ZERO' | 'CHECKSUM' | 'NAME' | 'CONTRACT' | 'TOKEN' | 'RESERVED' | 'PRIVATE_ON_PUBLIC' |
 *   'PUBLIC_ON_PRIVATE' | 'MALFORMED'} RecipientReason
 */

/**
 * What to ask for. Chains are routing IDs, tokens symbols in any case or addresses.
 * @typedef {object} Request
 * @property {string} srcToken
 * @property {string} dstToken
 * @property {Amount | bigint} amount What to send, in the smallest unit of `srcToken`: `100000000` or `100_000_000n`
 *   for 100 USDC of 6 decimals.
 * @property {ChainID} srcChain Where it is sent.
 * @property {ChainID} dstChain Where it arrives.
 * @property {string} recipient An address, or the `0zk…` address of a private balance.
 * @property {0 | 2 | '0' | '2' | undefined} [recipientType] Not needed: `recipient` says it.
 * @property {string | undefined} [integratorId] The wallet address of a registered partner. Its fee is added. Empty is
 *   a TypeError.
 * @property {string | undefined} [from] The account that will send: its balance and allowance are read, and calls that
 *   it does not need are left out.
 */

/**
 * A token on a network.
 * @typedef {object} Token
 * @property {Hex} address
 * @property {string} symbol
 * @property {number} decimals
 * @property {number} chainId A network, also for a privacy pool.
 */

/**
 * One transaction.
 * @typedef {object} Call
 * @property {Hex} chainId The network it must be sent on, in hexadecimal, as wallets want it.
 * @property {Hex} to
 * @property {Hex} data
 * @property {Hex} value
 */

/**
 * The parameters of `wallet_sendCalls` (EIP-5792).
 * @typedef {object} SendCalls
 * @property {'2.0.0'} version
 * @property {Hex} [from]
 * @property {Hex} chainId
 * @property {boolean} atomicRequired
 * @property {{ to: Hex, data: Hex, value: Hex }[]} calls
 */

/**
 * What an account has, beside what the calls need.
 * @typedef {object} Check
 * @property {Amount} actual As the gateway read it.
 * @property {Amount} needed As worked out from the request; for `native`, as the gateway says.
 */

/**
 * The fees, in the smallest unit of the token that arrives.
 * @typedef {object} Fee
 * @property {number} chainId The network of the pool that pays out.
 * @property {'destination'} token
 * @property {{ percentage: number, amount: Amount }} protocol
 * @property {{ percentage: number, amount: Amount, id?: Hex, address?: Hex }} integrator
 * @property {{ amount: Amount }} total
 */

/**
 * The approval that the main call needs.
 * @typedef {object} Approval
 * @property {Hex} token
 * @property {Hex} spender
 * @property {Amount} amount
 * @property {Hex} calldata
 */

/**
 * An answer of `/v3/swap/quote`.
 * @typedef {object} Quote
 * @property {Hex} to The contract of the main call.
 * @property {Token} srcToken
 * @property {Token} destToken
 * @property {Amount} srcAmount
 * @property {Amount} destAmount What is paid out. `details.arrival.amount` is what is left of it for the recipient.
 * @property {Fee} fee
 * @property {Approval} [approval] Absent when the source is native.
 * @property {{ calldata: Hex, value: Hex }} methodParameters
 * @property {{ type: RouteType }} route
 * @property {Details} [details]
 */

/**
 * A call in words.
 * @typedef {object} Decoded
 * @property {string} function Its signature.
 * @property {{ [name: string]: string }} arguments By name, numbers as decimal strings.
 * @property {{ [name: string]: string }} [hook] Of a burn: the fields of `hookData`.
 */

/**
 * What explains a quote. Everything is compared with the request, or named in `unchecked`.
 * @typedef {object} Details
 * @property {DetailsRequest} request The request as the gateway understood it.
 * @property {Decoded} call The main call.
 * @property {SendCalls} [sendCalls] Not for unshielding, which a RAILGUN wallet has to wrap.
 * @property {boolean} [unshield]
 * @property {'MISSING'} [contract] A contract that the swap needs does not exist. Such a quote is refused as
 *   `UNVERIFIED`.
 * @property {Arrival} arrival
 * @property {Time} validUntil Until when the operator stands by the quote. No contract enforces it.
 * @property {number} validForSeconds The same without a clock.
 * @property {{ percentage: number, origin: FeeOrigin, maxFee: Amount }} [issuerFee] Of a burn. The service pays it.
 * @property {{ registry: Hex, chainId: number, checkedAt: Time }} [integrator] Where and when the gateway asked for the
 *   integrator's fee.
 * @property {Checks | null} [checks] With `from`. Null if the chain could not be asked: `reason` says why.
 * @property {string} [reason]
 * @property {Simulation | null} [simulation] With `simulate` and `from`. Null if no node could: `simulationReason` says
 *   why.
 * @property {string} [simulationReason]
 */

/**
 * A request as the gateway understood it.
 * @typedef {object} DetailsRequest
 * @property {string} srcChain
 * @property {Hex} srcToken
 * @property {string} dstChain
 * @property {Hex} dstToken
 * @property {Amount} amount
 * @property {string} recipient
 * @property {0 | 2} recipientType
 * @property {Hex} [integratorId]
 */

/**
 * What arrives, and when.
 * @typedef {object} Arrival
 * @property {Amount} amount What the recipient really gets.
 * @property {{ by: 'RAILGUN', percentage: number, amount: Amount }[]} deductions
 * @property {number} [seconds] How long it usually takes.
 * @property {Amount} [unshieldAmount] For unshielding: what to take out of the pool.
 */

/**
 * What the account of `from` has.
 * @typedef {object} Checks
 * @property {Check} native
 * @property {Check} balance
 * @property {Check} [allowance]
 * @property {RecipientCode} [recipient]
 * @property {Time} checkedAt
 */

/**
 * Whether the recipient is a contract on the two networks of a swap. Null where that is not known.
 * @typedef {object} RecipientCode
 * @property {boolean | null} source
 * @property {boolean | null} destination
 */

/**
 * The calls, one after the other, on the state of the newest block.
 * @typedef {object} Simulation
 * @property {number} blockNumber
 * @property {SimulatedCall[]} calls In the order of `sendCalls.calls`.
 * @property {boolean} [event] Whether the pool or the messenger says in its event what was asked for. Absent where the
 *   node shows no events.
 * @property {Check} native The coins needed for value and gas, beside what the account has.
 */

/**
 * `UNPROVEN`: the main call does not revert, but nobody could see whether it does the swap, as `event` says.
 * @typedef {object} SimulatedCall
 * @property {number} gasUsed
 * @property {number} gasLimit Enough to send the call with.
 * @property {'SUCCESS' | 'FAILED' | 'UNPROVEN'} status
 * @property {string} [error]
 */

/**
 * An answer of `/v3/app/pairs`.
 * @typedef {object} Pairs
 * @property {string} deployment
 * @property {ListedChain[]} chains
 * @property {ListedToken[]} tokens
 * @property {ListedPair[]} pairs
 * @property {Settlement} settlement
 * @property {boolean} tracking Whether swaps can be followed.
 * @property {string} client The oldest version of this package that understands the gateway.
 * @property {string} [contact] Where to reach the operator, where the operator says.
 */

/**
 * A network, or the privacy pool on one.
 * @typedef {object} ListedChain
 * @property {number} chainId
 * @property {string} name
 * @property {number} [network] Of a privacy pool.
 * @property {Coin} [nativeCurrency] What pays for gas, as `wallet_addEthereumChain` wants it.
 * @property {string[]} [rpcUrls] Public nodes, as `wallet_addEthereumChain` wants them, where the operator names some.
 * @property {string} [explorer] An https address before `/tx/…` and `/address/…`.
 */

/**
 * @typedef {object} Coin
 * @property {string} name
 * @property {string} symbol
 * @property {number} decimals
 */

/**
 * A token on a chain or in a privacy pool, and how much of it one swap may move.
 * @typedef {object} ListedToken
 * @property {number} chainId
 * @property {string} symbol
 * @property {Hex} address
 * @property {number} decimals
 * @property {Amount} minAmount
 * @property {Amount} maxAmount
 */

/**
 * A swap that can be made. Tokens are symbols.
 * @typedef {object} ListedPair
 * @property {number} srcChain
 * @property {string} srcToken
 * @property {number} dstChain
 * @property {string} dstToken
 * @property {RouteType} type
 * @property {number} protocolFee In percent.
 * @property {number} feeChainId
 * @property {Hex} to
 * @property {number} [seconds]
 */

/**
 * Whom burns of the issuer pay. There is no receiver where the gateway quotes no burns.
 * @typedef {object} Settlement
 * @property {number} chainId
 * @property {number} domain
 * @property {Hex} [receiver]
 */

/**
 * An answer of `/v3/app/routers`.
 * @typedef {object} Routers
 * @property {{ chainId: number, symbol: string, token: Hex, router: Hex }[]} data
 * @property {Settlement} settlement
 */

/**
 * What was swapped, as the events of the transaction say it.
 * @typedef {object} Swap
 * @property {string} dstChain
 * @property {Hex} dstToken
 * @property {Hex} recipient An address; for type 2, the npk of the shield note.
 * @property {number} recipientType
 * @property {Amount} amount
 * @property {Hex} [integratorId]
 */

/**
 * How far the issuer is with the burn that carries the money.
 * @typedef {object} IssuerView
 * @property {number} domain
 * @property {Hex} [nonce]
 * @property {boolean} attested
 * @property {AttestationState} attestationState
 * @property {string} [reason]
 */

/**
 * A payout.
 * @typedef {object} Payout
 * @property {number} chainId
 * @property {Hex} [txHash] Absent where the issuer minted the money, and the transaction is not among the newest.
 * @property {Amount} amount What was paid.
 * @property {Amount} arrived What the recipient really got of it: less where others took a part, as RAILGUN does.
 * @property {Time} [timestamp] Absent where `txHash` is.
 * @property {Hex} [note] The npk of the shield note that was paid.
 * @property {{ swapped: Amount, paid: Amount }} [short] What was paid, with its fees, is not what was swapped. It is
 *   not final then.
 */
/**
 * The payout of a swap that is settled.
 * @typedef {Payout} SettledPayout
 */

/**
 * @typedef {object} Progress
 * @property {boolean} final Whether the state can no longer change.
 * @property {string} [reason] `FAILED`: with what it reverted, if the node tells. Otherwise why more is not known.
 * @property {IssuerView} [burn]
 * @property {Payout} [settlement]
 * @property {number} [expectedSeconds]
 */

/**
 * @typedef {object} Told
 * @property {string} srcChain
 * @property {Hex} txHash
 * @property {Swap} [swap] What was swapped. Absent if it cannot be read yet, or if nothing was.
 * @property {{ blockNumber: number, confirmations: number, timestamp: Time }} [source] The block of the transaction.
 *   Absent while it is in none.
 * @property {(Progress & { state: SwapState, swap?: Swap })[]} [swaps] Of a transaction with several swaps, the first
 *   sixteen. `state` and what is beside it is of the least advanced.
 * @property {number} [omittedSwaps]
 * @property {number} nextCheckSeconds In how many seconds to ask again; 0 for never.
 * @property {string} [contact] Whom to ask when it takes too long, where the operator says.
 */

/**
 * An answer of `/v3/swap/status`, a union by `state`: what is `SETTLED` says what arrived.
 * @typedef {Told & (
 *   | (Progress & { state: 'NOT_FOUND' | 'PENDING' })
 *   | (Progress & { state: 'FAILED' | 'NOT_A_SWAP' })
 *   | (Progress & { state: 'SETTLING' })
 *   | (Omit<Progress, 'settlement'> & { state: 'SETTLED', settlement: SettledPayout })
 * )} Status
 */

/**
 * What a quote is checked against. Pinned ones are better than those of the gateway itself.
 * @typedef {object} Known
 * @property {Pairs | undefined} [listing] An answer of `/v3/app/pairs`.
 * @property {Routers['data'] | undefined} [routers] Instead of the contracts of the listing. Without a listing, the
 *   pairs are those of this version.
 * @property {Settlement | undefined} [settlement] Instead of that of the listing.
 * @property {Date | number | undefined} [now] The time, for `expired`.
 * @property {Amount | bigint | undefined} [allowance] What the sender allows the spender, read by you: calls that are
 *   not needed are left out.
 */

/**
 * What `verify` found.
 * @typedef {object} Report
 * @property {boolean} ok There are no problems.
 * @property {string[]} problems Every reason to refuse the quote, in sentences, the worst first. That of a field says
 *   what it would mean, and has the path of the field in parentheses at its end.
 * @property {string[]} unchecked What the quote alone cannot tell, in sentences: always that the contracts enforce no
 *   minimum and no deadline and give no refund, and every field that could not be compared. Show it.
 * @property {string[]} warnings What may be a mistake, in sentences: a recipient that has code on one side only. Show
 *   it.
 * @property {string[]} checked The groups of checks that passed.
 * @property {Call[]} calls Built from the request: a reset of the allowance where the token may need one, the approval,
 *   the main call. Empty if not ok, and for unshielding.
 * @property {Call[]} wrap For unshielding: the calls that a RAILGUN wallet wraps in its private transaction. Never send
 *   them from a public account.
 * @property {SendCalls} [sendCalls] The calls as parameters of `wallet_sendCalls`. Absent if not ok, and for
 *   unshielding.
 * @property {boolean} expired `now` is after `details.validUntil`.
 */

/**
 * Any wallet with `request` of EIP-1193: of a browser, of a wagmi connector, or a viem client of a JSON-RPC account.
 * For local accounts of viem, there is `@quotegate/client/viem`.
 * @typedef {{ request(args: { method: string, params?: unknown }, options?: unknown): Promise<unknown> }} Wallet
 */

export {};
