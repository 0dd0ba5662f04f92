// Asks a gateway for quotes, checks every answer, and follows what was sent. See README.md; index.d.ts has the types.
import { clients } from './payments.js';
import { checkForm, decode, networkOf, plain, quoted, show, verify } from './verify.js';
import { pause, reasonOf, until } from './wait.js';

export { decode, verify };
export const version = '1.0.0';

const TIMEOUT = 15000;
const MOST = 1000000; // bytes of an answer; the longest of ours has a tenth
const PARAMETERS = [
  'srcToken', 'dstToken', 'amount', 'srcChain', 'dstChain', 'recipient', 'recipientType', 'integratorId', 'from',
];
const PASSING = [0, 408, 425, 429, 500, 502, 503, 504]; // states of an answer that may be another one soon

export class QuoteError extends Error {
  constructor(message, fields) {
    super(message);
    Object.setPrototypeOf(this, QuoteError.prototype); // for compilers that turn classes into functions
    this.name = 'QuoteError';
    Object.assign(this, fields);
  }
}

const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
const isOlder = (mine, least) => {
  const numberOf = (text) => (/^\d{1,9}$/.test(text) ? Number(text) : NaN);
  const [a, b] = [mine, least].map((text) => text.split('.').map(numberOf));
  const i = a.findIndex((part, at) => part !== b[at]);
  return i >= 0 && a[i] < b[i];
};

// When a quote ends, by the clock of this machine, which may be wrong.
const expiryOf = ({ validForSeconds }, asked) => asked + Math.min(validForSeconds, 86400) * 1000;

// Whether the account has what the calls need, as the gateway read it. An account without coins cannot pay for gas.
// Enough is only said where gas was counted too, and where the dry run has seen the swap.
function sufficiencyOf({ checks, simulation }) {
  const coins = [checks?.native, simulation?.native].filter(Boolean);
  const known = checks ? [checks.balance, ...coins] : coins;
  if (known.some(({ actual, needed }) => BigInt(actual) < BigInt(needed))) return false;
  if (coins.some(({ actual }) => BigInt(actual) === 0n)) return false;
  if (!checks || !simulation) return undefined;
  const { event, calls } = simulation;
  if (event === false || calls.some(({ status }) => status === 'FAILED')) return false;
  return event === true && calls.every(({ status }) => status === 'SUCCESS') ? true : undefined;
}

const queryOf = (values) => Object.entries(values).filter(([, value]) => value !== undefined && value !== '')
  .map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('&');

// Retry-After in seconds: it may be a number or a date.
function retryAfterOf(headers) {
  const told = headers?.get('retry-after') ?? '';
  const now = Date.parse(headers?.get('date') ?? '') || Date.now();
  const seconds = /^\d+$/.test(told) ? Number(told) : Math.ceil((Date.parse(told) - now) / 1000);
  return Number.isNaN(seconds) ? undefined : Math.min(Math.max(seconds, 0), 86400);
}

// Why there was no answer, as far as the cause tells. Node names it; a browser does not.
function unreachableReason(cause) {
  for (let error = cause, depth = 0; isObject(error) && depth < 5; error = error.cause, depth++) {
    const said = `${error.code ?? ''} ${error.message ?? ''}`;
    if (/ENOTFOUND|EAI_/.test(said)) return 'DNS';
    if (/ECONNREFUSED/.test(said)) return 'REFUSED';
    if (/CERT|ERR_TLS|ERR_SSL|EPROTO|UNABLE_TO_|ALTNAME/.test(said)) return 'TLS';
    if (/ERR_INVALID_URL/.test(said)) return 'INVALID_URL';
    if (/unexpected redirect/.test(said)) return 'REDIRECT';
  }
  return 'NETWORK';
}

// The form of an error. ? may be left out.
const ERROR = {
  error: 'text', code: 'text', 'requestId?': 'text', 'param?': 'text', 'reason?': 'text', 'minAmount?': 'amount',
  'maxAmount?': 'amount', 'successor?': 'text', 'until?': 'text',
  'alternatives?': [{ dstChain: 'text', dstToken: 'text' }],
};

