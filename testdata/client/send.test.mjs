// What send does with wallets that misbehave, in Node, with a chain of its own that notes what is paid. Run with
// `node --test`, with the folder of the exchanges in GOLDENS and the client beside it in node_modules.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { createClient, QuoteError } from '@quotegate/client';
import { addChain, connect, findReplacement, send, SendError, sendErrorOf } from '@quotegate/client/send';
import { createWalletClient, custom } from 'viem';

function golden(name) {
  const [request, answer] = readFileSync(`${process.env.GOLDENS}/${name}.http`, 'utf8').split(/\n\n(?=\d{3}\n)/);
  const { include, ...asked } = Object.fromEntries(new URL(request.split('\n')[0].split(' ')[1], 'http://x').searchParams);
  return { request: asked, include, body: answer.slice(answer.indexOf('\n\n') + 2) };
}
const listing = golden('pairs');
const account = '0x9d7877ec33Cf3397d79A3E06D4a5cb373b7961F1';
const native = 'details-native';
const ethereum = { id: 1, name: 'Ethereum', nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 }, rpcUrls: { default: { http: [] } } };
const hash = (digit) => '0x' + String(digit).repeat(64);

// A client whose gateway is the exchange on record, but for when it ends: quotes with the same end are the same swap.
let ends = Date.parse('2026-11-15T12:01:00Z');
const clientOf = (name, pinned, alter = () => {}) => createClient({
  gateway: 'http://x', ...(pinned && { pinned }),
  fetch: async (address) => {
    if (address.includes('/pairs')) return new Response(listing.body);
    const quote = JSON.parse(golden(name).body);
    ends += 1000;
    quote.details.validUntil = new Date(ends).toISOString().replace('.000', '');
    alter(quote.details);
    return new Response(JSON.stringify(quote));
  },
});
async function quoteOf(name = 'details', alter = undefined) {
  const client = clientOf(name, undefined, alter);
  const { request, include = '' } = golden(name);
  return { client, checked: await client.quote({ ...request, simulate: include.includes('simulation') }) };
}
const copyOf = (value) => JSON.parse(JSON.stringify(value));

// A wallet on a chain. `sends` is everything that it was asked to pay for; rules replace what it answers.
function newWallet(rules) {
  const wallet = { asked: [], sends: [], chain: '0x1', blocks: [[]], allowance: 0n };
  const refuse = (code, message = 'no') => { throw Object.assign(new Error(message), { code }); };
  const mine = (tx) => {
    wallet.blocks.push([{ hash: hash(wallet.blocks.length), from: tx.from, to: tx.to, input: tx.data }]);
    if (tx.data.startsWith('0x095ea7b3')) wallet.allowance = BigInt('0x' + tx.data.slice(74));
    return hash(wallet.blocks.length - 1);
  };
  const does = {
    eth_requestAccounts: () => [account], eth_accounts: () => [account], eth_chainId: () => wallet.chain,
    wallet_switchEthereumChain: ([{ chainId }]) => { wallet.chain = chainId; return null; },
    eth_getBalance: () => '0xffffffffffffffffffff', eth_getCode: () => '0x6080',
    eth_call: ([{ data }]) => (data.startsWith('0x70a08231') ? '0xffffffffffffffff' : '0x' + wallet.allowance.toString(16).padStart(64, '0')),
    eth_blockNumber: () => '0x' + (wallet.blocks.length - 1).toString(16),
    eth_getBlockByNumber: ([number]) => ({ transactions: wallet.blocks[Number(number)] ?? [] }),
    eth_sendTransaction: ([tx]) => mine(tx),
    eth_getTransactionReceipt: () => ({ status: '0x1' }),
    wallet_sendCalls: ([{ calls, from }]) => { for (const call of calls) mine({ ...call, from }); return { id: '0xb' }; },
    wallet_getCallsStatus: () => ({ status: 200, receipts: wallet.blocks.slice(1).flat().map((tx) => ({ transactionHash: tx.hash })) }),
    ...rules(wallet, { refuse, mine }),
  };
  wallet.request = async ({ method, params = [] }, ...more) => {
    wallet.asked.push(method);
    assert.ok(more.every((one) => one === undefined), 'a wallet may take a second argument for something else');
    if (method === 'eth_sendTransaction' || method === 'wallet_sendCalls') wallet.sends.push(params[0]);
    return (does[method] ?? (() => refuse(-32601)))(params);
  };
  return wallet;
}
const isSwap = ({ data, calls }) => data?.startsWith('0x095ff22d') || calls?.some((call) => call.data.startsWith('0x095ff22d'));
const swaps = (wallet) => wallet.sends.filter(isSwap).length;
const after = (ms) => { // AbortSignal.timeout does not keep Node running
  const stop = new AbortController();
  setTimeout(() => stop.abort(), ms);
  return stop.signal;
};
const fast = { interval: 5 };
const soon = async (is) => { // a test that fails ends
  for (let n = 0; !is() && n < 100_000; n++) await new Promise(setImmediate);
  assert.ok(is(), 'it never came to that');
};
const leave = () => { // once nobody knows whether it was sent
  const stop = new AbortController();
  return { ...fast, signal: stop.signal, onStep: ({ step }) => { if (step === 'unclear') stop.abort(); } };
};
const fails = async (promise, code, sent) => {
  const error = await promise.then(() => assert.fail('it was sent'), (e) => e);
  assert.ok(error instanceof SendError && error instanceof Error, String(error.stack));
  assert.deepEqual([error.code, error.sent], [code, sent], error.message);
  if (sent !== 'NOTHING') assert.ok(!error.message.includes('Nothing was sent'), error.message);
  return error;
};
// Steps are JSON: what a listener keeps is what survives a reload.
const keep = (steps) => (step) => { steps.push(JSON.stringify(step)); };
const names = (steps) => steps.map((step) => JSON.parse(step)).map(({ step, what }) => (what ? `${step} ${what}` : step));

test('one by one, each step told before it is taken', async () => {
  const { client, checked } = await quoteOf();
  const wallet = newWallet(() => ({}));
  const steps = [];
  const got = await send(wallet, checked, { client, ...fast, onStep: keep(steps) });
  assert.deepEqual(got, { txHash: hash(2), from: account, chainId: '0x1', since: '0x1' });
  assert.deepEqual(names(steps), ['connect', 'switch', 'read', 'sign approval', 'confirm approval', 'sign swap', 'sent']);
  assert.deepEqual(wallet.sends.map(({ from, to, data, value, chainId }) => ({ chainId, to, data, value, from })), checked.calls.map((call) => ({ ...call, from: account })));
  assert.deepEqual(await send(wallet, checked, fast), got); // the same quote again is the same swap
  assert.equal(swaps(wallet), 1);
});

// What send may check a quote against, and with `unverified` a copy that nobody checks.
const VERIFIERS = {
  'its client': ({ checked }) => [checked, {}],
  'a client': ({ checked, client }) => [copyOf(checked), { client }],
  'a listing': ({ checked }) => [copyOf(checked), { listing: JSON.parse(listing.body) }],
  nothing: ({ checked }) => [copyOf(checked), { unverified: true }],
};
test('what the account allows is read, whoever checks the quote', async () => {
  for (const [name, by] of Object.entries(VERIFIERS)) {
    const pay = async (wallet) => {
      const [quote, options] = by(await quoteOf());
      await send(wallet, quote, { ...options, ...fast });
      return wallet.sends.length;
    };
    const allowed = newWallet(() => ({}));
    allowed.allowance = 10n ** 30n;
    assert.equal(await pay(allowed), 1, name);
    assert.equal(await pay(newWallet((_, { refuse }) => ({ eth_call: () => refuse(-32603) }))), 2, name);
  }
  const { checked } = await quoteOf();
  const less = { ...checked, calls: checked.calls.slice(-1) };
  await fails(send(newWallet(() => ({})), less, { ...fast, unverified: true }), 'ALLOWANCE', 'NOTHING');
});

