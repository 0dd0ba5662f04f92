// Compiled from src/verify.js.
const isObject = (value) => typeof value === 'object' && value !== null;
const has = (value, key) => Object.prototype.hasOwnProperty.call(value, key);
const own = (value, key) => (isObject(value) && has(value, key) ? value[key] ?? undefined : undefined);
const listOf = (value) => (Array.isArray(value) ? value : []);
const at = (value, path) => path.split('.').reduce((inner, key) => own(inner, key), value);
const text = (value) => (typeof value === 'string' && value.length <= 2048 ? value : '');
const lower = (value) => (text(value).startsWith('0x') ? value.toLowerCase() : value);
const upper = (value) => value.replace(/[a-z]/g, (letter) => letter.toUpperCase());
const isSymbol = (value) => /^[A-Z0-9.]{1,20}$/.test(text(value));
const isAddress = (value) => /^0x[0-9a-fA-F]{40}$/.test(text(value));
const isRate = (value, most) => Number.isFinite(value) && value >= 0 && value <= most && Math.round(value * 100) / 100 === value;
export function unitOf(decimals) {
	return BigInt('1' + '0'.repeat(decimals));
}
const isChain = (value) => Number.isSafeInteger(value) && value > 0;
const amountOf = (value) => (/^[0-9]{1,78}$/.test(text(value)) ? BigInt(value) : -1n);
const UNSEEN = new RegExp('[\\0-\\x1f\\x7f-\\x9f\\xad\\u0590-\\u08ff\\u180e\\u200b-\\u200f\\u2028-\\u202e' +
	'\\u2060-\\u206f\\ud800-\\udfff\\ufb1d-\\ufdff\\ufe70-\\ufeff\\ufff0-\\ufffc\\u{10800}-\\u{10fff}' +
	'\\u{1e800}-\\u{1efff}\\u{e0000}-\\u{e0fff}]', 'gu');
