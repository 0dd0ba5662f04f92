// fromViem, with the clients of viem that apps have, and a node of its own that notes what was signed and passed on. Run
// with `node --test`, with the folder of the exchanges in GOLDENS and the client beside it in node_modules.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { createClient } from '@quotegate/client';
import { connect, findReplacement, send, SendError } from '@quotegate/client/send';
import { fromViem } from '@quotegate/client/viem';
import { createNonceManager, createPublicClient, createWalletClient, custom, keccak256, parseTransaction, publicActions, recoverTransactionAddress } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { bsc, mainnet } from 'viem/chains';

const account = privateKeyToAccount(`0x${'1f'.repeat(32)}`);
const other = '0x9d7877ec33Cf3397d79A3E06D4a5cb373b7961F1';
const bodyOf = (text) => text.slice(text.indexOf('\n\n', text.indexOf('\n\n') + 2) + 2);
const golden = (name) => readFileSync(`${process.env.GOLDENS}/${name}.http`, 'utf8');

// Quotes with the same end are the same swap.
let ends = Date.parse('2026-11-15T14:01:00Z');
async function quoteOf(name = 'details') {
  const client = createClient({
    gateway: 'http://x',
    fetch: async (address) => {
      if (address.includes('/pairs')) return new Response(bodyOf(golden('pairs')));
      const quote = JSON.parse(bodyOf(golden(name)));
      ends += 1000;
      quote.details.validUntil = new Date(ends).toISOString().replace('.000', '');
      return new Response(JSON.stringify(quote));
    },
  });
  const { include, ...asked } = Object.fromEntries(new URL(golden(name).split(/[ \n]/)[1], 'http://x').searchParams);
  return client.quote(asked);
}

const refuse = (code, message = 'no') => { throw Object.assign(new Error(message), { code }); };
const NOT_THERE = ['eth_fillTransaction', 'eth_requestAccounts', 'wallet_getCapabilities', 'wallet_sendCalls', 'wallet_switchEthereumChain'];
/** A node on chain 1. Rules replace what it answers. */
function newNode(rules = () => ({})) {
  const node = { asked: [], chain: 1, blocks: [[]], sent: [], allowance: 0n };
  const block = (number) => ({
    number: '0x1', hash: `0x${'0'.repeat(64)}`, timestamp: '0x1', gasLimit: '0x1c9c380', gasUsed: '0x0', baseFeePerGas: '0x7',
    size: '0x1', nonce: '0x0', difficulty: '0x0', transactions: node.blocks[Number(number)] ?? [],
  });
  const mine = async (raw) => {
    const from = await recoverTransactionAddress({ serializedTransaction: raw });
    const { chainId, nonce = 0, to, data, value = 0n } = parseTransaction(raw);
    node.sent.push({ chainId: `0x${chainId.toString(16)}`, to, data, value: `0x${value.toString(16)}`, from, nonce });
    node.blocks.push([{ hash: keccak256(raw), from, to, input: data, nonce: `0x${nonce.toString(16)}` }]);
    if (data.startsWith('0x095ea7b3')) node.allowance = BigInt(`0x${data.slice(74)}`);
    return keccak256(raw);
  };
  const does = {
    eth_chainId: () => `0x${node.chain.toString(16)}`, eth_accounts: () => [other],
    eth_getBalance: () => '0xffffffffffffffffffff', eth_getCode: () => '0x6080',
    eth_call: ([{ data }]) => (data.startsWith('0x70a08231') ? '0xffffffffffffffff' : `0x${node.allowance.toString(16).padStart(64, '0')}`),
    eth_blockNumber: () => `0x${(node.blocks.length - 1).toString(16)}`, eth_getBlockByNumber: ([number]) => block(number),
    eth_getTransactionCount: () => `0x${(node.blocks.length - 1).toString(16)}`,
    eth_maxPriorityFeePerGas: () => '0x1', eth_gasPrice: () => '0x9', eth_estimateGas: () => '0x30d40',
    eth_getTransactionReceipt: () => ({ status: '0x1' }),
    eth_sendRawTransaction: ([raw]) => mine(raw),
    ...rules(node, mine),
  };
  node.transport = custom({
    request: async ({ method, params = [] }) => {
      node.asked.push(method);
      return does[method] ? does[method](params) : refuse(NOT_THERE.includes(method) ? -32601 : -32000, `no ${method}`);
    },
  }, { retryDelay: 1 });
  node.times = (method) => node.asked.filter((each) => each === method).length;
  return node;
}
const localOf = (node, options = {}) => createWalletClient({ account, chain: mainnet, transport: node.transport, ...options });
const fast = { interval: 5, get signal() { return AbortSignal.timeout(10_000); } }; // a test that fails ends
/** Stops once nobody knows whether it was sent. */
const leave = () => {
  const stop = new AbortController();
  return { ...fast, signal: stop.signal, onStep: ({ step }) => { if (step === 'unclear') setTimeout(() => stop.abort(), 20); } };
};
async function fails(promise, code, sent) {
  const error = await promise.then(() => assert.fail('it was sent'), (e) => e);
  assert.ok(error instanceof SendError, String(error.stack));
  assert.deepEqual([error.code, error.sent], [code, sent], error.message);
  return error;
}

