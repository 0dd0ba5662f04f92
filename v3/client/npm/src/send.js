// Sends a checked quote with a wallet (EIP-1193), and never asks for a swap twice. Until the wallet is asked to pay, an
// error proves that nothing was paid. From then on only a clear refusal does.
import { needContracts, neededCalls, needVerified, NOT_VERIFIED } from './check.js';
import { fail, lastOf, newJob, newQuestion, paymentOf, sentSoFar, tell, wrongChain } from './job.js';
import { readOptions } from './options.js';
import { listings } from './payments.js';
import { isNoBatch, isPoor, isRefusal, isUnknownChain, SendError, sendErrorOf } from './send-errors.js';
import { pause, until } from './wait.js';
import {
  ask, chainOf, hex, hold, isAddress, isHash, isOn, listOf, own, positionOf, read, replacementOf, same, text, tryRead,
} from './wallet.js';
import { done, isUntouched, refuse, takenAs, watch, watchBatch } from './watch.js';

export { SendError, sendErrorOf };

/** @typedef {import('./send-errors.js').SentSoFar} SentSoFar */
/** @typedef {import('./types.js').Wallet} Wallet */

/** @import { Client, PublicQuote } from './index.js' */
/** @import { Job, Question, Transaction } from './job.js' */
/** @import { Payment } from './payments.js' */
/** @import { Call, ChainID, Hex, Pairs } from './types.js' */
/** @import { Node } from './wallet.js' */

/**
 * A call that the wallet is asked for: a reset of the allowance, an approval, the swap, or all of them as a batch.
 * @typedef {'reset' | 'approval' | 'swap' | 'batch'} Signed
 */
/**
 * What a step is about: the chain that everything is sent on, the account, once the wallet has told it, and the swap.
 * @typedef {{ chainId: Hex, from?: Hex, call: { to: Hex, data: Hex, value: Hex } }} AtStep
 */
/** @typedef {{ what: Signed, index: number, count: number }} Counted which of the calls it is, from 0 */

/**
 * What is being done, as plain JSON: keep the last one, and give it as `resume` after a reload. From `sign` with `what`
 * swap or batch on, the swap may have been sent.
 *
 * `connect`, `switch`, `add`, `read`: the wallet is asked for its accounts, then for the chain, which it adds if it
 * does not know it; then its node is asked what the account has. `unchecked`: no node said whether there is a contract
 * at these addresses, which are about to be approved or called. Tell the person. Coins are not sent then: that is
 * `CONTRACT_UNKNOWN`. `sign`: the wallet is about to be asked to sign; `since` is the block before, `nonce` the number
 * of the account's next transaction. `confirm`: an approval was sent, and is waited for; it is told again if the wallet
 * replaces it, with another hash. `look`: the wallet said that the account has too little money, and the account is
 * looked at, whether the swap was sent all the same. `unclear`: nobody knows whether the swap was sent; it is looked
 * for on the chain, and `reason` is what the wallet said. `batch`: the wallet has taken the batch; `DONE` if it does
 * not say in which transaction, `SILENT` if it cannot tell how far it is. `sent`: the swap was sent.
 * @typedef {AtStep & (
 *   | { step: 'connect' | 'switch' | 'add' | 'read' }
 *   | { step: 'unchecked', addresses: Hex[] }
 *   | { step: 'sign', since?: Hex, nonce?: Hex } & Counted
 *   | { step: 'confirm', txHash: Hex, since?: Hex, nonce?: Hex, approval: { to: Hex, data: Hex } } & Counted
 *   | { step: 'look', since?: Hex, nonce: Hex, reason?: string } & Counted
 *   | { step: 'unclear', since?: Hex, nonce?: Hex, reason?: string } & Counted
 *   | { step: 'batch', batch: string, state: 'DONE' | 'PENDING' | 'SILENT', since?: Hex }
 *   | { step: 'sent', txHash: Hex, batch?: string, since?: Hex, nonce?: Hex }
 * )} Step
 */

