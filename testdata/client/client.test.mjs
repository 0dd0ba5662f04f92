// What the client does, in Node, against answers on record and a gateway that misbehaves. Run with `node --test`, with the
// folder of the exchanges in GOLDENS and the client beside it in node_modules.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { after, test } from 'node:test';
import { createClient, decode, QuoteError, verify, version } from '@quotegate/client';

const note = '5a'.repeat(160);
function golden(name) {
  const [request, answer] = readFileSync(`${process.env.GOLDENS}/${name}.http`, 'utf8').split(/\n\n(?=\d{3}\n)/);
  const url = new URL(request.split('\n')[0].split(' ')[1], 'http://x');
  const body = answer.slice(answer.indexOf('\n\n') + 2).replaceAll('(note)', note);
  return { request: Object.fromEntries(url.searchParams), status: Number(answer.slice(0, 3)), body };
}
const listing = golden('pairs');
const routers = JSON.parse(golden('routers').body);
const plain = golden('details');
const { include, ...request } = plain.request;
const native = 'from-native';

// A gateway that answers by path: a golden, a function, or a list of these, the last of which stays.
const asked = [];
let answers = {};
const server = createServer((req, res) => {
  const { pathname, searchParams } = new URL(req.url, 'http://x');
  asked.push({ path: pathname, query: Object.fromEntries(searchParams), headers: req.headers });
  let answer = answers[pathname];
  if (Array.isArray(answer)) answer = answer.length > 1 ? answer.shift() : answer[0];
  if (typeof answer === 'function') return answer(req, res);
  const { status = 200, body = '', headers = {} } = answer ?? { status: 404, body: '{}' };
  res.writeHead(status, headers).end(typeof body === 'string' ? body : JSON.stringify(body));
}).listen(0);
after(() => server.close());
const gateway = () => `http://127.0.0.1:${server.address().port}/`;
const truth = { '/v3/app/pairs': listing, '/v3/swap/quote': plain };
function set(more = {}) {
  asked.length = 0;
  answers = { ...truth, ...more };
  return createClient({ gateway: gateway() });
}
const refused = async (promise, code) => {
  const error = await promise.then(() => assert.fail('it was not refused'), (e) => e);
  assert.ok(error instanceof QuoteError && error instanceof Error, String(error));
  assert.equal(error.code, code, error.message);
  return error;
};
const edited = (change) => {
  const body = JSON.parse(plain.body);
  change(body);
  return { body };
};

test('a quote is asked for with details, checked, and gives calls of its own', async () => {
  const got = await set().quote({ ...request, srcChain: 1, dstChain: 369, integratorId: undefined });
  assert.deepEqual(asked.find(({ path }) => path === '/v3/swap/quote').query, { ...request, include: 'details' });
  assert.equal(got.unshield, false);
  assert.deepEqual(got.calls.map(({ chainId, data }) => [chainId, data.slice(0, 10)]), [['0x1', '0x095ea7b3'], ['0x1', '0x095ff22d']]);
  assert.deepEqual(got.sendCalls.calls, got.calls.map(({ to, data, value }) => ({ to, data, value })));
  assert.equal(got.sendCalls.chainId, '0x1');
  assert.ok(got.checked.length === 11 && got.quote.details.arrival.amount);
  assert.ok(decode(got.calls[0].data).function.startsWith('approve'));
});

test('a simulation and the key are asked for where they belong', async () => {
  set({ '/v3/swap/quote': golden(native) });
  const client = createClient({ gateway: gateway(), apiKey: 'qg_1' });
  const { include: _, ...sent } = golden(native).request;
  await client.quote({ ...sent, simulate: true });
  const [quote, pairs] = ['/v3/swap/quote', '/v3/app/pairs'].map((path) => asked.find((one) => one.path === path));
  assert.equal(quote.query.include, 'details,simulation');
  assert.equal(quote.headers['api-key'], 'qg_1');
  assert.equal(pairs.headers['api-key'], undefined);
});

test('an unshielding swap has nothing to send', async () => {
  const { include: _, ...sent } = golden('details-unshield').request;
  const got = await set({ '/v3/swap/quote': golden('details-unshield') }).quote(sent);
  assert.equal(got.unshield, true);
  assert.deepEqual(got.calls, []);
  assert.equal(got.sendCalls, undefined);
  assert.equal(got.wrap.length, 2);
  // As a gateway of this release says it; and one that says it of a swap that unshields nothing.
  const flagged = JSON.parse(golden('details-unshield').body);
  delete flagged.details.unshield;
  assert.equal((await refused(set({ '/v3/swap/quote': { body: flagged } }).quote(sent), 'UNVERIFIED')).problems[0], 'details.unshield is left out, but must be true.');
  flagged.details.unshield = true;
  assert.equal((await set({ '/v3/swap/quote': { body: flagged } }).quote(sent)).unshield, true);
  await refused(set({ '/v3/swap/quote': edited((q) => { q.details.unshield = true; }) }).quote(request), 'UNVERIFIED');
});

