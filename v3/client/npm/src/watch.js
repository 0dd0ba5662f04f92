// What became of a payment that the wallet was asked for: by its answer, and by the chain where that is not clear.
// Other files of this package use it; it is no entry of the package.
import { defined, fail, tellSafely } from './job.js';
import { payerOf } from './payments.js';
import { isRefusal } from './send-errors.js';
import { pause } from './wait.js';
import {
  hex, hold, isHash, isOn, isQuantity, listOf, own, readAmount, readNonce, same, text, transactionsOf, tryRead,
} from './wallet.js';

/** @import { Job, Transaction } from './job.js' */
/** @import { Sent } from './send.js' */
/** @import { Hex } from './types.js' */
/** @import { Position } from './wallet.js' */

const AHEAD = 20; // blocks that are looked through at once
const LOOKS = 3; // at the account, before a wallet is believed that it has sent nothing

/**
 * It is certain that the wallet has not sent it.
 * @param {Job} job
 * @param {Transaction} transaction
 */
export function refuse(job, transaction) {
  transaction.state = 'refused';
  job.payment.outcome = undefined;
}

/**
 * A wallet that says that there is too little money has given up. The account tells whether it was not sent before
 * that: its next number is still the same, and no such transaction waits.
 * @param {Job} job
 * @param {Transaction} transaction
 * @param {unknown} error
 */
export async function isUntouched(job, transaction, error) {
  const { nonce } = transaction;
  if (!nonce) return false;
  await tellSafely(job, { step: 'look', ...saidOf(transaction, error) });
  for (let n = 0; n < LOOKS; n++) {
    if (n) await pause(job.seconds, job.signal);
    const isThere = await isOn(job, job.chain);
    const next = await readNonce(job, job.from);
    const waiting = await ownTransactions(job, transaction, 'pending');
    if (!isThere || next !== BigInt(nonce) || waiting?.length) return false;
  }
  return true;
}
/**
 * What is told of a payment whose outcome is open.
 * @param {Transaction} transaction
 * @param {unknown} error
 */
function saidOf({ what, index, count, since, nonce }, error) {
  const reason = text(own(error, 'message')).slice(0, 300);
  return { what, index, count, since, nonce, reason: reason || undefined };
}

/**
 * What the wallet's answer means: a hash that is not another swap's, or a batch that is followed to its hash; nothing
 * if it is neither.
 * @param {Job} job
 * @param {Transaction} transaction
 * @param {unknown} result
 */
export async function takenAs(job, transaction, result) {
  if (transaction.what !== 'batch') {
    return isHash(result) && await claim(job, result) ? done(job, transaction, result) : undefined;
  }
  const batch = text(own(result, 'id') ?? result);
  return batch ? watchBatch(job, transaction, batch) : undefined;
}

/**
 * A transaction is of one sending. The same swap sent again, here or in another tab, must not be taken for it.
 * @param {Job} job
 * @param {Hex} txHash
 */
async function claim(job, txHash) {
  const key = `${job.chain} ${txHash.toLowerCase()}`;
  const owner = payerOf(job.wallet, key);
  if (owner) return owner === job.payment;
  if (!await hold(key)) return false;
  job.payment.taken = { wallet: job.wallet, txHash: key };
  return true;
}

/**
 * @param {Job} job
 * @param {Transaction} transaction
 * @param {Hex} txHash
 * @param {string} [batch]
 * @returns {Promise<Sent>}
 */
export async function done(job, transaction, txHash, batch) {
  const { since, nonce } = transaction;
  const more = { txHash, batch, since, nonce: batch ? undefined : nonce };
  const result = defined({ ...more, from: job.from, chainId: job.swap.chainId });
  transaction.state = 'done';
  job.payment.outcome = { result };
  await tellSafely(job, { step: 'sent', ...more });
  return result;
}

/**
 * Nobody knows whether it was sent. The chain is watched, and the wallet's own answer if it is still to come.
 * @param {Job} job
 * @param {Transaction} transaction
 * @param {unknown} said
 * @param {Promise<unknown> | undefined} late
 * @returns {Promise<Sent>}
 */