/**
 * @typedef {object} SendOptions
 * @property {Pick<Client, 'recheck'> | undefined} [client] Checks the quote before the
 *   wallet is asked and again before it pays, against what is pinned then. Without `client` and `listing`, the client
 *   that gave the quote does. A quote that no client of this process gave, such as one read from JSON, is a TypeError
 *   then.
 * @property {Pairs | undefined} [listing] Checks the quote against a reviewed answer of `/v3/app/pairs`, in place of
 *   `client`.
 * @property {boolean | undefined} [unverified] Sends the calls of a quote unchecked, less an approval that is not
 *   needed, where nothing is there to check it.
 * @property {((step: Step) => unknown) | undefined} [onStep] Told each step, before it is taken. If it gives a promise,
 *   that is waited for: write the step down there.
 * @property {AbortSignal | undefined} [signal] Ends it. Once the wallet was asked to pay, what it throws is `UNCLEAR`,
 *   with the step to go on from.
 * @property {Step | undefined} [resume] A step that `onStep` gave, for the same quote: goes on from there. A swap that
 *   may have been sent is only watched for.
 * @property {Wallet | undefined} [readProvider] Asked for the code of contracts (`eth_getCode`) where the wallet does
 *   not tell it. It counts only if it is on the chain of the swap.
 * @property {string[] | undefined} [rpcUrls] Addresses of nodes that you trust. If the wallet does not know the chain
 *   of the swap, it is asked to add it with them.
 * @property {boolean | undefined} [trustListing] Adds the chain with the `rpcUrls` of `listing` instead, or of the one
 *   that `client` checks against: that which is pinned, or the gateway's own.
 * @property {boolean | undefined} [batch] False to send one by one, also if the wallet can send batches.
 * @property {number | undefined} [interval] How often the chain and the wallet are asked, in milliseconds; 2000 if left
 *   out.
 */

/**
 * @typedef {object} AddOptions
 * @property {string[] | undefined} [rpcUrls] Addresses of nodes that you trust: they will answer the questions that
 *   check the gateway.
 * @property {Pairs | undefined} [listing] Where to look for them instead, with `trustListing`.
 * @property {boolean | undefined} [trustListing] Uses the `rpcUrls` and the explorer of the listing.
 * @property {AbortSignal | undefined} [signal]
 */

/**
 * What was sent. Give `txHash` and `since` to `client.follow`. `since` is the block before, and `nonce` the number of
 * the transaction, where the wallet's node has told them. A batch has no number.
 * @typedef {{ txHash: Hex, from: Hex, chainId: Hex, batch?: string, since?: Hex, nonce?: Hex }} Sent
 */

const OPTIONS = [
  'client', 'listing', 'unverified', 'onStep', 'signal', 'resume', 'readProvider', 'rpcUrls', 'trustListing', 'batch',
  'interval',
];
const EITHER = [['client', 'listing', 'unverified'], ['rpcUrls', 'trustListing']];
const NO_LISTING = 'trustListing needs a listing';

/**
 * Asks a wallet for its accounts, and gives the first one, or the one that is wanted. Throws a SendError.
 * @param {Wallet} wallet
 * @param {string} [wanted]
 * @returns {Promise<Hex>}
 */
export async function connect(wallet, wanted) {
  try {
    return await accountOf(newQuestion(wallet), wanted);
  } catch (error) {
    throw sendErrorOf(error);
  }
}
/**
 * @param {Question} question
 * @param {string | undefined} wanted
 * @returns {Promise<Hex>}
 */
async function accountOf(question, wanted) {
  const accounts = listOf(await read(question, 'eth_requestAccounts')).filter(isAddress);
  if (!accounts.length) throw fail(question, 'NO_ACCOUNT');
  const from = wanted ? accounts.find((each) => same(each, wanted)) : accounts[0];
  if (!from) throw fail(question, 'OTHER_ACCOUNT', {}, wanted);
  return from;
}

