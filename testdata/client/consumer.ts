// A wallet's own code, as strict as a compiler can be. It is compiled and never run; a line under @ts-expect-error must not
// compile, and fails the test if it does.
import { createClient, decode, QuoteError, verify, version } from '@quotegate/client'
import type { Call, CheckedQuote, ErrorCode, Pairs, RouteType, Status, SwapState } from '@quotegate/client'
import type { Hex, PublicQuote } from '@quotegate/client'
import { addChain, connect, send, SendError, sendErrorOf } from '@quotegate/client/send'
import type { Sent, SentSoFar, Step, Wallet } from '@quotegate/client/send'
import { formatAmount, maxAmount, parseAmount } from '@quotegate/client/amount'
import { verify as alone } from '@quotegate/client/verify'
import type { Report, Request } from '@quotegate/client/verify'
import { estimate } from '@quotegate/client/estimate'
import type { Estimate } from '@quotegate/client/estimate'

const client = createClient({ gateway: 'https://quotes.example.org', apiKey: 'qg_1', fetch, pinned: async () => undefined })

export async function swap(from: string): Promise<readonly Call[]> {
  const pairs: Pairs = await client.pairs()
  const kinds = pairs.pairs.map(({ type }) => type)
  const burn: RouteType = 'CCTP_INBOUND'
  // @ts-expect-error a misspelt route type
  const wrong: RouteType = 'CCTP_INBOUD'
  // @ts-expect-error a misspelt route type, compared
  if (kinds[0] === 'DIRCT') return []
  const swap: CheckedQuote = await client.quote({ srcToken: 'USDC', dstToken: 'USDC', amount: '1', srcChain: '1', dstChain: 369, recipient: from, from, simulate: true })
  // @ts-expect-error an amount is a string
  await client.quote({ srcToken: 'USDC', dstToken: 'USDC', amount: 1, srcChain: 1, dstChain: 369, recipient: from })
  // @ts-expect-error the recipient is missing
  await client.quote({ srcToken: 'USDC', dstToken: 'USDC', amount: '1', srcChain: 1, dstChain: 369 })
  if (swap.unshield) {
    // @ts-expect-error there is nothing to send
    swap.sendCalls
    return swap.wrap
  }
  const target: `0x${string}` = swap.quote.to
  const gas = swap.quote.details.simulation?.calls.map(({ gasUsed }) => gasUsed)
  console.log(burn, wrong, target, gas, swap.sendCalls.calls, version, decode(swap.calls[0]?.data)?.function)
  return verify({ ...swap.request, srcToken: '', dstToken: '', amount: '', srcChain: 1, dstChain: 1, recipient: '' }, swap.quote, { listing: pairs }).ok ? swap.calls : alone({ srcToken: '', dstToken: '', amount: '', srcChain: 1, dstChain: 1, recipient: '' }, null, {}).calls
}

export function sentence(error: unknown): string {
  if (!(error instanceof QuoteError)) throw error
  const code: ErrorCode = error.code
  // @ts-expect-error not every error has limits
  error.minAmount
  switch (error.code) {
    case 'AMOUNT_OUT_OF_RANGE': return `${error.minAmount} to ${error.maxAmount}`
    case 'INVALID_RECIPIENT': return error.reason === 'TOKEN' ? 'That is a token' : error.message
    case 'UNSUPPORTED_PAIR': return (error.alternatives ?? []).map(({ dstChain, dstToken }) => dstToken + dstChain).join()
    case 'RATE_LIMITED': return `${error.retryAfter ?? 60}`
    case 'UNVERIFIED': return error.result?.quote.details.arrival.amount ?? error.problems.join(' ')
    // @ts-expect-error a misspelt code
    case 'RATE_LIMITTED': return ''
    default: return `${code} ${error.requestId ?? ''}`
  }
}

export async function follow(txHash: string, signal: AbortSignal): Promise<Status | undefined> {
  let last: Status | undefined
  for await (const status of client.follow({ srcChain: 1, txHash, signal })) {
    last = status
    const state: SwapState = status.state
    // @ts-expect-error a misspelt state
    if (state === 'SETLED') return last
  }
  return last
}

export async function arrival(txHash: string, swap: CheckedQuote): Promise<string> {
  const status = await client.status({ srcChain: 1, txHash, quote: swap.quote })
  const last: Status = await client.follow({ srcChain: 1, txHash, quote: swap.quote }, ({ state }) => console.log(state))
  await client.status({ txHash, quote: swap.quote })
  // @ts-expect-error neither the chain nor the quote
  await client.status({ txHash })
  const iterator: AsyncGenerator<Status, void, undefined> = client.follow({ srcChain: 1, txHash })
  await iterator.return()
  // @ts-expect-error not every state has a payout
  status.settlement.arrived
  switch (status.state) {
    case 'SETTLED': return status.settlement.arrived
    case 'FAILED': return status.reason ?? 'The chain does not say why'
    case 'NOT_A_SWAP': case 'NOT_FOUND': case 'PENDING': case 'SETTLING': return last.state
    default: return ((never: never) => never)(status)
  }
}

