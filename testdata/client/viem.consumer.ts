// An app's own code with viem, as strict as a compiler can be, and never run. As in consumer.ts, a line under
// a @ts-expect-error must not compile.
import { messengerAbi, poolAbi, registryAbi } from '@quotegate/client/abi'
import { connect, type Wallet } from '@quotegate/client/send'
import { fromViem } from '@quotegate/client/viem'
import { getConnectorClient, getWalletClient, type Config } from '@wagmi/core'
import {
  createClient, createPublicClient, createWalletClient, custom, decodeEventLog, decodeFunctionData, encodeFunctionData, fallback, getContract, http,
  publicActions, walletActions, webSocket,
} from 'viem'
import type { Account, Address, Chain, Hex, LocalAccount, Transport, WalletClient } from 'viem'
import { mnemonicToAccount, privateKeyToAccount } from 'viem/accounts'
import { base, celo, mainnet, zksync } from 'viem/chains'
import 'viem/window'

export function wallets(key: Hex, embedded: LocalAccount, any: Account, chain: Chain, transport: Transport, address: Address): Wallet[] {
  const account = privateKeyToAccount(key)
  const client = createWalletClient({ account, chain: mainnet, transport: http() })
  // @ts-expect-error a public client has nothing to sign with
  fromViem(createPublicClient({ chain: mainnet, transport: http() }))
  // @ts-expect-error an account is no client
  fromViem(account)
  return [
    fromViem(client), fromViem(client.extend(publicActions)), fromViem(client as WalletClient),
    fromViem(createClient({ account, chain: mainnet, transport: http() }).extend(walletActions)),
    // Chains with formatters of their own, every transport, every kind of account.
    fromViem(createWalletClient({ account, chain: base, transport: http('https://node.example.org') })),
    fromViem(createWalletClient({ account: embedded, chain: celo, transport: fallback([http(), webSocket()]) })),
    fromViem(createWalletClient({ account: mnemonicToAccount('test'), chain: zksync, transport: http() })),
    fromViem(createWalletClient({ account: any, chain, transport })),
    fromViem(createWalletClient({ account: address, transport: custom(window.ethereum!) })),
    fromViem(createWalletClient({ transport: custom(window.ethereum!) })),
  ]
}
export const generic = <T extends Transport, C extends Chain | undefined, A extends Account>(client: WalletClient<T, C, A>) => fromViem(client)

/** What is a wallet by itself. */
export async function others(config: Config, ethers: { request(args: { method: string, params?: unknown[] | object }): Promise<any> }): Promise<Hex[]> {
  const typed = { request: async <T>(args: { method: string, params?: unknown[] | Record<string, unknown> | undefined }, chain?: string): Promise<T> => args as T }
  // @ts-expect-error it asks nobody
  await connect({ send: typed.request })
  return Promise.all([
    connect(window.ethereum!), connect(ethers), connect(typed), connect(createWalletClient({ transport: custom(window.ethereum!) })),
    connect(createPublicClient({ chain: base, transport: http() })), connect(await getConnectorClient(config)), connect(fromViem(await getWalletClient(config))),
  ])
}

export function calls(recipient: Address, id: Hex): Hex[] {
  // @ts-expect-error an amount is a bigint
  encodeFunctionData({ abi: poolAbi, functionName: 'swap', args: [369n, '1', recipient, 0, recipient, id] })
  // @ts-expect-error an argument is missing
  encodeFunctionData({ abi: poolAbi, functionName: 'swap', args: [369n, 1n, recipient, 0, recipient] })
  // @ts-expect-error a misspelt function
  encodeFunctionData({ abi: poolAbi, functionName: 'swop', args: [369n, 1n, recipient, 0, recipient, id] })
  return [
    encodeFunctionData({ abi: poolAbi, functionName: 'swap', args: [369n, 1n, recipient, 0, recipient, id] }),
    encodeFunctionData({ abi: messengerAbi, functionName: 'depositForBurnWithHook', args: [1n, 6, id, recipient, id, 1n, 1000, '0x'] }),
  ]
}
export async function reads(address: Address, data: Hex, topics: [Hex, ...Hex[]], id: Hex): Promise<string> {
  const burn = decodeFunctionData({ abi: messengerAbi, data })
  const hook: Hex = burn.args[7]
  const event = decodeEventLog({ abi: poolAbi, topics, data })
  const amount: bigint = event.eventName === 'Swap' ? event.args.amount : event.args.settlement.amount
  const [wallet, feeBps, active] = await getContract({ abi: registryAbi, address, client: createPublicClient({ transport: http() }) }).read.getIntegrator([id])
  const fee: number = feeBps
  const isActive: boolean = active
  return `${hook} ${amount} ${wallet} ${fee} ${isActive}`
}