/** @param {Job} job */
async function switchChain(job) {
  const { chainId } = job.swap;
  if (await chainOf(job) === job.chain) return;
  const change = () => read(job, 'wallet_switchEthereumChain', [{ chainId }]);
  try {
    await change().catch(async (error) => {
      if (!isUnknownChain(error) || !await addUnknownChain(job)) throw error;
      if (await chainOf(job) !== job.chain) await change();
    });
  } catch (error) {
    throw isUnknownChain(error) ? wrongChain(job, 'UNKNOWN_CHAIN', error) : error;
  }
  if (await chainOf(job) !== job.chain) throw wrongChain(job, 'OTHER_CHAIN');
}
/**
 * Has the wallet add the chain, with nodes that the app trusts. It gives undefined if there are none.
 * @param {Job} job
 */
async function addUnknownChain(job) {
  const { rpcUrls, trustListing, listing, client } = job.options;
  if (!rpcUrls && !trustListing) return undefined;
  await tell(job, { step: 'add' });
  const trusted = trustListing ? listing ?? await listings.get(client ?? job)?.(job.signal) : undefined;
  const parameters = await parametersOf(job.chain, { rpcUrls, trustListing, listing: trusted });
  if (parameters) await add(job, parameters);
  return parameters;
}
/** @param {number} id @param {AddOptions} options */
const parametersOf = async (id, options) =>
  (await import('./chain.js')).chainParameters(id, options); // most wallets know most chains
/** @param {Node} node @param {object} parameters */
const add = (node, parameters) => read(node, 'wallet_addEthereumChain', [parameters]);
/**
 * Asks a wallet to add a chain. Throws a SendError: `UNKNOWN_CHAIN` if there is nothing to add it with, `REFUSED` if
 * the person refuses. A wallet need not be on the chain afterwards.
 * @param {Wallet} wallet
 * @param {ChainID} chainId
 * @param {AddOptions} options
 * @returns {Promise<void>}
 */
export async function addChain(wallet, chainId, options) {
  readOptions(options, ['rpcUrls', 'listing', 'trustListing', 'signal'], 'addChain', EITHER);
  if (options.trustListing && !options.listing) throw new TypeError(NO_LISTING);
  const id = Number(chainId);
  const question = newQuestion(wallet, options.signal);
  const parameters = await parametersOf(id, options);
  if (!parameters) throw fail(question, 'UNKNOWN_CHAIN', { chainId: hex(id) }, id);
  try {
    await add(question, parameters);
  } catch (error) {
    throw sendErrorOf(error);
  }
}

/**
 * A wallet may be changed between two transactions. One that does not list its accounts refuses by itself.
 * @param {Job} job
 */
async function stillThere(job) {
  const accounts = await tryRead(job, 'eth_accounts');
  if (Array.isArray(accounts) && !accounts.some((each) => same(each, job.from))) throw fail(job, 'ACCOUNT_GONE');
  if (await chainOf(job) !== job.chain) throw wrongChain(job, 'CHAIN_CHANGED');
}

/** @param {Job} job */
function notExpired(job) {
  if (Date.now() <= job.checked.expiresAt) return;
  throw fail(job, 'EXPIRED', {}, sentSoFar(job) === 'NOTHING' ? '' : ' while you were signing');
}

/**
 * Asks for everything that is needed, one after the other or as a batch.
 * @param {Job} job
 * @returns {Promise<Sent>}
 */
