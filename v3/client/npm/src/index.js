// Asks a gateway for quotes, checks every answer, and follows what was sent. See README.md.
import { errorOf, failure, isPassing, QuoteError, unreachableReason } from './errors.js';
import { statuses, tellEach } from './follow.js';
import { readOptions } from './options.js';
import { clients, listings } from './payments.js';
import { shortOf, sourceOf, statusProblems } from './status.js';
import { decode, quoted, verify } from './verify.js';
import { pause, reasonOf, until } from './wait.js';

export { decode, QuoteError, shortOf, verify };
/**
 * Of this package.
 * @type {string}
 */
export const version = '1.0.0';

/** @typedef {import('./errors.js').ErrorCode} ErrorCode */
/** @typedef {import('./errors.js').UnreachableReason} UnreachableReason */
/** @typedef {import('./types.js').Amount} Amount */
/** @typedef {import('./types.js').Approval} Approval */
/** @typedef {import('./types.js').Arrival} Arrival */
/** @typedef {import('./types.js').AttestationState} AttestationState */
/** @typedef {import('./types.js').Call} Call */
/** @typedef {import('./types.js').ChainID} ChainID */
/** @typedef {import('./types.js').Check} Check */
/** @typedef {import('./types.js').Checks} Checks */
/** @typedef {import('./types.js').Decoded} Decoded */
/** @typedef {import('./types.js').Details} Details */
/** @typedef {import('./types.js').Fee} Fee */
/** @typedef {import('./types.js').FeeOrigin} FeeOrigin */
/** @typedef {import('./types.js').Hex} Hex */
/** @typedef {import('./types.js').IssuerView} IssuerView */
/** @typedef {import('./types.js').Known} Known */
/** @typedef {import('./types.js').ListedChain} ListedChain */
/** @typedef {import('./types.js').ListedPair} ListedPair */
/** @typedef {import('./types.js').ListedToken} ListedToken */
/** @typedef {import('./types.js').Pairs} Pairs */
/** @typedef {import('./types.js').Payout} Payout */
/** @typedef {import('./types.js').Quote} Quote */
/** @typedef {import('./types.js').RecipientCode} RecipientCode */
/** @typedef {import('./types.js').RecipientReason} RecipientReason */
/** @typedef {import('./types.js').Report} Report */
/** @typedef {import('./types.js').Request} Request */
/** @typedef {import('./types.js').Routers} Routers */
/** @typedef {import('./types.js').RouteType} RouteType */
/** @typedef {import('./types.js').SendCalls} SendCalls */
/** @typedef {import('./types.js').SettledPayout} SettledPayout */
/** @typedef {import('./types.js').Settlement} Settlement */
/** @typedef {import('./types.js').Simulation} Simulation */
/** @typedef {import('./types.js').Status} Status */
/** @typedef {import('./types.js').Swap} Swap */
/** @typedef {import('./types.js').SwapState} SwapState */
/** @typedef {import('./types.js').Time} Time */
/** @typedef {import('./types.js').Token} Token */

/** @import { Answer } from './errors.js' */

/**
 * @typedef {object} ClientOptions
 * @property {string} gateway Where the gateway is, such as https://quotes.example.org. Anything else than an address
 *   throws a TypeError.
 * @property {string | undefined} [apiKey] For rate limits of its own. In an app or a page it is public.
 * @property {number | undefined} [timeout] How long to wait for one answer, in milliseconds; 15000 if left out.
 * @property {typeof globalThis.fetch | undefined} [fetch] Instead of the global one.
 * @property {Pairs | Routers | (() => Pairs | Routers | undefined | Promise<Pairs | Routers | undefined>)} [pinned] A
 *   reviewed answer of `/v3/app/pairs` or `/v3/app/routers`, or a function that is asked for it whenever an answer is
 *   judged.
 */

/**
 * @typedef {object} QuoteOptions
 * @property {boolean | undefined} [simulate] Also has the gateway try the calls of `from` on the newest block:
 *   `details.simulation`.
 * @property {number | undefined} [retry] How often to ask again where the gateway does not answer, or refuses for now
 *   (429, 502 and their like); 0 if left out. It waits as long as the gateway says, at most a minute.
 * @property {AbortSignal | undefined} [signal]
 */
/** @typedef {Request & QuoteOptions} QuoteRequest */

