// The ABIs of the package are those of the contracts that the devnet runs. Run with `node --test`, with the folder of the
// exchanges in GOLDENS, and that of the compiled contracts in ARTIFACTS.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { messengerAbi, poolAbi, registryAbi } from '@quotegate/client/abi';
import { decode } from '@quotegate/client/verify';
import { decodeEventLog, decodeFunctionData, encodeFunctionData, toEventSelector } from 'viem';

const quoteOf = (name) => JSON.parse(readFileSync(`${process.env.GOLDENS}/${name}.http`, 'utf8').split('\n\n').at(-1));
const calldataOf = (name) => quoteOf(name).methodParameters.calldata;
const withoutInternal = (item) => JSON.parse(JSON.stringify(item, (key, value) => (key === 'internalType' ? undefined : value)));

test('every item is that of the contract', () => {
  for (const [contract, abi] of [['Pool', poolAbi], ['TokenMessengerV2', messengerAbi], ['IntegratorRegistry', registryAbi]]) {
    const all = JSON.parse(readFileSync(`${process.env.ARTIFACTS}/${contract}.json`, 'utf8')).abi;
    for (const item of abi) {
      assert.deepEqual(item, withoutInternal(all.find(({ type, name }) => type === item.type && name === item.name)), `${contract}.${item.name}`);
    }
  }
  assert.deepEqual([poolAbi, messengerAbi, registryAbi].map((abi) => abi.map(({ name }) => name)), [
    ['swap', 'settled', 'Swap', 'Settled'], ['depositForBurnWithHook', 'DepositForBurn'], ['getIntegrator'],
  ]);
});

// decode knows the calls without an ABI.
test('the calls of quotes are decoded, and encoded again', () => {
  for (const [name, abi] of [['details', poolAbi], ['details-native', poolAbi], ['details-burn', messengerAbi]]) {
    const calldata = calldataOf(name);
    const { functionName, args } = decodeFunctionData({ abi, data: calldata });
    const names = abi.find((item) => item.name === functionName).inputs.map((input) => input.name);
    const got = Object.fromEntries(args.map((value, i) => [names[i], String(value).toLowerCase()]));
    const want = decode(calldata);
    assert.deepEqual(got, Object.fromEntries(Object.entries(want.arguments).map(([key, value]) => [key, value.toLowerCase()])));
    assert.equal(want.function.split('(')[0], functionName);
    assert.equal(encodeFunctionData({ abi, functionName, args }).toLowerCase(), calldata.toLowerCase());
  }
});

const word = (hex) => `0x${hex.padStart(64, '0')}`;
test('an event of a swap is read', () => {
  const topics = ['0x88189c633cb5221f7618a7d3c0cbf47d638a068abe522076140fd83819d126fe', word('29'), word('9d7877ec33cf3397d79a3e06d4a5cb373b7961f1')];
  const data = `0x${calldataOf('details').slice(10)}`; // a pool says in its event what it was called with
  assert.deepEqual(decodeEventLog({ abi: poolAbi, topics, data }), {
    eventName: 'Swap',
    args: {
      nonce: 41n, sender: '0x9d7877ec33Cf3397d79A3E06D4a5cb373b7961F1', dstChainId: 369n, amount: 100000000n,
      recipient: '0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed', recipientType: 0,
      dstToken: '0x15D38573d2feeb82e7ad5187aB8c1D52810B1f07', integratorId: word('0'),
    },
  });
  for (const [name, topic] of [['Settled', '0x6a04ab592a426d96e36f1c08e1eaf0c34c7334fd077877dbdc848164b5471cd9'], ['DepositForBurn', '0x0c8c1cbdc5190613ebd485511d4e2812cfa45eecb79d845893331fedad5130a5']]) {
    assert.equal(toEventSelector([...poolAbi, ...messengerAbi].find((item) => item.name === name)), topic);
  }
});