test('what is not as asked for is UNVERIFIED, with every problem and nothing to send', async () => {
  const evil = '0x22b1130BBE13Df405097cCA427CBA49B4c6C2136';
  for (const change of [
    (q) => { q.to = evil; }, (q) => { q.details.sendCalls.calls[1].to = evil; }, (q) => { delete q.details; }, (q) => { q.destAmount = '1'; },
    (q) => { q.details.sendCalls.chainId = '0x38'; }, (q) => { q.methodParameters.value = '0x1'; },
  ]) {
    const error = await refused(set({ '/v3/swap/quote': edited(change) }).quote(request), 'UNVERIFIED');
    assert.ok(error.problems.length > 0 && error.calls === undefined && Array.isArray(error.checked));
  }
  const warned = await refused(set({ '/v3/swap/quote': { ...plain, headers: { 'Quote-Warning': 'do not sign' } } }).quote(request), 'UNVERIFIED');
  assert.match(warned.problems[0], /do not sign/);
});

test('what is pinned counts, and is asked for when an answer is judged', async () => {
  set();
  const other = structuredClone(JSON.parse(listing.body));
  for (const pair of other.pairs) pair.to = '0x22b1130BBE13Df405097cCA427CBA49B4c6C2136';
  const otherRouters = structuredClone(routers);
  for (const row of otherRouters.data) row.router = '0x22b1130BBE13Df405097cCA427CBA49B4c6C2136';
  for (const pinned of [other, otherRouters, { data: [] }, {}, { pairs: [] }, () => other]) {
    await refused(createClient({ gateway: gateway(), pinned }).quote(request), 'UNVERIFIED');
  }
  for (const pinned of [JSON.parse(listing.body), routers, () => undefined, async () => routers]) {
    assert.ok((await createClient({ gateway: gateway(), pinned }).quote(request)).calls.length);
  }
  let pin;
  answers['/v3/swap/quote'] = (req, res) => { pin = other; res.end(plain.body); };
  await refused(createClient({ gateway: gateway(), pinned: () => pin }).quote(request), 'UNVERIFIED');
});

test('the listing is kept, and asked for again with its tag', async () => {
  const tagged = { ...listing, headers: { ETag: '"a"', 'Cache-Control': 'public, max-age=0' } };
  const client = set({ '/v3/app/pairs': [tagged, { status: 304 }, tagged] });
  const first = await client.pairs();
  assert.equal(await client.pairs(), first);
  assert.equal(asked[1].headers['if-none-match'], '"a"');
  const lasting = set({ '/v3/app/pairs': { ...listing, headers: { 'Cache-Control': 'max-age=60' } } });
  await Promise.all([lasting.pairs(), lasting.pairs(), lasting.pairs()]);
  await lasting.quote(request);
  assert.equal(asked.filter(({ path }) => path === '/v3/app/pairs').length, 1);
  const failing = set({ '/v3/app/pairs': { status: 429, headers: { 'Retry-After': '7' }, body: { error: 'Too many', code: 'RATE_LIMITED', requestId: 'r' } } });
  assert.equal((await refused(failing.pairs(), 'RATE_LIMITED')).retryAfter, 7);
  await refused(failing.quote(request), 'RATE_LIMITED');
});

test('a gateway that needs a newer client is told', async () => {
  const listed = (client) => ({ '/v3/app/pairs': { body: { ...JSON.parse(listing.body), client } } });
  for (const least of ['1.0.1', '1.1.0', '2.0.0', '10.0.0']) {
    assert.equal((await refused(set(listed(least)).quote(request), 'OUTDATED')).needs, least);
  }
  for (const least of ['1.0.0', '0.9.9', undefined, 7, 'x', null]) assert.ok(await set(listed(least)).quote(request));
  assert.equal(version, JSON.parse(readFileSync('node_modules/@quotegate/client/package.json', 'utf8')).version);
});