export function plain(value, most) {
	const letters = Array.from(value.slice(0, 4096).replace(UNSEEN, '\ufffd'));
	if (letters.length > most)
		letters.splice(most - 21, letters.length - most + 1, '…');
	return letters.join('');
}
export function quoted(value) {
	return `"${plain(value, 60).replace(/"/g, "'")}"`;
}
export function show(value) {
	if (value === undefined)
		return 'left out';
	if (Array.isArray(value))
		return 'a list';
	if (isObject(value))
		return 'an object';
	if (typeof value === 'symbol')
		return String(value.description);
	return typeof value === 'string' ? quoted(value) : plain(String(value), 60);
}
const HUB = 369;
const NATIVE = '0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee';
const POOL_CHAINS = [1, 56, HUB, 4663, 8453];
const TOKENS = {
	USDC: {
		1: ['0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48', 6], 10: ['0x0b2c639c533813f4aa9d7837caf62653d097ff85', 6],
		25: ['0x3d7f2c478aafdb65542bcb44bceec05849999d2d', 6], 56: ['0x8ac76a51cc950d9822d68b83fe1ad97b32cd580d', 18],
		130: ['0x078d782b760474a361dda0af3839290b0ef57ad6', 6], 137: ['0x3c499c542cef5e3811e1192ce70d8cc03d5c3359', 6],
		143: ['0x754704bc059f8c67012fed69bc8a327a5aafb603', 6], 146: ['0x29219dd400f2bf60e5a23d13be72b486d4038894', 6],
		369: ['0x15d38573d2feeb82e7ad5187ab8c1d52810b1f07', 6], 480: ['0x79a02482a880bce3f13e09da970dc34db4cd24d1', 6],
		999: ['0xb88339cb7199b77e23db6e890353e22632ba630f', 6], 1329: ['0xe15fc38f6d8c56af07bbcbe3baf5708a2bf42392', 6],
		1672: ['0xc879c018db60520f4355c26ed1a6d572cdac1815', 6], 2818: ['0xcfb1186f4e93d60e60a8bdd997427d1f33bc372b', 6],
		8453: ['0x833589fcd6edb6e08f4c7c32d4f71b54bda02913', 6], 42161: ['0xaf88d065e77c8cc2239327c5edb3a432268e5831', 6],
		43114: ['0xb97ef9ef8734c71904d8002f8b6bc66dd9c48a6e', 6], 57073: ['0x2d270e6886d130d724215a266106e6832161eaed', 6],
		59144: ['0x176211869ca2b568f2a7d4ee941e073a821ee1ff', 6], 98866: ['0x222365ef19f7947e5484218551b56bb3965aa7af', 6],
	},
	USDT: {
		1: ['0xdac17f958d2ee523a2206206994597c13d831ec7', 6], 56: ['0x55d398326f99059ff775485246999027b3197955', 18],
	},
	DAI: {
		1: ['0x6b175474e89094c44da98b954eedeac495271d0f', 18], 56: ['0x1af3f329e8be154074d8769d1ffa4ee058b1dbc3', 18],
	},
	USD1: {
		56: ['0x8d0d000ee44948fc98c9b98a4fa4921476f08b0d', 18],
	},
	ETH: {
		1: ['0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee', 18], 4663: ['0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee', 18],
		8453: ['0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee', 18],
	},
	WETH: {
		1: ['0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2', 18], 56: ['0x2170ed0880ac9a755fd29b2688956bd959f933f8', 18],
		369: ['0x02dcdd04e3f455d838cd1249292c58f3b79e3c3c', 18],
	},
};
const FAST_FEES = {
	1: 1000, 10: 1300, 130: 2000, 480: 1300, 2818: 4000,
	8453: 1300, 42161: 1400, 57073: 2000, 59144: 13000, 98866: 2000,
};
const TETHER = at(TOKENS, 'USDT.1.0');
const MESSENGER = '0x28b5a0e9c621a5badaa536219b3a228c8168cf5d';
const LOST = [
	...Object.values(TOKENS).flatMap((chains) => Object.values(chains).map(([address]) => address)),
	'0x000000000000000000000000000000000000dead', MESSENGER, '0x81d40f21f12a8f0e3252bccb954d722d4c464b64',
	'0xfa7093cdd9ee6932b4eb2c9e1cde7ce00b1fa4b9', '0xac9f360ae85469b27aeddeafc579ef2d052ad405',
	'0x590162bf4b50f6576a459b75309ee21d92178a10', '0xf82d00fc51f730f42a00f85e74895a2849fff2dd',
	'0xffffffffffffffffffffffffffffffffffffffff',
	'0x4200000000000000000000000000000000000006', '0x5c7f8a570d578ed84e63fdfa7b1ee72deae1ae23',
	'0xbb4cdb9cbd36b01bd1cbaebf2de08d9173bc095c', '0x0d500b1d8e8ef31e21c99d1db9a6444d3adf1270',
	'0x3bd359c1119da7da1d913d1c4d2b7c461115433a', '0x039e2fb66102314ce7b64ce5ce3e5183bc94ad38',
	'0xa1077a294dde1b09bb078844df40758a5d0f9a27', '0x5555555555555555555555555555555555555555',
	'0xe30fedd158a2e3b13e9badaeabafc5516e95e8c7', '0x52c48d4213107b20bc583832b0d951fb9ca8f0b0',
	'0x5300000000000000000000000000000000000011', '0x0bd7d308f8e1639fab988df18a8011f41eacad73',
	'0x82af49447d8a07e3bd95bd0d56f35241523fbab1', '0xb31f66aa3c1e785363f0875a1b74e27b85fd66c7',
	'0xe5d7c2a44ffddf6b295a15c148167daaaf5cf34f', '0xea237441c92cae6fc17caaf9a7acb3f953be4bd1',
];
const PREDEPLOY = /^0x420{35}[0-7]/;
const ISSUER_CHAINS = Object.keys(own(TOKENS, 'USDC')).map(Number).filter((chain) => !POOL_CHAINS.includes(chain));
const PRIVATE = [69696969, 96969696];
export function networkOf(chain) {
	return [1, 56][PRIVATE.indexOf(chain)] ?? chain;
}
function tokenOn(chain, symbol) {
	const chainId = networkOf(chain);
	const [address, decimals] = own(own(TOKENS, symbol), chainId) ?? [];
	return { address, symbol, decimals, chainId };
}
const KNOWN = new Map();
for (const [symbol, chains] of Object.entries(TOKENS)) {
	for (const chain of Object.keys(chains)) {
		const token = tokenOn(Number(chain), symbol);
		for (const name of [symbol, token.address])
			KNOWN.set(`${chain} ${name}`, token);
	}
}
const knownAs = (chain, symbol, address) => [symbol, address].map((name) => KNOWN.get(`${chain} ${lower(name)}`));
const isKnownChain = (chain) => PRIVATE.includes(chain) || POOL_CHAINS.includes(chain) || has(own(TOKENS, 'USDC'), chain);
const ROUTES = [
	['USDC', [1, 8453, 56, ...ISSUER_CHAINS], 'USDC', [HUB]],
	['USDC', [HUB], 'USDC', [1, 8453, 56, ...ISSUER_CHAINS]],
	['ETH', [1, 8453, 4663], 'WETH', [HUB]],
	['WETH', [HUB], 'ETH', [1, 8453, 4663]],
	['USDT', [1, 56], 'USDC', [HUB, ...PRIVATE]],
	['DAI', [1], 'USDC', [HUB, ...PRIVATE]],
	['DAI', [56], 'USDC', PRIVATE],
	['USD1', [56], 'USDC', [HUB, ...PRIVATE]],
	['USDC', [HUB, 1, 8453, 56], 'USDC', PRIVATE],
	['USDC', PRIVATE, 'USDC', [HUB, 1, 8453, 56]],
	['ETH', [1], 'WETH', PRIVATE],
	['WETH', [HUB, 1], 'WETH', PRIVATE],
	['WETH', PRIVATE, 'WETH', [HUB, 1]],
	['WETH', PRIVATE, 'ETH', [1]],
];
export const pairs = ROUTES.flatMap(([from, sources, to, destinations]) => sources.flatMap((srcChain) => destinations.map((dstChain) => {
	const srcToken = tokenOn(srcChain, from);
	const unit = unitOf(srcToken.decimals);
	const [min, max] = from.endsWith('ETH') ? [unit / 100n, 20n * unit] : [10n * unit, 25000n * unit];
	const type = ISSUER_CHAINS.includes(srcChain) ? 'CCTP_INBOUND' : 'DIRECT';
	const fee = dstChain === HUB && !PRIVATE.includes(srcChain) ? 0.3 : 0.5;
	return { srcChain, srcToken, dstChain, dstToken: tokenOn(dstChain, to), type, fee, min, max };
})));
const MEANINGS = [
	[/recipient$/, 'The money would go to someone else'],
	[/destToken\.chainId|dstChain|destinationDomain/, 'The money would arrive on a different chain'],
	[/destToken|dstToken/, 'You would receive a different token'],
	[/(srcToken|sendCalls)\.chainId|srcChain/, 'You would pay on a different chain'],
	[/srcToken|burnToken|approval\.token/, 'You would pay with a different token'],
	[/approval.*amount/, 'You would approve a different amount'],
	[/srcAmount|unshieldAmount|value$|[st]\.amount/, 'You would pay a different amount'],
	[/\bto$/, 'You would pay a different contract'],
	[/spender/, 'Someone else could take your tokens'],
	[/mintRecipient|hookData/, 'The money would go to someone else'],
	[/destAmount|arrival/, 'A different amount would arrive'],
	[/integratorId|integrator\.(id|address)/, "The integrator's fee would go to someone else"],
	[/^fee|maxFee/, 'The fee would be different'],
	[/data|[cC]all|approval/, 'The transaction would do something else'],
	[/(?:)/, 'Something else would be different'],
];
function contrast(values) {
	if (!values.every((value) => typeof value === 'string'))
		return values.map((value) => show(lower(value)));
	let both = values.map((value) => lower(value.slice(0, 4096)).replace(/[^ !#-~]/gu, '\ufffd'));
	const are = (form) => both.every((value) => form.test(value));
	const padded = /^0x0{24}(?=.{40}$)/;
	if (are(padded))
		both = both.map((value) => value.replace(padded, '0x'));
	const first = Array.from(both.join('')).findIndex((_, i) => both[0]?.[i] !== both[1]?.[i]);
	if (are(/^0x.{40}$/)) {
		const shown = first > 37 ? 6 : Math.max(first + 1, 6);
		return both.map((value) => `${value.slice(0, shown)}…${value.slice(-4)}`);
	}
	const mark = are(/^[\w.]+$/) ? '' : '"';
	if (are(/^.{0,42}$/))
		return both.map((value) => mark + value + mark);
	const even = first & ~1;
	const from = Math.max(even - 16, 0);
	const around = both.map((value) => mark + (from ? '…' : '') + value.slice(from, even + 18) +
		(value[even + 18] ? '…' : '') + mark + (even && !value[even] ? ' ends' : ''));
	return [...around, are(/^0x([0-9a-f]{2})*$/) ? `, at byte ${even / 2 - 1}` : ''];
}
function compare(found, path, got, want, exact = false) {
	if (lower(got) === lower(want))
		return;
	const [theirs, ours] = [decode(got), decode(want)];
	if (ours && ours.function === theirs?.function) {
		if (theirs.hook)
			delete ours.arguments['hookData'];
		return compare(found, path, theirs, ours);
	}
	if (!isObject(want) || !isObject(got) || Array.isArray(got) !== Array.isArray(want)) {
		const rank = MEANINGS.findIndex(([pattern]) => pattern.test(path));
		const [a, b, where = ''] = contrast([got, want]);
		const whose = rank < 7 ? 'yours' : 'expected';
		(found[rank] ??= []).push(`${MEANINGS[rank]?.[1]}. Quote: ${a} · ${whose}: ${b}${where} (${path || 'quote'})`);
		return;
	}
	const inner = (key) => (path ? `${path}.${key}` : key);
	for (const key of Object.keys(want))
		compare(found, inner(key), own(got, key), want[key], exact);
	if (!exact && !Array.isArray(want))
		return;
	const extra = Object.keys(got).find((key) => !has(want, key) && (Array.isArray(got) || own(got, key) !== undefined));
	if (extra !== undefined) {
		compare(found, inner(/^\w{1,24}$/.test(extra) ? extra : quoted(extra)), got[extra] ?? null);
	}
}
const NEVER = 'That it arrives: the contracts enforce no minimum and no deadline, and give no refund. ' +
	'A swap that was sent settles at the fees then in force.';
const isNatural = (value) => Number.isSafeInteger(value) && value >= 0;
const KINDS = {
	text: (value) => text(value) === value,
	number: isNatural,
	uint8: (value) => isNatural(value) && value < 256, uint32: (value) => isNatural(value) && value < 2 ** 32,
	chain: isChain, site: (value) => /^https:\/\/[\w.:-]+(\/[\w.-]+)*$/.test(text(value)),
	node: (value) => text(value).length <= 200 &&
		/^(https:\/\/[\w.-]+|http:\/\/(localhost|127\.0\.0\.1))(:\d{1,5})?(\/[\w.~-]*)*$/.test(text(value)),
	percentage: (value) => Number.isFinite(value) && value >= 0 && value <= 100,
	time: (value) => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(text(value)) &&
		new Date(value).toJSON()?.replace('.000', '') === value,
	hash: (value) => /^0x[0-9a-fA-F]{64}$/.test(text(value)),
	state: (value) => ['NOT_FOUND', 'PENDING', 'FAILED', 'NOT_A_SWAP', 'SETTLING', 'SETTLED'].includes(value),
	status: (value) => ['SUCCESS', 'FAILED', 'UNPROVEN'].includes(value),
	amount: (value) => amountOf(value) >= 0n, address: isAddress, boolean: (value) => typeof value === 'boolean',
};
const CHECK = { actual: 'amount', needed: 'amount' };
const DETAILS = {
	arrival: { 'seconds?': 'number', deductions: [{ by: 'text', percentage: 'percentage', amount: 'amount' }] },
	validUntil: 'time', validForSeconds: 'number',
	'issuerFee?': { percentage: 'percentage', origin: 'text' }, 'integrator?': { registry: 'address', checkedAt: 'time' },
	'checks?': { balance: CHECK, 'allowance?': CHECK, native: CHECK, checkedAt: 'time',
		'recipient?': { 'source?': 'boolean', 'destination?': 'boolean' } },
	'reason?': 'text',
	'simulation?': {
		blockNumber: 'number', calls: [{ gasUsed: 'number', gasLimit: 'number', status: 'status', 'error?': 'text' }],
		'event?': 'boolean', native: CHECK,
	},
	'simulationReason?': 'text',
};
const SETTLEMENT = { chainId: 'chain', domain: 'uint32', 'receiver?': 'text' };
const LISTING = {
	deployment: 'text', chains: [{ chainId: 'chain', name: 'text', 'network?': 'chain', 'explorer?': 'site',
			'rpcUrls?': ['node'],
			'nativeCurrency?': { name: 'text', symbol: 'text', decimals: 'uint8' } }],
	tokens: [{ chainId: 'chain', symbol: 'text', address: 'address', decimals: 'uint8', minAmount: 'amount',
			maxAmount: 'amount' }],
	pairs: [{ srcChain: 'chain', srcToken: 'text', dstChain: 'chain', dstToken: 'text', type: 'text',
			protocolFee: 'percentage', feeChainId: 'chain', to: 'address', 'seconds?': 'number' }],
	settlement: SETTLEMENT, tracking: 'boolean', client: 'text', 'contact?': 'text',
};
export function checkForm(problems, path, got, form) {
	const isList = Array.isArray(form);
	const kind = typeof form === 'string' ? form : isList ? 'list' : 'object';
	const right = typeof form === 'string' ? KINDS[form]?.(got)
		: isObject(got) && Array.isArray(got) === isList;
	if (!right)
		problems.push(`${path} is ${show(got)}, but must be a${/^[ao]/.test(kind) ? 'n' : ''} ${kind}.`);
	else if (isList)
		Array.from(got, (each, i) => checkForm(problems, `${path}.${i}`, each, form[0]));
	else if (typeof form === 'object') {
		for (const [key, inner] of Object.entries(form)) {
			const name = key.replace('?', '');
			const value = own(got, name);
			if (value !== undefined || key === name)
				checkForm(problems, path ? `${path}.${name}` : name, value, inner);
		}
	}
}
const inputsOf = (list) => list.split(', ').map((input) => (input.split(' ')));
function methodOf(selector, name, list) {
	const inputs = inputsOf(list);
	return { selector, inputs, signature: `${name}(${inputs.map(([type]) => type)})` };
}
const APPROVE = methodOf('0x095ea7b3', 'approve', 'address spender, uint256 amount');
const SWAP = methodOf('0x095ff22d', 'swap', 'uint256 dstChainId, uint256 amount, bytes recipient, uint8 recipientType, address dstToken, bytes32 integratorId');
const BURN = methodOf('0x779b432d', 'depositForBurnWithHook', 'uint256 amount, uint32 destinationDomain, bytes32 mintRecipient, address burnToken, bytes32 destinationCaller, ' +
	'uint256 maxFee, uint32 minFinalityThreshold, bytes hookData');
const HOOK = inputsOf('uint256 dstChainId, address dstToken, bytes32 integratorId, uint8 recipientType, bytes recipient');
const BYTES = { uint256: 32, bytes32: 32, address: 20, uint32: 4, uint8: 1 };
const hex = (value, bytes) => BigInt(value).toString(16).padStart(2 * bytes, '0');
const valueOf = (type, digits) => (type.startsWith('uint') ? String(BigInt('0x' + digits)) : '0x' + digits);
function encode({ selector, inputs }, values) {
	let tail = '';
	const words = inputs.map(([type, name]) => {
		if (type !== 'bytes')
			return hex(values[name], 32);
		const digits = values[name].slice(2);
		tail = hex(digits.length / 2, 32) + digits.padEnd(Math.ceil(digits.length / 64) * 64, '0');
		return hex(32 * inputs.length, 32);
	});
	return selector + words.join('') + tail;
}
export function decode(calldata) {
	const data = lower(text(calldata));
	const called = [APPROVE, SWAP, BURN].find(({ selector }) => data.startsWith(selector));
	if (!called || !/^0x([0-9a-f]{2})*$/.test(data))
		return null;
	const word = (i) => data.slice(10 + 64 * i, 74 + 64 * i).padEnd(64, '0');
	const count = called.inputs.length;
	const values = Object.fromEntries(called.inputs.map(([type, name], i) => {
		if (type !== 'bytes')
			return [name, valueOf(type, word(i).slice(-2 * (BYTES[type] ?? 32)))];
		return [name, '0x' + data.slice(74 + 64 * count).slice(0, 2 * parseInt(word(count).slice(-4), 16))];
	}));
	if (encode(called, values) !== data)
		return null;
	const decoded = { function: called.signature, arguments: values };
	const { hookData } = values;
	if (hookData === undefined || hookData.length < 2 + 2 * 85)
		return decoded;
	let end = 2;
	decoded.hook = Object.fromEntries(HOOK.map(([type, name]) => [name, valueOf(type, hookData.slice(end, (end += 2 * (BYTES[type] ?? hookData.length))))]));
	return decoded;
}
export function verify(request, quote, known) {
	const report = {
		ok: false, problems: [], unchecked: [NEVER], warnings: [], checked: [], calls: [], wrap: [], expired: false,
	};
	const found = [];
	try {
		const swap = readRequest(request, known, report);
		if (swap)
			checkQuote(swap, quote, own(known, 'allowance'), report, found);
		const now = own(known, 'now');
		const time = now instanceof Date ? now.getTime() : now;
		report.expired = typeof time === 'number' && time > Date.parse(text(at(quote, 'details.validUntil')));
	}
	catch {
		report.problems.push('The quote cannot be read.');
	}
	report.problems = [...new Set([...found.flatMap((sentences) => sentences.sort()), ...report.problems])];
	report.ok = report.problems.length === 0;
	if (!report.ok || report.wrap.length)
		delete report.sendCalls;
	if (!report.ok)
		report.calls = report.wrap = [];
	return report;
}
function checkListing(listing, { problems }, refuse) {
	const before = problems.length;
	checkForm(problems, 'listing', listing, LISTING);
	if (problems.length > before)
		return undefined;
	const { chains, tokens, pairs: pairRows } = listing;
	const symbols = [...tokens.map((row) => row.symbol), ...pairRows.flatMap((row) => [row.srcToken, row.dstToken])];
	const odd = symbols.find((symbol) => !isSymbol(symbol));
	if (odd !== undefined) {
		return refuse(`symbols of 1 to 20 of the characters A-Z, 0-9 and dot, and none is ${show(odd)}`);
	}
	const networks = new Map();
	for (const row of chains) {
		const [chain, network] = [row.chainId, own(row, 'network')];
		if (networks.has(chain))
			return refuse('each chain once, with its number');
		const right = isKnownChain(chain)
			? (network ?? chain) === networkOf(chain) && PRIVATE.includes(chain) === (network !== undefined)
			: network !== chain;
		if (!right)
			return refuse(`the network of chain ${chain}`);
		networks.set(chain, network);
	}
	const names = new Set();
	for (const { chainId: chain, symbol, address, decimals, minAmount, maxAmount } of tokens) {
		const name = `${quoted(symbol)} on chain ${chain}`;
		if (decimals > 36 || BigInt(maxAmount) < BigInt(minAmount)) {
			return refuse(`one row for ${name}, with address, decimals and limits`);
		}
		if (PRIVATE.includes(chain) && !networks.has(chain))
			return refuse(`the network of chain ${chain}`);
		const [bySymbol, byAddress] = knownAs(networks.get(chain) ?? networkOf(chain), symbol, address);
		const truth = bySymbol ?? byAddress;
		if (truth && (bySymbol !== byAddress || truth.decimals !== decimals)) {
			return refuse(`${truth.address} with ${truth.decimals} decimals for ${truth.symbol} on chain ${chain}`);
		}
		for (const each of [name, `${lower(address)} on chain ${chain}`]) {
			if (names.has(each))
				return refuse(`each symbol and each address of a chain once, and ${each} is there twice`);
			names.add(each);
		}
	}
	for (const { srcChain, srcToken, dstChain, dstToken } of pairRows) {
		const ends = [`${quoted(srcToken)} on chain ${srcChain}`, `${quoted(dstToken)} on chain ${dstChain}`];
		const pair = ends.join(' to ');
		if (names.has(pair) || !ends.every((end) => names.has(end)))
			return refuse(`one row for ${pair}, and both tokens`);
		names.add(pair);
	}
	return networks;
}
function listedToken(listing, networks, chain, symbol, unchecked) {
	const isMeant = (row) => row.chainId === chain && row.symbol === symbol;
	const { address, decimals, minAmount, maxAmount } = (listing.tokens.find(isMeant));
	const network = networks.get(chain);
	const token = { address, symbol, decimals, chainId: network ?? chain };
	if (!knownAs(token.chainId, symbol, address)[0]) {
		const what = `The address of ${quoted(symbol)} on chain ${chain}, ${address}, and its ${decimals} decimals`;
		unchecked.push(`${what}: this version does not know the token.`);
	}
	return { token, private: network !== undefined, min: BigInt(minAmount), max: BigInt(maxAmount) };
}
export const NO_PAIR = 'request must have a supported pair of tokens and chains.';
export function findPair(request, listing, report) {
	const ask = (name) => {
		const value = own(request, name);
		return typeof value === 'number' ? String(value) : text(value);
	};
	const [from, to, source, destination] = [ask('srcChain'), ask('dstChain'), ask('srcToken'), ask('dstToken')];
	const refuse = (sentence) => void report.problems.push(sentence);
	const names = (name, row) => {
		const [symbol, address] = [own(row, 'symbol'), own(row, 'address')];
		return name !== '' && (upper(name) === symbol || lower(name) === lower(address) ||
			(lower(address) === NATIVE && /^0x0{40}$/.test(name)));
	};
	if (listing === undefined) {
		const pair = pairs.find((p) => String(p.srcChain) === from && String(p.dstChain) === to &&
			names(source, p.srcToken) && names(destination, p.dstToken));
		return pair
			? { ...pair, shields: PRIVATE.includes(pair.dstChain), unshields: PRIVATE.includes(pair.srcChain) }
			: refuse(NO_PAIR);
	}
	const refuseListing = (sentence) => refuse(`The listing must have ${sentence}.`);
	const networks = checkListing(listing, report, refuseListing);
	if (!networks)
		return undefined;
	const symbols = (chain, name) => listing.tokens.filter((row) => String(row.chainId) === chain && names(name, row)).map((row) => row.symbol);
	const sources = symbols(from, source);
	const destinations = symbols(to, destination);
	const [row, another] = listing.pairs.filter(({ srcChain, srcToken, dstChain, dstToken }) => String(srcChain) === from && String(dstChain) === to && sources.includes(srcToken) &&
		destinations.includes(dstToken));
	if (!row || another)
		return refuse(NO_PAIR);
	const { srcChain, srcToken, dstChain, dstToken, type, protocolFee: fee, feeChainId, to: router } = row;
	const src = listedToken(listing, networks, srcChain, srcToken, report.unchecked);
	const dst = listedToken(listing, networks, dstChain, dstToken, report.unchecked);
	if (type !== 'DIRECT' && type !== 'CCTP_INBOUND') {
		return refuse(`This version does not know routes of type ${show(type)}: use a newer one.`);
	}
	if (!isRate(fee, 1)) {
		return refuse('The listing must have a fee of at most 1 % and its chain for this pair.');
	}
	if (type === 'CCTP_INBOUND' && (src.private || dst.private || srcToken !== 'USDC')) {
		return refuse('The listing must burn nothing but USDC, and not into or out of a private balance.');
	}
	return {
		srcChain, srcToken: src.token, dstChain, dstToken: dst.token, type, fee, min: src.min, max: src.max,
		feeChainId, router, networks, shields: dst.private, unshields: src.private,
	};
}
function readRequest(request, known, report) {
	const { problems } = report;
	const must = (right, sentence) => right || problems.push(sentence);
	const read = (name) => {
		const value = own(request, name);
		return typeof value === 'bigint' ? String(value) : text(value);
	};
	const listing = own(known, 'listing');
	const pair = findPair(request, listing, report);
	if (!pair)
		return undefined;
	const { srcChain, srcToken, min, max, shields } = pair;
	const amount = amountOf(read('amount'));
	must(amount >= min && amount <= max, `request.amount is ${show(read('amount'))}, but must be ${min} to ${max}.`);
	const given = own(known, 'routers');
	const routers = listOf(given);
	let router = lower(pair.router);
	if (listing === undefined || given !== undefined) {
		must(routers.every((row) => {
			const [chain, symbol, token, to] = ['chainId', 'symbol', 'token', 'router'].map((name) => own(row, name));
			if (!isChain(chain) || !isSymbol(symbol) || !isAddress(token) || !isAddress(to))
				return false;
			const [bySymbol, byAddress] = knownAs(networkOf(chain), symbol, token);
			return bySymbol === byAddress;
		}), 'routers must have rows whose chain, symbol and token agree with what this version knows.');
		const rows = routers.filter((row) => own(row, 'chainId') === srcChain && own(row, 'symbol') === srcToken.symbol);
		router = lower(own(rows[0], 'router'));
		must(rows.length === 1 && lower(own(rows[0], 'token')) === lower(srcToken.address), `routers must have one row for ${quoted(srcToken.symbol)} on chain ${srcChain}, with its token and a router.`);
	}
	const burns = pair.type === 'CCTP_INBOUND';
	must(!burns || router === MESSENGER || given !== undefined, `The contract of a burn must be the issuer's TokenMessenger, or one of routers, and not ${show(router)}.`);
	const settlement = own(known, 'settlement') ?? own(listing, 'settlement');
	const fields = (row, names) => names.map((name) => lower(own(row, name)));
	const pick = (rows, ...names) => Array.from(listOf(rows), (row) => fields(row, names));
	const [chainId, domain, receiver] = fields(settlement, ['chainId', 'domain', 'receiver']);
	const tokens = pick(own(listing, 'tokens'), 'address').flat();
	const listed = pick(own(listing, 'pairs'), 'srcChain', 'srcToken', 'to');
	const pinned = pick(routers, 'chainId', 'symbol', 'router');
	const isPayable = (value) => isAddress(value) && BigInt(value) >= 0x10000n && !PREDEPLOY.test(value) &&
		![...LOST, ...tokens].includes(value);
	const taken = (value, network, token) => (given === undefined ? listed : pinned).some(([chain, symbol, to]) => to === value && symbol !== token && (pair.networks?.get(chain) ?? networkOf(chain)) === network);
	must((isPayable(router) || (burns && router === MESSENGER)) && !taken(router, srcToken.chainId, srcToken.symbol), `The contract of this pair must be one that nothing else uses, not ${show(router)}.`);
	must(isChain(chainId) && Number.isInteger(domain) && domain >= 0 && domain <= 0xffffffff &&
		((receiver ?? '') === '' ? !burns : isPayable(receiver) && !taken(receiver, chainId)), 'settlement must have chainId, domain and, for burns, a receiver that nothing else uses.');
	const asked = read('recipient');
	const recipient = shields ? asked.toLowerCase() : lower(asked);
	const isPrivate = /^(0zk1[02-9ac-hj-np-z]{123}|0ZK1[02-9AC-HJ-NP-Z]{123})$/.test(asked);
	if (shields)
		must(isPrivate, 'request.recipient must be a 0zk address.');
	else
		must(isPayable(recipient) && ![[receiver], ...listed, ...pinned].flat().includes(recipient), 'request.recipient must be an EVM address that can own money: no token and no contract.');
	const type = own(request, 'recipientType');
	must([undefined, '', 0, '0', shields && 2, shields && '2'].includes(type), 'request.recipientType must be 0, or 2 for 0zk.');
	const partner = lower(read('integratorId')).replace(/^0x0{24}(?=.{40}$)/, '0x') || undefined;
	must(!partner || (isAddress(partner) && BigInt(partner) !== 0n), 'request.integratorId must be a wallet address or its 32 bytes.');
	const sender = lower(read('from')) || undefined;
	must(!sender || isAddress(sender), 'request.from must be an EVM address.');
	if (problems.length)
		return undefined;
	const integratorId = '0x' + hex(partner ?? 0, 32);
	return { pair, amount, router, chainId, domain, receiver, recipient, sender, partner, integratorId };
}
const upTo = (whole, by) => (whole + by - 1n) / by;
export function split({ srcToken, dstToken, fee }, amount, rate) {
	const gross = (amount * unitOf(dstToken.decimals)) / unitOf(srcToken.decimals);
	const protocol = shareOf(gross, fee);
	const integrator = shareOf(gross, rate);
	return { protocol, integrator, dest: gross - protocol - integrator };
}
const shareOf = (whole, percentage) => (whole * BigInt(Math.round(percentage * 100))) / 10000n;
function buildCall({ pair, amount, domain, receiver, recipient, integratorId }, theirs) {
	const dstToken = lower(pair.dstToken.address);
	if (pair.type === 'DIRECT') {
		const note = text(theirs?.recipient).padEnd(322, '0').slice(0, 322);
		const to = pair.shields ? { recipient: note, recipientType: 2 } : { recipient, recipientType: 0 };
		return encode(SWAP, { dstChainId: pair.dstChain, amount, ...to, dstToken, integratorId });
	}
	const most = upTo(upTo(amount, 100n) * 6n, 5n);
	const least = upTo(upTo(amount * BigInt(FAST_FEES[pair.srcChain] ?? 0), 10000000n), 4n);
	const maxFee = amountOf(theirs?.maxFee);
	return encode(BURN, {
		amount, destinationDomain: domain, mintRecipient: receiver,
		burnToken: pair.srcToken.address, destinationCaller: receiver,
		maxFee: maxFee < least ? least : maxFee > most ? most : maxFee, minFinalityThreshold: 1000,
		hookData: `0x${hex(pair.dstChain, 32)}${dstToken.slice(2)}${integratorId.slice(2)}00${recipient.slice(2)}`,
	});
}
function checkQuote(swap, quote, allowance, report, found) {
	const { problems, unchecked, checked } = report;
	const { pair, amount, router, sender, partner } = swap;
	const { srcToken, dstToken, shields, unshields } = pair;
	const check = (group, want, path = '', exact = false, form) => {
		const got = path ? at(quote, path) : quote;
		const count = () => problems.length + found.flat().length;
		const before = count();
		compare(found, path, got, want, exact);
		if (form)
			checkForm(problems, path, got, form);
		if (count() === before)
			checked.push(group);
	};
	checked.push('limits');
	check('contract', { to: router });
	check('route', { route: { type: pair.type } });
	check('tokens', { srcToken, destToken: dstToken });
	const rate = at(quote, 'fee.integrator.percentage');
	const usable = isRate(rate, partner ? 10 : 0);
	const { protocol, integrator, dest } = split(pair, amount, usable ? rate : 0);
	const feeChain = pair.feeChainId ?? (POOL_CHAINS.includes(dstToken.chainId) ? dstToken.chainId : swap.chainId);
	check('fees', {
		fee: {
			chainId: feeChain, token: 'destination', protocol: { percentage: pair.fee, amount: String(protocol) },
			integrator: {
				percentage: usable ? rate : Symbol(partner ? 'from 0 to 10' : '0'), amount: String(integrator),
				id: partner && swap.integratorId, address: partner,
			},
			total: { amount: String(protocol + integrator) },
		},
	});
	check('amounts', { srcAmount: String(amount), destAmount: String(dest) });
	if (partner) {
		unchecked.push(`The integrator's fee of ${show(rate)} %: only its registry on chain ${feeChain} can tell.`);
	}
	const data = buildCall(swap, decode(at(quote, 'methodParameters.calldata'))?.arguments);
	const call = (decode(data));
	check('calldata', { methodParameters: { calldata: data } });
	if (shields)
		unchecked.push('Whom the shield note pays: only the owner of the 0zk address can open it.');
	if (call.hook)
		unchecked.push(`The issuer's fee: at most maxFee, ${call.arguments.maxFee}. The service pays it.`);
	if (shields || unshields) {
		unchecked.push("RAILGUN's own fee (arrival.deductions, arrival.unshieldAmount): its owner decides.");
	}
	const native = lower(srcToken.address) === NATIVE;
	const main = { to: router, data, value: native ? '0x' + amount.toString(16) : '0x0' };
	const approve = (most) => ({
		to: lower(srcToken.address), data: encode(APPROVE, { spender: router, amount: most }), value: '0x0',
	});
	const approval = approve(amount);
	const resets = srcToken.chainId === 1 && approval.to === TETHER;
	const callsAt = (allowed, count = resets && allowed !== 0n ? 3 : 2) => (native || allowed >= amount ? [main]
		: count === 3 ? [approve(0n), approval, main] : [approval, main]);
	check('value', { methodParameters: { value: main.value } });
	check('approval', {
		approval: native ? undefined
			: { token: approval.to, spender: router, amount: String(amount), calldata: approval.data },
	});
	const stated = sender && amountOf(at(quote, 'details.checks.allowance.actual'));
	const given = typeof allowance === 'bigint' ? allowance : amountOf(allowance);
	const calls = callsAt(allowance === undefined ? stated : given);
	const chainId = '0x' + srcToken.chainId.toString(16);
	const batch = (list) => ({
		version: '2.0.0', ...(sender && { from: sender }), chainId, atomicRequired: false, calls: list,
	});
	report[unshields ? 'wrap' : 'calls'] = calls.map((each) => ({ chainId, ...each }));
	report.sendCalls = batch(calls);
	if (at(quote, 'details') === undefined)
		return;
	if (unshields) {
		unchecked.push('That a RAILGUN wallet wraps it: ' +
			'sent from a public account, this is an ordinary swap at another fee, without privacy.');
		check('sendCalls', { unshield: true, sendCalls: undefined }, 'details');
	}
	else {
		const count = at(quote, 'details.sendCalls.calls.length');
		check('sendCalls', batch(callsAt(count === 1 ? stated : -1n, count)), 'details.sendCalls', true);
	}
	let arrives = dest;
	const listed = at(quote, 'details.arrival.deductions');
	const deductions = (shields && Array.isArray(listed) ? listed.slice(0, 9) : []).map((deduction) => {
		const percentage = own(deduction, 'percentage');
		const taken = isRate(percentage, 100) ? shareOf(dest, percentage) : 0n;
		arrives -= taken;
		return { amount: String(taken) };
	});
	const out = at(quote, 'details.arrival.unshieldAmount');
	const enough = amountOf(out) >= amount && amountOf(out) * 100n <= amount * 101n;
	const needed = { needed: String(amount) };
	const word = ': the gateway says so.';
	unchecked.push('Until when it counts and how long it takes (validUntil, validForSeconds, arrival.seconds)' + word);
	const say = (name) => show(at(quote, `details.${name}`));
	if (call.hook) {
		const [percentage, origin] = [say('issuerFee.percentage'), say('issuerFee.origin')];
		unchecked.push(`The issuer's percentage, ${percentage}, and its origin, ${origin} (issuerFee)` + word);
	}
	if (partner) {
		unchecked.push(`That the registry ${say('integrator.registry')} was asked, and when (integrator)` + word);
	}
	const [here, there] = ['source', 'destination'].map((side) => at(quote, `details.checks.recipient.${side}`));
	if ([true, false].includes(here) && there === !here) {
		const [code, none] = here ? [srcToken, dstToken] : [dstToken, srcToken];
		report.warnings.push(`The recipient has code on chain ${code.chainId} and none on chain ${none.chainId}: ` +
			'if it is a smart account, make sure that it is yours on both.');
	}
	if (sender)
		unchecked.push(`What ${sender} holds and allows (checks, reason): only the chain can tell.`);
	if (at(quote, 'details.simulation') ?? at(quote, 'details.simulationReason')) {
		unchecked.push('The dry run (simulation, simulationReason)' + word);
	}
	compare(found, 'details.call', at(quote, 'details.call'), call, true);
	check('details', {
		request: {
			srcChain: String(pair.srcChain), srcToken: srcToken.address,
			dstChain: String(pair.dstChain), dstToken: dstToken.address,
			amount: String(amount), recipient: swap.recipient,
			recipientType: shields ? 2 : 0, integratorId: partner && swap.integratorId,
		},
		unshield: unshields || undefined,
		contract: undefined,
		arrival: {
			amount: String(arrives), deductions,
			unshieldAmount: unshields ? (enough ? out : Symbol(`${amount} or up to 1 % more`)) : undefined,
		},
		issuerFee: call.hook && { maxFee: call.arguments.maxFee },
		integrator: partner && { chainId: feeChain },
		checks: sender && at(quote, 'details.checks') && { balance: needed, allowance: native ? undefined : needed },
	}, 'details', false, DETAILS);
}