/**
 * @typedef {object} Checked
 * @property {{ [name: string]: string }} request As it was sent, in strings.
 * @property {CompleteQuote} quote The answer. To follow the swap, give it to `follow` or `status`.
 * @property {string[]} checked The groups of checks that passed.
 * @property {string[]} unchecked What nobody can check, in sentences. Show it.
 * @property {string[]} warnings What may be a mistake, in sentences: what the gateway has ignored of the request, and a
 *   recipient that has code on one side only. Show it.
 * @property {string} [warning] The gateway's own, of a quote that must not be signed: only in `error.result`.
 * @property {number} expiresAt When the quote ends, by the clock of this machine, in milliseconds since 1970.
 * @property {boolean | undefined} sufficient Whether `from` has what the calls need, as the gateway read it: true if
 *   a dry run says that all would succeed and be paid for, false if something is lacking or it has failed, undefined if
 *   that is not known.
 */
/** @typedef {Quote & { details: Details }} CompleteQuote */
/**
 * `calls` are to be sent one after the other, or `sendCalls` as a batch. `@quotegate/client/send` does both.
 * @typedef {Checked & { unshield: false, calls: Call[], sendCalls: SendCalls }} PublicQuote
 */
/**
 * `calls` is empty: hand `wrap` to a RAILGUN wallet.
 * @typedef {Checked & { unshield: true, calls: never[], wrap: Call[] }} UnshieldQuote
 */
/**
 * What `client.quote` gives, a union by `unshield`.
 * @typedef {PublicQuote | UnshieldQuote} CheckedQuote
 */

/**
 * The chain that a transaction was sent on, also in hexadecimal as `send` gives it, or the quote that was signed, or
 * both. A status of another swap than that of the quote is `UNVERIFIED`; a chain that is not the quote's throws a
 * TypeError.
 * @typedef {(
 *   | { srcChain: ChainID, quote?: CompleteQuote | undefined }
 *   | { srcChain?: ChainID | undefined, quote: CompleteQuote }
 * )} SentOn
 */
/**
 * Which transaction to ask about. `since` is the block before it was sent, as `send` gives it: a status of a
 * transaction in that block or an older one is then `UNVERIFIED`.
 * @typedef {SentOn & { txHash: string, since?: Hex | undefined, signal?: AbortSignal | undefined }} StatusRequest
 */
/**
 * @typedef {object} FollowOptions
 * @property {((status: Status) => string | undefined | Promise<string | undefined>) | undefined} [replacement] Asked
 *   while no node of the gateway has the transaction in a block. It may give the hash of one that took its place, which
 *   is followed from then on. `findReplacement` of `@quotegate/client/send` finds it.
 * @property {((error: QuoteError, seconds: number) => void) | undefined} [onRetry] Told when the gateway cannot answer
 *   now, and in how many seconds it is asked again.
 */
/** @typedef {StatusRequest & FollowOptions} FollowRequest */
/**
 * @typedef {{
 *   (request: FollowRequest): AsyncGenerator<Status, void, undefined>,
 *   (request: FollowRequest, onStatus: (status: Status) => unknown): Promise<Status>,
 * }} Follow
 */

/**
 * @typedef {object} Client
 * @property {(options?: { signal?: AbortSignal | undefined }) => Promise<Pairs>} pairs All that a selection list needs.
 *   Kept, and asked for again with its tag.
 * @property {(request: QuoteRequest) => Promise<CheckedQuote>} quote Asks for a quote and checks it. Throws a
 *   QuoteError.
 * @property {<Q extends CheckedQuote>(
 *   quote: Q, options?: { allowance?: Amount | bigint | undefined, signal?: AbortSignal | undefined },
 * ) => Promise<Q>} recheck Checks a quote again, without asking for another: against what is pinned now, and for what
 * the
 *   account allows the spender now, so that calls that it does not need are left out.
 * @property {(request: StatusRequest) => Promise<Status>} status What became of a transaction, asked once. An answer
 *   about another one is a QuoteError, `UNVERIFIED`.
 * @property {Follow} follow Gives each status of a transaction, and ends when it is final. Waits as long as the gateway
 *   asks for, and goes on through outages. An answer about another transaction is never given, and throws. With a
 *   callback, for where `for await` is not at hand, it gives the last status.
 */

const TIMEOUT = 15000;
const MOST = 1000000; // bytes of an answer; the longest of ours has a tenth
const LONGEST = 60; // seconds that a repeated quote waits
const PARAMETERS = [
  'srcToken', 'dstToken', 'amount', 'srcChain', 'dstChain', 'recipient', 'recipientType', 'integratorId', 'from',
];
const STATUS = ['srcChain', 'txHash', 'quote', 'since', 'signal'];