async function execute(job) {
  if (!job.isMet) await meet(job);
  await tell(job, { step: 'switch' });
  await switchChain(job);
  await tell(job, { step: 'read' });
  const calls = await neededCalls(job);
  const count = calls.length;
  await needContracts(job, calls);
  const { from, swap: { chainId } } = job;
  if (count > 1 && job.options.batch !== false && await canBatch(job)) {
    const list = calls.map(({ to, data, value }) => ({ to, data, value }));
    const params = { version: '2.0.0', from, chainId, atomicRequired: false, calls: list };
    const sent = await pay(job, { what: 'batch', index: 0, count }, 'wallet_sendCalls', [params]);
    if (sent) return sent;
  }
  for (const [index, call] of calls.slice(0, -1).entries()) {
    await stillThere(job);
    await approve(job, { what: count - index === 3 ? 'reset' : 'approval', index, count }, call);
  }
  await stillThere(job);
  await neededCalls(job); // what is pinned, and what the account has, may have changed
  const { to, data, value } = lastOf(calls);
  const params = [{ from, to, data, value, chainId }];
  const sent = await pay(job, { what: 'swap', index: count - 1, count }, 'eth_sendTransaction', params);
  return /** @type {Sent} */ (sent); // only of a batch there may be none
}

/** @param {Job} job */
async function canBatch(job) {
  const { from, swap: { chainId } } = job;
  return await tryRead(job, 'wallet_getCapabilities', [from, [chainId]]) !== undefined;
}

/**
 * Asks the wallet for an approval, and waits for its block.
 * @param {Job} job
 * @param {Counted} which
 * @param {Call} call
 */
async function approve(job, which, { chainId, to, data, value }) {
  const transaction = await newTransaction(job, which);
  let txHash;
  try {
    txHash = await read(job, 'eth_sendTransaction', [{ from: job.from, to, data, value, chainId }]);
  } catch (error) {
    if (isRefusal(error)) transaction.state = 'refused';
    throw error;
  }
  if (!isHash(txHash)) throw fail(job, 'NO_HASH');
  transaction.state = 'broadcast';
  await confirm(job, transaction, { to, data }, txHash, true);
}

/**
 * Notes a transaction, tells that the wallet is about to be asked for it, and throws if it is too late for that by
 * then.
 * @param {Job} job
 * @param {Counted} which
 */
async function newTransaction(job, which) {
  const position = await positionOf(job, job.from);
  const { step } = job;
  await tell(job, { step: 'sign', ...which, ...position });
  const told = job.step;
  job.step = step; // until the wallet is asked
  if (job.signal?.aborted) throw fail(job, 'STOPPED');
  notExpired(job);
  job.step = told;
  /** @type {Transaction} */
  const transaction = { ...which, ...position, state: 'asked' };
  job.transactions.push(transaction);
  return transaction;
}

/**
 * Waits until an approval is in a block, also under another hash if the wallet has replaced it. A node that fails is
 * asked again.
 * @param {Job} job
 * @param {Transaction} transaction
 * @param {{ to: Hex, data: Hex }} approval
 * @param {Hex} txHash
 * @param {boolean} isNew whether it was not told yet
 */
async function confirm(job, transaction, approval, txHash, isNew) {
  const { what, index, count, since, nonce } = transaction;
  const show = () => tell(job, { step: 'confirm', what, index, count, since, nonce, approval, txHash });
  if (isNew) await show();
  for (;;) {
    const receipt = await tryRead(job, 'eth_getTransactionReceipt', [txHash]);
    if (own(receipt, 'status') === '0x0') throw fail(job, 'APPROVAL_FAILED', { txHash }, txHash);
    if (receipt) {
      transaction.state = 'done';
      return;
    }
    if (await isOn(job, job.chain) === false) throw wrongChain(job, 'CHAIN_CHANGED');
    const other = await replacementOf(job, job.from, transaction, txHash);
    if (!other) {
      await pause(job.seconds / 2, job.signal);
      continue;
    }
    const isSame = same(other.to, approval.to) && same(other.input, approval.data);
    if (!isSame) throw fail(job, 'REPLACED', { txHash: other.hash }, other.hash);
    txHash = other.hash;
    transaction.state = 'replaced';
    await show();
  }
}

/**
 * Finds the transaction that took the place of one that was sent, by account and nonce: the wallet has sped it up or
 * cancelled it. Gives its hash, or undefined if there is none. Give it to `client.follow` as `replacement`.
 * @param {Wallet} wallet
 * @param {Sent} sent
 * @param {{ signal?: AbortSignal | undefined }} [options]
 * @returns {Promise<Hex | undefined>}
 */