// Says what an answer that is not usable means. Of a body, only what is known is taken.
function errorOf({ status, body, headers, cause, why }) {
  const problems = [];
  checkForm(problems, '', body, ERROR);
  const known = !problems.length && body.code && body.error;
  const fields = { code: known ? body.code : status ? 'UNREADABLE' : 'UNREACHABLE', status };
  const names = known ? Object.keys(ERROR).slice(2).map((name) => name.replace('?', '')) : [];
  for (const name of names) if (body[name]) fields[name] = body[name];
  const requestId = fields.requestId ?? headers?.get('x-request-id') ?? undefined;
  if (requestId !== undefined) fields.requestId = requestId;
  const retryAfter = retryAfterOf(headers);
  if (retryAfter !== undefined) fields.retryAfter = retryAfter;
  if (!status) Object.assign(fields, { reason: why, cause });
  const answered = `The gateway answered with status ${status} and nothing that can be read`;
  const unusable = status ? answered : 'The gateway does not answer';
  return new QuoteError(known ? plain(body.error, 300) : unusable, fields);
}
const isPassing = ({ code, status }) =>
  PASSING.includes(status) || (code === 'UNREADABLE' && (status < 400 || status >= 500));

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
const isEnded = ({ state }) => ['SETTLED', 'FAILED', 'NOT_A_SWAP'].includes(state);
const swapsOf = ({ swaps }) => swaps ?? [];

// The network of a transaction: that of the quote, or the one that is given, which wallets write in hexadecimal.
function sourceOf(given, quote) {
  const signed = quote?.srcToken.chainId;
  const isNumber = /^(\d+|0x[0-9a-f]+)$/i.test(given);
  const chain = given === undefined ? signed : isNumber ? networkOf(Number(given)) : undefined;
  if (!Number.isSafeInteger(chain)) throw new TypeError(`srcChain must be the ID of a chain, not ${show(given)}`);
  if (signed !== undefined && chain !== signed) {
    throw new TypeError(`srcChain is ${chain}, but quote is sent on chain ${signed}`);
  }
  return String(chain);
}

// What is wrong with a status: it has another form, contradicts itself, or is about another transaction or swap.
function statusProblems(status, { srcChain, txHash, quote, since }) {
  const problems = [];
  checkForm(problems, '', status, STATUS);
  if (problems.length) return problems;
  const { state, final, source } = status;
  const must = (right, sentence) => right || problems.push(sentence);
  must(same(status.txHash, txHash), `txHash is ${status.txHash}, but must be ${txHash}.`);
  must(same(status.srcChain, srcChain), `srcChain is ${show(status.srcChain)}, but must be ${srcChain}.`);
  for (const each of [status, ...swapsOf(status)]) {
    const isPaid = isObject(each.settlement);
    const isLess = (isEnded(status) && each.state !== state) || (final && !each.final);
    must(isEnded(each) || !each.final, `${each.state} cannot be final.`);
    must(isPaid === (each.state === 'SETTLED'), 'settlement must be there for SETTLED, and only then.');
    must(!each.final || !each.settlement?.short, 'A settlement that is short cannot be final.');
    must(!isLess, `swaps has ${each.state} beside ${state}.`);
  }
  must(source || ['NOT_FOUND', 'PENDING'].includes(state), `source must be there for ${state}.`);
  must(!source || since === undefined || source.blockNumber > Number(since),
    `source.blockNumber is ${source?.blockNumber}, but it was sent after block ${Number(since)}.`);
  if (quote) ownSwap(status, quote, problems);
  return problems;
}

const folded = (value) => (typeof value === 'string' ? value.toLowerCase() : value);
const same = (got, want) => folded(got) === folded(want);

