// Measures how many shield notes the public RAILGUN engine makes in a second of
// one processor: a fresh random and key, the note and its ciphertext, as the
// engine does it for one shield. Reading the recipient's address, encoding the
// transaction and serving are not in it.
//
//   node railgun.mjs [seconds, default 5]
//
// Prints {"notes", "seconds", "cpuSeconds"}.

import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

// The engine exports little of its cryptography by name; its files are read by path.
const require = createRequire(import.meta.url);
const dist = dirname(require.resolve('@railgun-community/engine'));
const engine = (file) => require(join(dist, file));
const { Mnemonic } = engine('key-derivation/bip39.js');
const { deriveNodes, WalletNode } = engine('key-derivation/wallet-node.js');
const { ShieldNoteERC20 } = engine('note/erc20/shield-note-erc20.js');
const { ByteUtils } = engine('utils/bytes.js');
const { initPoseidonPromise } = engine('utils/poseidon.js');
const { initCurve25519Promise } = engine('utils/scalar-multiply.js');

const USDC = '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48';

await Promise.all([initPoseidonPromise, initCurve25519Promise]);
const { spending, viewing } = deriveNodes(Mnemonic.generate(), 0);
const viewingKeys = await viewing.getViewingKeyPair();
const masterPublicKey = WalletNode.getMasterPublicKey(spending.getSpendingKeyPair().pubkey, await viewing.getNullifyingKey());

async function shield() {
  const note = new ShieldNoteERC20(masterPublicKey, ByteUtils.randomHex(16), 100_000_000n, USDC);
  return note.serialize(ByteUtils.hexStringToBytes(ByteUtils.randomHex(32)), viewingKeys.pubkey);
}

async function measure(seconds) {
  const start = performance.now();
  const cpu = process.cpuUsage();
  let notes = 0;
  let elapsed;
  do {
    const request = await shield();
    if (request.ciphertext.encryptedBundle.length !== 3) throw new Error('the engine made no note');
    notes++;
    elapsed = (performance.now() - start) / 1000;
  } while (elapsed < seconds);
  const { user, system } = process.cpuUsage(cpu);
  return { notes, seconds: elapsed, cpuSeconds: (user + system) / 1e6 };
}

const seconds = Number(process.argv[2] ?? 5);
await measure(seconds / 4); // warm up
console.log(JSON.stringify(await measure(seconds)));
