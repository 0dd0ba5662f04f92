// Sends a checked quote with a wallet (EIP-1193), and never asks for a swap twice. send.d.ts has the types.
// Until the wallet is asked to pay, an error proves that nothing was paid. From then on only a clear refusal does.
import { clients, payerOf, paymentsOf } from './payments.js';
import { pause, until, within } from './wait.js';

const REFUSED = [4001, 4100, 5750, 5000, 5001, 5002, 5003, 'ACTION_REJECTED']; // 5000 and on are WalletConnect's
const NO_BATCH = [4200, -32601, 5700, 5710, 5740, 5760]; // the wallet has not taken the batch, and would not
const CODES = {
  4001: 'REFUSED', 5750: 'REFUSED', 5000: 'REFUSED', 5001: 'REFUSED', 5002: 'REFUSED', 5003: 'REFUSED',
  ACTION_REJECTED: 'REFUSED', 4100: 'UNAUTHORIZED', 4900: 'DISCONNECTED', 4901: 'DISCONNECTED', '-32002': 'BUSY',
};
const INTERVAL = 2000;
const PATIENCE = 5; // seconds for a question that nobody has to confirm
const AHEAD = 20; // blocks that are looked through at once
const LOOKS = 3; // at the account, before a wallet is believed that it has sent nothing
const POOR = /insufficient (funds|balance)|not enough funds/i;
const DENIED = /\buser (has )?(rejected|denied|declined|cancell?ed)/i;

// What an error says, and what to do; * is for a detail. What was sent follows, unless it is said already.
const SAYS = {
  REFUSED: 'You rejected the request in your wallet.',
  UNAUTHORIZED: 'The wallet does not let this page use that account. Allow it in the wallet, then try again.',
  DISCONNECTED: 'The wallet is disconnected from the chain. Check its connection, then try again.',
  BUSY: 'The wallet is already asking you something. Open the wallet, answer it, then try again.',
  WALLET: 'The wallet could not do it. It *.',
  NO_ACCOUNT: 'The wallet gave no account. Choose one in the wallet, then try again.',
  OTHER_ACCOUNT: 'The wallet shows another account. The quote is for *: choose it in the wallet, then try again.',
  ACCOUNT_GONE: 'The wallet has disconnected the account. Connect it again, then try again. The swap was not sent.',
  UNKNOWN_CHAIN: 'The wallet does not know chain *.',
  OTHER_CHAIN: 'The wallet is on another chain. Switch it to chain *, then try again.',
  CHAIN_CHANGED:
    'The wallet has changed to another chain. Switch it back to chain *, then try again. The swap was not sent.',
  NO_CONTRACT: 'There is no contract at *: funds sent there are lost. Do not pay this quote anywhere.',
  CONTRACT_UNKNOWN: 'No node says whether there is a contract at *. Try again, or use another wallet.',
  TOO_LITTLE: 'The account has too little *. The swap was not sent.',
  INSUFFICIENT_FUNDS: 'The wallet says that the account has too little for amount and gas. Put in more, or send less.',
  WOULD_FAIL: 'The dry run of this quote has failed. Renew the quote.',
  UNVERIFIED: 'This quote does not pass the checks any more. The swap was not sent.',
  EXPIRED: 'This quote has expired*. Renew it.',
  ALLOWANCE: 'The account allows less than before. Renew the quote.',
  REPLACED: 'The wallet has replaced the approval by another transaction, *. The swap was not sent.',
  APPROVAL_FAILED: 'The approval failed on the chain. It is *. The swap was not sent.',
  NO_HASH: 'The wallet gave no transaction hash for the approval. Look in the wallet whether it has sent it.',
  BATCH_FAILED: 'The batch failed.',
  BATCH_IN_PART: 'A part of the batch was carried out.',
  STOPPED: 'You stopped waiting for the wallet. If it still asks you something, refuse there.',
  UNCLEAR: 'You stopped waiting for the wallet.',
  RUNNING: 'It is being sent already, here or in another tab.',
  OTHER_SWAP: 'resume is of another swap.',
  LISTENER: 'onStep has thrown.',
};
const LEFT = {
  NOTHING: 'Nothing was sent.',
  APPROVAL: 'The approval was sent and stands. Nothing else was sent.',
  APPROVAL_PERHAPS: 'The approval may have been sent, which pays nothing. The swap was not sent.',
  UNKNOWN: 'The swap may have been sent: look in the wallet first.',
};

