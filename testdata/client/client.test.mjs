// What the client does, in Node, against answers on record and a gateway that misbehaves. Run with `node --test`, with the
// folder of the exchanges in GOLDENS and the client beside it in node_modules.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { after, test } from 'node:test';
import { createClient, decode, QuoteError, shortOf, verify, version } from '@quotegate/client';

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
after(() => {
  server.close();
  server.closeAllConnections();
});
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
const hash = '0x' + 'ab'.repeat(32);
const edited = (change, of = plain) => {
  const body = JSON.parse(of.body);
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
  const flagged = JSON.parse(golden('details-unshield').body);
  delete flagged.details.unshield;
  assert.equal((await refused(set({ '/v3/swap/quote': { body: flagged } }).quote(sent), 'UNVERIFIED')).problems[0], 'Something else would be different. Quote: left out · expected: true (details.unshield)');
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
});

test('a quote of which the gateway itself warns is refused, and the refusal has what was checked if nothing else is wrong', async () => {
  const headers = { 'Quote-Warning': 'do not sign' };
  for (const answer of [plain, golden('details-unshield')]) {
    const { include: _, ...sent } = answer.request;
    const accepted = await set({ '/v3/swap/quote': answer }).quote(sent);
    const warned = await refused(set({ '/v3/swap/quote': { ...answer, headers } }).quote(sent), 'UNVERIFIED');
    assert.deepEqual(warned.problems, ['The gateway itself warns: "do not sign".']);
    const timeless = ({ expiresAt, ...result }) => ({ ...result, ends: Number.isFinite(expiresAt) });
    assert.deepEqual(timeless(warned.result), { ...timeless(accepted), warning: 'do not sign' });
    assert.deepEqual(warned.checked, accepted.checked);
  }
  for (const [change, problem] of [[(q) => { q.destAmount = '1'; }, /^A different amount would arrive\. Quote: 1 · expected: 99700000 \(destAmount\)$/], [(q) => { delete q.details; }, /details is missing/]]) {
    const both = await refused(set({ '/v3/swap/quote': { ...edited(change), headers } }).quote(request), 'UNVERIFIED');
    assert.match(both.problems[0], /do not sign/);
    assert.match(both.problems.slice(1).join(), problem);
    assert.ok(!('result' in both));
  }
  const none = set({ '/v3/swap/quote': { ...plain, headers: { 'Quote-Warning': '' } } });
  assert.equal((await none.quote(request)).calls.length, 2);
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

test('a burn goes to another messenger only where that was reviewed', async () => {
  const [issuer, other] = ['28b5a0e9C621a5BadaA536219b3a228C8168cf5d', 'fB6916095ca1df60bB79Ce92cE3Ea74c37c5d359'];
  const elsewhere = (body) => body.replaceAll(issuer, other).replaceAll(issuer.toLowerCase(), other.toLowerCase());
  const burn = golden('details-burn');
  const { include: _, ...sent } = burn.request;
  set({ '/v3/app/pairs': { body: elsewhere(listing.body) }, '/v3/swap/quote': { body: elsewhere(burn.body) } });
  const error = await refused(createClient({ gateway: gateway() }).quote(sent), 'UNVERIFIED');
  assert.match(error.problems[0], /The contract of a burn must be the issuer's TokenMessenger/);
  const pinned = JSON.parse(elsewhere(golden('routers').body));
  const { calls } = await createClient({ gateway: gateway(), pinned }).quote(sent);
  assert.equal(calls.at(-1).to, `0x${other.toLowerCase()}`);
});

test('the listing is kept, and asked for again with its tag', async (t) => {
  const tagged = { ...listing, headers: { ETag: '"a"', 'Cache-Control': 'public, max-age=0' } };
  const client = set({ '/v3/app/pairs': [tagged, { status: 304 }, tagged] });
  const first = await client.pairs();
  assert.equal(await client.pairs(), first);
  assert.equal(asked[1].headers['if-none-match'], '"a"');
  const lasting = set({ '/v3/app/pairs': { ...listing, headers: { 'Cache-Control': 'max-age=60' } } });
  await Promise.all([lasting.pairs(), lasting.pairs(), lasting.pairs()]);
  await lasting.quote(request);
  assert.equal(asked.filter(({ path }) => path === '/v3/app/pairs').length, 1);
  // It lasts as long as the gateway says, and no longer.
  const now = Date.now();
  const clock = t.mock.method(Date, 'now', () => now);
  const aging = set({ '/v3/app/pairs': { ...listing, headers: { 'Cache-Control': 'public, max-age=60' } } });
  for (const [seconds, times] of [[0, 1], [59.9, 1], [60, 2], [119, 2], [120, 3]]) {
    clock.mock.mockImplementation(() => now + seconds * 1000);
    await aging.pairs();
    assert.equal(asked.length, times, `after ${seconds} seconds`);
  }
  clock.mock.restore();
  const failing = set({ '/v3/app/pairs': { status: 429, headers: { 'Retry-After': '7' }, body: { error: 'Too many', code: 'RATE_LIMITED', requestId: 'r' } } });
  assert.equal((await refused(failing.pairs(), 'RATE_LIMITED')).retryAfter, 7);
  await refused(failing.quote(request), 'RATE_LIMITED');
});

test('a gateway that needs a newer client is told', async () => {
  const listed = (client) => ({ '/v3/app/pairs': { body: { ...JSON.parse(listing.body), client } } });
  for (const least of ['1.0.1', '1.1.0', '2.0.0', '10.0.0']) {
    assert.equal((await refused(set(listed(least)).quote(request), 'OUTDATED')).needs, least);
  }
  for (const least of ['1.0.0', '0.9.9', 'x']) assert.ok(await set(listed(least)).quote(request));
  for (const odd of [undefined, 7, null]) await refused(set(listed(odd)).quote(request), 'UNVERIFIED');
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
  near((await set({ '/v3/swap/quote': edited((q) => { q.details.validForSeconds = 100_000; }) }).quote(request)).expiresAt, now + 86_400_000);
  await refused(set({ '/v3/swap/quote': edited((q) => { delete q.details.validForSeconds; }) }).quote(request), 'UNVERIFIED');
});

// Has the client wait no time, and gives the seconds that it would have waited.
function shorten(t) {
  const waits = [];
  const real = globalThis.setTimeout;
  t.mock.method(globalThis, 'setTimeout', (done, ms, ...rest) => {
    if (!new Error().stack.includes('quotegate/client') || ms === 15000) return real(done, ms, ...rest); // of Node, or a time limit
    waits.push(ms / 1000);
    return real(done, 1, ...rest);
  });
  return waits;
}

test('follow obeys nextCheckSeconds and Retry-After, goes on through outages, and ends when final', async (t) => {
  const states = [];
  const waits = shorten(t);
  const retries = [];
  const status = (state, nextCheckSeconds) => ({ body: told({ state, final: nextCheckSeconds === 0, nextCheckSeconds }) });
  const client = set({ '/v3/swap/status': [
    status('NOT_FOUND', 2), { status: 429, headers: { 'Retry-After': '11' }, body: { error: 'Too many', code: 'RATE_LIMITED' } },
    { status: 503, body: { error: 'Not now', code: 'CHAIN_UNAVAILABLE' } }, (req) => req.socket.destroy(), { status: 502, body: '<html>' },
    status('SETTLING', 17), { body: told({ state: 'SETTLING', nextCheckSeconds: 0 }) }, status('SETTLING', 100_000),
    status('SETTLED', 5), status('SETTLED', 0), () => assert.fail('asked after the end')] });
  for await (const { state } of client.follow({ srcChain: 1, txHash: hash, onRetry: (error, seconds) => retries.push(`${error.code} ${seconds}`) })) states.push(state);
  assert.deepEqual(states, ['NOT_FOUND', 'SETTLING', 'SETTLING', 'SETTLING', 'SETTLED', 'SETTLED']);
  assert.deepEqual(waits, [2, 11, 3, 6, 12, 17, 1, 3600, 5]); // 0 is no hot loop
  assert.deepEqual(retries, ['RATE_LIMITED 11', 'CHAIN_UNAVAILABLE 3', 'UNREACHABLE 6', 'UNREADABLE 12']);
  assert.deepEqual(asked[0].query, { srcChain: '1', txHash: hash });
});

test('follow ends on what will not change, and when it is told to', async () => {
  const follow = async (answer, signal) => {
    for await (const one of set({ '/v3/swap/status': answer }).follow({ srcChain: 1, txHash: hash, signal })) if (one.state === 'NOT_FOUND') break;
  };
  await refused(follow({ status: 501, body: { error: 'No', code: 'STATUS_UNAVAILABLE' } }), 'STATUS_UNAVAILABLE');
  await refused(follow({ status: 400, body: { error: 'No', code: 'INVALID_PARAMETER', param: 'txHash' } }), 'INVALID_PARAMETER');
  await refused(follow({ status: 403, body: '<html>' }), 'UNREADABLE'); // a 4xx of a proxy stays
  await refused(follow({ status: 404, body: '<html>', headers: { 'Retry-After': '1' } }), 'UNREADABLE');
  await follow({ body: told({ state: 'NOT_FOUND', nextCheckSeconds: 3600 }) });
  const abort = new AbortController();
  setTimeout(() => abort.abort(), 50);
  await assert.rejects(follow({ body: told({ state: 'PENDING', nextCheckSeconds: 3600 }) }, abort.signal), { name: 'AbortError' });
  const inFlight = new AbortController();
  await assert.rejects(follow(() => inFlight.abort(), inFlight.signal), { name: 'AbortError' });
});

// A status as a gateway tells it of the transaction that is asked about.
const inBlock = { blockNumber: 101, confirmations: 9, timestamp: '2026-11-15T12:00:00Z' };
const told = (more) => ({
  srcChain: '1', txHash: hash, final: false, nextCheckSeconds: 0,
  ...(!['NOT_FOUND', 'PENDING'].includes(more.state) && { source: inBlock }),
  ...(more.state === 'SETTLED' && { settlement: { chainId: 369, amount: '1', arrived: '1' } }), ...more,
});

test('a payout is compared with the quote', () => {
  const swap = { dstChain: '369', dstToken: '0xAA', amount: '7', recipient: '0xBB', recipientType: 0 };
  const quote = { destAmount: '100', destToken: { chainId: 369 }, details: { request: swap } };
  const paid = (amount) => ({ state: 'SETTLED', swap, settlement: { chainId: 369, amount, arrived: amount } });
  for (const [amount, want] of [['99', '1'], ['100', undefined], ['101', undefined]]) {
    assert.equal(shortOf(told(paid(amount)), quote), want);
  }
  assert.equal(shortOf(told({ state: 'SETTLING', swap }), quote), undefined);
  const other = { ...paid('1'), swap: { ...swap, amount: '8' } };
  const own = { ...paid('98'), swap: { ...swap, dstToken: '0xaa' } };
  assert.equal(shortOf(told({ ...other, swaps: [other, own] }), quote), '2');
});

test('a status is given once, and an answer about another transaction or swap never', async () => {
  const { quote: signed } = await set().quote(request);
  const { recipientType, dstChain, dstToken, amount, recipient } = signed.details.request;
  const swap = { dstChain, dstToken: dstToken.toLowerCase(), recipient: recipient.toLowerCase(), recipientType, amount };
  const settled = told({ state: 'SETTLED', final: true, swap });
  const at = (body, more) => set({ '/v3/swap/status': { body } }).status({ srcChain: 1, txHash: hash, ...more });
  assert.equal((await at(settled)).state, 'SETTLED');
  assert.equal((await at({ ...settled, txHash: hash.toUpperCase().replace('0X', '0x') }, { quote: signed })).settlement.arrived, '1');
  assert.equal((await at(told({ state: 'PENDING' }), { quote: signed })).state, 'PENDING');
  for (const lie of [{ txHash: hash.replace('b', 'c') }, { txHash: undefined }, { srcChain: '56' }, { srcChain: undefined }, { settlement: undefined }, { settlement: { chainId: 369, amount: '1' } }]) {
    const { problems } = await refused(at({ ...settled, ...lie }), 'UNVERIFIED');
    assert.ok(problems[0].includes(Object.keys(lie)[0]), problems[0]);
  }
  const evil = '0x22b1130BBE13Df405097cCA427CBA49B4c6C2136';
  const lies = [{ dstChain: '56' }, { dstToken: evil }, { recipient: evil }, { recipientType: 2 }, { amount: '1' }, { integratorId: '0x' + '1'.repeat(64) }];
  for (const lie of lies) {
    const { problems } = await refused(at({ ...settled, swap: { ...swap, ...lie } }, { quote: signed }), 'UNVERIFIED');
    assert.ok(problems[0].includes(`swap.${Object.keys(lie)[0]}`), problems[0]);
    assert.equal((await at({ ...settled, swap: { ...swap, ...lie } })).state, 'SETTLED'); // without a quote nobody can tell
  }
  await refused(at({ ...settled, swap: undefined }, { quote: signed }), 'UNVERIFIED');
  await refused(at(told({ state: 'SETTLING' }), { quote: signed }), 'UNVERIFIED');
  // Of several swaps in one transaction, ours is one.
  const other = { ...swap, amount: '7' };
  const { source: _, srcChain, txHash, nextCheckSeconds, ...one } = settled;
  const [mine, theirs] = [{ ...one, swap }, { ...one, swap: other }];
  assert.ok(await at({ ...settled, swap: other, swaps: [theirs, mine] }, { quote: signed }));
  const unsettled = { state: 'SETTLING', final: false, swap };
  for (const lie of [
    { swaps: [theirs, theirs] }, { swaps: [theirs, null] }, { swaps: [theirs], omittedSwaps: 1 }, { swaps: [theirs, unsettled] },
    { swaps: [theirs, { ...unsettled, state: 'FAILED', final: true }] }, { swap: undefined, swaps: [theirs], omittedSwaps: 1 },
  ]) await refused(at({ ...settled, swap: other, ...lie }, { quote: signed }), 'UNVERIFIED');
  assert.ok(await at(told({ ...unsettled, swap: other, swaps: [theirs], omittedSwaps: 1 }), { quote: signed }));
  for (const lie of [
    { state: 'DONE_TRUST_ME' }, { state: 'settled' }, { state: 'Settled' }, { txHash: [hash] }, { srcChain: ['1'] }, { final: 1 },
    { settlement: { ...settled.settlement, txHash: 'javascript:alert(1)' } }, { settlement: { ...settled.settlement, chainId: 56 } },
    { settlement: { ...settled.settlement, short: { swapped: '2', paid: '1' } } }, { state: 'NOT_FOUND' }, { state: 'SETTLING' },
  ]) await refused(at({ ...settled, ...lie }, { quote: signed }), 'UNVERIFIED');
  // What was sent after a block is in none before it, and is in one once it is more than pending.
  const since = '0x64';
  for (const state of ['FAILED', 'NOT_A_SWAP', 'SETTLING', 'SETTLED', 'PENDING']) {
    const later = told({ state, swap, source: inBlock });
    assert.equal((await at(later, { since })).state, state);
    for (const blockNumber of [100, 7]) {
      const older = { ...later, source: { ...inBlock, blockNumber } };
      const { problems } = await refused(at(older, { since }), 'UNVERIFIED');
      assert.match(problems[0], /^source.blockNumber is .{1,30}, but it was sent after block 100\.$/);
      assert.equal((await at(older)).state, state);
    }
    for (const source of [{ ...inBlock, blockNumber: '101' }, {}]) await refused(at({ ...later, source }), 'UNVERIFIED');
    const untold = at({ ...later, source: undefined }, { since });
    if (state === 'PENDING') assert.equal((await untold).state, state);
    else await refused(untold, 'UNVERIFIED');
  }
  // A lie told once, between two truths, ends it.
  const states = [];
  const client = set({ '/v3/swap/status': [{ body: told({ state: 'PENDING', nextCheckSeconds: 1, swap }) }, { body: { ...settled, swap: other } }, { body: settled }] });
  await refused((async () => { for await (const { state } of client.follow({ srcChain: 1, txHash: hash, quote: signed })) states.push(state); })(), 'UNVERIFIED');
  assert.deepEqual(states, ['PENDING']);
});

test('the chain of a status is that of the quote, or the one that is given', async () => {
  const { quote: signed } = await set().quote(request);
  const { include: _, ...sent } = golden('details-unshield').request;
  const { quote: unshielded } = await set({ '/v3/swap/quote': golden('details-unshield') }).quote(sent);
  const at = (srcChain, quote) => set({ '/v3/swap/status': { body: told({ state: 'NOT_FOUND' }) } }).status({ txHash: hash, srcChain, quote });
  for (const given of [[undefined, signed], [1, signed], ['1'], ['0x1', signed], ['0x1'], ['0X1'], [69696969], ['69696969', unshielded], [1, unshielded]]) {
    assert.equal((await at(...given)).state, 'NOT_FOUND');
    assert.deepEqual(asked[0].query, { srcChain: '1', txHash: hash });
  }
  for (const given of [[], [undefined, undefined], [null], ['', undefined], ['ethereum'], ['0x'], [1.5], ['0x38', signed], [56, signed], [96969696, unshielded], ['1e0']]) {
    await assert.rejects(at(...given), { name: 'TypeError', message: /srcChain/ });
    assert.equal(asked.length, 0);
  }
  await assert.rejects(set().follow({ srcChain: '0x38', txHash: hash, quote: signed }).next(), TypeError);
});

test('warnings are told, also when a quote is checked again', async () => {
  const of = golden('from-allowed-enough');
  const { include: _, ...sent } = of.request;
  const quoteWith = (recipient, headers) => set({ '/v3/swap/quote': { ...edited((q) => { q.details.checks.recipient = recipient; }, of), headers } }).quote(sent);
  const slip = { 'Request-Warning': `ignored: slippage" VERIFIED\tBY AUDITOR ${'x'.repeat(100)}` };
  const client = await quoteWith({ source: true, destination: false }, slip);
  assert.deepEqual(client.warnings, [
    'The gateway warns: "ignored: slippage\' VERIFIED\ufffdBY AUDITOR …xxxxxxxxxxxxxxxxxxxx".',
    'The recipient has code on chain 1 and none on chain 369: if it is a smart account, make sure that it is yours on both.',
  ]);
  assert.deepEqual((await set().recheck(client)).warnings, client.warnings);
  assert.match((await quoteWith({ source: false, destination: true })).warnings[0], /code on chain 369 and none on chain 1:/);
  for (const quiet of [undefined, null, {}, { source: null, destination: true }, { source: true, destination: true }, { source: false, destination: false }]) {
    assert.deepEqual((await quoteWith(quiet)).warnings, []);
  }
});

test('slips that cost money are a TypeError, before anybody is asked', async () => {
  const client = set();
  for (const slip of [{ integratorId: '' }, { amount: 2 ** 53 }, { amount: 0.5 }, { amount: NaN }, { amount: 1e21 }]) {
    await assert.rejects(client.quote({ ...request, ...slip }), TypeError);
  }
  assert.equal(asked.length, 0);
  for (const fine of [{ integratorId: undefined }, { amount: Number(request.amount) }]) assert.ok(await client.quote({ ...request, ...fine }));
});

test('a text of a gateway is quoted, and cannot be taken for one of ours', async () => {
  const evil = '1\n\nVERIFIED\u202e BY "AUDITOR"' + '\u200b'.repeat(50);
  const shown = /"1\ufffd\ufffdVERIFIED\ufffd BY 'AUDITOR'\ufffd+…\ufffd{20}"/;
  const { problems } = await refused(set({ '/v3/swap/quote': edited((q) => { q.destAmount = evil; }) }).quote(request), 'UNVERIFIED');
  assert.ok(problems[0].includes('Quote: "1\ufffd\ufffdVERIFIED\ufffd BY \ufffdA…" · expected: "99700000" (destAmount)'));
  const burn = golden('details-burn');
  const { include: _, ...sent } = burn.request;
  const { unchecked } = await set({ '/v3/swap/quote': edited((q) => { q.details.issuerFee.origin = evil; }, burn) }).quote(sent);
  assert.match(unchecked.join('|'), shown);
  const error = await refused(set({ '/v3/swap/quote': { status: 400, body: { error: evil + 'x'.repeat(500), code: 'A_CODE' } } }).quote(request), 'A_CODE');
  assert.ok(error.message.length === 300 && !/[\n\u202e\u200b]/.test(error.message));
});

test('a byte order mark is no JSON', async () => {
  await refused(set({ '/v3/swap/quote': { body: '\ufeff' + plain.body } }).quote(request), 'UNREADABLE');
});

test('of a shield, the note must be the one that was signed', async () => {
  const shield = golden('details-shield');
  const { include: _, ...sent } = shield.request;
  const { quote: signed } = await set({ '/v3/swap/quote': shield }).quote(sent);
  const { dstChain, dstToken, amount } = signed.details.request;
  const swap = { dstChain, dstToken, amount, recipientType: 2, recipient: '0x' + note.slice(0, 64) };
  const at = (recipient) => set({ '/v3/swap/status': { body: told({ srcChain: sent.srcChain, state: 'SETTLING', swap: { ...swap, recipient } }) } }).status({ txHash: hash, quote: signed });
  assert.equal((await at(swap.recipient)).state, 'SETTLING');
  await refused(at('0x' + '5b'.repeat(32)), 'UNVERIFIED');
});

test('follow takes a callback, and its iterator behaves as one', async () => {
  const answers = () => ({ '/v3/swap/status': [{ body: told({ state: 'PENDING', nextCheckSeconds: 1 }) }, { body: told({ state: 'SETTLED', final: true }) }] });
  const states = [];
  const last = await set(answers()).follow({ srcChain: 1, txHash: hash }, ({ state }) => { states.push(state); });
  assert.deepEqual([...states, last.state], ['PENDING', 'SETTLED', 'SETTLED']);
  await assert.rejects(set(answers()).follow({ srcChain: 1, txHash: hash }, () => { throw new Error('mine'); }), /mine/);
  assert.equal(asked.length, 1);
  // Questions at the same time are answered in order, and the end stays the end.
  const both = set(answers()).follow({ srcChain: 1, txHash: hash });
  assert.equal(asked.length, 0);
  const all = await Promise.all([both.next(), both.next(), both.next(), both.next()]);
  assert.deepEqual(all.map(({ done, value }) => (done ? 'end' : value.state)), ['PENDING', 'SETTLED', 'end', 'end']);
  // Whoever leaves ends the wait as well.
  const left = set({ '/v3/swap/status': { body: told({ state: 'PENDING', nextCheckSeconds: 3600 }) } }).follow({ srcChain: 1, txHash: hash });
  await left.next();
  const waiting = left.next();
  assert.deepEqual(await left.return(), { done: true, value: undefined });
  assert.deepEqual(await waiting, { done: true, value: undefined });
  assert.equal(left[Symbol.asyncIterator](), left);
});

test('a signal ends everything at once, and nobody else', async () => {
  const hang = () => {};
  const ended = async (run) => {
    const abort = new AbortController();
    setTimeout(() => abort.abort(new Error('enough')), 30);
    const started = Date.now();
    await assert.rejects(run(abort.signal), /enough/);
    assert.ok(Date.now() - started < 10_000);
  };
  await ended((signal) => set({ '/v3/app/pairs': hang }).quote({ ...request, signal }));
  await ended((signal) => set({ '/v3/swap/quote': hang }).quote({ ...request, signal }));
  await ended((signal) => set({ '/v3/app/pairs': hang }).pairs({ signal }));
  await ended((signal) => set({ '/v3/swap/status': hang }).status({ srcChain: 1, txHash: hash, signal }));
  await ended((signal) => createClient({ gateway: gateway(), pinned: () => new Promise(hang) }).quote({ ...request, signal }));
  await ended((signal) => createClient({ gateway: gateway(), fetch: () => new Promise(hang) }).pairs({ signal })); // one that ignores signals
  set({ '/v3/app/pairs': (req, res) => setTimeout(() => res.end(listing.body), 100) });
  const shared = createClient({ gateway: gateway() });
  const patient = shared.pairs();
  await ended((signal) => shared.pairs({ signal }));
  assert.ok((await patient).pairs.length);
});

test('why there was no answer is told apart', async () => {
  const why = async (options, ...given) => {
    const error = await refused(createClient({ gateway: gateway(), ...options }).pairs(...given), 'UNREACHABLE');
    assert.ok(error.cause instanceof Error && error.status === 0);
    return error.reason;
  };
  const failing = (code, message = 'fetch failed') => ({ fetch: () => Promise.reject(Object.assign(new TypeError('fetch failed'), { cause: Object.assign(new Error(message), { code }) })) });
  set({ '/v3/app/pairs': () => {} });
  assert.equal(await why({ timeout: 40 }), 'TIMEOUT');
  assert.equal(await why({ timeout: 40, fetch: () => new Promise(() => {}) }), 'TIMEOUT');
  const closed = createServer().listen(0);
  const { port } = closed.address();
  await new Promise((done) => closed.close(done));
  assert.equal(await why({ gateway: `http://127.0.0.1:${port}` }), 'REFUSED');
  assert.equal(await why({ gateway: 'http://[' }), 'INVALID_URL');
  assert.equal(await why({ gateway: gateway().replace('http', 'https') }), 'TLS');
  assert.equal(await why(failing('ENOTFOUND')), 'DNS');
  assert.equal(await why(failing('EAI_AGAIN')), 'DNS');
  for (const code of ['CERT_HAS_EXPIRED', 'DEPTH_ZERO_SELF_SIGNED_CERT', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'ERR_TLS_CERT_ALTNAME_INVALID', 'EPROTO']) assert.equal(await why(failing(code)), 'TLS');
  set({ '/v3/app/pairs': { status: 302, headers: { Location: '/' } } });
  assert.equal(await why({}), 'REDIRECT');
  set({ '/v3/app/pairs': (req) => req.socket.destroy() });
  assert.equal(await why({}), 'NETWORK');
  // A browser: the answer is there, and the page may not read it.
  const browser = (hidden) => ({ fetch: async (address, { mode }) => { if (mode !== 'no-cors' || !hidden) throw new TypeError('Failed to fetch'); return {}; } });
  globalThis.location = { origin: 'https://app.example' };
  assert.equal(await why(browser(true)), 'CORS');
  assert.equal(await why(browser(false)), 'NETWORK');
  globalThis.location = { origin: gateway().slice(0, -1) };
  assert.equal(await why(browser(true)), 'NETWORK');
  delete globalThis.location;
  for (const bad of [undefined, null, '', 'localhost:8080', 'ftp://x', 'https://', 7]) assert.throws(() => createClient({ gateway: bad }), TypeError);
});

test('Retry-After may be a date', async () => {
  const after = async (headers) => (await refused(set({ '/v3/app/pairs': { status: 503, headers, body: { error: 'E', code: 'C' } } }).pairs(), 'C')).retryAfter;
  assert.equal(await after({ 'Retry-After': 'Wed, 01 Jan 2020 00:00:09 GMT', Date: 'Wed, 01 Jan 2020 00:00:00 GMT' }), 9);
  assert.equal(await after({ 'Retry-After': 'Wed, 01 Jan 2020 00:00:00 GMT' }), 0);
  assert.equal(await after({ 'Retry-After': 'Fri, 01 Jan 2100 00:00:00 GMT' }), 86400);
  assert.equal(await after({ 'Retry-After': 'Fri, 01 Jan 2100 00:00:09 GMT', Date: 'Fri, 01 Jan 2100 00:00:00 GMT' }), 9); // this clock is late
  for (const odd of ['', 'soon', '-1', '1e9', 'NaN']) assert.ok([undefined, 0].includes(await after({ 'Retry-After': odd })), odd);
});

test('amounts may be big integers, and a quote can be checked again', async () => {
  const got = await set().quote({ ...request, amount: BigInt(request.amount) });
  assert.equal(got.request.amount, request.amount);
  assert.ok(verify({ ...request, amount: BigInt(request.amount) }, got.quote, { listing: JSON.parse(listing.body) }).ok);
  let pin;
  const client = createClient({ gateway: gateway(), pinned: () => pin });
  const again = await client.recheck(got, { allowance: 10n ** 30n });
  assert.deepEqual([again.calls.length, again.expiresAt], [1, got.expiresAt]);
  pin = { data: [], settlement: {} };
  await refused(client.recheck(got), 'UNVERIFIED');
});

// The cases of sufficient.json, which v3/client/recheck_test.go runs too.
test('what the account has is summed up', async () => {
  const of = golden('from-allowed-little');
  const { include: _, ...sent } = of.request;
  for (const { name, want, details } of JSON.parse(readFileSync(process.env.SUFFICIENT, 'utf8'))) {
    const body = edited((q) => {
      for (const part of ['checks', 'simulation']) delete q.details[part];
      Object.assign(q.details, details);
    }, of);
    assert.equal((await set({ '/v3/swap/quote': body }).quote(sent)).sufficient, want ?? undefined, name);
  }
});

test('an option that does not exist, or contradicts another, is refused with those that exist', async () => {
  for (const pinned of [undefined, null]) assert.throws(() => createClient({ gateway: gateway(), pinned }), /pinned must be/);
  const client = set();
  const checked = await client.quote(request);
  const status = { srcChain: 1, txHash: hash };
  asked.length = 0;
  const cases = [
    [() => createClient({ gateway: gateway(), key: 'x' }), 'createClient has no option key; it has gateway, apiKey, fetch, pinned, timeout'],
    [() => client.quote({ ...request, integratorID: '0x1' }), 'quote has no option integratorID; it has srcToken, dstToken, amount, srcChain, dstChain, '
      + 'recipient, recipientType, integratorId, from, simulate, signal, retry'],
    [() => client.quote({ ...request, simulate: true }), 'simulate needs from, the account that will send'],
    [() => client.pairs({ fresh: true }), 'pairs has no option fresh; it has signal'],
    [() => client.recheck(checked, { allowances: 1n }), 'recheck has no option allowances; it has allowance, signal'],
    [() => client.status({ ...status, quotes: {} }), 'status has no option quotes; it has srcChain, txHash, quote, since, signal'],
    [() => client.follow({ ...status, onretry() {} }), 'follow has no option onretry; it has srcChain, txHash, quote, since, signal, replacement, onRetry'],
    [() => client.status({ ...status, quote: checked }), 'quote must be the field quote of what client.quote has returned'],
    ...[-1, 1.5, NaN, '2', true].map((retry) => [() => client.quote({ ...request, retry }), `retry must be a number of times, not ${retry}`]),
  ];
  for (const [call, message] of cases) await assert.rejects(async () => call(), { name: 'TypeError', message });
  assert.deepEqual(asked, []);
});

test('a quote is asked for again where that may help, as often as was asked', async (t) => {
  const waits = shorten(t);
  const busy = (seconds) => ({ status: 429, headers: { 'Retry-After': String(seconds) }, body: { error: 'Too many', code: 'RATE_LIMITED' } });
  const proxy = { status: 502, body: '<html>' };
  const gone = (req) => req.socket.destroy();
  const ask = (retry, ...list) => set({ '/v3/swap/quote': list }).quote({ ...request, retry });
  const count = () => asked.filter(({ path }) => path === '/v3/swap/quote').length;
  const got = await ask(4, busy(7), proxy, gone, busy(0), plain);
  assert.deepEqual([got.calls.length, count(), waits.splice(0)], [2, 5, [7, 2, 4, 1]]);
  for (const [code, asks, retry, ...list] of [
    ['RATE_LIMITED', 1, undefined, busy(1), plain], ['RATE_LIMITED', 1, 0, busy(1), plain], ['UNREADABLE', 3, 2, proxy], ['UNREACHABLE', 2, 1, gone],
    ['RATE_LIMITED', 1, 9, busy(61), plain], // longer than anybody waits for a quote
    ['AMOUNT_OUT_OF_RANGE', 1, 9, golden('error-amount-below-minimum'), plain], ['UNREADABLE', 1, 9, { status: 404, body: '<html>' }, plain],
    ['UNVERIFIED', 1, 9, edited((q) => { q.destAmount = '1'; }), plain],
  ]) {
    await refused(ask(retry, ...list), code);
    assert.equal(count(), asks, code);
  }
  const stop = new AbortController();
  const ended = set({ '/v3/swap/quote': [(req, res) => { stop.abort(new Error('enough')); res.writeHead(502).end(); }, plain] }).quote({ ...request, retry: 3, signal: stop.signal });
  await assert.rejects(ended, /enough/);
  assert.equal(count(), 1);
  // The end of a quote counts from the question that was answered.
  const slow = await ask(1, busy(3), plain);
  assert.ok(slow.expiresAt - Date.now() > 50_000);
});

test('an answer is read up to 1 MB, and no further', async () => {
  let sent = 0;
  let closed = false;
  set({ '/v3/swap/status': (req, res) => {
    const chunk = Buffer.alloc(1 << 16, ' ');
    const more = () => {
      while (!closed && res.write(chunk)) sent += chunk.length;
    };
    res.on('close', () => { closed = true; });
    res.on('drain', more);
    more();
  } });
  await refused(createClient({ gateway: gateway() }).status({ srcChain: 1, txHash: hash }), 'UNREADABLE');
  while (!closed) await new Promise((done) => setTimeout(done, 5));
  assert.ok(sent < 50_000_000, `${sent} bytes were sent`); // what the sockets took ahead
});

test('verify is the same module', () => {
  assert.ok(verify(request, JSON.parse(plain.body), { listing: JSON.parse(listing.body) }).ok);
});
