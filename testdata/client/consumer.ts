// A wallet's own code, as strict as a compiler can be. It is compiled and never run; a line under @ts-expect-error must not
// compile, and fails the test if it does.
import { createClient, decode, QuoteError, verify, version } from '@quotegate/client'
import type { Call, CheckedQuote, ErrorCode, Pairs, RouteType, Status, SwapState } from '@quotegate/client'
import { verify as alone } from '@quotegate/client/verify'

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
    case 'UNVERIFIED': return error.problems.join(' ')
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