export async function findReplacement(wallet, sent, options = {}) {
  readOptions(options, ['signal'], 'findReplacement');
  const node = { wallet, signal: options.signal };
  if (!await isOn(node, Number(sent.chainId))) return undefined;
  return (await replacementOf(node, sent.from, sent, sent.txHash))?.hash;
}

/**
 * Asks the wallet to pay. It gives what was sent, or nothing where the wallet cannot take a batch.
 * @param {Job} job
 * @param {Counted} which
 * @param {string} method
 * @param {unknown[]} params
 */
async function pay(job, which, method, params) {
  const transaction = await newTransaction(job, which);
  const isBatch = which.what === 'batch';
  const late = ask(job, method, params);
  job.payment.outcome = { late, step: job.step };
  let said;
  try {
    const result = await until(late, job.signal);
    const taken = await takenAs(job, transaction, result);
    if (taken) return taken;
  } catch (error) {
    if (error instanceof SendError || job.signal?.aborted) throw error;
    const unable = isBatch && isNoBatch(error);
    const poor = !isBatch && isPoor(error); // of a batch, the number of the account tells nothing
    if (isRefusal(error) || unable || (poor && await isUntouched(job, transaction, error))) {
      refuse(job, transaction);
      if (unable) return undefined;
      throw error;
    }
    said = error;
  }
  return watch(job, transaction, said, undefined);
}
/**
 * Whether the wallet was asked to pay at a step.
 * @param {any} step
 */
const isPaying = (step) =>
  (step?.step === 'sign' && ['swap', 'batch'].includes(step.what)) ||
  ['look', 'unclear', 'batch', 'sent'].includes(step?.step);

/**
 * The transactions that a step tells of: its own, and an approval before it.
 * @param {any} step
 * @returns {Transaction[]}
 */
function transactionsAt({ step, what, index, count, since, nonce, batch }) {
  if (step !== 'sign' && step !== 'confirm' && !isPaying({ step })) return [];
  const state = step === 'confirm' ? 'broadcast' : 'asked';
  const last = { what: batch ? 'batch' : what ?? 'swap', index, count, since, nonce, state };
  return /** @type {any[]} */ (index ? [{ ...last, what: 'approval', state: 'done' }, last] : [last]);
}

/**
 * Watches for a swap that the wallet was asked for, and does nothing else.
 * @param {Job} job
 * @param {{ step: any, late?: Promise<unknown> }} known
 */
function takeUp(job, { step, late }) {
  recall(job, step);
  job.payment.outcome = { step, late };
  const transaction = /** @type {Transaction} */ (paymentOf(job));
  if (isHash(step.txHash)) return done(job, transaction, step.txHash, step.batch);
  return step.batch ? watchBatch(job, transaction, text(step.batch)) : watch(job, transaction, undefined, late);
}
/**
 * Goes on from a step.
 * @param {Job} job
 * @param {any} step
 */
function recall(job, step) {
  job.from = step.from ?? '';
  job.step = step;
  job.transactions = transactionsAt(step);
}

/** @param {Job} job @param {any} step */
function isOther(job, step) {
  const hasFrom = isAddress(step.from) || step.step === 'connect';
  const isSame = same(own(step.call, 'data'), job.swap.data) && same(step.chainId, job.swap.chainId);
  return !hasFrom || !isSame || (job.account !== undefined && step.from !== undefined && !same(step.from, job.account));
}

/**
 * Begins the payment of an account, or of a wallet that has not told its account. One of them runs at a time.
 * @param {Job} job
 * @param {unknown} who
 */