export async function watch(job, transaction, said, late) {
  await tellSafely(job, { step: 'unclear', ...saidOf(transaction, said) });
  /** @type {{ result?: unknown, error?: unknown } | undefined} */
  let answer;
  const heard = late?.then((result) => { answer = { result }; }, (error) => { answer = { error }; });
  let next = firstBlock(transaction);
  for (;;) {
    const found = await lookInBlocks(job, transaction, next);
    if (found.txHash) return done(job, transaction, found.txHash);
    next = found.next;
    const idle = pause(job.seconds, job.signal);
    await (heard && !answer ? Promise.race([idle, heard]) : idle);
    if (!answer) continue;
    if (answer.error && isRefusal(answer.error)) {
      refuse(job, transaction);
      throw answer.error;
    }
    const taken = await takenAs(job, transaction, answer.result);
    if (taken) return taken;
  }
}

/**
 * Asks the wallet about a batch until it tells. One that cannot tell has sent it all the same.
 * @param {Job} job
 * @param {Transaction} transaction
 * @param {string} batch
 * @returns {Promise<Sent>}
 */
export async function watchBatch(job, transaction, batch) {
  const { since } = transaction;
  const show = (/** @type {string} */ state) =>
    tellSafely(job, { step: 'batch', batch, state, since });
  let next = firstBlock(transaction);
  let shown = 'PENDING';
  transaction.state = 'broadcast';
  await show(shown);
  for (;;) {
    const got = await tryRead(job, 'wallet_getCallsStatus', [batch]);
    const status = Number(own(got, 'status'));
    const receipts = listOf(own(got, 'receipts'));
    const txHash = own(receipts[receipts.length - 1], 'transactionHash');
    if (status >= 200 && status < 400 && isHash(txHash)) return done(job, transaction, txHash, batch);
    if (status === 600) throw fail(job, 'BATCH_IN_PART', { batch });
    if (status >= 400) {
      refuse(job, transaction);
      throw fail(job, 'BATCH_FAILED', { batch });
    }
    const state = status >= 200 ? 'DONE' : status >= 100 ? 'PENDING' : 'SILENT';
    if (state !== shown) await show(state);
    shown = state;
    const found = await lookInBlocks(job, transaction, next);
    if (found.txHash) return done(job, transaction, found.txHash, batch);
    next = found.next;
    await pause(job.seconds, job.signal);
  }
}

/** @param {Position} position */
const firstBlock = ({ since }) => (isQuantity(since) ? BigInt(since) + 1n : undefined);
/**
 * Looks for the swap in the blocks since it was asked for, through the wallet's node.
 * @param {Job} job
 * @param {Transaction} transaction
 * @param {bigint | undefined} next
 * @returns {Promise<{ txHash?: Hex, next?: bigint | undefined }>}
 */
async function lookInBlocks(job, transaction, next) {
  const latest = await readAmount(job, 'eth_blockNumber', []);
  if (latest === undefined || !await isOn(job, job.chain)) return { next };
  let number = next ?? latest;
  for (let n = 0; number <= latest && n < AHEAD; n++, number++) {
    const found = await ownTransactions(job, transaction, hex(number));
    if (!found) return { next: number }; // not there yet: it is asked for again
    for (const { hash } of found) if (await claim(job, hash)) return { txHash: hash };
  }
  return { next: number };
}

/**
 * The transactions in a block that do what the swap does, or undefined if there is no such block. Those with a number
 * from before it was asked for are others.
 * @param {Job} job
 * @param {Position} position
 * @param {string} block
 */
async function ownTransactions(job, { nonce }, block) {
  const { from, swap: { to, data } } = job;
  const isEarlier = (/** @type {any} */ tx) =>
    isQuantity(nonce) && isQuantity(tx.nonce) && BigInt(tx.nonce) < BigInt(nonce);
  const all = await transactionsOf(job, block);
  return all?.filter((tx) => same(tx.from, from) && same(tx.to, to) && same(tx.input, data) && !isEarlier(tx));
}