export class SendError extends Error {
  constructor(code, message, fields) {
    super(message.endsWith('not sent.') ? message : `${message} ${LEFT[fields.sent]}`);
    Object.setPrototypeOf(this, SendError.prototype); // for compilers that turn classes into functions
    this.name = 'SendError';
    Object.assign(this, { code, ...fields });
  }
}

// Nothing says what a quote is checked against.
class NotVerified extends TypeError {}
const VERIFIER = 'This quote is not from client.quote of this process: give the client or listing to check it against';

const text = (value) => (typeof value === 'string' && value.length <= 20000 ? value : '');
const own = (value, key) => (typeof value === 'object' && value !== null ? value[key] : undefined);
const listOf = (value) => (Array.isArray(value) ? value : []);
const same = (a, b) => text(a).toLowerCase() === text(b).toLowerCase();
const isAddress = (value) => /^0x[0-9a-f]{40}$/i.test(text(value));
const isHash = (value) => /^0x[0-9a-f]{64}$/i.test(text(value));
const isQuantity = (value) => /^0x[0-9a-f]{1,64}$/i.test(text(value));
const word = (address) => address.slice(2).toLowerCase().padStart(64, '0');
const hex = (value) => '0x' + value.toString(16);
const sameCall = (a, b) => ['chainId', 'to', 'data', 'value'].every((name) => same(a[name], b[name]));
const batchOf = (result) => text(own(result, 'id') ?? result);

// What a wallet throws, and what libraries have wrapped it in. Some throw a text.
function layersOf(error) {
  const layers = [typeof error === 'string' ? { message: error } : error];
  for (let n = 0; n < layers.length && n < 20; n++) {
    const inner = ['cause', 'data', 'error', 'info', 'originalError'].map((name) => own(layers[n], name));
    layers.push(...inner.filter((each) => typeof each === 'object' && each !== null));
  }
  return layers.slice(0, 20);
}
const says = (error, what) =>
  layersOf(error).some((each) => [own(each, 'message'), own(each, 'details')].some((said) => what.test(text(said))));
// A refusal may have no code of its own, only -32603 for all that fails.
function codesOf(error) {
  const codes = layersOf(error).map((each) => own(each, 'code'));
  const isOther = codes.some((code) => code !== undefined && code !== -32603);
  return !isOther && says(error, DENIED) ? [4001] : codes;
}
const isPoor = (error) => says(error, POOR);
const has = (table, key) => Object.prototype.hasOwnProperty.call(table, key);
const hasCode = (error, list) => codesOf(error).some((code) => list.includes(code));

export function sendErrorOf(error, sent = 'NOTHING', step = undefined) {
  if (error instanceof SendError) return error;
  const said = text(own(error, 'message') ?? error).slice(0, 300).replace(/\.$/, '');
  const known = codesOf(error).find((each) => has(CODES, each));
  const code = CODES[known] ?? (isPoor(error) ? 'INSUFFICIENT_FUNDS' : 'WALLET');
  return fail({ sent, step }, code, { cause: error }, said ? `says: ${said}` : 'does not say why');
}

// `sent` is what was sent so far, as far as it is known. What the caller changes in the quote from here on is not paid.
function newRun(wallet, given, options) {
  const { client, listing, unverified, onStep, signal, readProvider, batch = true, interval = INTERVAL } = options;
  const { request, quote, calls, expiresAt, sufficient, warning } = given;
  const checked = JSON.parse(JSON.stringify({ request, quote, calls, expiresAt, sufficient, warning }));
  const call = checked.calls[checked.calls.length - 1];
  return {
    wallet, checked, onStep, signal, readProvider, batch, unverified, seconds: interval / 1000,
    recheck: recheckOf(client, listing, unverified ? undefined : clients.get(given)), account: checked.request.from,
    payments: paymentsOf(checked), begun: [], call, chainId: call.chainId, chain: Number(call.chainId), sent: 'NOTHING',
  };
}
// Checks a quote again, and gives its calls: against what was given to send, or with the client that gave the quote.
function recheckOf(client, listing, origin) {
  if (client) return (...given) => client.recheck(...given);
  if (!listing) return origin?.recheck;
  return async ({ request, quote, sufficient }, { allowance }) => {
    const { verify } = await import('./verify.js'); // only here, since a client brings its own check
    const { problems, calls } = verify(request, quote, { listing, now: Date.now(), allowance });
    if (problems.length) throw Object.assign(new Error(problems[0]), { problems });
    return { calls, sufficient };
  };
}
function fail(run, code, more = {}, detail = '') {
  return new SendError(code, SAYS[code].replace('*', () => detail), { sent: run.sent, step: run.step, ...more });
}

