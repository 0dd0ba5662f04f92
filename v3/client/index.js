// Asks a gateway for quotes, checks every answer, and follows what was sent. See README.md; index.d.ts has the types.
import { decode, verify } from './verify.js';

export { decode, verify };
export const version = '1.0.0';

const TIMEOUT = 15000;
const MOST = 1000000; // characters of an answer; the longest of ours has a tenth
const PARAMETERS = ['srcToken', 'dstToken', 'amount', 'srcChain', 'dstChain', 'recipient', 'recipientType', 'integratorId', 'from'];
const STATES_OF_RETRY = [0, 429, 500, 502, 503, 504];

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
  const [a, b] = [mine, least].map((text) => String(text).split('.').map(Number));
  const i = a.findIndex((part, at) => part !== b[at]);
  return i >= 0 && a[i] < b[i];
};

// When a quote ends, by the clock of this machine, which may be wrong.
function expiryOf({ validForSeconds, validUntil }, headers) {
  if (validForSeconds > 0) return Date.now() + Math.min(validForSeconds, 86400) * 1000;
  const skew = Date.now() - Date.parse(headers.get('date'));
  return Date.parse(validUntil) + (Math.abs(skew) > 5000 ? skew : 0);
}

// Waits, or throws when the signal says so.
function wait(seconds, signal) {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(reasonOf(signal));
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, seconds * 1000);
    if (signal?.aborted) stop();
    else signal?.addEventListener('abort', stop);
  });
}
const reasonOf = (signal) => signal.reason ?? Object.assign(new Error('This operation was aborted'), { name: 'AbortError' });

const queryOf = (values) => Object.entries(values).filter(([, value]) => value !== undefined && value !== '')
  .map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('&');

// Says what an answer that is not usable means, as an error. Of a body that may be anything, only what is known is taken.
function errorOf(status, body, headers) {
  const read = (name) => (isObject(body) && typeof body[name] === 'string' ? body[name].slice(0, 1000) : undefined);
  const [code, message] = [read('code'), read('error')];
  const known = code && message;
  const seconds = Number(headers?.get('retry-after') || NaN);
  const fields = { code: known ? code : status ? 'UNREADABLE' : 'UNREACHABLE', status, requestId: read('requestId') ?? headers?.get('x-request-id') ?? undefined };
  for (const name of ['param', 'reason', 'minAmount', 'maxAmount', 'successor', 'until']) if (known && read(name) !== undefined) fields[name] = read(name);
  if (known && Array.isArray(body.alternatives)) fields.alternatives = body.alternatives.slice(0, 100);
  if (seconds >= 0) fields.retryAfter = Math.min(seconds, 86400);
  return new QuoteError(known ? message : status
    ? `The gateway answered with status ${status} and nothing that can be read` : 'The gateway does not answer', fields);
}

