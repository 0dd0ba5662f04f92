// A wallet for the devnet's page. It announces itself as other wallets do (EIP-6963). The devnet signs everything at
// once with the key of its user, so there is nothing to confirm.
{
  const account = '0x9d7877ec33Cf3397d79A3E06D4a5cb373b7961F1';
  let chain = 1;
  let id = 0;
  const fail = (code, message) => { throw Object.assign(new Error(message), { code }); };
  const ask = async (method, params) => {
    id += 1;
    const res = await fetch(`/devnet/rpc/${chain}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id, method, params }),
    });
    if (!res.ok) fail(4900, `The devnet answers ${res.status}.`);
    const { result, error } = await res.json();
    if (error) fail(error.code, error.message);
    return result;
  };
  const provider = {
    async request({ method, params = [] }) {
      switch (method) {
        case 'eth_requestAccounts':
        case 'eth_accounts':
          return [account];
        case 'eth_chainId':
          return '0x' + chain.toString(16);
        case 'wallet_switchEthereumChain': {
          const before = chain;
          chain = Number(params[0].chainId);
          try {
            await ask('eth_chainId', []);
          } catch {
            chain = before;
            fail(4902, 'The devnet has no such chain.');
          }
          return null;
        }
        default:
          return method.startsWith('wallet_') ? fail(4200, 'This wallet cannot do that.') : ask(method, params);
      }
    },
    on() {},
    removeListener() {},
  };
  const icon = "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 8 8'%3E"
    + "%3Crect width='8' height='8' fill='orange'/%3E%3C/svg%3E";
  const info = Object.freeze({
    uuid: '5f5d4c1e-3f0a-4d0e-9a55-2f6f7c0a9d11',
    name: 'Devnet test wallet',
    icon,
    rdns: 'local.devnet',
  });
  const detail = Object.freeze({ info, provider });
  const announce = () => dispatchEvent(new CustomEvent('eip6963:announceProvider', { detail }));
  addEventListener('eip6963:requestProvider', announce);
  announce();
}