// Tells a step, and waits until it is noted: what comes next may be lost.
async function tell(run, step) {
  const { chainId, from, step: before, call: { to, data, value } } = run;
  run.step = { ...step, chainId, ...(from && { from }), call: { to, data, value } };
  try {
    await run.onStep?.(run.step);
  } catch (error) {
    run.step = before; // what was told is not done
    throw fail(run, 'LISTENER', { cause: error });
  }
}
// Once the wallet was asked to pay, nothing that a listener throws may hide what became of it.
async function tellSafely(run, step) {
  try {
    await tell(run, step);
  } catch { /* it is the listener's own */ }
}

// viem asks again by itself where a wallet fails, unless it is told not to. Wallets may take that argument for another.
const retries = (wallet) => own(own(wallet, 'transport') ?? own(wallet, 'config'), 'retryCount') !== undefined;
const ask = async ({ wallet }, method, params) =>
  wallet.request(params ? { method, params } : { method }, ...(retries(wallet) ? [{ retryCount: 0 }] : []));
const read = (run, method, params) => until(ask(run, method, params), run.signal);
const readSoon = (run, method, params) => within(PATIENCE, ask(run, method, params), run.signal);

// A number that a node gives, or undefined where it cannot.
async function readAmount(run, method, params) {
  try {
    const value = await readSoon(run, method, params);
    return isQuantity(value) ? BigInt(value) : undefined;
  } catch (error) {
    if (run.signal?.aborted) throw error;
    return undefined;
  }
}

// The number of the account's next transaction, those that wait counted.
const readNonce = (run) => readAmount(run, 'eth_getTransactionCount', [run.from, 'pending']);

// Holds a name for this page among all pages of its origin, until it is given back or the page is closed. Only browsers
// know such names; elsewhere every name is free.
function hold(name) {
  const locks = globalThis.location && globalThis.navigator?.locks;
  if (!locks) return Promise.resolve(() => undefined);
  return new Promise((resolve) => {
    const held = (lock) => {
      if (lock) return new Promise((release) => { resolve(release); });
      resolve(undefined);
      return undefined;
    };
    locks.request(`quotegate ${name}`, { ifAvailable: true }, held).catch(() => resolve(() => undefined));
  });
}

// A transaction is of one sending. The same swap sent again, here or in another tab, must not be taken for it.
async function claim(run, txHash) {
  const key = `${run.chain} ${txHash.toLowerCase()}`;
  const owner = payerOf(run.wallet, key);
  if (owner) return owner === run.payment;
  if (!await hold(key)) return false;
  run.payment.taken = { wallet: run.wallet, txHash: key };
  return true;
}

export async function connect(wallet, wanted) {
  try {
    return await connectRun({ wallet, sent: 'NOTHING', account: wanted });
  } catch (error) {
    throw sendErrorOf(error);
  }
}
async function connectRun(run) {
  const wanted = run.account;
  const accounts = listOf(await read(run, 'eth_requestAccounts')).filter(isAddress);
  if (!accounts.length) throw fail(run, 'NO_ACCOUNT');
  const from = wanted ? accounts.find((each) => same(each, wanted)) : accounts[0];
  if (!from) throw fail(run, 'OTHER_ACCOUNT', {}, wanted);
  return from;
}

async function onChain(run) {
  const id = await readSoon(run, 'eth_chainId');
  return isQuantity(id) ? Number(id) : NaN;
}
const wrongChain = (run, code, cause) => fail(run, code, { chainId: run.chainId, cause }, run.chain);
async function switchChain(run) {
  if (await onChain(run) === run.chain) return;
  try {
    await read(run, 'wallet_switchEthereumChain', [{ chainId: run.chainId }]);
  } catch (error) {
    throw hasCode(error, [4902]) ? wrongChain(run, 'UNKNOWN_CHAIN', error) : error;
  }
  if (await onChain(run) !== run.chain) throw wrongChain(run, 'OTHER_CHAIN');
}

// A wallet may be changed between two transactions. One that does not list its accounts refuses by itself.
async function stillThere(run) {
  let accounts;
  try {
    accounts = await readSoon(run, 'eth_accounts');
  } catch (error) {
    if (run.signal?.aborted) throw error;
  }
  if (Array.isArray(accounts) && !accounts.some((each) => same(each, run.from))) throw fail(run, 'ACCOUNT_GONE');
  if (await onChain(run) !== run.chain) throw wrongChain(run, 'CHAIN_CHANGED');
}