// What a status must say of the swap of a quote.
function signedSwap({ destToken, details: { request, call } }) {
  const { dstChain, dstToken, amount, recipientType, integratorId } = request;
  // Of a note, the recipient is its npk.
  const recipient = recipientType === 2 ? call.arguments.recipient.slice(0, 66) : request.recipient;
  return { chainId: destToken.chainId, swap: { dstChain, dstToken, amount, recipient, recipientType, integratorId } };
}

// How far the swap of a quote is. Adds a problem for everything that differs. A swap of a transaction with too many of
// them may be one that is left out.
function ownSwap(status, quote, problems) {
  const wanted = signedSwap(quote);
  const differences = ({ state, swap, settlement }) => {
    const found = [];
    const compare = (name, got, want) => {
      if (!same(got ?? undefined, want)) found.push(`${name} is ${show(got)}, but must be ${show(want)}.`);
    };
    if (settlement) compare('settlement.chainId', settlement.chainId, wanted.chainId);
    if (swap) for (const name of Object.keys(wanted.swap)) compare(`swap.${name}`, swap[name], wanted.swap[name]);
    else if (state === 'SETTLING' || state === 'SETTLED') found.push('swap must be told.');
    return found;
  };
  const several = swapsOf(status);
  const own = several.find((each) => each.swap && !differences(each).length);
  if (own) return own;
  if (!several.length) problems.push(...differences(status));
  else if (!(status.omittedSwaps > 0) || isEnded(status)) problems.push('None of swaps is the one that was signed.');
  return status;
}

// By how much less than the quote said was paid out; undefined for none, or if the answer does not say.
export function shortOf(status, quote) {
  const { settlement } = ownSwap(status, quote, []);
  if (!settlement || BigInt(settlement.amount) >= BigInt(quote.destAmount)) return undefined;
  return String(BigInt(quote.destAmount) - BigInt(settlement.amount));
}

// Refuses a misspelt option, which would otherwise be ignored.
function refuseUnknown(given, names, what) {
  const unknown = Object.keys(given).find((name) => !names.includes(name));
  if (unknown !== undefined) throw new TypeError(`${what} has no option ${unknown}; it has ${names.join(', ')}`);
}

// Reads at most MOST bytes of an answer, and cancels the rest. It gives undefined for an answer that is longer.
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