test('only what was checked is sent', async () => {
  const attacker = '0x' + 'ab'.repeat(20);
  const alterations = {
    'the target of the swap': ({ calls }) => { calls.at(-1).to = attacker; },
    'the calldata of the swap': ({ calls }) => { calls.at(-1).data = calls.at(-1).data.replace(/5aaeb6053f/, 'abababab0f'); },
    'the value of the swap': ({ calls }) => { calls.at(-1).value = '0x1'; },
    'the chain of the swap': ({ calls }) => { calls.at(-1).chainId = '0x38'; },
    'the spender of the approval': ({ calls }) => { calls[0].data = calls[0].data.slice(0, 34) + attacker.slice(2) + calls[0].data.slice(74); },
    'a call more': ({ calls }) => { calls.unshift({ ...calls[0], to: attacker }); },
    'the swap is missing': ({ calls }) => { calls.pop(); },
    'the recipient of the request': ({ request }) => { request.recipient = attacker; },
    'the target of the quote': ({ quote }) => { quote.to = attacker; },
    'what arrives': ({ quote }) => { quote.destAmount = '99800000'; },
  };
  for (const [what, alter] of Object.entries(alterations)) {
    for (const by of ['its client', 'a client', 'a listing']) {
      const [quote, options] = VERIFIERS[by](await quoteOf());
      alter(quote);
      const wallet = newWallet(() => ({}));
      const { problems } = await fails(send(wallet, quote, { ...options, ...fast }), 'UNVERIFIED', 'NOTHING');
      assert.ok(problems.length, what);
      assert.deepEqual(wallet.asked, [], `${what}: ${by}`);
    }
  }
  // Nor is a quote of which the gateway itself warns, though it matches the request.
  const gateway = async (address) => new Response(address.includes('/pairs') ? listing.body : golden('details').body, { headers: { 'Quote-Warning': 'no such contract' } });
  const warning = createClient({ gateway: 'http://x', fetch: gateway });
  const { result } = await warning.quote(golden('details').request).catch((error) => error);
  for (const options of [{ client: warning }, { client: clientOf('details') }, { listing: JSON.parse(listing.body) }, { unverified: true }]) {
    const wallet = newWallet(() => ({}));
    await fails(send(wallet, copyOf(result), { ...options, ...fast }), 'UNVERIFIED', 'NOTHING');
    assert.deepEqual(wallet.asked, []);
  }
  // What is changed while it is being sent is not sent.
  const { checked } = await quoteOf();
  const want = copyOf(checked.calls);
  const wallet = newWallet(() => ({}));
  await send(wallet, checked, { ...fast, onStep: () => { for (const call of checked.calls) call.to = attacker; } });
  assert.deepEqual(wallet.sends.map(({ to }) => to), want.map(({ to }) => to));
});

test('without something to check it against, a copy is not sent', async () => {
  const isUsage = (error) => error instanceof TypeError && !(error instanceof SendError) && /client or listing/.test(error.message);
  const { client, checked } = await quoteOf();
  for (const copy of [copyOf(checked), { ...checked }, structuredClone(checked)]) {
    for (const resume of [undefined, { step: 'connect', chainId: '0x1', call: checked.calls.at(-1) }]) {
      const wallet = newWallet(() => ({}));
      await assert.rejects(send(wallet, copy, { ...fast, resume }), isUsage);
      assert.deepEqual(wallet.asked, []);
    }
  }
  await send(newWallet(() => ({})), await client.recheck(copyOf(checked)), fast); // what recheck gives was checked too
  // What is past signing is only watched for.
  const steps = [];
  const wallet = newWallet(() => ({}));
  await send(wallet, (await quoteOf()).checked, { ...fast, onStep: keep(steps) });
  const past = JSON.parse(steps.find((step) => step.includes('"swap"')));
  const later = await quoteOf();
  const watch = (options) => send(wallet, copyOf(later.checked), { ...leave(), ...options });
  await fails(watch({ resume: past }), 'UNCLEAR', 'UNKNOWN');
  await fails(watch({ client: later.client }), 'UNCLEAR', 'UNKNOWN'); // it is known now, without the step too
  assert.equal(swaps(wallet), 1);
  const approval = JSON.parse(steps.find((step) => step.includes('"confirm"')));
  await assert.rejects(send(wallet, copyOf((await quoteOf()).checked), { ...fast, resume: approval }), isUsage);
});

test('a batch, and a wallet that cannot after all', async () => {
  const batching = { wallet_getCapabilities: () => ({}) };
  const wallet = newWallet(() => batching);
  const { checked } = await quoteOf();
  const steps = [];
  assert.deepEqual(await send(wallet, checked, { ...fast, onStep: keep(steps) }), { txHash: hash(2), from: account, chainId: '0x1', batch: '0xb', since: '0x0' });
  assert.deepEqual(names(steps), ['connect', 'switch', 'read', 'sign batch', 'batch', 'sent']);
  assert.deepEqual(wallet.sends[0].calls, checked.sendCalls.calls);
  for (const code of [4200, -32601, 5700, 5710, 5740, 5760]) {
    const unable = newWallet((_, { refuse }) => ({ ...batching, wallet_sendCalls: () => refuse(code) }));
    await send(unable, (await quoteOf()).checked, fast);
    assert.equal(unable.sends.length, 3, String(code));
  }
  const single = newWallet(() => batching);
  await send(single, (await quoteOf()).checked, { ...fast, batch: false });
  assert.ok(!single.asked.includes('wallet_sendCalls'));
  await fails(send(newWallet((_, { refuse }) => ({ ...batching, wallet_sendCalls: () => refuse(4001) })), (await quoteOf()).checked, fast), 'REFUSED', 'NOTHING');
  await fails(send(newWallet(() => ({ ...batching, wallet_getCallsStatus: () => ({ status: 500 }) })), (await quoteOf()).checked, fast), 'BATCH_FAILED', 'NOTHING');
  const part = newWallet(() => ({ ...batching, wallet_sendCalls: () => ({ id: '0xb' }), wallet_getCallsStatus: () => ({ status: 600 }) }));
  const partly = (await quoteOf()).checked;
  await fails(send(part, partly, fast), 'BATCH_IN_PART', 'UNKNOWN');
  await fails(send(part, partly, fast), 'BATCH_IN_PART', 'UNKNOWN'); // asked about again, and not sent again
  assert.equal(swaps(part), 1);
});

test('before the wallet is asked to pay, an error says that the swap was not sent', async () => {
  for (const [code, sent, rules] of [
    ['NO_ACCOUNT', 'NOTHING', () => ({ eth_requestAccounts: () => [] })],
    ['NO_ACCOUNT', 'NOTHING', () => ({ eth_requestAccounts: () => null })],
    ['REFUSED', 'NOTHING', (_, { refuse }) => ({ eth_requestAccounts: () => refuse(4001) })],
    ['BUSY', 'NOTHING', (_, { refuse }) => ({ eth_requestAccounts: () => refuse(-32002) })],
    ['WALLET', 'NOTHING', () => ({ eth_requestAccounts: () => { throw undefined; } })],
    ['UNAUTHORIZED', 'NOTHING', (_, { refuse }) => ({ eth_requestAccounts: () => refuse(4100) })],
    ['UNKNOWN_CHAIN', 'NOTHING', (w, { refuse }) => { w.chain = '0x38'; return { wallet_switchEthereumChain: () => refuse(4902) }; }],
    ['UNKNOWN_CHAIN', 'NOTHING', (w) => { w.chain = '0x38'; return { wallet_switchEthereumChain: () => { throw { code: -32603, data: { originalError: { code: 4902 } } }; } }; }],
    ['OTHER_CHAIN', 'NOTHING', (w) => { w.chain = '0x38'; return { wallet_switchEthereumChain: () => null }; }],
    ['TOO_LITTLE', 'NOTHING', () => ({ eth_call: () => '0x1' })],
    ['ACCOUNT_GONE', 'NOTHING', () => ({ eth_accounts: () => [] })],
    ['REFUSED', 'NOTHING', (_, { refuse }) => ({ eth_sendTransaction: () => refuse(4001) })],
    ['DISCONNECTED', 'APPROVAL_PERHAPS', (_, { refuse }) => ({ eth_sendTransaction: () => refuse(4900) })],
    ['WALLET', 'APPROVAL_PERHAPS', (_, { refuse }) => ({ eth_sendTransaction: () => refuse(-32603) })],
    ['NO_HASH', 'APPROVAL_PERHAPS', () => ({ eth_sendTransaction: () => 'yes' })],
    ['APPROVAL_FAILED', 'APPROVAL', () => ({ eth_getTransactionReceipt: () => ({ status: '0x0' }) })],
    ['CHAIN_CHANGED', 'APPROVAL', (w, { mine }) => ({ eth_sendTransaction: ([tx]) => { w.chain = '0x38'; return mine(tx); } })],
    ['REFUSED', 'APPROVAL', (_, { refuse, mine }) => ({ eth_sendTransaction: ([tx]) => (isSwap(tx) ? refuse(4001) : mine(tx)) })],
    ['REFUSED', 'APPROVAL', (_, { mine }) => ({ eth_sendTransaction: ([tx]) => { if (isSwap(tx)) throw Object.assign(new Error('wrapped'), { cause: { code: 4001 } }); return mine(tx); } })],
  ]) {
    const { checked } = await quoteOf();
    const wallet = newWallet(rules);
    const error = await fails(send(wallet, checked, fast), code, sent);
    assert.match(error.message, /not sent\.$|Nothing (else )?was sent\.$/, error.message);
    assert.ok(swaps(wallet) <= 1 && wallet.blocks.flat().every((tx) => !isSwap({ data: tx.input })), code);
  }
  const other = (await quoteOf('from-allowed-little')).checked;
  await fails(send(newWallet(() => ({})), other, fast), 'OTHER_ACCOUNT', 'NOTHING');
});