// Refuses a quote that is not what was checked, or that the account cannot pay as far as the gateway has read.
async function needVerified(run) {
  if (run.checked.warning) throw fail(run, 'UNVERIFIED', { problems: ['The gateway itself warns of this quote.'] });
  if (!run.recheck) {
    if (!run.unverified) throw new NotVerified(VERIFIER);
  } else {
    const { calls } = run.checked;
    const most = await recheck(run, 1n); // what may be needed, whatever the account allows
    const last = most.calls[most.calls.length - 1];
    const isNeeded = (call) => most.calls.some((own) => sameCall(call, own));
    const isSame = last && sameCall(run.call, last) && calls.every(isNeeded);
    if (!isSame) throw fail(run, 'UNVERIFIED', { problems: ['calls are not those of the quote.'] });
    run.checked.sufficient = most.sufficient;
  }
  if (run.checked.sufficient !== false) return;
  const { srcToken, details: { checks, simulation } } = run.checked.quote;
  const isLacking = (amounts) => amounts && BigInt(amounts.actual) < BigInt(amounts.needed);
  if (isLacking(checks?.balance)) throw tooLittle(run, checks.balance, srcToken.symbol);
  const coins = simulation?.native ?? checks?.native;
  if (coins && (isLacking(coins) || BigInt(coins.actual) === 0n)) throw tooLittle(run, coins, FOR_GAS);
  throw fail(run, 'WOULD_FAIL');
}

const FOR_GAS = "of the chain's coin to pay for gas";
const tooLittle = (run, { actual, needed }, what) =>
  fail(run, 'TOO_LITTLE', { actual: String(actual), needed: String(needed) }, what);

async function recheck(run, allowance) {
  const { checked, signal } = run;
  try {
    return await run.recheck(checked, { allowance, signal });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw fail(run, 'UNVERIFIED', { problems: listOf(error.problems ?? [error.message]), cause: error });
  }
}

// The calls that are needed, for what the account has and allows now, by the wallet's own node.
async function neededCalls(run) {
  const { checked, from } = run;
  const { request, quote: { approval, srcToken, to } } = checked;
  const amount = BigInt(request.amount);
  const view = (data) => readAmount(run, 'eth_call', [{ to: approval.token, data }, 'latest']);
  const tokens = approval && await view('0x70a08231' + word(from));
  if (tokens < amount) throw tooLittle(run, { actual: tokens, needed: amount }, srcToken.symbol);
  const value = BigInt(run.call.value);
  const coins = await readAmount(run, 'eth_getBalance', [from, 'latest']);
  if (coins < value) throw tooLittle(run, { actual: coins, needed: value }, srcToken.symbol);
  if (coins === value) throw tooLittle(run, { actual: coins, needed: value + 1n }, FOR_GAS);
  const allowance = approval ? await view('0xdd62ed3e' + word(from) + word(to)) : undefined;
  if (run.recheck) return (await recheck(run, allowance)).calls;
  const { calls } = checked;
  if (!approval || allowance === undefined) return calls;
  if (allowance >= amount) return calls.slice(-1);
  if (calls.length === 1) throw fail(run, 'ALLOWANCE');
  return calls;
}

// The code at an address, by the wallet's own node, or by the app's where the wallet does not tell it. Undefined where
// neither tells. An answer counts if the node is on the chain of the swap.
async function codeAt(run, address) {
  for (const wallet of [run.wallet, run.readProvider]) {
    if (!wallet) continue;
    const node = { wallet, signal: run.signal };
    try {
      const code = await readSoon(node, 'eth_getCode', [address, 'latest']);
      const chain = await readAmount(node, 'eth_chainId');
      if (isCode(code) && chain === BigInt(run.chain)) return code;
    } catch (error) {
      if (run.signal?.aborted) throw error;
    }
  }
  return undefined;
}
const isCode = (value) => typeof value === 'string' && value.length % 2 === 0 && /^0x[0-9a-f]*$/i.test(value);
const isNoContract = (code) => /^0x(ef0100|$)/i.test(code); // nothing, or an account that has delegated (EIP-7702)

