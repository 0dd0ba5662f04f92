// What is wrong with a status, and which of its swaps is the one of a quote.
import { checkForm, networkOf, show } from './verify.js';

/** @import { ChainID, CompleteQuote } from './index.js' */
/** @import { Amount, Payout, Status, Swap } from './types.js' */

// The form of a status. ? may be left out.
const PROGRESS = {
  state: 'state', final: 'boolean', 'reason?': 'text', 'expectedSeconds?': 'number',
  'swap?': {
    dstChain: 'text', dstToken: 'text', recipient: 'text', recipientType: 'number', amount: 'amount',
    'integratorId?': 'hash',
  },
  'burn?': { domain: 'uint32', 'nonce?': 'hash', attested: 'boolean', attestationState: 'text', 'reason?': 'text' },
  'settlement?': {
    chainId: 'number', 'txHash?': 'hash', amount: 'amount', arrived: 'amount', 'timestamp?': 'time', 'note?': 'hash',
    'short?': { swapped: 'amount', paid: 'amount' },
  },
};
const STATUS = {
  ...PROGRESS, srcChain: 'text', txHash: 'hash',
  'source?': { blockNumber: 'number', confirmations: 'number', timestamp: 'time' },
  'swaps?': [PROGRESS], 'omittedSwaps?': 'number', nextCheckSeconds: 'number', 'contact?': 'text',
};

/** @param {{ state: string }} progress */
const isEnded = ({ state }) => ['SETTLED', 'FAILED', 'NOT_A_SWAP'].includes(state);
/** @param {unknown} value */
const folded = (value) => (typeof value === 'string' ? value.toLowerCase() : value);
/**
 * Whether two values are the same, in any case of their letters.
 * @internal
 * @param {unknown} got
 * @param {unknown} want
 */
export function same(got, want) {
  return folded(got) === folded(want);
}

/**
 * The network of a transaction: that of the quote, or the one that is given, which wallets write in hexadecimal.
 * @internal
 * @param {ChainID | undefined} given
 * @param {CompleteQuote | undefined} quote
 */
export function sourceOf(given, quote) {
  if (quote && !quote.srcToken) throw new TypeError('quote must be the field quote of what client.quote has returned');
  const signed = quote?.srcToken.chainId;
  const isNumber = /^(\d+|0x[0-9a-f]+)$/i.test(String(given));
  const chain = given === undefined ? signed : isNumber ? networkOf(Number(given)) : undefined;
  if (!Number.isSafeInteger(chain)) throw new TypeError(`srcChain must be the ID of a chain, not ${show(given)}`);
  if (signed !== undefined && chain !== signed) {
    throw new TypeError(`srcChain is ${chain}, but quote is sent on chain ${signed}`);
  }
  return String(chain);
}

/**
 * What is wrong with a status: it has another form, contradicts itself, or is about another transaction or swap.
 * @internal
 * @param {any} answer
 * @param {{ srcChain: string, txHash: string, quote?: CompleteQuote | undefined, since?: string | undefined }} asked
 */
export function statusProblems(answer, { srcChain, txHash, quote, since }) {
  /** @type {string[]} */
  const problems = [];
  checkForm(problems, '', answer, STATUS);
  if (problems.length) return problems;
  /** @type {Status} */
  const status = answer;
  const { state, final, source } = status;
  /** @param {boolean} right @param {string} sentence */
  const must = (right, sentence) => right || problems.push(sentence);
  must(same(status.txHash, txHash), `txHash is ${status.txHash}, but must be ${txHash}.`);
  must(same(status.srcChain, srcChain), `srcChain is ${show(status.srcChain)}, but must be ${srcChain}.`);
  for (const each of [status, ...(status.swaps ?? [])]) {
    const isPaid = Boolean(each.settlement);
    const isLess = (isEnded(status) && each.state !== state) || (final && !each.final);
    must(isEnded(each) || !each.final, `${each.state} cannot be final.`);
    must(isPaid === (each.state === 'SETTLED'), 'settlement must be there for SETTLED, and only then.');
    must(!each.final || !each.settlement?.short, 'A settlement that is short cannot be final.');
    must(!isLess, `swaps has ${each.state} beside ${state}.`);
  }
  must(Boolean(source) || ['NOT_FOUND', 'PENDING'].includes(state), `source must be there for ${state}.`);
  must(!source || since === undefined || source.blockNumber > Number(since),
    `source.blockNumber is ${source?.blockNumber}, but it was sent after block ${Number(since)}.`);
  if (quote) ownSwap(status, quote, problems);
  return problems;
}

/**
 * What a status must say of the swap of a quote.
 * @param {CompleteQuote} quote
 */
function signedSwap({ destToken, details: { request, call } }) {
  const { dstChain, dstToken, amount, recipientType, integratorId } = request;
  // Of a note, the recipient is its npk.
  const recipient = recipientType === 2 ? call.arguments['recipient']?.slice(0, 66) : request.recipient;
  return { chainId: destToken.chainId, swap: { dstChain, dstToken, amount, recipient, recipientType, integratorId } };
}

/**
 * How far the swap of a quote is. Adds a problem for everything that differs. A swap of a transaction with too many of
 * them may be one that is left out.
 * @param {Status} status
 * @param {CompleteQuote} quote
 * @param {string[]} problems
 * @returns {{ settlement?: Payout }}
 */
function ownSwap(status, quote, problems) {
  const wanted = signedSwap(quote);
  /** @param {{ state: string, swap?: Swap, settlement?: Payout }} progress */
  const differences = ({ state, swap, settlement }) => {
    /** @type {string[]} */
    const found = [];
    /** @param {string} name @param {unknown} got @param {unknown} want */
    const compare = (name, got, want) => {
      if (!same(got ?? undefined, want)) found.push(`${name} is ${show(got)}, but must be ${show(want)}.`);
    };
    if (settlement) compare('settlement.chainId', settlement.chainId, wanted.chainId);
    if (!swap && (state === 'SETTLING' || state === 'SETTLED')) found.push('swap must be told.');
    for (const [name, want] of Object.entries(swap ? wanted.swap : {})) {
      compare(`swap.${name}`, Reflect.get(/** @type {Swap} */ (swap), name), want);
    }
    return found;
  };
  const several = status.swaps ?? [];
  const own = several.find((each) => each.swap && !differences(each).length);
  if (own) return own;
  if (!several.length) problems.push(...differences(status));
  else if (!(Number(status.omittedSwaps) > 0) || isEnded(status)) {
    problems.push('None of swaps is the one that was signed.');
  }
  return status;
}

/**
 * By how much less than the quote said was paid out; undefined for none, or if the status does not say.
 * @param {Status} status
 * @param {CompleteQuote} quote
 * @returns {Amount | undefined}
 */
export function shortOf(status, quote) {
  const { settlement } = ownSwap(status, quote, []);
  if (!settlement || BigInt(settlement.amount) >= BigInt(quote.destAmount)) return undefined;
  return String(BigInt(quote.destAmount) - BigInt(settlement.amount));
}