export async function afford(from: string, signal: AbortSignal): Promise<string> {
  await client.pairs({ signal })
  const impatient = createClient({ gateway: 'https://quotes.example.org', timeout: 1000 })
  const swap = await impatient.quote({ srcToken: 'USDC', dstToken: 'USDC', amount: 100_000_000n, srcChain: 1, dstChain: 369, recipient: from, from, simulate: true, signal })
  const again: typeof swap = await client.recheck(swap, { allowance: 0n })
  const limits: number[] = swap.quote.details.simulation?.calls.map(({ gasLimit }) => gasLimit) ?? []
  return again.sufficient === undefined ? 'unknown' : again.sufficient ? `enough for ${limits.join()}` : 'too little'
}

export function offline(error: QuoteError): string {
  if (error.code !== 'UNREACHABLE') return error.message
  const cause: unknown = error.cause
  // @ts-expect-error a misspelt reason
  if (error.reason === 'TIMOUT') return ''
  return `${error.reason} ${String(cause)}`
}

export async function pay(wallet: Wallet, swap: PublicQuote, kept: string | null, signal: AbortSignal): Promise<Sent> {
  const from: Hex = await connect(wallet)
  const onStep = async (step: Step): Promise<void> => {
    if (step.step === 'sign' && step.what === 'swap') console.log(step.since, step.nonce, from)
    if (step.step === 'look') console.log(step.nonce, step.reason)
    if (step.step === 'unchecked') console.log(step.addresses.join())
    // @ts-expect-error a misspelt step
    if (step.step === 'singed') return
    localStorage.setItem('step', JSON.stringify(step))
  }
  try {
    const listing = await client.pairs()
    await send(wallet, swap, { listing, unverified: false })
    const sent = await send(wallet, swap, { client, onStep, signal, resume: kept ? JSON.parse(kept) as Step : undefined, batch: false, interval: 500, readProvider: wallet })
    await client.status({ srcChain: sent.chainId, txHash: sent.txHash, quote: swap.quote, since: sent.since })
    return sent
  } catch (error) {
    if (!(error instanceof SendError)) throw sendErrorOf(error)
    const sent: SentSoFar = error.sent
    // @ts-expect-error not every error has a chain
    error.chainId
    if (error.code === 'TOO_LITTLE') console.log(error.actual, error.needed)
    if (error.code === 'UNKNOWN_CHAIN') console.log(error.chainId)
    if (error.code === 'NO_CONTRACT' || error.code === 'CONTRACT_UNKNOWN') console.log(error.address)
    if (error.code === 'INSUFFICIENT_FUNDS' || error.code === 'WOULD_FAIL') console.log(error.sent)
    throw new Error(`${sent} ${error.step?.step ?? ''}`)
  }
}

export async function refuse(wallet: Wallet, swap: CheckedQuote): Promise<void> {
  // @ts-expect-error an unshielding swap is not for sending
  await send(wallet, swap)
}

export function amounts(native: boolean, gas: bigint | undefined): string {
  const most: bigint = maxAmount({ balance: '5', native: true, gas: parseAmount('0.1', 18), max: 3n })
  // @ts-expect-error the gas of a native coin must be known
  maxAmount({ balance: '5', native: true })
  // @ts-expect-error it may be a native coin
  maxAmount({ balance: '5', native, gas })
  // @ts-expect-error an amount is no number
  formatAmount(5, 6)
  return formatAmount(most, 18) + formatAmount(maxAmount({ balance: 5n, native, gas: gas ?? 0n }), 6)
}

export async function typing(listing: Pairs): Promise<string> {
  const pair = { srcToken: 'USDC', dstToken: 'USDC', srcChain: 1, dstChain: 369 } as const
  const leaves: Estimate = estimate(listing, { ...pair, amount: 100_000_000n, integratorPercentage: 0.25 })
  const takes = estimate(listing, { ...pair, destAmount: leaves.destAmount })
  // @ts-expect-error one direction or the other
  estimate(listing, { ...pair, amount: '1', destAmount: '1' })
  // @ts-expect-error neither
  estimate(listing, pair)
  const swap = await client.quote({ ...pair, amount: takes.srcAmount, recipient: leaves.srcToken.address, retry: 3 })
  return swap.quote.destAmount
}

export async function add(wallet: Wallet, swap: PublicQuote, listing: Pairs): Promise<void> {
  await addChain(wallet, 369, { rpcUrls: ['https://rpc.example.org'] })
  await addChain(wallet, swap.calls[0]?.chainId ?? 1, { listing, trustListing: true })
  await send(wallet, swap, { rpcUrls: ['https://rpc.example.org'] })
  await send(wallet, swap, { listing, trustListing: true })
  // @ts-expect-error a list of addresses
  await addChain(wallet, 369, { rpcUrls: 'https://rpc.example.org' })
}

export function verdict(request: Request, answer: unknown, listing: Pairs): string[] {
  const report: Report = alone(request, answer, { listing })
  return report.problems
}