export function createClient({ gateway, apiKey, fetch, pinned }) {
  const ask = fetch ?? ((...given) => globalThis.fetch(...given));
  const base = String(gateway).replace(/\/+$/, '');
  let kept; // the listing, its tag, and until when it needs no question
  let asking;

  // Gives the status, the body and the headers of an answer. It throws only what the signal says.
  async function get(path, { headers = {}, signal, cache = 'no-store' } = {}) {
    if (signal?.aborted) throw reasonOf(signal);
    const controller = new AbortController();
    const stop = () => controller.abort();
    const timer = setTimeout(stop, TIMEOUT);
    signal?.addEventListener('abort', stop);
    try {
      const answer = await ask(base + path, { headers, cache, redirect: 'error', signal: controller.signal });
      const text = answer.status === 304 ? '' : await answer.text();
      let body;
      try {
        body = text.length <= MOST ? JSON.parse(text) : undefined;
      } catch { /* body stays undefined */ }
      return { status: answer.status, body, headers: answer.headers };
    } catch {
      if (signal?.aborted) throw reasonOf(signal);
      return { status: 0 };
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', stop);
    }
  }
  const usable = ({ status, body }) => status === 200 && isObject(body);
  const withKey = () => (apiKey ? { 'API-Key': apiKey } : {});

  async function fetchPairs() {
    const { status, body, headers } = await get('/v3/app/pairs', { headers: kept?.tag ? { 'If-None-Match': kept.tag } : {}, cache: 'no-cache' });
    const seconds = /max-age=(\d{1,6})/.exec(headers?.get('cache-control') ?? '');
    const until = Date.now() + Number(seconds?.[1] ?? 0) * 1000;
    if (status === 304 && kept) kept = { ...kept, until };
    else if (usable({ status, body })) kept = { listing: body, tag: headers.get('etag') ?? undefined, until };
    else throw errorOf(status, body, headers);
    return kept.listing;
  }

  async function pairs() {
    if (kept && Date.now() < kept.until) return kept.listing;
    asking ??= fetchPairs().finally(() => { asking = undefined; });
    return asking;
  }

  // What a quote is checked against: what is pinned when it is judged, else the gateway's own listing.
  async function known() {
    const pin = await (typeof pinned === 'function' ? pinned() : pinned);
    if (pin === undefined || pin === null) return { listing: await pairs() };
    if (isObject(pin) && !('pairs' in pin)) return { listing: await pairs(), routers: pin.data ?? [], settlement: pin.settlement ?? {} };
    return { listing: pin };
  }

  async function quote({ simulate, signal, ...asked }) {
    const request = {};
    for (const name of PARAMETERS) if (asked[name] !== undefined && asked[name] !== '') request[name] = String(asked[name]);
    const include = simulate ? 'details,simulation' : 'details';
    const warm = pairs().catch(() => undefined); // at the same time; an error shows below
    const { status, body, headers } = await get(`/v3/swap/quote?${queryOf({ ...request, include })}`, { headers: withKey(), signal });
    if (!usable({ status, body })) throw errorOf(status, body, headers);
    await warm;
    const truth = await known();
    const least = truth.listing?.client;
    if (typeof least === 'string' && isOlder(version, least)) {
      throw new QuoteError(`This gateway needs version ${least.slice(0, 20)} of the client, and this is ${version}`, { code: 'OUTDATED', status, needs: least.slice(0, 20) });
    }
    const report = verify(request, body, { ...truth, now: Date.now() });
    const problems = [...report.problems];
    if (!isObject(body.details)) problems.push('details is left out, but was asked for.');
    const warning = headers.get('quote-warning');
    if (warning) problems.push(`The gateway itself warns: ${warning.slice(0, 400)}`);
    if (problems.length) {
      throw new QuoteError(`The quote is not what was asked for: ${problems[0]}`, { code: 'UNVERIFIED', status, problems, checked: report.checked, quote: body });
    }
    const { calls, wrap, sendCalls, checked, unchecked } = report;
    const common = { request, quote: body, checked, unchecked, expiresAt: expiryOf(body.details, headers) };
    return wrap.length ? { ...common, unshield: true, calls: [], wrap } : { ...common, unshield: false, calls, sendCalls };
  }

  async function* follow({ srcChain, txHash, signal, onRetry }) {
    let failures = 0;
    for (;;) {
      const { status, body, headers } = await get(`/v3/swap/status?${queryOf({ srcChain, txHash })}`, { headers: withKey(), signal });
      if (usable({ status, body }) && typeof body.state === 'string') {
        failures = 0;
        yield body;
        const next = Number(body.nextCheckSeconds);
        if (body.final === true || next === 0) return;
        await wait(next > 0 ? Math.min(next, 3600) : 3, signal);
        continue;
      }
      const error = errorOf(status, body, headers);
      // A proxy's page, an outage and a spent budget pass. What the gateway itself refuses, it refuses again.
      if (!STATES_OF_RETRY.includes(status) && error.code !== 'UNREADABLE') throw error;
      const seconds = error.retryAfter ?? Math.min(3 * 2 ** failures++, 60);
      onRetry?.(error, seconds);
      await wait(Math.max(seconds, 1), signal);
    }
  }

  return { pairs, quote, follow };
}
