// Asks a running gateway for shield quotes to wallets that the public RAILGUN
// engine made, and reads every note back with the engine's own code: it must
// decrypt with the wallet's viewing key, and its public key must be the one
// the engine computes, or the wallet would show money it can never spend.
//
//   node interop.mjs <base URL> [wallets]
//
// Exits 0 only if every answer was right.

import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { AbiCoder, Interface } from 'ethers';

// The engine exports little of its cryptography by name; its files are read by path.
const require = createRequire(import.meta.url);
const dist = dirname(require.resolve('@railgun-community/engine'));
const engine = (file) => require(join(dist, file));
const { Mnemonic } = engine('key-derivation/bip39.js');
const { deriveNodes, WalletNode } = engine('key-derivation/wallet-node.js');
const { encodeAddress } = engine('key-derivation/bech32.js');
const { ShieldNote } = engine('note/shield-note.js');
const { getSharedSymmetricKey } = engine('utils/keys-utils.js');
const { initPoseidonPromise } = engine('utils/poseidon.js');
const { initCurve25519Promise } = engine('utils/scalar-multiply.js');

const AMOUNT = 100_000_000n;
const NETWORKS = { 69696969: 1, 96969696: 56 }; // route: chain that an address may be bound to
const ZERO_ID = '0x' + '00'.repeat(32);

const pool = new Interface([
  'function swap(uint256 dstChainId, uint256 amount, bytes recipient, uint8 recipientType, address dstToken, bytes32 integratorId) payable',
]);

async function makeWallet(mnemonic, index) {
  const { spending, viewing } = deriveNodes(mnemonic, index);
  const { privateKey, pubkey } = await viewing.getViewingKeyPair();
  const masterPublicKey = WalletNode.getMasterPublicKey(
    spending.getSpendingKeyPair().pubkey,
    await viewing.getNullifyingKey(),
  );
  // chain undefined: valid on all chains
  const address = (chain) => encodeAddress({ masterPublicKey, viewingPublicKey: pubkey, chain });
  return { masterPublicKey, viewingPrivateKey: privateKey, address };
}

// A gateway that limits requests is obeyed, not hammered.
async function get(url, attempts = 5) {
  const response = await fetch(url);
  if (response.status === 429 && attempts > 1) {
    const seconds = Number(response.headers.get('retry-after'));
    await sleep(1000 * Math.min(seconds > 0 ? seconds : 60, 60));
    return get(url, attempts - 1);
  }
  return { status: response.status, body: await response.json() };
}

function quote(base, dstChain, recipient) {
  const query = new URLSearchParams({
    srcToken: 'USDC', dstToken: 'USDC', amount: String(AMOUNT), srcChain: '369', dstChain, recipient,
  });
  return get(`${base}/v3/swap/quote?${query}`);
}

function expect(what, got, want) {
  if (got !== want) throw new Error(`${what}: got ${got}, want ${want}`);
}

// The note within a quote, after everything around it was found right.
function noteOf({ status, body }, dstChain) {
  if (status !== 200) throw new Error(`status ${status}: ${JSON.stringify(body)}`);
  const { calldata, value } = body.methodParameters;
  expect('value', value, '0x0');
  expect('selector', calldata.slice(0, 10), '0x095ff22d');
  const call = pool.decodeFunctionData('swap', calldata);
  expect('canonical calldata', calldata, pool.encodeFunctionData('swap', [...call]));
  expect('dstChainId', call.dstChainId, BigInt(dstChain));
  expect('amount', call.amount, AMOUNT);
  expect('recipientType', call.recipientType, 2n);
  expect('dstToken', call.dstToken, body.destToken.address);
  expect('integratorId', call.integratorId, ZERO_ID);
  expect('recipient bytes', (call.recipient.length - 2) / 2, 160);
  const [npk, bundle, shieldKey] = AbiCoder.defaultAbiCoder().decode(['bytes32', 'bytes32[3]', 'bytes32'], call.recipient);
  return { npk, bundle: [...bundle], shieldKey };
}

// Reads the note as the engine does when it scans a Shield event, and then
// does what the engine does not: compares the public key.
async function openNote(wallet, note) {
  const sharedKey = await getSharedSymmetricKey(wallet.viewingPrivateKey, Buffer.from(note.shieldKey.slice(2), 'hex'));
  if (!sharedKey) throw new Error('the engine finds no shared key');
  const random = ShieldNote.decryptRandom(note.bundle, sharedKey);
  expect('npk', BigInt(note.npk), ShieldNote.getNotePublicKey(wallet.masterPublicKey, random));
  return random;
}

async function main(base, count) {
  await Promise.all([initPoseidonPromise, initCurve25519Promise]);
  const mnemonic = Mnemonic.generate();
  const seen = new Set(); // no random, key or IV may come twice
  let decrypted = 0;
  let mismatches = 0;
  const attempt = async (what, run) => {
    try {
      await run();
    } catch (error) {
      mismatches++;
      console.error(`${what}: ${error.message}`);
    }
  };

  for (let i = 0; i < count; i++) {
    const wallet = await makeWallet(mnemonic, i);
    for (const [dstChain, network] of Object.entries(NETWORKS)) {
      const other = network === 1 ? 56 : 1;
      // Bound addresses take turns with those for all chains, which wallets hand out.
      const address = wallet.address(i % 4 === 1 ? { type: 0, id: network } : undefined);
      const what = `wallet ${i}, chain ${dstChain}`;
      await attempt(what, async () => {
        const note = noteOf(await quote(base, dstChain, address), dstChain);
        const random = await openNote(wallet, note);
        decrypted++;
        for (const part of [random, note.npk, note.shieldKey, note.bundle[0].slice(0, 34), note.bundle[1].slice(34)]) {
          if (seen.has(part)) throw new Error(`${part} was used before`);
          seen.add(part);
        }
      });
      if (i % 4 === 3) {
        await attempt(`${what}, address bound to chain ${other}`, async () => {
          const { status, body } = await quote(base, dstChain, wallet.address({ type: 0, id: other }));
          expect('status', status, 400);
          expect('code', body.code, 'INVALID_RECIPIENT');
        });
      }
    }
  }
  console.log(`${decrypted} notes decrypted, ${mismatches} mismatches`);
  return decrypted === 2 * count && mismatches === 0;
}

const [base, wallets = '100'] = process.argv.slice(2);
const count = Number(wallets);
if (!base || !Number.isInteger(count) || count < 1) {
  console.error('usage: node interop.mjs <base URL of the gateway> [number of wallets, default 100]');
  process.exit(2);
}
process.exit((await main(base.replace(/\/+$/, ''), count)) ? 0 : 1);