test('after the expiry nothing is signed, and what may be out is only watched', async (t) => {
  const { checked } = await quoteOf();
  t.mock.timers.enable({ apis: ['Date'], now: checked.expiresAt - 1000 });
  const expire = () => t.mock.timers.setTime(checked.expiresAt + 1);
  const inTime = () => t.mock.timers.setTime(checked.expiresAt - 1000);
  // When it expires, what was sent then, and what the wallet was asked to sign.
  const cases = {
    'before it begins': [expire, {}, 'NOTHING', 0],
    'while the node is asked before the approval': [inTime, { eth_getTransactionCount: () => { expire(); return '0x7'; } }, 'NOTHING', 0],
    'while the approval is told': [inTime, {}, 'NOTHING', 0, ({ step, what }) => step === 'sign' && what === 'approval' && expire()],
    'while the approval confirms': [inTime, { eth_getTransactionReceipt: () => { expire(); return { status: '0x1' }; } }, 'APPROVAL', 1],
    'while the swap is told': [inTime, {}, 'APPROVAL', 1, ({ step, what }) => step === 'sign' && what === 'swap' && expire()],
    'while the batch is told': [inTime, { wallet_getCapabilities: () => ({}) }, 'NOTHING', 0, ({ step }) => step === 'sign' && expire()],
  };
  for (const [name, [begin, rules, sent, signed, onStep]] of Object.entries(cases)) {
    begin();
    const wallet = newWallet(() => rules);
    const { step } = await fails(send(wallet, checked, { ...fast, onStep }), 'EXPIRED', sent);
    assert.equal(wallet.sends.length, signed, name);
    assert.notEqual(step?.step, 'sign', `${name}: the wallet was not asked`);
  }
  // A swap that the wallet was asked for in time.
  inTime();
  const wallet = newWallet((w, { refuse, mine }) => ({ eth_sendTransaction: ([tx]) => { if (!isSwap(tx)) return mine(tx); expire(); return refuse(-32603); } }));
  await fails(send(wallet, checked, leave()), 'UNCLEAR', 'UNKNOWN');
  await fails(send(wallet, copyOf(checked), leave()), 'UNCLEAR', 'UNKNOWN');
  assert.equal(swaps(wallet), 1);
});

test('what the account lacks is said before the wallet is asked to sign', async () => {
  const simulated = (change) => (details) => {
    details.simulation = { blockNumber: 1, calls: details.sendCalls.calls.map(() => ({ gasUsed: 1, gasLimit: 2, status: 'SUCCESS' })), event: true, native: { actual: '5', needed: '5' } };
    details.checks.native.actual = '5';
    change(details, details.simulation);
  };
  // As the gateway has read it: the wallet is asked for nothing.
  const from = newWallet(() => ({ eth_requestAccounts: () => ['0x00000000000000000000000000000000000A11cE'], eth_accounts: () => ['0x00000000000000000000000000000000000A11cE'] }));
  const gateway = async (change) => {
    const client = clientOf('from-allowed-little', undefined, simulated(change));
    return client.quote({ ...golden('from-allowed-little').request, simulate: true });
  };
  for (const [name, change, code, want] of [
    ['too little of the token', ({ checks }) => { checks.balance.actual = '99999999'; }, 'TOO_LITTLE', ['99999999', '100000000']],
    ['too few coins for the gas', (_, { native }) => { native.actual = '4'; }, 'TOO_LITTLE', ['4', '5']],
    ['no coins', ({ checks }, { native }) => { checks.native.actual = native.actual = native.needed = '0'; }, 'TOO_LITTLE', ['0', '0']],
    ['a call fails', (_, { calls }) => { calls[1].status = 'FAILED'; }, 'WOULD_FAIL'],
    ['it is another swap', (_, simulation) => { simulation.event = false; }, 'WOULD_FAIL'],
  ]) {
    const checked = await gateway(change);
    assert.equal(checked.sufficient, false, name);
    const error = await fails(send(from, checked, fast), code, 'NOTHING');
    if (want) assert.deepEqual([error.actual, error.needed], want, name);
    await fails(send(from, copyOf(checked), { ...fast, unverified: true }), code, 'NOTHING');
    assert.deepEqual(from.asked, [], name);
  }
  await send(from, await gateway((_, simulation) => { simulation.calls[1].status = 'UNPROVEN'; delete simulation.event; }), fast);
  assert.equal(from.sends.length, 2);
  // As the wallet's own node reads it.
  const amount = BigInt((await quoteOf(native)).checked.request.amount);
  const coins = (count) => () => ({ eth_getBalance: () => '0x' + count.toString(16) });
  for (const [name, golden, rules, want] of [
    ['tokens', 'details', () => ({ eth_call: () => '0x1' }), ['1', '100000000']],
    ['no coins for gas', 'details', coins(0n), ['0', '1']],
    ['too few coins', native, coins(amount - 1n), [String(amount - 1n), String(amount)]],
    ['none left for gas', native, coins(amount), [String(amount), String(amount + 1n)]],
    ['a coin left', native, coins(amount + 1n)],
  ]) {
    const wallet = newWallet(rules);
    const sending = send(wallet, (await quoteOf(golden)).checked, fast);
    if (!want) await sending;
    else {
      const error = await fails(sending, 'TOO_LITTLE', 'NOTHING');
      assert.deepEqual([error.actual, error.needed, wallet.sends.length], [...want, 0], name);
    }
  }
});

// What a node may answer to eth_getCode, and what that makes of the address.
const delegated = '0xef0100' + 'ab'.repeat(20);
const refused = () => { throw Object.assign(new Error('not allowed'), { code: 4200 }); };
const hung = () => new Promise(() => {});
const NONE = { empty: () => '0x', 'EIP-7702': () => delegated, 'EIP-7702 in capitals': () => '0x' + delegated.slice(2).toUpperCase() };
const SILENT = {
  hung, refused, 'thrown nothing': () => { throw undefined; }, null: () => null, undefined: () => undefined, 'an empty text': () => '',
  'no hex': () => 'contract', 'half a byte': () => '0x0', 'no prefix': () => '6080', true: () => true, 'a list': () => ['0x6080'], 'an object': () => ({ code: '0x6080' }),
};
// Has seconds pass in no time, until a promise ends.
function hasten(t) {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  return async (promise) => {
    let over = false;
    const end = promise.finally(() => { over = true; });
    end.catch(() => {});
    while (!over) {
      await new Promise(setImmediate);
      t.mock.timers.tick(100);
    }
    return end;
  };
}
const contractsOf = (checked) => checked.calls.map(({ to }) => to.toLowerCase());