test('errors have the fields of their code', async () => {
  for (const [name, code, fields] of [
    ['error-amount-below-minimum', 'AMOUNT_OUT_OF_RANGE', { minAmount: '10000000', maxAmount: '25000000000', param: 'amount', status: 400 }],
    ['error-pair-same-chain', 'UNSUPPORTED_PAIR', {}],
    ['error-integrator-unverified', 'INTEGRATOR_UNVERIFIED', { status: 503 }],
  ]) {
    const error = await refused(set({ '/v3/swap/quote': golden(name) }).quote(request), code);
    for (const [field, value] of Object.entries(fields)) assert.equal(error[field], value);
    assert.ok(error.message && error.requestId);
  }
  const answer = (status, body, headers) => refused(set({ '/v3/swap/quote': { status, body, headers } }).quote(request),
    typeof body === 'object' && body.code && body.error ? body.code : 'UNREADABLE');
  const recipient = await answer(400, { error: 'No', code: 'INVALID_RECIPIENT', reason: 'TOKEN', requestId: 'r', param: 'recipient' });
  assert.deepEqual([recipient.reason, recipient.param, recipient.requestId], ['TOKEN', 'recipient', 'r']);
  assert.equal((await answer(400, { error: 'New', code: 'A_NEW_CODE' })).code, 'A_NEW_CODE');
  assert.equal((await answer(503, '<html>', { 'Retry-After': '3' })).retryAfter, 3);
  // Nothing of a hostile body gets into the error but strings that are known.
  const hostile = await answer(400, '{"error": "E", "code": "C", "__proto__": {"x": 1}, "name": "N", "stack": "S", "status": 7, "minAmount": {}, "param": 5}'.replace('"C"', '7'));
  assert.ok(hostile.x === undefined && hostile.name === 'QuoteError' && hostile.status === 400 && hostile.minAmount === undefined);
  for (const body of ['', 'null', '7', '[]', '{"a": "' + 'x'.repeat(1_100_000) + '"}']) await answer(200, body);
  await refused(set({ '/v3/swap/quote': (req) => req.socket.destroy() }).quote(request), 'UNREACHABLE');
  await refused(set({ '/v3/swap/quote': { status: 302, headers: { Location: '/v3/app/pairs' } } }).quote(request), 'UNREACHABLE');
  const abort = new AbortController();
  abort.abort(new Error('enough'));
  await assert.rejects(set().quote({ ...request, signal: abort.signal }), /enough/);
});

test('the end of a quote needs no right clock', async () => {
  const now = Date.now();
  const near = (time, want) => assert.ok(Math.abs(time - want) < 20_000, `${time - now}`);
  near((await set({ '/v3/swap/quote': edited((q) => { q.details.validForSeconds = 45; q.details.validUntil = '2020-01-01T00:00:00Z'; }) }).quote(request)).expiresAt, now + 45_000);
  const old = { ...edited((q) => { q.details.validUntil = '2020-01-01T00:01:00Z'; }), headers: { Date: 'Wed, 01 Jan 2020 00:00:00 GMT' } };
  near((await set({ '/v3/swap/quote': old }).quote(request)).expiresAt, now + 60_000);
});

test('follow obeys nextCheckSeconds and Retry-After, goes on through outages, and ends when final', async (t) => {
  const states = [];
  const waits = [];
  const real = globalThis.setTimeout;
  t.mock.method(globalThis, 'setTimeout', (done, ms, ...rest) => {
    if (!new Error().stack.includes('quotegate/client') || ms === 15000) return real(done, ms, ...rest); // of Node, or a time limit
    waits.push(ms / 1000);
    return real(done, 1, ...rest);
  });
  const retries = [];
  const status = (state, nextCheckSeconds, more) => ({ body: { state, final: nextCheckSeconds === 0, nextCheckSeconds, ...more } });
  const client = set({ '/v3/swap/status': [
    status('NOT_FOUND', 2), { status: 429, headers: { 'Retry-After': '11' }, body: { error: 'Too many', code: 'RATE_LIMITED' } },
    { status: 503, body: { error: 'Not now', code: 'CHAIN_UNAVAILABLE' } }, (req) => req.socket.destroy(), { status: 502, body: '<html>' },
    status('SETTLING', 17), status('SETTLED', 5), status('SETTLED', 0), () => assert.fail('asked after the end')] });
  for await (const { state } of client.follow({ srcChain: 1, txHash: '0xab', onRetry: (error, seconds) => retries.push(`${error.code} ${seconds}`) })) states.push(state);
  assert.deepEqual(states, ['NOT_FOUND', 'SETTLING', 'SETTLED', 'SETTLED']);
  assert.deepEqual(waits, [2, 11, 3, 6, 12, 17, 5]);
  assert.deepEqual(retries, ['RATE_LIMITED 11', 'CHAIN_UNAVAILABLE 3', 'UNREACHABLE 6', 'UNREADABLE 12']);
  assert.deepEqual(asked[0].query, { srcChain: '1', txHash: '0xab' });
});

test('follow ends on what will not change, and when it is told to', async () => {
  const follow = async (answer, signal) => {
    for await (const one of set({ '/v3/swap/status': answer }).follow({ srcChain: 1, txHash: '0xab', signal })) if (one.state === 'STOP') break;
  };
  await refused(follow({ status: 501, body: { error: 'No', code: 'STATUS_UNAVAILABLE' } }), 'STATUS_UNAVAILABLE');
  await refused(follow({ status: 400, body: { error: 'No', code: 'INVALID_PARAMETER', param: 'txHash' } }), 'INVALID_PARAMETER');
  await follow({ body: { state: 'STOP', nextCheckSeconds: 3600 } });
  const abort = new AbortController();
  setTimeout(() => abort.abort(), 50);
  await assert.rejects(follow({ body: { state: 'PENDING', nextCheckSeconds: 3600 } }, abort.signal), { name: 'AbortError' });
  const inFlight = new AbortController();
  await assert.rejects(follow(() => inFlight.abort(), inFlight.signal), { name: 'AbortError' });
});

test('verify is the same module', () => {
  assert.ok(verify(request, JSON.parse(plain.body), { listing: JSON.parse(listing.body) }).ok);
});