function begin(job, who) {
  const payment = job.payments.get(who) ?? {};
  if (payment.running) throw fail(job, 'RUNNING', { sent: 'UNKNOWN' });
  payment.running = true;
  job.payments.set(who, payment);
  job.running.push(who);
  job.payment = payment;
}
/** @param {Job} job @param {string} account */
async function beginAs(job, account) {
  begin(job, account.toLowerCase());
  job.account = account;
  const { to, data } = job.swap;
  job.release = await hold(`${account.toLowerCase()} ${job.chain} ${to} ${data}`);
  if (!job.release) throw fail(job, 'RUNNING', { sent: 'UNKNOWN' });
}
/** @param {Job} job */
function end(job) {
  for (const who of job.running) {
    const payment = /** @type {Payment} */ (job.payments.get(who));
    payment.running = false;
    if (!payment.outcome) job.payments.delete(who);
  }
  job.release?.();
}

/**
 * Has the wallet tell its account.
 * @param {Job} job
 */
async function meet(job) {
  await tell(job, { step: 'connect' });
  job.from = await accountOf(job, job.account);
  job.isMet = true;
  if (!job.account) await beginAs(job, job.from);
}

/**
 * Goes on from what is known of the payment, or from the step that was given, or begins.
 * @param {Job} job
 * @param {Step | undefined} resume
 * @returns {Promise<Sent>}
 */
async function proceed(job, resume) {
  const earlier = job.payment.outcome ?? (resume && { step: resume });
  if (earlier?.result) return earlier.result;
  if (isPaying(earlier?.step)) return takeUp(job, earlier);
  if (resume && resume.step !== 'connect') recall(job, resume);
  // A swap that others have begun may be this account's too.
  job.isBegun = !job.account && job.payments.size > 1;
  if (!job.isBegun) {
    notExpired(job);
    await needVerified(job);
  }
  if (!job.account) {
    await meet(job);
    job.isBegun = false;
    return proceed(job, resume);
  }
  const [transaction] = job.transactions.slice(-1);
  if (transaction && resume?.step === 'confirm' && isHash(resume.txHash) && await chainOf(job) === job.chain) {
    await confirm(job, transaction, resume.approval, resume.txHash, false);
  }
  return execute(job);
}

/**
 * Sends a quote. Gives the hash once the wallet has told it, or once it was found on the chain: where it is unclear
 * whether the swap was sent, it is watched for until `signal` ends that. Throws a SendError.
 *
 * A copy of the quote, such as one read from JSON, is the same swap. Until an hour after the quote has expired, an
 * account that has sent it is given what was sent, and is not asked again.
 * @param {Wallet} wallet
 * @param {PublicQuote} checked
 * @param {SendOptions} [options]
 * @returns {Promise<Sent>}
 */
export async function send(wallet, checked, options = {}) {
  readOptions(options, OPTIONS, 'send', EITHER);
  const { resume, trustListing, listing, client, rpcUrls } = options;
  if (rpcUrls) await parametersOf(0, { rpcUrls }); // refuses what are no addresses
  if (trustListing && !listing && !client) throw new TypeError(NO_LISTING);
  if (checked.unshield || !checked.calls.length) {
    throw new TypeError('An unshielding swap is for a RAILGUN wallet to wrap');
  }
  const job = newJob(wallet, checked, options);
  try {
    if (resume && isOther(job, resume)) throw fail(job, 'OTHER_SWAP', { sent: 'UNKNOWN' });
    job.account ??= resume?.from;
    if (job.account) await beginAs(job, job.account);
    else begin(job, wallet);
    return await proceed(job, resume);
  } catch (error) {
    if (own(error, 'message') === NOT_VERIFIED) throw error;
    const isOwn = error instanceof SendError;
    const isStopped = job.signal?.aborted;
    if (paymentOf(job) && (isStopped || !isOwn)) throw fail(job, 'UNCLEAR', { sent: 'UNKNOWN', cause: error });
    if (isStopped && !isOwn) throw fail(job, 'STOPPED', { cause: error });
    throw sendErrorOf(error, sentSoFar(job), job.step);
  } finally {
    end(job);
  }
}
