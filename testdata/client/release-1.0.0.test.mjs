// What the client of release 1.0.0 does with the gateway of today at GATEWAY, and with one that answers with fields it
// cannot know at GATEWAY/later. Run with `node`, with that client in node_modules. v3/release_test.go serves both.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createClient, QuoteError, shortOf, verify, version } from '@quotegate/client';
import { send } from '@quotegate/client/send';

const { GATEWAY } = process.env;
const recipient = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed';
const from = '0x0000000000000000000000000000000000000b0b'; // has everything, and has allowed it
const shielded = '0zk1qyxurtdvcjqmruwenw2m3gsa8zpmagjk7l2rr54f72rzxzzq4hqn9rv7j6fe3z53la0e0u4w4enlgfrctv75s860w8vyalll36xdq7w39djr40dhrdafqpdmhpa';
const usdc = { srcToken: 'USDC', dstToken: 'USDC', amount: '100000000', srcChain: 1, dstChain: 369, recipient };
const ether = { ...usdc, srcToken: 'ETH', dstToken: 'WETH', amount: 10n ** 18n };
const swaps = { // each with how many calls it has, and what else must be true of it
  'through a pool': [usdc, 2],
  'of USDT, with an account': [{ ...usdc, srcToken: 'USDT', from }, 1, ({ quote }) => {
    assert.deepEqual(quote.details.checks.recipient, { source: true, destination: false, ...extra(quote) });
  }],
  'with an integrator': [{ ...usdc, srcChain: 369, dstChain: 10, integratorId: '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359' }, 2],
  'a burn': [{ ...usdc, srcChain: 42161 }, 2, ({ quote }) => assert.equal(quote.route.type, 'CCTP_INBOUND')],
  'of a coin': [ether, 1],
  'of a coin, simulated': [{ ...ether, from, simulate: true }, 1, ({ sufficient }) => assert.equal(sufficient, true)],
  shielding: [{ ...usdc, srcChain: 369, dstChain: 69696969, recipient: shielded }, 2],
  unshielding: [{ ...usdc, srcChain: 69696969 }, 0, ({ unshield, wrap }) => assert.deepEqual([unshield, wrap.length], [true, 2])],
};
const extra = ({ future }) => (future === undefined ? {} : { future });
const txHash = (end) => `0x${'11'.repeat(31)}${end}`;
const refused = async (promise, fields) => {
  const error = await promise.then(() => assert.fail('it was not refused'), (e) => e);
  assert.ok(error instanceof QuoteError, String(error));
  for (const [name, value] of Object.entries(fields)) assert.deepEqual(error[name], value, `${name}: ${error.message}`);
};

test('it is that release', () => assert.equal(version, '1.0.0'));

for (const [name, gateway] of Object.entries({ today: GATEWAY, later: `${GATEWAY}/later` })) {
  let warning; // of the last answer
  const client = createClient({ gateway, fetch: async (...given) => {
    const answer = await fetch(...given);
    warning = answer.headers.get('request-warning');
    return answer;
  } });

  test(`${name}: the listing, with fields that are new`, async () => {
    const listing = await client.pairs();
    assert.deepEqual(listing.chains[0].rpcUrls, ['https://rpc.example.org/eth', 'http://127.0.0.1:8545']);
    assert.equal(listing.settlement.future, name === 'later' ? 1 : undefined);
    assert.equal(listing.chains[0].nativeCurrency.future, listing.settlement.future);
  });

  for (const [kind, [request, calls, more]] of Object.entries(swaps)) {
    test(`${name}: a swap ${kind}`, async () => {
      const swap = await client.quote(request);
      assert.equal(warning === null, name === 'today');
      assert.equal(swap.calls.length, calls);
      assert.equal(swap.quote.fee.protocol.future, swap.quote.future);
      more?.(swap);
      const again = verify(swap.request, swap.quote, { listing: await client.pairs(), now: Date.now() });
      assert.deepEqual([again.ok, again.problems, again.calls.length], [true, [], calls]);
    });
  }

  test(`${name}: a status`, async () => {
    const { quote } = await client.quote(usdc);
    const asked = { srcChain: 1, txHash: txHash('07'), quote };
    const status = await client.status(asked);
    assert.deepEqual([status.state, status.final, shortOf(status, quote)], ['SETTLED', true, undefined]);
    const states = [];
    for await (const each of client.follow(asked)) states.push(each.state);
    assert.deepEqual(states, ['SETTLED']);
    const { quote: other } = await client.quote({ ...usdc, amount: '200000000' });
    await refused(client.status({ ...asked, quote: other }), { code: 'UNVERIFIED' });
  });

  test(`${name}: an altered quote is refused`, async () => {
    const alter = (change) => createClient({ gateway, fetch: async (...given) => {
      const answer = await fetch(...given);
      if (!String(given[0]).includes('/quote?')) return answer;
      const body = await answer.json();
      change(body);
      return new Response(JSON.stringify(body), { headers: answer.headers });
    } });
    for (const change of [
      (quote) => { quote.to = recipient; },
      (quote) => { quote.destAmount = '99'; },
      (quote) => { quote.approval.spender = recipient; },
      (quote) => { quote.methodParameters.calldata = quote.methodParameters.calldata.replace(/5aaeb605/, '5aaeb606'); },
      (quote) => { quote.details.sendCalls.calls[0].to = recipient; },
      (quote) => { quote.details.call.arguments.future = 1; },
    ]) await refused(alter(change).quote(usdc), { code: 'UNVERIFIED', status: 200 });
  });

  test(`${name}: errors have their codes`, async () => {
    await refused(client.quote({ ...usdc, amount: '1' }),
      { code: 'AMOUNT_OUT_OF_RANGE', status: 400, param: 'amount', minAmount: '10000000', maxAmount: '25000000000' });
    await refused(client.quote({ ...usdc, dstChain: 56 }), { code: 'UNSUPPORTED_PAIR', status: 400 });
    await refused(client.quote({ ...usdc, recipient: '0x4200000000000000000000000000000000000006' }),
      { code: 'INVALID_RECIPIENT', status: 400, reason: 'TOKEN' });
    await refused(client.quote({ ...usdc, integratorId: '0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb' }),
      { code: 'INTEGRATOR_UNREGISTERED', status: 400 });
    await refused(client.status({ srcChain: 1, txHash: txHash('99') }), { code: 'CHAIN_UNAVAILABLE', status: 503, retryAfter: 60 });
    await refused(client.status({ srcChain: 1, txHash: txHash('ff') }), { code: 'STATUS_UNAVAILABLE', status: 501 });
  });

  test(`${name}: a swap is sent once`, async () => {
    const swap = await client.quote({ ...ether, from });
    const sent = [];
    const answers = {
      eth_requestAccounts: () => [from], eth_accounts: () => [from], eth_chainId: () => '0x1', eth_getCode: () => '0x60',
      eth_getBalance: () => `0x${'f'.repeat(20)}`, eth_blockNumber: () => '0x1', wallet_getCapabilities: () => ({}),
      eth_sendTransaction: ([transaction]) => {
        sent.push(transaction);
        return txHash('07');
      },
    };
    const wallet = { request: async ({ method, params }) => {
      if (answers[method]) return answers[method](params);
      throw Object.assign(new Error(`no ${method}`), { code: -32601 });
    } };
    for (const _ of ['once', 'twice']) assert.equal((await send(wallet, swap, { client, interval: 5 })).txHash, txHash('07'));
    const [{ to, data, value }] = swap.calls;
    assert.deepEqual(sent.map((each) => [each.to, each.data, each.value]), [[to, data, value]]);
  });
}