// Everything that is about to be paid or approved must be a contract: the targets, and whom an approval lets take.
async function needContracts(run, calls) {
  const targets = calls.map(({ to }) => to);
  const spenders = calls.slice(0, -1).map(({ data }) => '0x' + data.slice(34, 74));
  const addresses = [...new Set([...spenders, ...targets].map((each) => each.toLowerCase()))];
  const codes = await Promise.all(addresses.map((address) => codeAt(run, address)));
  if (await onChain(run) !== run.chain) throw wrongChain(run, 'CHAIN_CHANGED');
  const empty = addresses.find((_, i) => codes[i] !== undefined && isNoContract(codes[i]));
  if (empty) throw fail(run, 'NO_CONTRACT', { address: empty }, `${empty} on chain ${run.chain}`);
  const unknown = addresses.filter((_, i) => codes[i] === undefined);
  if (!unknown.length) return;
  if (calls.some(({ value }) => BigInt(value) > 0n)) {
    throw fail(run, 'CONTRACT_UNKNOWN', { address: unknown[0] }, `${unknown[0]} on chain ${run.chain}`);
  }
  await tell(run, { step: 'unchecked', addresses: unknown });
}

function notExpired(run) {
  const during = run.sent === 'NOTHING' ? '' : ' while you were signing';
  if (Date.now() > run.checked.expiresAt) throw fail(run, 'EXPIRED', {}, during);
}

async function execute(run) {
  if (!run.isMet) await meet(run);
  await tell(run, { step: 'switch' });
  await switchChain(run);
  await tell(run, { step: 'read' });
  const calls = await neededCalls(run);
  const count = calls.length;
  run.call = calls[count - 1];
  await needContracts(run, calls);
  if (count > 1 && run.batch && await canBatch(run)) {
    const list = calls.map(({ to, data, value }) => ({ to, data, value }));
    const params = { version: '2.0.0', from: run.from, chainId: run.chainId, atomicRequired: false, calls: list };
    const sent = await pay(run, { what: 'batch', index: 0, count }, 'wallet_sendCalls', [params]);
    if (sent) return sent;
  }
  for (const [index, { to, data, value }] of calls.entries()) {
    await stillThere(run);
    const params = [{ from: run.from, to, data, value, chainId: run.chainId }];
    if (index === count - 1) {
      await neededCalls(run); // what is pinned, and what the account has, may have changed
      return pay(run, { what: 'swap', index, count }, 'eth_sendTransaction', params);
    }
    await approve(run, { what: count - index === 3 ? 'reset' : 'approval', index, count }, params);
  }
  return undefined;
}

async function canBatch(run) {
  try {
    await readSoon(run, 'wallet_getCapabilities', [run.from, [run.chainId]]);
    return true;
  } catch (error) {
    if (run.signal?.aborted) throw error;
    return false;
  }
}

async function approve(run, what, params) {
  const before = run.sent;
  const was = await tellSign(run, what);
  run.sent = 'APPROVAL_PERHAPS';
  let txHash;
  try {
    txHash = await read(run, 'eth_sendTransaction', params);
  } catch (error) {
    if (hasCode(error, REFUSED)) run.sent = before;
    throw error;
  }
  if (!isHash(txHash)) throw fail(run, 'NO_HASH');
  run.sent = 'APPROVAL';
  const [{ to, data }] = params;
  const step = { step: 'confirm', ...what, ...was, approval: { to, data } };
  await tell(run, { ...step, txHash });
  await confirm(run, step, txHash);
}

// Tells that the wallet is about to be asked to sign, unless it is too late for that by then.
async function tellSign(run, what) {
  const was = await position(run);
  const { step } = run;
  await tell(run, { step: 'sign', ...what, ...was });
  const told = run.step;
  run.step = step; // until the wallet is asked
  if (run.signal?.aborted) throw fail(run, 'STOPPED');
  notExpired(run);
  run.step = told;
  return was;
}

// Where the account and the chain are before the wallet is asked: what it sends is found again by that.
async function position(run) {
  const since = await readAmount(run, 'eth_blockNumber', []);
  const nonce = await readNonce(run);
  return { ...(since !== undefined && { since: hex(since) }), ...(nonce !== undefined && { nonce: hex(nonce) }) };
}

// Waits until an approval is in a block, also under another hash if the wallet has replaced it. A node that fails is
// asked again.
async function confirm(run, step, txHash) {
  for (;;) {
    let receipt;
    try {
      receipt = await readSoon(run, 'eth_getTransactionReceipt', [txHash]);
    } catch (error) {
      if (run.signal?.aborted) throw error;
    }
    if (own(receipt, 'status') === '0x0') throw fail(run, 'APPROVAL_FAILED', { txHash }, txHash);
    if (receipt) return;
    const chain = await readAmount(run, 'eth_chainId');
    if (chain !== undefined && chain !== BigInt(run.chain)) throw wrongChain(run, 'CHAIN_CHANGED');
    const other = await replacementOf(run, step, txHash);
    const isSame = other && same(other.to, own(step.approval, 'to')) && same(other.input, own(step.approval, 'data'));
    if (other && !isSame) throw fail(run, 'REPLACED', { txHash: other.hash }, other.hash);
    if (other) {
      txHash = other.hash;
      await tell(run, { ...step, txHash });
    } else await pause(run.seconds / 2, run.signal);
  }
}

