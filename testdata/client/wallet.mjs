// Runs a snippet of the documentation as it is printed: `node --import ./wallet.mjs snippet.mjs`. The gateway at
// localhost:8080 is the one that GATEWAY names, the node at localhost:8545 that of chain 1 of the devnet at DEVNET, and
// window.ethereum a wallet of the devnet. It starts on another chain than the snippet needs.
// These may be set: CHAIN, the one that it starts on; STUBBORN, it says that it has switched and stays where it is;
// FORGETFUL, it has to be told of every other chain; BATCHES, it takes batches; CLOSED, the tab is closed as soon as
// the wallet has sent the swap; STORAGE, the file of the tab's localStorage.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';

const { FORGETFUL, BATCHES, CLOSED, STORAGE } = process.env;
const real = globalThis.fetch;
globalThis.fetch = (address, options) => real(String(address)
  .replace('http://localhost:8080', process.env.GATEWAY).replace(/^http:\/\/localhost:8545\/?$/, `${process.env.DEVNET}/devnet/rpc/1`), options);

let chain = Number(process.env.CHAIN ?? 56);
let id = 0;
const hex = (number) => '0x' + number.toString(16);
async function ask(method, params, at = chain) {
  const answer = await real(`${process.env.DEVNET}/devnet/rpc/${at}`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ jsonrpc: '2.0', id: ++id, method, params }) });
  const { result, error } = await answer.json();
  if (error) throw Object.assign(new Error(error.message), { code: error.code });
  return result;
}
async function send(at, from, { to, data, value = '0x0' }) {
  const hash = await ask('eth_sendTransaction', [{ from, to, data, value, chainId: hex(at) }], at);
  console.log(`SENT ${at} ${to} ${hash}`);
  const isApproval = data.startsWith('0x095ea7b3');
  if (CLOSED && !isApproval) process.exit(0);
  return hash;
}
const batches = new Map();
const chains = FORGETFUL ? [chain] : undefined; // that it knows; undefined for all
const ethereum = {
  async request({ method, params = [] }) {
    switch (method) {
      case 'eth_requestAccounts': case 'eth_accounts': return [process.env.ACCOUNT];
      case 'eth_chainId': return hex(chain);
      case 'wallet_getCapabilities':
        if (BATCHES) return {};
        return ask(method, params);
      case 'wallet_addEthereumChain': {
        const [{ chainId, chainName, rpcUrls }] = params;
        console.log('ADDED', chainId, chainName, ...rpcUrls);
        chains?.push(Number(chainId));
        return null;
      }
      case 'wallet_switchEthereumChain':
        if (chains && !chains.includes(Number(params[0].chainId))) {
          throw Object.assign(new Error('unknown chain'), { code: 4902 });
        }
        if (!process.env.STUBBORN) chain = Number(params[0].chainId);
        return null;
      case 'eth_sendTransaction':
        if (params[0].chainId && Number(params[0].chainId) !== chain) throw Object.assign(new Error('another chain'), { code: -32602 });
        return send(chain, params[0].from, params[0]);
      case 'wallet_sendCalls': { // sends on the chain that the parameters name, whatever the wallet shows
        const [{ chainId, from, calls }] = params;
        const hashes = [];
        console.log('BATCH', calls.length);
        for (const call of calls) hashes.push(await send(Number(chainId), from, call));
        batches.set(hashes[0], { chainId, hashes });
        return { id: hashes[0] };
      }
      case 'wallet_getCallsStatus': {
        const { chainId, hashes } = batches.get(params[0]);
        const receipts = await Promise.all(hashes.map((hash) => ask('eth_getTransactionReceipt', [hash], Number(chainId))));
        return { version: '2.0.0', id: params[0], chainId, status: 200, atomic: false, receipts };
      }
      default: return ask(method, params);
    }
  },
  on() {}, removeListener() {},
};
const stored = new Map(STORAGE && existsSync(STORAGE) ? JSON.parse(readFileSync(STORAGE, 'utf8')) : []);
const write = () => STORAGE && writeFileSync(STORAGE, JSON.stringify([...stored]));
const localStorage = {
  getItem: (name) => stored.get(name) ?? null,
  setItem: (name, value) => { stored.set(name, String(value)); write(); },
  removeItem: (name) => { stored.delete(name); write(); },
};
const nobody = () => {}; // no other wallet announces itself
Object.assign(globalThis, { localStorage });
globalThis.window = Object.assign(globalThis, { ethereum, addEventListener: nobody, removeEventListener: nobody, dispatchEvent: nobody });