test('nothing without code is paid or approved', async () => {
  const { checked: { calls: [approval, swap] } } = await quoteOf();
  for (const [name, code] of Object.entries(NONE)) {
    for (const [golden, empty, batching] of [['details', approval.to, true], ['details', swap.to, false], ['details', swap.to, true], ['details-native', undefined, false]]) {
      const { client, checked } = await quoteOf(golden);
      const place = (empty ?? checked.calls[0].to).toLowerCase();
      const wallet = newWallet(() => ({ eth_getCode: ([address]) => (address === place ? code() : '0x6080'), ...(batching && { wallet_getCapabilities: () => ({}) }) }));
      const error = await fails(send(wallet, checked, { client, ...fast }), 'NO_CONTRACT', 'NOTHING');
      assert.equal(error.address, place, name);
      assert.match(error.message, new RegExp(`no contract at ${place} on chain 1: .* Nothing was sent.$`));
      assert.equal(wallet.sends.length, 0);
    }
  }
  // Whom the approval itself names is looked at, whatever the swap pays.
  const spender = '0x' + 'ab'.repeat(20);
  const other = { ...approval, data: approval.data.slice(0, 34) + spender.slice(2) + approval.data.slice(74) };
  const wallet = newWallet(() => ({ eth_getCode: ([address]) => (address === spender ? '0x' : '0x6080') }));
  const error = await fails(send(wallet, { ...(await quoteOf()).checked, calls: [other, swap] }, { ...fast, unverified: true }), 'NO_CONTRACT', 'NOTHING');
  assert.equal(error.address, spender);
  // An allowance that is in place leaves only the swap, and only its target is looked at.
  const looked = [];
  const allowed = newWallet(() => ({ eth_getCode: ([address, block]) => { looked.push(`${address} ${block}`); return '0x6080'; } }));
  allowed.allowance = 10n ** 30n;
  await send(allowed, (await quoteOf()).checked, fast);
  assert.deepEqual(looked, [`${swap.to.toLowerCase()} latest`]);
  // The sender may be anything: only what is paid or approved is looked at.
  const own = newWallet(() => ({ eth_getCode: ([address]) => (address === account.toLowerCase() ? delegated : '0x6080') }));
  await send(own, (await quoteOf()).checked, fast);
  assert.equal(own.sends.length, 2);
});

test('code of any size is code', async () => {
  const large = newWallet(() => ({ eth_getCode: () => '0x' + '60'.repeat(1 << 20) }));
  await send(large, (await quoteOf()).checked, fast);
  assert.equal(large.sends.length, 2);
});

test('a node that does not tell: coins stay, tokens go after a warning', async (t) => {
  const soon = hasten(t);
  for (const [name, code] of Object.entries(SILENT)) {
    const coins = await quoteOf('details-native');
    const poor = newWallet(() => ({ eth_getCode: code }));
    const error = await soon(fails(send(poor, coins.checked, { client: coins.client, ...fast }), 'CONTRACT_UNKNOWN', 'NOTHING'));
    assert.deepEqual([error.address, poor.sends.length], [contractsOf(coins.checked)[0], 0], name);
    const { client, checked } = await quoteOf();
    const wallet = newWallet(() => ({ eth_getCode: code }));
    const steps = [];
    await soon(send(wallet, checked, { client, ...fast, onStep: keep(steps) }));
    assert.deepEqual(names(steps).slice(0, 5), ['connect', 'switch', 'read', 'unchecked', 'sign approval'], name);
    assert.deepEqual(new Set(JSON.parse(steps[3]).addresses), new Set(contractsOf(checked)), name);
    // The app's own node tells in its place, if it is on that chain.
    const node = (answer, chain = '0x1') => newWallet((w) => { w.chain = chain; return { eth_getCode: () => answer }; });
    const again = async (readProvider, quote = 'details-native') => {
      const one = await quoteOf(quote);
      const steps = [];
      const unable = newWallet(() => ({ eth_getCode: code }));
      await soon(send(unable, one.checked, { client: one.client, readProvider, ...fast, onStep: keep(steps) }));
      return [names(steps).includes('unchecked'), unable.sends.length];
    };
    assert.deepEqual(await again(node('0x6080')), [false, 1], name);
    assert.deepEqual(await again(node('0x6080'), 'details'), [false, 2], name);
    await fails(again(node('0x')), 'NO_CONTRACT', 'NOTHING');
    await fails(again(node(delegated), 'details'), 'NO_CONTRACT', 'NOTHING');
    await fails(again(node('0x6080', '0x38')), 'CONTRACT_UNKNOWN', 'NOTHING');
    await fails(again(newWallet(() => ({ eth_getCode: code }))), 'CONTRACT_UNKNOWN', 'NOTHING');
  }
});

test('the code is that of the chain of the swap', async () => {
  // The wallet is on another chain, where there is no contract, and switches.
  const there = newWallet((w) => { w.chain = '0x38'; return { eth_getCode: () => (w.chain === '0x1' ? '0x6080' : '0x') }; });
  await send(there, (await quoteOf()).checked, fast);
  assert.equal(there.sends.length, 2);
  // It leaves the chain while it is asked.
  for (const golden of ['details', 'details-native']) {
    const leaves = newWallet((w) => ({ eth_getCode: () => { w.chain = '0x38'; return '0x6080'; }, wallet_getCapabilities: () => ({}) }));
    await fails(send(leaves, (await quoteOf(golden)).checked, fast), 'CHAIN_CHANGED', 'NOTHING');
    assert.equal(leaves.sends.length, 0);
  }
});

test('a wallet that never answers what nobody has to confirm', async (t) => {
  const { client, checked } = await quoteOf();
  const wallet = newWallet(() => ({ eth_call: hung, eth_getCode: hung, wallet_getCapabilities: hung, eth_blockNumber: hung, eth_getTransactionCount: hung }));
  assert.equal((await hasten(t)(send(wallet, checked, { client, ...fast }))).txHash, hash(2));
});

test('what is pinned when it is paid counts', async () => {
  let pin;
  const client = clientOf('details', () => pin);
  const checked = { ...await client.quote(golden('details').request), expiresAt: Date.now() + 60_000 };
  const wallet = newWallet((_, { mine }) => ({ eth_sendTransaction: ([tx]) => { pin = { data: [], settlement: {} }; return mine(tx); } }));
  const error = await fails(send(wallet, checked, { client, ...fast }), 'UNVERIFIED', 'APPROVAL');
  assert.ok(error.problems.length && error.cause instanceof QuoteError);
  assert.equal(swaps(wallet), 0);
});

// Wallets that say nothing clear after they were asked to pay. Whether they have sent it, only the chain tells.
const UNCLEAR = {
  'the request expires': ({ refuse }) => refuse(-32603, 'Request expired'),
  'an error in no words': () => { throw undefined; },
  'the connection is lost': ({ refuse }) => refuse(4900),
  'something else is pending': ({ refuse }) => refuse(-32002),
  'nonce too low': ({ refuse }) => refuse(-32000, 'nonce too low'),
  'no hash': () => null,
  'half a hash': () => '0x12',
};
test('after that, nobody is told that nothing was sent, and nothing is asked twice', async () => {
  for (const [name, answer] of Object.entries(UNCLEAR)) {
    for (const really of [true, false]) {
      const { checked } = await quoteOf();
      const wallet = newWallet((_, tools) => ({ eth_sendTransaction: ([tx]) => {
        if (!isSwap(tx)) return tools.mine(tx);
        if (really) tools.mine(tx);
        return answer(tools);
      } }));
      const steps = [];
      const stop = new AbortController();
      const onStep = (step) => { keep(steps)(step); if (step.step === 'unclear' && !really) stop.abort(); };
      const sending = send(wallet, checked, { ...fast, signal: stop.signal, onStep });
      if (really) assert.equal((await sending).txHash, hash(2), name);
      else {
        const error = await fails(sending, 'UNCLEAR', 'UNKNOWN');
        assert.equal(error.step.step, 'unclear');
        // The same quote is taken up where it was, and so is what was kept, after a reload, with a copy of the quote.
        for (const again of [checked, JSON.parse(JSON.stringify(checked))]) {
          const resume = JSON.parse(steps.filter((step) => step.includes('"swap"')).at(-1));
          const soon = after(40);
          await fails(send(wallet, again, { ...fast, resume, signal: soon }), 'UNCLEAR', 'UNKNOWN');
        }
      }
      assert.ok(names(steps).includes('unclear swap'), name);
      assert.equal(swaps(wallet), 1, `${name}: asked twice`);
    }
  }
});