/** @param {unknown} value */
const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
/** @param {string} mine @param {string} least */
const isOlder = (mine, least) => {
  const numbersOf = (/** @type {string} */ text) =>
    text.split('.').map((part) => (/^\d{1,9}$/.test(part) ? Number(part) : NaN));
  const [a, b] = [numbersOf(mine), numbersOf(least)];
  const i = a.findIndex((part, at) => part !== b[at]);
  return i >= 0 && Number(a[i]) < Number(b[i]);
};

/**
 * When a quote ends, by the clock of this machine, which may be wrong.
 * @param {Details} details
 * @param {number} asked
 */
const expiryOf = ({ validForSeconds }, asked) => asked + Math.min(validForSeconds, 86400) * 1000;

/**
 * Whether the account has what the calls need, as the gateway read it. An account without coins cannot pay for gas.
 * Enough is only said where gas was counted too, and where the dry run has seen the swap.
 * @param {Details} details
 */
function sufficiencyOf({ checks, simulation }) {
  const coins = [checks?.native, simulation?.native].filter((each) => each !== undefined);
  const known = checks ? [checks.balance, ...coins] : coins;
  if (known.some(({ actual, needed }) => BigInt(actual) < BigInt(needed))) return false;
  if (coins.some(({ actual }) => BigInt(actual) === 0n)) return false;
  if (!checks || !simulation) return undefined;
  const { event, calls } = simulation;
  if (event === false || calls.some(({ status }) => status === 'FAILED')) return false;
  return event === true && calls.every(({ status }) => status === 'SUCCESS') ? true : undefined;
}

/** @param {Record<string, string | undefined>} values */
const queryOf = (values) => Object.entries(values).flatMap(([name, value]) =>
  (value ? [`${name}=${encodeURIComponent(value)}`] : [])).join('&');

/**
 * Reads at most MOST bytes of an answer, and cancels the rest. It gives undefined for an answer that is longer.
 * @param {Response} answer
 */
async function textOf(answer) {
  const reader = answer.body?.getReader?.();
  if (!reader) { // not every runtime has streams
    const text = await answer.text();
    return text.length <= MOST ? text : undefined;
  }
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true }); // a byte order mark stays, and is no JSON
  let text = '';
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    size += value.length;
    if (size > MOST) {
      reader.cancel().catch(() => undefined);
      return undefined;
    }
    text += decoder.decode(value, { stream: true });
  }
}

/**
 * Reads what a caller wants quoted: the parameters of the gateway, in texts.
 * @param {any} asked
 */
function readRequest({ retry = 0, ...asked }) {
  readOptions(asked, [...PARAMETERS, 'simulate', 'signal', 'retry'], 'quote');
  const { amount, integratorId, from, simulate } = asked;
  if (typeof amount === 'number' && !Number.isSafeInteger(amount)) {
    throw new TypeError(`amount must be an integer in digits or a bigint, not the number ${amount}`);
  }
  if (integratorId === '') {
    throw new TypeError('integratorId is empty, so nobody would get a fee: leave it out if that is meant');
  }
  if (simulate && !from) throw new TypeError('simulate needs from, the account that will send');
  if (!Number.isInteger(retry) || retry < 0) {
    throw new TypeError(`retry must be a number of times, not ${String(retry)}`);
  }
  /** @type {Record<string, string>} */
  const request = {};
  for (const name of PARAMETERS) {
    if (asked[name] !== undefined && asked[name] !== '') request[name] = String(asked[name]);
  }
  return request;
}

/**
 * Makes a client of one gateway.
 * @param {ClientOptions} options
 * @returns {Client}
 */