// The transaction of the account that took the place of another, by its nonce; undefined if there is none. The block
// that used the nonce is found by halving. A node may have forgotten the account's number at old blocks only.
async function replacementOf(run, { nonce, since }, txHash) {
  if (!isQuantity(nonce) || !isQuantity(since)) return undefined;
  const isUsed = async (at) => // false if the node does not say
    await readAmount(run, 'eth_getTransactionCount', [run.from, at]) > BigInt(nonce);
  if (!await isUsed('latest')) return undefined;
  let last = await readAmount(run, 'eth_blockNumber', []);
  let first = BigInt(since) + 1n;
  if (last === undefined || last < first) return undefined;
  while (first < last) {
    const middle = (first + last) / 2n;
    if (await isUsed(hex(middle))) last = middle;
    else first = middle + 1n;
  }
  const found = (await blockOf(run, hex(first)))?.find((tx) => same(own(tx, 'from'), run.from) &&
    isHash(own(tx, 'hash')) && isQuantity(own(tx, 'nonce')) && BigInt(tx.nonce) === BigInt(nonce));
  return found && !same(found.hash, txHash) ? found : undefined;
}

// Finds the transaction that took the place of one that was sent: the wallet has sped it up, or cancelled it. It gives
// its hash, or undefined if there is none. Give it to follow as replacement.
export async function findReplacement(wallet, { txHash, from, chainId, nonce, since }, { signal } = {}) {
  const run = { wallet, from, signal };
  if (await readAmount(run, 'eth_chainId') !== BigInt(chainId)) return undefined;
  return (await replacementOf(run, { nonce, since }, txHash))?.hash;
}

// Asks the wallet to pay. It gives what was sent, or nothing where the wallet cannot take a batch.
async function pay(run, what, method, params) {
  await tellSign(run, what);
  const { sent: before } = run;
  const isBatch = what.what === 'batch';
  const late = ask(run, method, params);
  run.paying = run.step;
  run.sent = 'UNKNOWN';
  run.payment.known = { late, step: run.step };
  let said;
  try {
    const result = await until(late, run.signal);
    const taken = await takenAs(run, isBatch, result);
    if (taken) return taken;
  } catch (error) {
    if (error instanceof SendError || run.signal?.aborted) throw error;
    const unable = isBatch && hasCode(error, NO_BATCH);
    const poor = !isBatch && isPoor(error); // of a batch, the number of the account tells nothing
    if (hasCode(error, REFUSED) || unable || (poor && await isUntouched(run, error))) {
      run.sent = before;
      run.paying = undefined;
      run.payment.known = undefined;
      if (unable) return undefined;
      throw error;
    }
    said = error;
  }
  return watch(run, said, undefined);
}

// A wallet that says that there is too little money has given up. The account tells whether it was not sent before
// that: its next number is still the same, and no such transaction waits.
async function isUntouched(run, error) {
  const { what, index, count, since, nonce } = run.paying;
  if (!nonce) return false;
  const reason = text(own(error, 'message')).slice(0, 300);
  const was = { nonce, ...(since && { since }) };
  await tellSafely(run, { step: 'look', what, index, count, ...was, ...(reason && { reason }) });
  for (let n = 0; n < LOOKS; n++) {
    if (n) await pause(run.seconds, run.signal);
    const chain = await readAmount(run, 'eth_chainId', []);
    const next = await readNonce(run);
    const waiting = await transactionsOf(run, 'pending');
    if (chain !== BigInt(run.chain) || next !== BigInt(nonce) || waiting?.length) return false;
  }
  return true;
}

// A hash that is not another swap's, or a batch that is followed to its hash; nothing if it is neither.
async function takenAs(run, isBatch, result) {
  if (isBatch) return batchOf(result) ? watchBatch(run, batchOf(result)) : undefined;
  return isHash(result) && await claim(run, result) ? sent(run, result) : undefined;
}