test('a local account signs, for the chain of the swap, what was checked', async () => {
  const checked = await quoteOf();
  const suffixed = { dataSuffix: '0xabcd' }; // which viem would add
  const node = newNode();
  const wallet = fromViem(localOf(node, suffixed));
  assert.equal(await connect(wallet), account.address);
  const got = await send(wallet, checked, fast);
  assert.deepEqual(got, { txHash: node.blocks[2][0].hash, from: account.address, chainId: '0x1', since: '0x1', nonce: '0x1' });
  const want = checked.calls.map((call, nonce) => ({ ...call, to: call.to.toLowerCase(), from: account.address, nonce }));
  assert.deepEqual(node.sent.map((tx) => ({ ...tx, to: tx.to.toLowerCase() })), want);
  assert.equal(await findReplacement(wallet, got), undefined);
  assert.deepEqual(await send(wallet, checked, fast), got);
  assert.equal(node.sent.length, 2);
});

test('the same client is the same wallet', () => {
  const node = newNode();
  const client = localOf(node);
  assert.equal(fromViem(client), fromViem(client));
  assert.notEqual(fromViem(client), fromViem(localOf(node)));
});

test('the nonce manager of an account counts', async () => {
  const node = newNode(() => ({ eth_getTransactionCount: () => '0x5' }));
  const nonces = createNonceManager({ source: { get: () => 5, set: () => {} } });
  const client = localOf(node, { account: { ...account, nonceManager: nonces } });
  await send(fromViem(client), await quoteOf(), fast);
  assert.deepEqual(node.sent.map(({ nonce }) => nonce), [5, 6]);
  const poor = newNode(() => ({ eth_estimateGas: () => refuse(-32000, 'insufficient funds for gas') }));
  await fails(send(fromViem(localOf(poor, { account: client.account })), await quoteOf('details-native'), fast), 'INSUFFICIENT_FUNDS', 'NOTHING');
  assert.equal(await nonces.get({ address: account.address, chainId: 1, client }), 7); // there is no gap
});

// What fails before it is signed was not sent, whatever it says.
const BEFORE = {
  'the gas estimate reverts': { rules: { eth_estimateGas: () => refuse(3, 'execution reverted: paused') }, code: 'WALLET', says: /execution reverted/i },
  'too little for gas': { rules: { eth_estimateGas: () => refuse(-32000, 'insufficient funds for gas * price + value') }, code: 'INSUFFICIENT_FUNDS' },
  'the node does not say how many it has sent': { rules: { eth_getTransactionCount: () => refuse(-32000, 'syncing') }, code: 'WALLET', says: /syncing/ },
  'the signer refuses': { signer: () => refuse(4001), code: 'REFUSED' },
  'the signer fails': { signer: () => { throw new Error('key is locked'); }, code: 'WALLET', says: /key is locked/ },
  'the node moves to another chain': { moves: true, code: 'WALLET', says: /is for chain 56: use one for chain 1/ },
  'the client is for another chain': { options: { chain: bsc }, code: 'WALLET', says: /is for chain 56: use one for chain 1/ },
};
test('before it is signed, every error proves that nothing was sent', async () => {
  for (const [name, { rules = {}, signer, moves, options = {}, code, says = /./ }] of Object.entries(BEFORE)) {
    for (const quote of ['details', 'details-native']) {
      const node = newNode(() => rules);
      const signing = { ...account, ...(signer && { signTransaction: async () => signer() }) };
      const client = localOf(node, { account: signing, ...options });
      const onStep = ({ step }) => { if (moves && step === 'sign') node.chain = 56; };
      const error = await fails(send(fromViem(client), await quoteOf(quote), { ...fast, onStep }), code, 'NOTHING');
      assert.match(error.message, says, name);
      assert.equal(node.times('eth_sendRawTransaction'), 0, name);
    }
  }
});

