// Compiled from src/index.js.
import { errorOf, failure, isPassing, QuoteError, unreachableReason } from './errors.js';
import { statuses, tellEach } from './follow.js';
import { readOptions } from './options.js';
import { clients, listings } from './payments.js';
import { shortOf, sourceOf, statusProblems } from './status.js';
import { decode, quoted, verify } from './verify.js';
import { pause, reasonOf, until } from './wait.js';
export { decode, QuoteError, shortOf, verify };
export const version = '1.0.0';
const TIMEOUT = 15000;
const MOST = 1000000;
const LONGEST = 60;
const PARAMETERS = [
	'srcToken', 'dstToken', 'amount', 'srcChain', 'dstChain', 'recipient', 'recipientType', 'integratorId', 'from',
];
const STATUS = ['srcChain', 'txHash', 'quote', 'since', 'signal'];
const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
const isOlder = (mine, least) => {
	const numbersOf = (text) => text.split('.').map((part) => (/^\d{1,9}$/.test(part) ? Number(part) : NaN));
	const [a, b] = [numbersOf(mine), numbersOf(least)];
	const i = a.findIndex((part, at) => part !== b[at]);
	return i >= 0 && Number(a[i]) < Number(b[i]);
};
const expiryOf = ({ validForSeconds }, asked) => asked + Math.min(validForSeconds, 86400) * 1000;
function sufficiencyOf({ checks, simulation }) {
	const coins = [checks?.native, simulation?.native].filter((each) => each !== undefined);
	const known = checks ? [checks.balance, ...coins] : coins;
	if (known.some(({ actual, needed }) => BigInt(actual) < BigInt(needed)))
		return false;
	if (coins.some(({ actual }) => BigInt(actual) === 0n))
		return false;
	if (!checks || !simulation)
		return undefined;
	const { event, calls } = simulation;
	if (event === false || calls.some(({ status }) => status === 'FAILED'))
		return false;
	return event === true && calls.every(({ status }) => status === 'SUCCESS') ? true : undefined;
}
const queryOf = (values) => Object.entries(values).flatMap(([name, value]) => (value ? [`${name}=${encodeURIComponent(value)}`] : [])).join('&');
async function textOf(answer) {
	const reader = answer.body?.getReader?.();
	if (!reader) {
		const text = await answer.text();
		return text.length <= MOST ? text : undefined;
	}
	const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
	let text = '';
	let size = 0;
	for (;;) {
		const { done, value } = await reader.read();
		if (done)
			return text + decoder.decode();
		size += value.length;
		if (size > MOST) {
			reader.cancel().catch(() => undefined);
			return undefined;
		}
		text += decoder.decode(value, { stream: true });
	}
}
function readRequest({ retry = 0, ...asked }) {
	readOptions(asked, [...PARAMETERS, 'simulate', 'signal', 'retry'], 'quote');
	const { amount, integratorId, from, simulate } = asked;
	if (typeof amount === 'number' && !Number.isSafeInteger(amount)) {
		throw new TypeError(`amount must be an integer in digits or a bigint, not the number ${amount}`);
	}
	if (integratorId === '') {
		throw new TypeError('integratorId is empty, so nobody would get a fee: leave it out if that is meant');
	}
	if (simulate && !from)
		throw new TypeError('simulate needs from, the account that will send');
	if (!Number.isInteger(retry) || retry < 0) {
		throw new TypeError(`retry must be a number of times, not ${String(retry)}`);
	}
	const request = {};
	for (const name of PARAMETERS) {
		if (asked[name] !== undefined && asked[name] !== '')
			request[name] = String(asked[name]);
	}
	return request;
}
export function createClient(options) {
	readOptions(options, ['gateway', 'apiKey', 'fetch', 'pinned', 'timeout'], 'createClient');
	const { gateway, apiKey, fetch, pinned, timeout = TIMEOUT } = options;
	if ('pinned' in options && !pinned) {
		throw new TypeError('pinned must be a listing or routers that you have reviewed, or a function that gives them');
	}
	if (!/^(https?:\/\/[^\s/?#]|\/)/i.test(gateway)) {
		throw new TypeError(`gateway must be an address such as https://quotes.example.org, not ${gateway}`);
	}
	const ask = fetch ?? ((...given) => globalThis.fetch(...given));
	const base = String(gateway).replace(/\/+$/, '');
	let kept;
	let asking;
	async function read(path, options) {
		const answer = await ask(base + path, { redirect: 'error', ...options });
		const text = answer.status === 304 ? undefined : await textOf(answer);
		let body;
		try {
			body = JSON.parse(text ?? '');
		}
		catch { }
		return { status: answer.status, body, headers: answer.headers };
	}
	async function isHidden(signal) {
		const origin = globalThis.location?.origin;
		if (!origin || origin === 'null' || base.startsWith('/') || `${base}/`.startsWith(`${origin}/`))
			return false;
		try {
			await until(ask(`${base}/v3/swap/healthcheck`, { mode: 'no-cors', cache: 'no-store', signal }), signal);
			return true;
		}
		catch {
			return false;
		}
	}
	async function get(path, { headers = {}, signal, cache = 'no-store' } = {}) {
		if (signal?.aborted)
			throw reasonOf(signal);
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
		}
		catch (cause) {
			let why = unreachableReason(cause);
			if (!late && why === 'NETWORK' && await isHidden(controller.signal))
				why = 'CORS';
			if (signal?.aborted)
				throw reasonOf(signal);
			return { status: 0, cause, why: late ? 'TIMEOUT' : why };
		}
		finally {
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
		if (answer.status === 304 && kept)
			kept = { ...kept, lasts };
		else if (usable(answer))
			kept = { listing: answer.body, tag: answer.headers?.get('etag') ?? undefined, lasts };
		else
			throw errorOf(answer);
		return kept.listing;
	}
	async function pairs(options = {}) {
		readOptions(options, ['signal'], 'pairs');
		const { signal } = options;
		if (signal?.aborted)
			throw reasonOf(signal);
		if (kept && Date.now() < kept.lasts)
			return kept.listing;
		asking ??= fetchPairs().finally(() => { asking = undefined; });
		return until(asking, signal);
	}
	async function known(signal) {
		const pin = await until(Promise.resolve(typeof pinned === 'function' ? pinned() : pinned), signal);
		const nothing = pin === undefined || pin === null;
		if (!nothing && (!isObject(pin) || 'pairs' in pin))
			return { listing: pin };
		const listing = await pairs({ signal });
		return nothing ? { listing } : { listing, routers: pin.data ?? [], settlement: pin.settlement ?? {} };
	}
	async function judge(request, body, { signal, allowance, status = 200, warning, warnings = [], expiresAt }) {
		const truth = await known(signal);
		const least = truth.listing?.client;
		if (typeof least === 'string' && isOlder(version, least)) {
			const sentence = `This gateway needs version ${quoted(least)} of the client, and this is ${version}`;
			throw failure('OUTDATED', sentence, { status, needs: least.slice(0, 20) });
		}
		const report = verify(request, body, { ...truth, now: Date.now(), ...(allowance !== undefined && { allowance }) });
		const problems = [...report.problems];
		if (!isObject(body.details))
			problems.push('details is missing, but was requested.');
		const warned = warning ? [`The gateway itself warns: ${quoted(warning)}.`] : [];
		const { calls, wrap, sendCalls, checked, unchecked } = report;
		if (problems.length) {
			const fields = { status, problems: [...warned, ...problems], checked, quote: body };
			throw failure('UNVERIFIED', `The quote does not match the request: ${problems[0]}`, fields);
		}
		const sufficient = sufficiencyOf(body.details);
		const told = [...new Set([...warnings, ...report.warnings])];
		const common = { request, quote: body, checked, unchecked, warnings: told, expiresAt: expiresAt(), sufficient };
		const result = (wrap.length
			? { ...common, unshield: true, calls: [], wrap }
			: { ...common, unshield: false, calls, sendCalls });
		if (!warning) {
			clients.set(result, client);
			return result;
		}
		result.warning = warning;
		const sentence = `The quote matches the request, but must not be signed: ${warned[0]}`;
		throw failure('UNVERIFIED', sentence, { status, problems: warned, checked, quote: body, result });
	}
	async function quoteOnce(request, include, signal) {
		pairs({ signal }).catch(() => undefined);
		const now = Date.now();
		const answer = await get(`/v3/swap/quote?${queryOf({ ...request, include })}`, { headers: withKey(), signal });
		const { status, body, headers } = answer;
		if (!usable(answer))
			throw errorOf(answer);
		const warning = headers?.get('quote-warning');
		const slip = headers?.get('request-warning');
		const warnings = slip ? [`The gateway warns: ${quoted(slip)}.`] : [];
		return judge(request, body, { signal, status, warning, warnings, expiresAt: () => expiryOf(body.details, now) });
	}
	async function quote(asked) {
		const request = readRequest(asked);
		const { simulate, signal, retry = 0 } = asked;
		const include = simulate ? 'details,simulation' : 'details';
		for (let failures = 0;; failures++) {
			try {
				return await quoteOnce(request, include, signal);
			}
			catch (error) {
				if (failures >= retry || !isPassing(error))
					throw error;
				const seconds = error.retryAfter ?? 2 ** failures;
				if (seconds > LONGEST)
					throw error;
				await pause(Math.max(seconds, 1), signal);
			}
		}
	}
	async function recheck(checked, options = {}) {
		readOptions(options, ['allowance', 'signal'], 'recheck');
		const { allowance, signal } = options;
		const { request, quote: body, warning, warnings, expiresAt } = checked;
		return judge(request, body, { signal, allowance, warning, warnings, expiresAt: () => expiresAt });
	}
	async function status(asked) {
		readOptions(asked, STATUS, 'status');
		const { txHash, quote: signed, since, signal } = asked;
		const srcChain = sourceOf(asked.srcChain, signed);
		const answer = await get(`/v3/swap/status?${queryOf({ srcChain, txHash })}`, { headers: withKey(), signal });
		const { body } = answer;
		if (!usable(answer))
			throw errorOf(answer);
		const problems = statusProblems(body, { srcChain, txHash, quote: signed, since });
		if (!problems.length)
			return body;
		const fields = { status: answer.status, problems, checked: [], quote: body };
		throw failure('UNVERIFIED', `The status does not match the request: ${problems[0]}`, fields);
	}
	const follow = (request, onStatus) => {
		readOptions(request, [...STATUS, 'replacement', 'onRetry'], 'follow');
		const iterator = statuses(status, request);
		return onStatus ? tellEach(iterator, onStatus) : iterator;
	};
	const client = { pairs, quote, recheck, status, follow };
	listings.set(client, async (signal) => (await known(signal)).listing);
	return client;
}