async function sent(run, txHash, batch) {
  const { since, nonce } = run.paying;
  const more = { ...(batch && { batch }), ...(since && { since }), ...(!batch && nonce && { nonce }) };
  const result = { txHash, from: run.from, chainId: run.chainId, ...more };
  run.payment.known = { result };
  await tellSafely(run, { step: 'sent', txHash, ...more });
  return result;
}

// Nobody knows whether it was sent. The chain is watched, and the wallet's own answer if it is still to come.
async function watch(run, said, late) {
  const { what, index, count, since, nonce } = run.paying;
  const isBatch = what === 'batch';
  const reason = text(own(said, 'message')).slice(0, 300);
  const was = { ...(since && { since }), ...(nonce && { nonce }) };
  await tellSafely(run, { step: 'unclear', what, index, count, ...was, ...(reason && { reason }) });
  let answer;
  const heard = late?.then((result) => { answer = { result }; }, (error) => { answer = { error }; });
  let next = firstBlock(run);
  for (;;) {
    const found = await lookInBlocks(run, next);
    if (found.txHash) return sent(run, found.txHash);
    next = found.next;
    const idle = pause(run.seconds, run.signal);
    await (heard && !answer ? Promise.race([idle, heard]) : idle);
    if (!answer) continue;
    if (answer.error && hasCode(answer.error, REFUSED)) {
      run.payment.known = undefined;
      run.sent = !isBatch && index > 0 ? 'APPROVAL' : 'NOTHING';
      run.paying = undefined;
      throw answer.error;
    }
    const taken = await takenAs(run, isBatch, answer.result);
    if (taken) return taken;
  }
}

// Asks the wallet about a batch until it tells. One that cannot tell has sent it all the same.
async function watchBatch(run, batch) {
  const { since } = run.paying;
  const show = (state) => tellSafely(run, { step: 'batch', batch, state, ...(since && { since }) });
  let next = firstBlock(run);
  let shown = 'PENDING';
  await show(shown);
  for (;;) {
    let got;
    try {
      got = await readSoon(run, 'wallet_getCallsStatus', [batch]);
    } catch (error) {
      if (run.signal?.aborted) throw error;
    }
    const status = Number(own(got, 'status'));
    const receipts = listOf(own(got, 'receipts'));
    const txHash = own(receipts[receipts.length - 1], 'transactionHash');
    if (status >= 200 && status < 400 && isHash(txHash)) return sent(run, txHash, batch);
    if (status >= 400) {
      if (status !== 600) run.payment.known = undefined;
      run.sent = status === 600 ? 'UNKNOWN' : 'NOTHING';
      throw fail(run, status === 600 ? 'BATCH_IN_PART' : 'BATCH_FAILED', { batch });
    }
    const state = status >= 200 ? 'DONE' : status >= 100 ? 'PENDING' : 'SILENT';
    if (state !== shown) await show(state);
    shown = state;
    const found = await lookInBlocks(run, next);
    if (found.txHash) return sent(run, found.txHash, batch);
    next = found.next;
    await pause(run.seconds, run.signal);
  }
}

// Looks for the swap in the blocks since it was asked for, through the wallet's node.
const firstBlock = ({ paying: { since } }) => (isQuantity(since) ? BigInt(since) + 1n : undefined);
async function lookInBlocks(run, next) {
  const latest = await readAmount(run, 'eth_blockNumber', []);
  const chain = await readAmount(run, 'eth_chainId', []);
  if (latest === undefined || chain !== BigInt(run.chain)) return { next };
  let number = next ?? latest;
  for (let n = 0; number <= latest && n < AHEAD; n++, number++) {
    const found = await transactionsOf(run, hex(number));
    if (!found) return { next: number }; // not there yet: it is asked for again
    for (const { hash } of found) if (await claim(run, hash)) return { txHash: hash };
  }
  return { next: number };
}

// The transactions in a block that do what the swap does, or undefined if there is no such block. Those with a number
// from before it was asked for are others.
async function transactionsOf(run, block) {
  const all = await blockOf(run, block);
  const { from, call: { to, data }, paying: { nonce } } = run;
  const isEarlier = (tx) => isQuantity(nonce) && isQuantity(own(tx, 'nonce')) && BigInt(tx.nonce) < BigInt(nonce);
  const isOurs = (tx) => same(own(tx, 'from'), from) && same(own(tx, 'to'), to) && same(own(tx, 'input'), data);
  return all?.filter((tx) => isHash(own(tx, 'hash')) && isOurs(tx) && !isEarlier(tx));
}