// A node has nobody who could refuse: after it was given the transaction, no error of its proves anything.
const AFTER = {
  'a refusal': () => refuse(4001), 'no permission': () => refuse(4100), 'a refusal in words': () => refuse(-32603, 'user rejected the request'),
  'not sent': () => refuse('NOT_SENT'), 'known already': () => refuse(-32000, 'already known'), 'too little': () => refuse(-32000, 'insufficient funds for gas'),
  'the connection': () => { throw new Error('socket hang up'); }, 'no method': () => refuse(-32601),
};
test('never sent twice, however the node fails after it was given the transaction', async () => {
  for (const [name, fail] of Object.entries(AFTER)) {
    for (const isOut of [true, false]) {
      const node = newNode((_, mine) => ({ eth_sendRawTransaction: async ([raw]) => {
        if (isOut) await mine(raw);
        return fail();
      } }));
      const wallet = fromViem(localOf(node));
      const checked = await quoteOf('details-native');
      if (isOut) {
        const { txHash } = await send(wallet, checked, fast);
        assert.equal(txHash, node.blocks[1][0].hash, name);
      } else if (name === 'too little') await fails(send(wallet, checked, fast), 'INSUFFICIENT_FUNDS', 'NOTHING');
      else await fails(send(wallet, checked, leave()), 'UNCLEAR', 'UNKNOWN');
      assert.equal(node.times('eth_sendRawTransaction'), 1, name);
    }
  }
});

test('the node cannot have it signed for another chain, or another call', async () => {
  const evil = { chainId: '0x38', to: other, input: '0x', data: '0x', value: '0x1', gas: '0x5208', maxFeePerGas: '0x9', maxPriorityFeePerGas: '0x1', nonce: '0x0', type: '0x2' };
  const node = newNode(() => ({ eth_fillTransaction: () => ({ raw: '0x', tx: evil }) }));
  const checked = await quoteOf('details-native');
  await send(fromViem(localOf(node)), checked, fast);
  const [{ chainId, to, data, value }] = node.sent;
  assert.deepEqual({ chainId, to: to.toLowerCase(), data, value }, { ...checked.calls[0], to: checked.calls[0].to.toLowerCase() });
});

test('a local account on another chain', async () => {
  const node = newNode();
  node.chain = 56;
  const wallet = fromViem(localOf(node));
  const error = await fails(send(wallet, await quoteOf(), fast), 'UNKNOWN_CHAIN', 'NOTHING');
  assert.match(error.cause.message, /is for chain 56: use one for chain 1/);
  const added = await fails(send(wallet, await quoteOf(), { ...fast, rpcUrls: ['https://node.example.org'] }), 'WALLET', 'NOTHING');
  assert.match(added.message, /for one chain: use one for the chain of the swap/);
  assert.equal(await wallet.request({ method: 'wallet_switchEthereumChain', params: [{ chainId: '0x38' }] }).catch((e) => e.code), 4902); // the client is for 1
  assert.equal(await fromViem(localOf(node, { chain: undefined })).request({ method: 'wallet_switchEthereumChain', params: [{ chainId: '0x38' }] }), null);
  node.chain = 1;
  const from = { from: other, to: other, data: '0x', chainId: '0x1' };
  const theirs = await wallet.request({ method: 'eth_sendTransaction', params: [from] }).catch((e) => e);
  assert.deepEqual([theirs.code, theirs.cause.code], ['NOT_SENT', 4100]);
  const nowhere = { ...from, from: account.address, chainId: undefined };
  assert.equal(await wallet.request({ method: 'eth_sendTransaction', params: [nowhere] }).catch((e) => e.code), 'NOT_SENT');
  assert.deepEqual(node.sent, []);
});

/** A client that sends batches, as those of smart accounts do. */
function batching(node, actions = {}, from = account) {
  const taken = [];
  const statuses = [{ statusCode: 100, status: 'pending' }, { statusCode: 200, status: 'success', receipts: [{ transactionHash: `0x${'a'.repeat(64)}`, status: 'success', blockNumber: 1n }] }];
  const client = localOf(node, { account: from }).extend(() => ({
    getCapabilities: async ({ chainId }) => (chainId === 1 ? { atomic: { status: 'supported' } } : undefined),
    sendCalls: async (batch) => { taken.push(batch); return { id: '0xb1' }; },
    getCallsStatus: async ({ id }) => ({ id, atomic: true, receipts: [], ...(statuses.length > 1 ? statuses.shift() : statuses[0]) }),
    ...actions,
  }));
  return { client, taken };
}
test('a client that sends batches', async () => {
  const checked = await quoteOf();
  const node = newNode();
  const { client, taken } = batching(node);
  const { txHash, batch } = await send(fromViem(client), checked, fast);
  assert.deepEqual([txHash, batch], [`0x${'a'.repeat(64)}`, '0xb1']);
  const calls = checked.calls.map(({ to, data, value }) => ({ to, data, value: BigInt(value) }));
  assert.deepEqual(taken, [{ account, chain: mainnet, calls, forceAtomic: false }]);
  assert.deepEqual(node.sent, []);
});
const CANNOT = {
  'not on this chain': { getCapabilities: async () => undefined },
  'it does not say': { getCapabilities: () => refuse(-32601) },
  'it has taken none': { sendCalls: () => refuse(-32601) },
  'it lacks an action': { getCallsStatus: undefined },
};
test('a client that sends no batch sends one by one', async () => {
  for (const [name, actions] of Object.entries(CANNOT)) {
    const node = newNode();
    await send(fromViem(batching(node, actions).client), await quoteOf(), fast);
    assert.equal(node.sent.length, 2, name);
  }
  const failing = batching(newNode(), { getCallsStatus: async () => ({ status: 'failure', statusCode: 500, receipts: [] }) });
  await fails(send(fromViem(failing.client), await quoteOf(), fast), 'BATCH_FAILED', 'NOTHING');
  const text = batching(newNode(), { sendCalls: async () => '0xb2' }); // as older clients say it
  assert.equal((await send(fromViem(text.client), await quoteOf(), fast)).batch, '0xb2');
});