export function createClient(options) {
  readOptions(options, ['gateway', 'apiKey', 'fetch', 'pinned', 'timeout'], 'createClient');
  const { gateway, apiKey, fetch, pinned, timeout = TIMEOUT } = options;
  if ('pinned' in options && !pinned) {
    throw new TypeError('pinned must be a listing or routers that you have reviewed, or a function that gives them');
  }
  if (!/^(https?:\/\/[^\s/?#]|\/)/i.test(gateway)) {
    throw new TypeError(`gateway must be an address such as https://quotes.example.org, not ${gateway}`);
  }
  /** @type {typeof globalThis.fetch} */
  const ask = fetch ?? ((...given) => globalThis.fetch(...given));
  const base = String(gateway).replace(/\/+$/, '');
  /** @type {{ listing: Pairs, tag: string | undefined, lasts: number } | undefined} */
  let kept; // the listing, its tag, and until when it needs no question
  /** @type {Promise<Pairs> | undefined} */
  let asking;

  /**
   * @param {string} path
   * @param {RequestInit} options
   * @returns {Promise<Answer>}
   */
  async function read(path, options) {
    const answer = await ask(base + path, { redirect: 'error', ...options });
    const text = answer.status === 304 ? undefined : await textOf(answer);
    let body;
    try {
      body = JSON.parse(text ?? '');
    } catch { /* body stays undefined */ }
    return { status: answer.status, body, headers: answer.headers };
  }

  /**
   * A browser does not say that a page may not read an answer, but gives one that nobody can read.
   * @param {AbortSignal} signal
   */
  async function isHidden(signal) {
    const origin = globalThis.location?.origin;
    if (!origin || origin === 'null' || base.startsWith('/') || `${base}/`.startsWith(`${origin}/`)) return false;
    try {
      await until(ask(`${base}/v3/swap/healthcheck`, { mode: 'no-cors', cache: 'no-store', signal }), signal);
      return true;
    } catch {
      return false;
    }
  }

  /**
   * Gives the status, the body and the headers of an answer, or status 0 and why. It throws only what the signal says.
   * @param {string} path
   * @param {{ headers?: Record<string, string>, signal?: AbortSignal | undefined, cache?: RequestCache }} options
   * @returns {Promise<Answer>}
   */
  async function get(path, { headers = {}, signal, cache = 'no-store' } = {}) {
    if (signal?.aborted) throw reasonOf(signal);
    const controller = new AbortController();
    let late = false;
    const stop = () => controller.abort();
    const timer = setTimeout(() => {
      late = true;
      stop();
    }, timeout);
    signal?.addEventListener('abort', stop);
    try {
      return await until(read(path, { headers, cache, signal: controller.signal }), controller.signal);
    } catch (cause) {
      let why = unreachableReason(cause);
      if (!late && why === 'NETWORK' && await isHidden(controller.signal)) why = 'CORS';
      if (signal?.aborted) throw reasonOf(signal);
      return { status: 0, cause, why: late ? 'TIMEOUT' : why };
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', stop);
    }
  }
  /** @param {Answer} answer */
  const usable = ({ status, body }) => status === 200 && isObject(body);
  /** @returns {Record<string, string>} */
  const withKey = () => (apiKey ? { 'API-Key': apiKey } : {});

  async function fetchPairs() {
    const headers = kept?.tag ? { 'If-None-Match': kept.tag } : {};
    const answer = await get('/v3/app/pairs', { headers, cache: 'no-cache' });
    const seconds = /max-age=(\d{1,6})/.exec(answer.headers?.get('cache-control') ?? '');
    const lasts = Date.now() + Number(seconds?.[1] ?? 0) * 1000;
    if (answer.status === 304 && kept) kept = { ...kept, lasts };
    else if (usable(answer)) kept = { listing: answer.body, tag: answer.headers?.get('etag') ?? undefined, lasts };
    else throw errorOf(answer);
    return kept.listing;
  }

  // One question serves all who ask at the same time: each can stop waiting, and none can stop it.
  /** @type {Client['pairs']} */
  async function pairs(options = {}) {
    readOptions(options, ['signal'], 'pairs');
    const { signal } = options;
    if (signal?.aborted) throw reasonOf(signal);
    if (kept && Date.now() < kept.lasts) return kept.listing;
    asking ??= fetchPairs().finally(() => { asking = undefined; });
    return until(asking, signal);
  }

  /**
   * What a quote is checked against: what is pinned when it is judged, else the gateway's own listing.
   * @param {AbortSignal | undefined} signal
   * @returns {Promise<Known>}
   */
  async function known(signal) {
    /** @type {any} */
    const pin = await until(Promise.resolve(typeof pinned === 'function' ? pinned() : pinned), signal);
    const nothing = pin === undefined || pin === null;
    if (!nothing && (!isObject(pin) || 'pairs' in pin)) return { listing: pin };
    const listing = await pairs({ signal });
    return nothing ? { listing } : { listing, routers: pin.data ?? [], settlement: pin.settlement ?? {} };
  }

  /**
   * Checks an answer, or throws every problem with it.
   * @param {any} request
   * @param {any} body
   * @param {{
   *   signal: AbortSignal | undefined, allowance?: Amount | bigint | undefined, status?: number,
   *   warning?: string | null | undefined, warnings?: string[], expiresAt: () => number,
   * }} more
   * @returns {Promise<CheckedQuote>}
   */
  async function judge(request, body, { signal, allowance, status = 200, warning, warnings = [], expiresAt }) {
    const truth = await known(signal);
    const least = truth.listing?.client;
    if (typeof least === 'string' && isOlder(version, least)) {
      const sentence = `This gateway needs version ${quoted(least)} of the client, and this is ${version}`;
      throw failure('OUTDATED', sentence, { status, needs: least.slice(0, 20) });
    }
    const report = verify(request, body, { ...truth, now: Date.now(), ...(allowance !== undefined && { allowance }) });
    const problems = [...report.problems];
    if (!isObject(body.details)) problems.push('details is missing, but was requested.');
    const warned = warning ? [`The gateway itself warns: ${quoted(warning)}.`] : [];
    const { calls, wrap, sendCalls, checked, unchecked } = report;
    if (problems.length) {
      const fields = { status, problems: [...warned, ...problems], checked, quote: body };
      throw failure('UNVERIFIED', `The quote does not match the request: ${problems[0]}`, fields);
    }
    const sufficient = sufficiencyOf(body.details);
    const told = [...new Set([...warnings, ...report.warnings])];
    const common = { request, quote: body, checked, unchecked, warnings: told, expiresAt: expiresAt(), sufficient };
    const result = /** @type {CheckedQuote} */ (wrap.length
      ? { ...common, unshield: true, calls: [], wrap }
      : { ...common, unshield: false, calls, sendCalls });
    if (!warning) {
      clients.set(result, client);
      return result;
    }
    result.warning = warning; // it is refused later, too
    const sentence = `The quote matches the request, but must not be signed: ${warned[0]}`;
    throw failure('UNVERIFIED', sentence, { status, problems: warned, checked, quote: body, result });
  }

  /**
   * Asks for a quote once.
   * @param {Record<string, string>} request
   * @param {string} include
   * @param {AbortSignal | undefined} signal
   */
  async function quoteOnce(request, include, signal) {
    pairs({ signal }).catch(() => undefined); // at the same time; an error shows when it is needed
    const now = Date.now();
    const answer = await get(`/v3/swap/quote?${queryOf({ ...request, include })}`, { headers: withKey(), signal });
    const { status, body, headers } = answer;
    if (!usable(answer)) throw errorOf(answer);
    const warning = headers?.get('quote-warning');
    const slip = headers?.get('request-warning');
    const warnings = slip ? [`The gateway warns: ${quoted(slip)}.`] : [];
    return judge(request, body, { signal, status, warning, warnings, expiresAt: () => expiryOf(body.details, now) });
  }

  /** @type {Client['quote']} */
  async function quote(asked) {
    const request = readRequest(asked);
    const { simulate, signal, retry = 0 } = asked;
    const include = simulate ? 'details,simulation' : 'details';
    for (let failures = 0; ; failures++) {
      try {
        return await quoteOnce(request, include, signal);
      } catch (error) {
        if (failures >= retry || !isPassing(error)) throw error;
        const seconds = error.retryAfter ?? 2 ** failures;
        if (seconds > LONGEST) throw error;
        await pause(Math.max(seconds, 1), signal);
      }
    }
  }

  /**
   * @param {CheckedQuote} checked
   * @param {Parameters<Client['recheck']>[1]} options
   * @returns {Promise<any>} of the type of what is checked
   */
  async function recheck(checked, options = {}) {
    readOptions(options, ['allowance', 'signal'], 'recheck');
    const { allowance, signal } = options;
    const { request, quote: body, warning, warnings, expiresAt } = checked;
    return judge(request, body, { signal, allowance, warning, warnings, expiresAt: () => expiresAt });
  }

  /** @type {Client['status']} */
  async function status(asked) {
    readOptions(asked, STATUS, 'status');
    const { txHash, quote: signed, since, signal } = asked;
    const srcChain = sourceOf(asked.srcChain, signed);
    const answer = await get(`/v3/swap/status?${queryOf({ srcChain, txHash })}`, { headers: withKey(), signal });
    const { body } = answer;
    if (!usable(answer)) throw errorOf(answer);
    const problems = statusProblems(body, { srcChain, txHash, quote: signed, since });
    if (!problems.length) return body;
    const fields = { status: answer.status, problems, checked: [], quote: body };
    throw failure('UNVERIFIED', `The status does not match the request: ${problems[0]}`, fields);
  }

  /** @type {any} one of two overloads */
  const follow = (/** @type {FollowRequest} */ request, /** @type {(status: Status) => unknown} */ onStatus) => {
    readOptions(request, [...STATUS, 'replacement', 'onRetry'], 'follow');
    const iterator = statuses(status, request);
    return onStatus ? tellEach(iterator, onStatus) : iterator;
  };

  /** @type {Client} */
  const client = { pairs, quote, recheck, status, follow };
  listings.set(client, async (signal) => (await known(signal)).listing);
  return client;
}