// A chain with a pool: what the wallet has sent waits there until a block takes it.
function withPool(w, more = {}) {
  w.nonce = 7;
  w.pool = [];
  w.submit = (tx) => {
    w.pool.push({ hash: '0x' + String(w.nonce).padStart(64, 'd'), nonce: '0x' + (w.nonce++).toString(16), from: tx.from, to: tx.to, input: tx.data });
    return w.pool.at(-1).hash;
  };
  w.block = () => { w.blocks.push(w.pool.splice(0)); };
  return {
    eth_getTransactionCount: ([who, at]) => { assert.deepEqual([who, at], [account, 'pending']); return '0x' + w.nonce.toString(16); },
    eth_getBlockByNumber: ([at]) => (at === 'pending' ? { transactions: w.pool } : w.blocks[Number(at)] && { transactions: w.blocks[Number(at)] }),
    ...more,
  };
}

test('too little money: the account tells whether it was sent all the same', async () => {
  const poor = 'insufficient funds for gas * price + value';
  for (const [name, thrown, more, want] of [
    ['as a node says it', { code: -32000, message: poor }, {}, 'INSUFFICIENT_FUNDS'],
    ['without a code', new Error('Insufficient balance'), {}, 'INSUFFICIENT_FUNDS'],
    ['wrapped', Object.assign(new Error('wrapped'), { cause: { code: -32603, data: { message: `err: ${poor}` } } }), {}, 'INSUFFICIENT_FUNDS'],
    ['as viem says it', Object.assign(new Error('wrapped'), { details: poor }), {}, 'INSUFFICIENT_FUNDS'],
    ['no pending block', { code: -32000, message: poor }, { eth_getBlockByNumber: () => null }, 'INSUFFICIENT_FUNDS'],
    ['another error', { code: -32000, message: 'nonce too low' }, {}, 'UNCLEAR'],
    ['the number moves', { code: -32000, message: poor }, (w) => ({ eth_getTransactionCount: () => '0x' + (w.nonce++).toString(16) }), 'UNCLEAR'],
    ['the number moves late', { code: -32000, message: poor }, () => { let n = 0; return { eth_getTransactionCount: () => (++n > 3 ? '0x8' : '0x7') }; }, 'UNCLEAR'],
    ['the number goes back', { code: -32000, message: poor }, () => { let n = 0; return { eth_getTransactionCount: () => (n++ ? '0x6' : '0x7') }; }, 'UNCLEAR'],
    ['it waits in the pool', { code: -32000, message: poor }, (w) => ({ eth_getBlockByNumber: ([at]) => ({ transactions: at === 'pending' && w.asked.includes('eth_sendTransaction') ? [{ hash: hash(5), nonce: '0x7', from: account, to: w.sends[0].to, input: w.sends[0].data }] : [] }) }), 'UNCLEAR'],
    ['no number is told', { code: -32000, message: poor }, (_, { refuse }) => ({ eth_getTransactionCount: () => refuse(-32601) }), 'UNCLEAR'],
    ['a number of no kind', { code: -32000, message: poor }, () => ({ eth_getTransactionCount: () => 7 }), 'UNCLEAR'],
    ['another chain by then', { code: -32000, message: poor }, (w) => ({ eth_sendTransaction: () => { w.chain = '0x38'; throw { code: -32000, message: poor }; } }), 'UNCLEAR'],
  ]) {
    const { checked } = await quoteOf();
    const steps = [];
    const stop = new AbortController();
    const wallet = newWallet((w, tools) => withPool(w, { eth_sendTransaction: () => { throw thrown; }, ...(typeof more === 'function' ? more(w, tools) : more) }));
    wallet.allowance = 10n ** 30n;
    const onStep = (step) => { keep(steps)(step); if (step.step === 'unclear') stop.abort(); };
    const error = await fails(send(wallet, checked, { ...fast, onStep, signal: stop.signal }), want, want === 'UNCLEAR' ? 'UNKNOWN' : 'NOTHING');
    if (want === 'UNCLEAR') continue;
    assert.match(error.message, /too little for amount and gas.*Nothing was sent\.$/, name);
    assert.deepEqual(names(steps).slice(-2), ['sign swap', 'look swap'], name);
    // The same quote can be sent again: it was not sent.
    const rich = newWallet((w) => withPool(w));
    rich.allowance = 10n ** 30n;
    await send(rich, checked, fast);
    assert.equal(swaps(rich), 1, name);
    // A reload while it looked does not know that, and only watches.
    const late = newWallet((w) => withPool(w));
    const look = JSON.parse(steps.find((step) => step.includes('"look"')));
    await fails(send(late, copyOf((await quoteOf()).checked), { ...fast, resume: look, signal: after(40) }), 'UNCLEAR', 'UNKNOWN');
    assert.equal(swaps(late), 0, name);
  }
  // An approval pays nothing, and the number of an account says nothing of a batch.
  const approval = newWallet((w) => withPool(w, { eth_sendTransaction: () => { throw { code: -32000, message: poor }; } }));
  await fails(send(approval, (await quoteOf()).checked, fast), 'INSUFFICIENT_FUNDS', 'APPROVAL_PERHAPS');
  const batch = newWallet((w) => withPool(w, { wallet_getCapabilities: () => ({}), wallet_sendCalls: () => { throw { code: -32000, message: poor }; } }));
  await fails(send(batch, (await quoteOf()).checked, { ...fast, signal: after(60) }), 'UNCLEAR', 'UNKNOWN');
});

test('the same swap twice is two transactions, also if the wallet tells of neither', async () => {
  for (const knowsNumbers of [true, false]) {
    for (const says of ['nothing', 'the first']) {
      const wallet = newWallet((w, { refuse }) => {
        const pool = withPool(w);
        let first;
        return {
          ...pool, ...(!knowsNumbers && { eth_getTransactionCount: () => refuse(-32601) }),
          eth_sendTransaction: ([tx]) => {
            const own = w.submit(tx);
            first ??= own;
            return says === 'the first' ? first : refuse(-32603, 'Request expired');
          },
        };
      });
      wallet.allowance = 10n ** 30n;
      const quotes = [(await quoteOf()).checked, (await quoteOf()).checked];
      assert.equal(quotes[0].calls.at(-1).data, quotes[1].calls.at(-1).data);
      const second = (step) => { if (step.step === 'unclear') wallet.block(); };
      const sending = send(wallet, quotes[0], { ...fast, onStep: second });
      const got = [await sending, await send(wallet, quotes[1], { ...fast, onStep: second })].map(({ txHash }) => txHash);
      assert.deepEqual(got, ['0x' + '7'.padStart(64, 'd'), '0x' + '8'.padStart(64, 'd')], `${knowsNumbers} ${says}`);
      assert.equal(swaps(wallet), 2);
    }
  }
  // The first waits in the pool when the second is asked for, and is mined after it: its number is from before.
  const other = newWallet((w, { refuse }) => withPool(w, { eth_sendTransaction: ([tx]) => { w.submit(tx); w.block(); return refuse(-32603); } }));
  other.allowance = 10n ** 30n;
  const { checked } = await quoteOf();
  const elsewhere = async (step) => { if (step.step === 'read') other.submit({ from: account, to: checked.calls.at(-1).to, data: checked.calls.at(-1).data }); };
  assert.equal((await send(other, checked, { ...fast, onStep: elsewhere })).txHash, '0x' + '8'.padStart(64, 'd'));
});