test('a smart account', async () => {
  const smart = { address: account.address, type: 'smart' };
  for (const quote of ['details', 'details-native']) {
    const error = await fails(send(fromViem(localOf(newNode(), { account: smart })), await quoteOf(quote), fast), 'WALLET', 'NOTHING');
    assert.match(error.message, /Account type "smart" is not supported/);
  }
  const checked = await quoteOf('details-native');
  const [{ to, data }] = checked.calls;
  const txHash = `0x${'b'.repeat(64)}`;
  const asked = [];
  const { client } = batching(newNode(), { sendTransaction: async (sending) => { asked.push(sending); return txHash; } }, smart);
  assert.equal((await send(fromViem(client), checked, fast)).txHash, txHash);
  assert.deepEqual(asked, [{ account: smart, chain: mainnet, to, data, value: 10n ** 18n }]);
  // Its operations do not count as transactions, so no number proves that nothing was sent.
  const poor = batching(newNode(), { sendTransaction: () => refuse(-32000, 'insufficient funds') }, smart);
  await fails(send(fromViem(poor.client), await quoteOf('details-native'), leave()), 'UNCLEAR', 'UNKNOWN');
});

test('a JSON-RPC account, or none: its wallet or node is asked', async () => {
  const asked = [];
  const accounts = { eth_accounts: () => [account.address] };
  const wallet = (rules) => newNode((node) => ({
    ...accounts, eth_sendTransaction: ([tx]) => { asked.push(tx); node.allowance = 10n ** 30n; return `0x${'c'.repeat(64)}`; }, ...rules,
  }));
  const checked = await quoteOf();
  const { txHash } = await send(fromViem(localOf(wallet(), { account: account.address })), checked, fast);
  assert.equal(txHash, `0x${'c'.repeat(64)}`);
  assert.deepEqual(asked, checked.calls.map((call) => ({ from: account.address, ...call })));
  const nobody = (rules) => fromViem(createWalletClient({ transport: wallet(rules).transport }));
  assert.equal(await connect(nobody()), account.address); // a plain node
  assert.equal(await connect(nobody({ eth_requestAccounts: () => [other] })), other);
  await fails(connect(nobody({ eth_requestAccounts: () => refuse(4001) })), 'REFUSED', 'NOTHING');
  await fails(connect(nobody({ eth_accounts: () => [] })), 'NO_ACCOUNT', 'NOTHING');
  await fails(connect(fromViem(localOf(wallet(), { account: account.address })), other), 'OTHER_ACCOUNT', 'NOTHING');
  for (const code of [4001, 4902, -32602, -32603]) { // -32603: viem would ask again by itself
    const node = wallet({ eth_sendTransaction: () => refuse(code) });
    const error = await fromViem(localOf(node, { account: account.address })).request({ method: 'eth_sendTransaction', params: [{}] }).catch((e) => e);
    assert.deepEqual([error.code, node.times('eth_sendTransaction')], [code, 1]);
  }
});

test('what is no wallet client', () => {
  const { transport } = newNode();
  const incomplete = { ...localOf(newNode()), sendRawTransaction: undefined };
  for (const [client, lacks] of [
    [createPublicClient({ chain: mainnet, transport }), 'sendTransaction'],
    [{ account, chain: mainnet, ...publicActions, request() {} }, 'sendTransaction'],
    [incomplete, 'sendRawTransaction'], [transport, 'request'], [account, 'request'], [null, 'request'], [undefined, 'request'],
  ]) assert.throws(() => fromViem(client), (e) => e instanceof TypeError && e.message.endsWith(`createWalletClient gives it: this one has no ${lacks}`));
});