// The transactions of a block; undefined if the node does not have it.
async function blockOf(run, block) {
  let got;
  try {
    got = await readSoon(run, 'eth_getBlockByNumber', [block, true]);
  } catch (error) {
    if (run.signal?.aborted) throw error;
  }
  return got ? listOf(own(got, 'transactions')) : undefined;
}

// Whether the wallet was asked to pay at a step.
const isPaying = (step) =>
  (step?.step === 'sign' && ['swap', 'batch'].includes(step.what)) ||
  ['look', 'unclear', 'batch', 'sent'].includes(step?.step);

// Watches for a swap that the wallet was asked for, and does nothing else.
function takeUp(run, { step, late }) {
  const { index, count, since, nonce } = step;
  run.from = step.from;
  run.step = step;
  run.sent = 'UNKNOWN';
  run.payment.known = { step, late };
  run.paying = { what: step.batch ? 'batch' : step.what, index, count, since, nonce };
  if (isHash(step.txHash)) return sent(run, step.txHash, step.batch);
  return step.batch ? watchBatch(run, text(step.batch)) : watch(run, undefined, late);
}

// Goes on from an approval.
function recall(run, step) {
  run.from = step.from;
  run.step = step;
  if (step.step === 'sign') run.sent = 'APPROVAL_PERHAPS';
  if (step.step === 'confirm') run.sent = 'APPROVAL';
}

function isOther(run, step) {
  const hasFrom = isAddress(step.from) || step.step === 'connect';
  const isSame = same(own(step.call, 'data'), run.call.data) && same(step.chainId, run.chainId);
  return !hasFrom || !isSame || (run.account !== undefined && step.from !== undefined && !same(step.from, run.account));
}

// Begins the payment of an account, or of a wallet that has not told its account. One of them runs at a time.
function begin(run, who) {
  const payment = run.payments.get(who) ?? {};
  if (payment.running) throw fail(run, 'RUNNING', { sent: 'UNKNOWN' });
  payment.running = true;
  run.payments.set(who, payment);
  run.begun.push(who);
  run.payment = payment;
}
async function beginAs(run, account) {
  begin(run, account.toLowerCase());
  run.account = account;
  const { to, data } = run.call;
  run.release = await hold(`${account.toLowerCase()} ${run.chain} ${to} ${data}`);
  if (!run.release) throw fail(run, 'RUNNING', { sent: 'UNKNOWN' });
}
function end(run) {
  for (const who of run.begun) {
    const payment = run.payments.get(who);
    payment.running = false;
    if (!payment.known) run.payments.delete(who);
  }
  run.release?.();
}

// Has the wallet tell its account.
async function meet(run) {
  await tell(run, { step: 'connect' });
  run.from = await connectRun(run);
  run.isMet = true;
  if (!run.account) await beginAs(run, run.from);
}

async function proceed(run, resume) {
  const earlier = run.payment.known ?? (resume && { step: resume });
  if (earlier?.result) return earlier.result;
  if (isPaying(earlier?.step)) return takeUp(run, earlier);
  if (resume && resume.step !== 'connect') recall(run, resume);
  // A swap that others have begun may be this account's too.
  const isBegun = !run.account && run.payments.size > 1;
  if (isBegun) run.sent = 'UNKNOWN';
  else {
    notExpired(run);
    await needVerified(run);
  }
  if (!run.account) {
    await meet(run);
    run.sent = 'NOTHING';
    return proceed(run, resume);
  }
  if (resume?.step === 'confirm' && isHash(resume.txHash) && await onChain(run) === run.chain) {
    await confirm(run, resume, resume.txHash);
  }
  return execute(run);
}

export async function send(wallet, checked, options = {}) {
  if (checked.unshield || !checked.calls.length) {
    throw new TypeError('An unshielding swap is for a RAILGUN wallet to wrap');
  }
  const { resume } = options;
  const run = newRun(wallet, checked, options);
  try {
    if (resume && isOther(run, resume)) throw fail(run, 'OTHER_SWAP', { sent: 'UNKNOWN' });
    run.account ??= resume?.from;
    if (run.account) await beginAs(run, run.account);
    else begin(run, wallet);
    return await proceed(run, resume);
  } catch (error) {
    if (error instanceof NotVerified) throw error;
    if (run.paying && (run.signal?.aborted || !(error instanceof SendError))) {
      throw fail(run, 'UNCLEAR', { sent: 'UNKNOWN', cause: error });
    }
    if (run.signal?.aborted && !(error instanceof SendError)) throw fail(run, 'STOPPED', { cause: error });
    throw sendErrorOf(error, run.sent, run.step);
  } finally {
    end(run);
  }
}