test('a payment is known by what it is, and not by its object', async (t) => {
  const other = '0x' + '12'.repeat(20);
  const holding = (accounts = [account]) => {
    let answer;
    const wallet = newWallet((w, { mine }) => ({
      eth_requestAccounts: () => accounts, eth_accounts: () => accounts,
      eth_sendTransaction: ([tx]) => (isSwap(tx) ? new Promise((resolve, reject) => { answer = (error) => (error ? reject(error) : resolve(mine(tx))); }) : mine(tx)),
    }));
    wallet.answer = async (error) => { await soon(() => answer); answer(error); answer = undefined; };
    wallet.accounts = accounts;
    return wallet;
  };
  // Copies, at once and one after the other.
  const copies = { 'the same object': (q) => q, 'read from JSON': copyOf, 'rechecked': (q, client) => client.recheck(q, { allowance: 10n ** 30n }),
    'fields in another order': (q) => ({ ...copyOf(q), request: Object.fromEntries(Object.entries(q.request).reverse()) }),
    'with the account': (q) => ({ ...copyOf(q), request: { ...q.request, from: account } }) };
  for (const [name, copy] of Object.entries(copies)) {
    const { client, checked } = await quoteOf();
    const wallet = holding();
    const again = await copy(checked, client);
    const first = send(wallet, checked, fast);
    if (!again.request.from) await fails(send(wallet, again, fast), 'RUNNING', 'UNKNOWN'); // before the wallet has told its account
    await soon(() => swaps(wallet));
    await fails(send(wallet, again, fast), 'RUNNING', 'UNKNOWN');
    await wallet.answer();
    const got = await first;
    assert.deepEqual(await send(wallet, again, fast), got, name);
    assert.deepEqual(await send(newWallet(() => ({})), again, { ...fast, client }), got, name); // another object for the wallet
    assert.equal(swaps(wallet), 1, name);
  }
  // One that was refused can be sent, as a copy too, and one whose outcome is unknown is only watched for.
  const { client, checked } = await quoteOf();
  const wallet = holding();
  const refused = send(wallet, checked, fast);
  await wallet.answer({ code: 4001 });
  await fails(refused, 'REFUSED', 'APPROVAL');
  const unclear = send(wallet, copyOf(checked), { ...leave(), client });
  await wallet.answer({ code: -32603 });
  await fails(unclear, 'UNCLEAR', 'UNKNOWN');
  await fails(send(wallet, copyOf(checked), { ...leave(), client }), 'UNCLEAR', 'UNKNOWN');
  const away = newWallet((_, { refuse }) => ({ eth_requestAccounts: () => refuse(4001) }));
  await fails(send(away, copyOf(checked), fast), 'REFUSED', 'UNKNOWN'); // which account it is, nobody knows
  assert.equal(swaps(wallet), 2);
  // Another account is another payment, of the same wallet too; so is another quote.
  const pair = await quoteOf();
  const changing = newWallet(() => ({ eth_requestAccounts: () => changing.accounts, eth_accounts: () => changing.accounts }));
  changing.accounts = [account];
  await send(changing, pair.checked, fast);
  changing.accounts = [other];
  await assert.rejects(send(changing, copyOf(pair.checked), fast), TypeError);
  const got = await send(changing, pair.checked, fast);
  assert.deepEqual([got.from, swaps(changing)], [other, 2]);
  await send(changing, (await quoteOf()).checked, fast);
  assert.equal(swaps(changing), 3);
  // It is remembered until an hour after it has expired.
  t.mock.timers.enable({ apis: ['Date'], now: pair.checked.expiresAt + 3_599_000 });
  assert.deepEqual(await send(changing, pair.checked, fast), got);
  t.mock.timers.setTime(pair.checked.expiresAt + 3_601_000);
  await fails(send(changing, pair.checked, fast), 'EXPIRED', 'NOTHING');
});

test('a swap that one account has begun is not gone on with by another', async () => {
  const steps = [];
  await send(newWallet(() => ({})), (await quoteOf()).checked, { ...fast, onStep: keep(steps) });
  const resume = JSON.parse(steps.find((step) => step.includes('"confirm"')));
  const other = ['0x' + '12'.repeat(20)];
  const wallet = newWallet(() => ({ eth_requestAccounts: () => other, eth_accounts: () => other }));
  await fails(send(wallet, (await quoteOf()).checked, { ...fast, resume }), 'OTHER_ACCOUNT', 'APPROVAL');
  const { client, checked } = await quoteOf();
  const copy = { ...checked, request: { ...checked.request, from: other[0] } };
  await fails(send(wallet, copy, { ...fast, client, resume }), 'OTHER_SWAP', 'UNKNOWN');
  assert.equal(wallet.sends.length, 0);
});

test('a wallet that hangs, is left, and answers late', async () => {
  for (const [end, want] of [['hash', hash(2)], ['refusal', 'REFUSED']]) {
    const { checked } = await quoteOf();
    let answer;
    const wallet = newWallet((w, { mine }) => ({ eth_sendTransaction: ([tx]) => (isSwap(tx) ? new Promise((resolve, reject) => {
      answer = () => (end === 'hash' ? resolve(hash(2)) : reject({ code: 4001 }));
    }) : mine(tx)) }));
    const stop = new AbortController();
    const first = send(wallet, checked, { ...fast, signal: stop.signal, onStep: ({ step, what }) => { if (step === 'sign' && what === 'swap') setTimeout(() => stop.abort(), 20); } });
    await fails(send(wallet, checked, fast), 'RUNNING', 'UNKNOWN'); // a second click
    const { step } = await fails(first, 'UNCLEAR', 'UNKNOWN');
    const second = send(wallet, checked, { ...fast, resume: step, onStep: ({ step: name }) => { if (name === 'unclear') setTimeout(answer, 20); } });
    if (end === 'hash') assert.equal((await second).txHash, want);
    else await fails(second, want, 'APPROVAL');
    assert.equal(swaps(wallet), 1);
  }
});

test('after a reload it goes on from any step', async () => {
  const { checked } = await quoteOf();
  const steps = [];
  const wallet = newWallet(() => ({}));
  await send(wallet, checked, { ...fast, onStep: keep(steps) });
  for (const kept of steps) {
    const { step, what } = JSON.parse(kept);
    const after = newWallet(() => ({}));
    after.blocks = wallet.blocks.slice();
    after.allowance = wallet.allowance;
    const again = await quoteOf();
    const got = await send(after, copyOf(again.checked), { ...fast, client: again.client, resume: JSON.parse(kept) });
    const asked = step === 'sent' || what === 'swap';
    assert.equal(swaps(after), asked ? 0 : 1, `${step} ${what}`);
    assert.equal(got.txHash, asked ? hash(2) : hash(3));
  }
  // A batch that the wallet has taken.
  const batched = newWallet(() => ({ wallet_getCapabilities: () => ({}), wallet_getCallsStatus: () => ({ status: 100 }) }));
  const told = [];
  const stop = new AbortController();
  await fails(send(batched, (await quoteOf()).checked, { ...fast, signal: stop.signal, onStep: (step) => { keep(told)(step); if (step.step === 'batch') stop.abort(); } }), 'UNCLEAR', 'UNKNOWN');
  const reloaded = newWallet(() => ({ wallet_getCallsStatus: ([id]) => ({ status: 200, receipts: [{ transactionHash: id === '0xb' ? hash(7) : 0 }] }) }));
  assert.equal((await send(reloaded, (await quoteOf()).checked, { ...fast, resume: JSON.parse(told.at(-1)) })).txHash, hash(7));
  assert.equal(reloaded.sends.length, 0);
  // A step of another swap, or no step, is not gone on from.
  const sign = JSON.parse(steps.find((step) => step.includes('"swap"')));
  for (const resume of [{ ...sign, call: { ...sign.call, data: '0x' } }, { ...sign, chainId: '0x38' }, { step: 'sign' }, {}]) {
    await fails(send(newWallet(() => ({})), (await quoteOf()).checked, { ...fast, resume }), 'OTHER_SWAP', 'UNKNOWN');
  }
});