export function createClient(options) {
  refuseUnknown(options, ['gateway', 'apiKey', 'fetch', 'pinned', 'timeout'], 'createClient');
  const { gateway, apiKey, fetch, pinned, timeout = TIMEOUT } = options;
  if ('pinned' in options && !pinned) {
    throw new TypeError('pinned must be a listing or routers that you have reviewed, or a function that gives them');
  }
  if (!/^(https?:\/\/[^\s/?#]|\/)/i.test(gateway)) {
    throw new TypeError(`gateway must be an address such as https://quotes.example.org, not ${gateway}`);
  }
  const ask = fetch ?? ((...given) => globalThis.fetch(...given));
  const base = String(gateway).replace(/\/+$/, '');
  let kept; // the listing, its tag, and until when it needs no question
  let asking;

  async function read(path, options) {
    const answer = await ask(base + path, { redirect: 'error', ...options });
    const text = answer.status === 304 ? '' : await textOf(answer);
    let body;
    try {
      body = JSON.parse(text);
    } catch { /* body stays undefined */ }
    return { status: answer.status, body, headers: answer.headers };
  }

  // A browser does not say that a page may not read an answer, but gives one that nobody can read.
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

  // Gives the status, the body and the headers of an answer, or status 0 and why. It throws only what the signal says.
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
  const usable = ({ status, body }) => status === 200 && isObject(body);
  const withKey = () => (apiKey ? { 'API-Key': apiKey } : {});

  async function fetchPairs() {
    const headers = kept?.tag ? { 'If-None-Match': kept.tag } : {};
    const answer = await get('/v3/app/pairs', { headers, cache: 'no-cache' });
    const seconds = /max-age=(\d{1,6})/.exec(answer.headers?.get('cache-control') ?? '');
    const lasts = Date.now() + Number(seconds?.[1] ?? 0) * 1000;
    if (answer.status === 304 && kept) kept = { ...kept, lasts };
    else if (usable(answer)) kept = { listing: answer.body, tag: answer.headers.get('etag') ?? undefined, lasts };
    else throw errorOf(answer);
    return kept.listing;
  }

  // One question serves all who ask at the same time: each can stop waiting, and none can stop it.
  async function pairs({ signal } = {}) {
    if (signal?.aborted) throw reasonOf(signal);
    if (kept && Date.now() < kept.lasts) return kept.listing;
    asking ??= fetchPairs().finally(() => { asking = undefined; });
    return until(asking, signal);
  }

  // What a quote is checked against: what is pinned when it is judged, else the gateway's own listing.
  async function known(signal) {
    const pin = await until(Promise.resolve(typeof pinned === 'function' ? pinned() : pinned), signal);
    const nothing = pin === undefined || pin === null;
    if (!nothing && (!isObject(pin) || 'pairs' in pin)) return { listing: pin };
    const listing = await pairs({ signal });
    return nothing ? { listing } : { listing, routers: pin.data ?? [], settlement: pin.settlement ?? {} };
  }

  // Checks an answer, or throws every problem with it.
  async function judge(request, body, { signal, allowance, status = 200, warning, warnings = [], expiresAt }) {
    const truth = await known(signal);
    const least = truth.listing?.client;
    if (typeof least === 'string' && isOlder(version, least)) {
      const needs = least.slice(0, 20);
      const sentence = `This gateway needs version ${quoted(least)} of the client, and this is ${version}`;
      throw new QuoteError(sentence, { code: 'OUTDATED', status, needs });
    }
    const report = verify(request, body, { ...truth, now: Date.now(), ...(allowance !== undefined && { allowance }) });
    const problems = [...report.problems];
    if (!isObject(body.details)) problems.push('details is missing, but was requested.');
    const warned = warning ? [`The gateway itself warns: ${quoted(warning)}.`] : [];
    const { calls, wrap, sendCalls, checked, unchecked } = report;
    if (problems.length) {
      const fields = { code: 'UNVERIFIED', status, problems: [...warned, ...problems], checked, quote: body };
      throw new QuoteError(`The quote does not match the request: ${problems[0]}`, fields);
    }
    const sufficient = sufficiencyOf(body.details);
    const told = [...new Set([...warnings, ...report.warnings])];
    const common = { request, quote: body, checked, unchecked, warnings: told, expiresAt: expiresAt(), sufficient };
    const result = wrap.length
      ? { ...common, unshield: true, calls: [], wrap }
      : { ...common, unshield: false, calls, sendCalls };
    if (!warning) {
      clients.set(result, client);
      return result;
    }
    result.warning = warning; // it is refused later, too
    const fields = { code: 'UNVERIFIED', status, problems: warned, checked, quote: body, result };
    throw new QuoteError(`The quote matches the request, but must not be signed: ${warned[0]}`, fields);
  }

  async function quote({ simulate, signal, ...asked }) {
    refuseUnknown(asked, PARAMETERS, 'quote');
    const { amount, integratorId } = asked;
    if (typeof amount === 'number' && !Number.isSafeInteger(amount)) {
      throw new TypeError(`amount must be an integer in digits or a bigint, not the number ${amount}`);
    }
    if (integratorId === '') {
      throw new TypeError('integratorId is empty, so nobody would get a fee: leave it out if that is meant');
    }
    const request = {};
    for (const name of PARAMETERS) {
      if (asked[name] !== undefined && asked[name] !== '') request[name] = String(asked[name]);
    }
    const include = simulate ? 'details,simulation' : 'details';
    pairs({ signal }).catch(() => undefined); // at the same time; an error shows when it is needed
    const now = Date.now();
    const answer = await get(`/v3/swap/quote?${queryOf({ ...request, include })}`, { headers: withKey(), signal });
    const { status, body, headers } = answer;
    if (!usable(answer)) throw errorOf(answer);
    const [warning, slip] = ['quote-warning', 'request-warning'].map((name) => headers.get(name));
    const warnings = slip ? [`The gateway warns: ${quoted(slip)}.`] : [];
    return judge(request, body, { signal, status, warning, warnings, expiresAt: () => expiryOf(body.details, now) });
  }

  async function recheck({ request, quote: body, warning, warnings, expiresAt }, { allowance, signal } = {}) {
    return judge(request, body, { signal, allowance, warning, warnings, expiresAt: () => expiresAt });
  }

  async function status(asked) {
    refuseUnknown(asked, ['srcChain', 'txHash', 'quote', 'since', 'signal'], 'status');
    const { txHash, quote: signed, since, signal } = asked;
    const srcChain = sourceOf(asked.srcChain, signed);
    const answer = await get(`/v3/swap/status?${queryOf({ srcChain, txHash })}`, { headers: withKey(), signal });
    const { body } = answer;
    if (!usable(answer)) throw errorOf(answer);
    const problems = statusProblems(body, { srcChain, txHash, quote: signed, since });
    if (!problems.length) return body;
    const fields = { code: 'UNVERIFIED', status: answer.status, problems, checked: [], quote: body };
    throw new QuoteError(`The status does not match the request: ${problems[0]}`, fields);
  }

  // An iterator written out, since phones cannot compile async generators.
  function statuses({ signal, onRetry, replacement, ...asked }) {
    const halt = new AbortController();
    const stop = () => halt.abort();
    let [started, ended, failures, seconds] = [false, false, 0, 0];
    const end = () => {
      ended = true;
      signal?.removeEventListener('abort', stop);
      return { done: true, value: undefined };
    };

    // Asks until there is an answer to give. Failures that may pass are waited for.
    async function advance() {
      for (;;) {
        if (signal?.aborted) throw reasonOf(signal);
        if (seconds > 0) await pause(seconds, halt.signal);
        try {
          const value = await status({ ...asked, signal: halt.signal });
          const other = value.source ? undefined : await until(Promise.resolve(replacement?.(value)), halt.signal);
          if (other && !same(other, asked.txHash)) {
            asked.txHash = other;
            continue;
          }
          failures = 0;
          seconds = value.final ? -1 : Math.min(Math.max(value.nextCheckSeconds, 1), 3600);
          return { done: false, value };
        } catch (error) {
          if (!(error instanceof QuoteError) || !isPassing(error)) throw error;
          seconds = error.retryAfter ?? Math.min(3 * 2 ** failures++, 60);
          onRetry?.(error, seconds);
          seconds = Math.max(seconds, 1);
        }
      }
    }
    async function step() {
      if (!started) signal?.addEventListener('abort', stop);
      started = true;
      if (ended || seconds < 0) return end();
      try {
        return await advance();
      } catch (error) {
        if (ended) return end();
        end();
        throw signal?.aborted ? reasonOf(signal) : error;
      }
    }

    let turn = Promise.resolve(); // questions are answered one after the other
    const iterator = {
      next: () => {
        const mine = turn.then(step);
        turn = mine.catch(() => undefined);
        return mine;
      },
      return: async (value) => {
        end();
        stop();
        return { done: true, value: await value };
      },
      throw: async (error) => {
        end();
        stop();
        throw error;
      },
      [Symbol.asyncIterator]: () => iterator,
    };
    if (Symbol.asyncDispose) iterator[Symbol.asyncDispose] = async () => { await iterator.return(); };
    return iterator;
  }

  async function tellEach(iterator, onStatus) {
    let last;
    for (;;) {
      const { done, value } = await iterator.next();
      if (done) return last;
      last = value;
      try {
        await onStatus(value);
      } catch (error) {
        await iterator.return();
        throw error;
      }
    }
  }
  const follow = (asked, onStatus) => (onStatus ? tellEach(statuses(asked), onStatus) : statuses(asked));

  const client = { pairs, quote, recheck, status, follow };
  return client;
}
