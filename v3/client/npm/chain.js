// Compiled from src/chain.js.
import { networkOf } from './verify.js';
const NETWORKS = {
	1: ['Ethereum', 'Ether', 'ETH'],
	10: ['OP Mainnet', 'Ether', 'ETH'],
	25: ['Cronos', 'Cronos', 'CRO'],
	56: ['BNB Smart Chain', 'BNB', 'BNB'],
	130: ['Unichain', 'Ether', 'ETH'],
	137: ['Polygon PoS', 'POL', 'POL'],
	143: ['Monad', 'Monad', 'MON'],
	146: ['Sonic', 'Sonic', 'S'],
	369: ['PulseChain', 'Pulse', 'PLS'],
	480: ['World Chain', 'Ether', 'ETH'],
	999: ['HyperEVM', 'HYPE', 'HYPE'],
	1329: ['Sei', 'Sei', 'SEI'],
	1672: ['Pharos', 'PharosCoin', 'PROS'],
	2818: ['Morph', 'Ether', 'ETH'],
	4663: ['Robinhood Chain', 'Ether', 'ETH'],
	8453: ['Base', 'Ether', 'ETH'],
	42161: ['Arbitrum One', 'Ether', 'ETH'],
	43114: ['Avalanche C-Chain', 'Avalanche', 'AVAX'],
	57073: ['Ink', 'Ether', 'ETH'],
	59144: ['Linea', 'Ether', 'ETH'],
	98866: ['Plume', 'Plume', 'PLUME'],
};
const LOCAL = /^http:\/\/(localhost|127\.0\.0\.1)(:\d{1,5})?(\/\S*)?$/;
const PUBLIC = /^https:\/\/[^\s@#/]+(\/[^\s#]*)?$/;
const isUrl = (url) => typeof url === 'string' && url.length <= 200 && (PUBLIC.test(url) || LOCAL.test(url));
export function chainParameters(id, { rpcUrls, listing, trustListing }) {
	const chain = networkOf(id);
	const row = trustListing ? listing?.chains.find(({ chainId }) => chainId === chain) : undefined;
	const urls = rpcUrls ?? row?.rpcUrls ?? [];
	if (!Array.isArray(urls) || !urls.every(isUrl)) {
		throw new TypeError('rpcUrls must be a list of addresses such as https://rpc.example.org');
	}
	const network = networkIn(chain, row);
	if (!urls.length || !network)
		return undefined;
	const parameters = { chainId: `0x${chain.toString(16)}`, ...network, rpcUrls: urls };
	return row?.explorer ? { ...parameters, blockExplorerUrls: [row.explorer] } : parameters;
}
function networkIn(chain, row) {
	const known = NETWORKS[chain];
	if (!known)
		return row?.nativeCurrency && { chainName: row.name, nativeCurrency: row.nativeCurrency };
	const [chainName, name, symbol] = known;
	return { chainName, nativeCurrency: { name, symbol, decimals: 18 } };
}