// A wallet on another chain that knows the chain of the swap only once it has added it.
const RPC = ['https://rpc.example.org/v1?key=1'];
const ignorant = (more = {}) => newWallet((w, { refuse }) => {
  w.chain = '0x38';
  w.added = [];
  return {
    wallet_switchEthereumChain: ([{ chainId }]) => { if (!w.added.length) refuse(4902); w.chain = chainId; return null; },
    wallet_addEthereumChain: ([chain]) => { w.added.push(chain); return null; }, ...more,
  };
});
test('a chain that the wallet does not know is added with nodes that the app trusts', async () => {
  const known = { chainId: '0x1', chainName: 'Ethereum', nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 } };
  const offered = JSON.parse(listing.body);
  const row = offered.chains.find(({ chainId }) => chainId === 1);
  Object.assign(row, { name: 'Not Ethereum', rpcUrls: ['https://rpc.listing.example'], explorer: 'https://scan.listing.example' });
  const fromListing = { ...known, rpcUrls: row.rpcUrls, blockExplorerUrls: [row.explorer] };
  for (const [name, options, want] of [
    ['given', { rpcUrls: RPC }, { ...known, rpcUrls: RPC }],
    ['of a listing', { listing: offered, trustListing: true }, fromListing],
    ['pinned', { client: clientOf('details', offered), trustListing: true }, fromListing], // what the gateway itself lists does not count then
    ['of the gateway, which lists none', { client: clientOf('details'), trustListing: true }, undefined],
    ['given, though the listing has others', { listing: offered, rpcUrls: RPC }, { ...known, rpcUrls: RPC }],
    ['of a listing that is not trusted', { listing: offered }, undefined],
    ['of a listing without any', { listing: JSON.parse(listing.body), trustListing: true }, undefined],
    ['none', {}, undefined],
  ]) {
    const wallet = ignorant();
    const steps = [];
    const sending = send(wallet, (await quoteOf()).checked, { ...options, ...fast, onStep: keep(steps) });
    if (want) await sending;
    else assert.equal((await fails(sending, 'UNKNOWN_CHAIN', 'NOTHING')).chainId, '0x1', name);
    assert.deepEqual(wallet.added, want ? [want] : [], name);
    assert.deepEqual([swaps(wallet), wallet.chain], want ? [1, '0x1'] : [0, '0x38'], name);
    if (want) assert.deepEqual(names(steps).slice(0, 4), ['connect', 'switch', 'add', 'read'], name);
  }
  // It is asked for once, whatever comes of it.
  for (const [code, add] of [
    ['REFUSED', (_, { refuse }) => refuse(4001)], ['UNKNOWN_CHAIN', () => null], ['WALLET', () => { throw new Error('no'); }],
  ]) {
    const wallet = newWallet((w, tools) => {
      w.chain = '0x38';
      return { wallet_switchEthereumChain: () => tools.refuse(4902), wallet_addEthereumChain: () => add(w, tools) };
    });
    const sending = send(wallet, (await quoteOf()).checked, { ...fast, rpcUrls: RPC });
    const error = await sending.then(() => assert.fail('it was sent'), (e) => e);
    assert.equal(error.sent, 'NOTHING');
    assert.deepEqual([error.code, wallet.asked.filter((method) => method === 'wallet_addEthereumChain').length], [code, 1]);
  }
  // A wallet that is on the chain once it has added it is not asked to switch again.
  const switching = newWallet((w, { refuse }) => {
    w.chain = '0x38';
    return { wallet_switchEthereumChain: () => refuse(4902), wallet_addEthereumChain: ([{ chainId }]) => { w.chain = chainId; return null; } };
  });
  await send(switching, (await quoteOf()).checked, { ...fast, rpcUrls: RPC });
  assert.equal(switching.asked.filter((method) => method === 'wallet_switchEthereumChain').length, 1);
});

test('a chain is added for its own sake', async () => {
  const added = async (chainId, options) => {
    const wallet = ignorant();
    await addChain(wallet, chainId, options);
    return wallet.added;
  };
  const pulse = { chainId: '0x171', chainName: 'PulseChain', nativeCurrency: { name: 'Pulse', symbol: 'PLS', decimals: 18 }, rpcUrls: RPC };
  for (const id of [369, '369', '0x171']) assert.deepEqual(await added(id, { rpcUrls: RPC }), [pulse]);
  assert.equal((await added(69696969, { rpcUrls: RPC }))[0].chainId, '0x1'); // a privacy pool is on its network
  assert.deepEqual((await added(1, { rpcUrls: ['http://127.0.0.1:8545'] }))[0].rpcUrls, ['http://127.0.0.1:8545']);
  const newer = { chains: [{ chainId: 777, name: 'Newer', nativeCurrency: { name: 'N', symbol: 'N', decimals: 9 }, rpcUrls: RPC }] };
  assert.deepEqual(await added(777, { listing: newer, trustListing: true }), [{ chainId: '0x309', chainName: 'Newer', nativeCurrency: newer.chains[0].nativeCurrency, rpcUrls: RPC }]);
  await fails(addChain(ignorant(), 777, { rpcUrls: RPC }), 'UNKNOWN_CHAIN', 'NOTHING');
  const offered = { chains: [{ chainId: 369, name: 'Not PulseChain', explorer: 'https://scan.listing.example', rpcUrls: ['https://rpc.listing.example'] }] };
  await fails(addChain(ignorant(), 369, { listing: offered }), 'UNKNOWN_CHAIN', 'NOTHING'); // it is not trusted
  assert.deepEqual(await added(369, { listing: offered, rpcUrls: RPC }), [pulse]);
  await fails(addChain(ignorant(), 1, {}), 'UNKNOWN_CHAIN', 'NOTHING');
  await fails(addChain(ignorant({ wallet_addEthereumChain: () => { throw { code: 4001 }; } }), 1, { rpcUrls: RPC }), 'REFUSED', 'NOTHING');
  const bad = [['http://rpc.example.org'], ['javascript:alert(1)'], ['https://user@rpc.example.org'], ['https://rpc.example.org/#x'], ['https://x y'], [7], 'https://x', [RPC], ['https://' + 'x'.repeat(200)]];
  for (const rpcUrls of bad) {
    for (const call of [() => addChain(ignorant(), 1, { rpcUrls }), async () => send(ignorant(), (await quoteOf()).checked, { ...fast, rpcUrls })]) {
      await assert.rejects(call, { name: 'TypeError', message: 'rpcUrls must be a list of addresses such as https://rpc.example.org' }, String(rpcUrls));
    }
  }
});

test('options that do not exist or contradict each other are refused before anything is asked', async () => {
  const { client, checked } = await quoteOf();
  const offered = JSON.parse(listing.body);
  const wallet = newWallet(() => ({}));
  for (const [call, message] of [
    [() => send(wallet, checked, { onstep() {} }), 'send has no option onstep; it has client, listing, unverified, onStep, signal, resume, readProvider, rpcUrls, trustListing, batch, interval'],
    [() => send(wallet, checked, { client, listing: offered }), 'send takes one of client, listing, unverified'],
    [() => send(wallet, checked, { client, unverified: true }), 'send takes one of client, listing, unverified'],
    [() => send(wallet, checked, { listing: offered, unverified: true }), 'send takes one of client, listing, unverified'],
    [() => send(wallet, checked, { rpcUrls: RPC, trustListing: true }), 'send takes one of rpcUrls, trustListing'],
    [() => send(wallet, checked, { trustListing: true }), 'trustListing needs a listing'],
    [() => addChain(wallet, 1, { urls: RPC }), 'addChain has no option urls; it has rpcUrls, listing, trustListing, signal'],
    [() => addChain(wallet, 1, { trustListing: true }), 'trustListing needs a listing'],
    [() => findReplacement(wallet, { txHash: hash(1), from: account, chainId: '0x1' }, { since: '0x1' }), 'findReplacement has no option since; it has signal'],
  ]) await assert.rejects(async () => call(), { name: 'TypeError', message });
  assert.deepEqual(wallet.asked, []);
});

test('blocks of another chain prove nothing', async () => {
  const { checked } = await quoteOf();
  const wallet = newWallet((w, { refuse, mine }) => ({ eth_sendTransaction: ([tx]) => { mine(tx); if (!isSwap(tx)) return hash(1); w.chain = '0x38'; return refuse(-32603); } }));
  await fails(send(wallet, checked, { ...fast, signal: after(60) }), 'UNCLEAR', 'UNKNOWN');
  wallet.chain = '0x1';
  assert.equal((await send(wallet, checked, fast)).txHash, hash(2));
});

test('a listener that throws stops it before the wallet is asked, and hides nothing after', async () => {
  const at = async (wanted) => {
    const wallet = newWallet(() => ({}));
    const result = send(wallet, (await quoteOf()).checked, { ...fast, onStep: async (step) => { if (`${step.step} ${step.what ?? ''}`.trim() === wanted) throw new Error('full'); } });
    return { wallet, result };
  };
  const noted = await at('sign swap');
  await fails(noted.result, 'LISTENER', 'APPROVAL');
  assert.equal(swaps(noted.wallet), 0);
  assert.equal((await (await at('sent')).result).txHash, hash(2));
});

