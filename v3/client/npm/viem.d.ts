/**
 * Gives the wallet that a wallet client of viem is. With a local account (a private key, a mnemonic, an embedded
 * wallet), the client signs, for its one chain, and its node sends what is signed. With a JSON-RPC account or none, the
 * wallet or node of its transport is asked for everything. With a smart account, the client's `sendTransaction` sends.
 * @param {ViemClient} client
 * @returns {Wallet}
 */
export function fromViem(client: ViemClient): Wallet;
/**
 * A wallet client, whatever its transport, its chain and its account: what `createWalletClient` gives, or a client of a
 * smart account whose `sendTransaction` gives a transaction hash.
 */
export type ViemClient = {
    readonly account?: {
        readonly address: Hex;
        readonly type: string;
    } | undefined;
    readonly chain?: {
        readonly id: number;
    } | undefined;
    request(args: never, options?: never): Promise<unknown>;
    sendTransaction(args: never): Promise<Hex>;
};
import type { Wallet } from './types.js';
import type { Hex } from './types.js';