test('a signal stops it, before and after', async () => {
  const hangs = (method) => newWallet(() => ({ [method]: () => new Promise(() => {}) }));
  for (const [method, sent] of [['eth_requestAccounts', 'NOTHING'], ['eth_chainId', 'NOTHING'], ['eth_call', 'NOTHING'], ['eth_sendTransaction', 'APPROVAL_PERHAPS'], ['eth_getTransactionReceipt', 'APPROVAL']]) {
    await fails(send(hangs(method), (await quoteOf()).checked, { ...fast, signal: after(30) }), 'STOPPED', sent);
  }
  const wallet = hangs('nothing');
  await fails(send(wallet, (await quoteOf()).checked, { ...fast, signal: AbortSignal.abort() }), 'STOPPED', 'NOTHING');
  assert.equal(wallet.sends.length, 0);
});

test('viem asks once, though it likes to ask again', async () => {
  for (const make of [(provider) => createWalletClient({ chain: ethereum, transport: custom(provider) }), (provider) => custom(provider)({ chain: ethereum, retryCount: 3 })]) {
    const wallet = newWallet((_, { refuse, mine }) => ({ eth_sendTransaction: ([tx]) => { mine(tx); return isSwap(tx) ? refuse(-32603) : hash(1); } }));
    const got = await send(make(wallet), (await quoteOf()).checked, fast);
    assert.equal(got.txHash, hash(2));
    assert.equal(swaps(wallet), 1);
    const no = newWallet((_, { refuse }) => ({ eth_sendTransaction: () => refuse(4001) }));
    await fails(send(make(no), (await quoteOf()).checked, fast), 'REFUSED', 'NOTHING');
  }
});

test('unshielding is not for sending; accounts and errors of its own requests', async () => {
  const unshield = await clientOf('details-unshield').quote(golden('details-unshield').request);
  await assert.rejects(send(newWallet(() => ({})), unshield), TypeError);
  assert.equal(await connect(newWallet(() => ({}))), account);
  assert.equal(await connect(newWallet(() => ({})), account.toLowerCase()), account);
  await fails(connect(newWallet(() => ({})), hash(1).slice(0, 42)), 'OTHER_ACCOUNT', 'NOTHING');
  assert.equal(sendErrorOf({ code: 4001 }).code, 'REFUSED');
});

test('a refusal is recognised in every form that wallets give it', async () => {
  const wrapped = (error) => ({ code: -32603, message: 'Internal JSON-RPC error.', data: error });
  for (const error of [
    { code: 4001 }, { code: 5000 }, { code: 5001 }, { code: 5002 }, { code: 5003 }, { code: 'ACTION_REJECTED', message: 'x' },
    'User rejected the request.', 'Error: user denied transaction signature', wrapped({ code: 4001 }),
    wrapped({ originalError: { code: 4001 } }), { info: { error: { code: 4001 } } }, { error: { code: 4001 } },
    { code: -32603, message: 'MetaMask Tx Signature: User denied transaction signature.' }, new Error('User cancelled'),
  ]) {
    const { checked } = await quoteOf(native);
    const wallet = newWallet(() => ({ eth_sendTransaction: () => { throw error; } }));
    await fails(send(wallet, checked, fast), 'REFUSED', 'NOTHING');
  }
  const unclear = ['the node rejected it', { code: -32603, message: 'nonce too low' }, { code: -32000, message: 'User denied by policy' }];
  for (const error of unclear) {
    const { checked } = await quoteOf(native);
    const wallet = newWallet(() => ({ eth_sendTransaction: () => { throw error; } }));
    await fails(send(wallet, checked, { ...fast, signal: after(40) }), 'UNCLEAR', 'UNKNOWN');
  }
});

test('a chain that is switched while an approval confirms is told', async () => {
  const wallet = newWallet((w) => ({ eth_getTransactionReceipt: () => { w.chain = '0x38'; return null; } }));
  await fails(send(wallet, (await quoteOf()).checked, fast), 'CHAIN_CHANGED', 'APPROVAL');
  assert.equal(swaps(wallet), 0);
});

// A wallet whose first transaction is replaced: by the same with a higher fee, or by another one.
const replacing = (change) => newWallet((w, { mine }) => {
  let lost;
  const used = (block) => 7 + w.blocks.slice(0, block + 1).flat().length;
  return {
    eth_getTransactionCount: ([, at]) => '0x' + used(at.startsWith('0x') ? Number(at) : w.blocks.length - 1).toString(16),
    eth_sendTransaction: ([tx]) => {
      const first = w.blocks.length === 1;
      const made = mine({ ...tx, ...(first && change) });
      Object.assign(w.blocks[w.blocks.length - 1][0], { nonce: '0x' + (7 + w.blocks.length - 2).toString(16) });
      if (!first) return made;
      lost = hash('f');
      return lost;
    },
    eth_getTransactionReceipt: ([of]) => (of === lost ? null : { status: '0x1' }),
  };
});

test('a replaced transaction is found with few questions', async () => {
  const sent = { txHash: hash('f'), from: account, chainId: '0x1', since: '0x1', nonce: '0x7' };
  const last = 200_000;
  const found = async (at, oldest = 0) => { // the block that used the nonce, and the oldest whose state the node has
    const wallet = newWallet(() => ({
      eth_blockNumber: () => '0x' + last.toString(16),
      eth_getTransactionCount: ([, block]) => {
        const number = block === 'latest' ? last : Number(block);
        if (number < oldest) throw Object.assign(new Error('missing trie node'), { code: -32000 });
        return number >= at ? '0x8' : '0x7';
      },
      eth_getBlockByNumber: ([block]) => ({ transactions: Number(block) === at ? [
        { hash: hash(1), from: account, nonce: '0x6' }, { hash: hash(2), from: '0x' + '12'.repeat(20), nonce: '0x7' }, { hash: hash(3), from: account, nonce: '0x7' },
      ] : [] }),
    }));
    const got = await findReplacement(wallet, sent);
    assert.ok(wallet.asked.length <= 25, `${wallet.asked.length} questions`);
    return got;
  };
  for (const at of [2, 3, 77_777, last - 1, last]) assert.equal(await found(at), hash(3), String(at));
  assert.equal(await found(last - 50, last - 127), hash(3)); // a node without an archive
  assert.equal(await found(last - 200, last - 127), undefined);
  assert.equal(await found(last + 1), undefined);
  assert.equal(await found(1), undefined); // before it was sent
});

test('a transaction that was replaced is found by account and nonce', async () => {
  const wallet = replacing({});
  const steps = [];
  const got = await send(wallet, (await quoteOf()).checked, { ...fast, onStep: keep(steps) });
  assert.equal(got.txHash, hash(2));
  assert.deepEqual(steps.map((step) => JSON.parse(step)).filter(({ step }) => step === 'confirm').map(({ txHash }) => txHash), [hash('f'), hash(1)]);
  const cancelled = replacing({ to: account, data: '0x' });
  assert.equal((await fails(send(cancelled, (await quoteOf()).checked, fast), 'REPLACED', 'APPROVAL')).txHash, hash(1));
  assert.equal(swaps(cancelled), 0);
  // A swap, which follow goes on with.
  const paying = replacing({});
  const { checked } = await quoteOf(native);
  const sent = await send(paying, checked, fast);
  assert.deepEqual([sent.txHash, sent.nonce], [hash('f'), '0x7']);
  assert.equal(await findReplacement(paying, sent), hash(1));
  assert.equal(await findReplacement(paying, { ...sent, txHash: hash(1) }), undefined);
  paying.chain = '0x38';
  assert.equal(await findReplacement(paying, sent), undefined);
  paying.chain = '0x1';
  const status = (txHash) => txHash === hash(1)
    ? { state: 'FAILED', final: true, source: { blockNumber: 1, confirmations: 9, timestamp: '2026-11-15T12:00:00Z' } }
    : { state: 'NOT_FOUND', final: false };
  const client = createClient({ gateway: 'http://x', fetch: async (address) => {
    const { srcChain, txHash } = Object.fromEntries(new URL(address).searchParams);
    return new Response(JSON.stringify({ srcChain, txHash, nextCheckSeconds: 1, ...status(txHash) }));
  } });
  const told = [];
  const replacement = () => findReplacement(paying, sent);
  for await (const { state, txHash } of client.follow({ srcChain: 1, txHash: sent.txHash, replacement })) told.push([state, txHash]);
  assert.deepEqual(told, [['FAILED', hash(1)]]);
});
