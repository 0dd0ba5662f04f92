/**
 * Checks a quote of /v3/swap/quote before a wallet signs it. It imports nothing: read it, copy it, pin it.
 *
 * verify() works the quote out again from your own request. It never throws. Routers and settlement of /v3/app/routers
 * come from the service that quotes, so they show its mistakes but not its lies: better pin those you have reviewed.
 *
 *   const {data: routers, settlement} = await (await fetch('/v3/app/routers')).json();
 *   const {ok, problems, calls} = verify(request, quote, {routers, settlement, now: Date.now()});
 *
 * Addresses compare in any letter case; EIP-55 checksums are not checked.
 *
 * @typedef {{srcToken: string, dstToken: string, amount: string, srcChain: string, dstChain: string, recipient: string,
 *   recipientType?: string, integratorId?: string, from?: string}} Request the query parameters that you sent
 * @typedef {{routers: {chainId: number, symbol: string, token: string, router: string}[],
 *   settlement: {chainId: number, domain: number, receiver: string}, now?: Date | number}} Known
 * @typedef {{to: string, data: string, value: string}} Call
 * @typedef {object} Report
 * @property {boolean} ok there are no problems
 * @property {string[]} problems every reason to refuse the quote
 * @property {string[]} unchecked what the quote alone cannot tell
 * @property {string[]} checked the groups of checks that passed
 * @property {Call[]} calls built here: the approval, unless the coin is native, and the main call. Empty if not ok
 * @property {boolean} expired now is after details.validUntil
 */

const HUB = 369;
const NATIVE = '0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE';
/** Where the service has pools. On the other networks, the issuer of USDC burns and mints it. */
const POOL_CHAINS = [1, 56, HUB, 4663, 8453];
const USDC = {
  1: '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48', 10: '0x0b2C639c533813f4Aa9D7837CAf62653d097Ff85',
  25: '0x3D7F2C478aAfdB65542BCB44bCeeC05849999d2D', 56: '0x8AC76a51cc950d9822D68b83fE1Ad97B32Cd580d',
  130: '0x078D782b760474a361dDA0AF3839290b0EF57AD6', 137: '0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359',
  143: '0x754704Bc059F8C67012fEd69BC8A327a5aafb603', 146: '0x29219dd400f2Bf60E5a23d13Be72B486D4038894',
  369: '0x15D38573d2feeb82e7ad5187aB8c1D52810B1f07', 480: '0x79A02482A880bCE3F13e09Da970dC34db4CD24d1',
  999: '0xb88339CB7199b77E23DB6E890353E22632Ba630f', 1329: '0xe15fC38F6D8c56aF07bbCBe3BAf5708A2Bf42392',
  1672: '0xC879C018dB60520F4355C26eD1a6D572cdAC1815', 2818: '0xCfb1186F4e93D60E60a8bDd997427D1F33bc372B',
  8453: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913', 42161: '0xaf88d065e77c8cC2239327C5EDb3A432268e5831',
  43114: '0xB97EF9Ef8734C71904D8002F8b6Bc66Dd9c48a6E', 57073: '0x2D270e6886d130D724215A266106e6832161EAEd',
  59144: '0x176211869cA2b568f2A7D4EE941E073a821EE1ff', 98866: '0x222365EF19F7947e5484218551B56bb3965Aa7aF',
};
const TOKENS = {
  USDC,
  USDT: { 1: '0xdAC17F958D2ee523a2206206994597C13D831ec7', 56: '0x55d398326f99059fF775485246999027B3197955' },
  DAI: { 1: '0x6B175474E89094C44Da98b954EedeAC495271d0F', 56: '0x1AF3F329e8BE154074D8769D1FFa4eE058B1DBc3' },
  USD1: { 56: '0x8d0D000Ee44948FC98c9B98A4FA4921476f08B0d' },
  ETH: { 1: NATIVE, 4663: NATIVE, 8453: NATIVE },
  WETH: {
    1: '0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2', 56: '0x2170Ed0880ac9A755fd29B2688956BD959F933F8',
    369: '0x02DcdD04e3F455D838cd1249292C58f3B79e3C3C',
  },
};
const ISSUER_CHAINS = Object.keys(USDC).map(Number).filter((chain) => !POOL_CHAINS.includes(chain));
/** The routing IDs of the privacy pools on chains 1 and 56. */
const PRIVATE = [69696969, 96969696];

function tokenOn(chain, symbol) {
  const chainId = [1, 56][PRIVATE.indexOf(chain)] ?? chain;
  const decimals = chainId !== 56 && (symbol === 'USDC' || symbol === 'USDT') ? 6 : 18;
  return { address: TOKENS[symbol][chainId], symbol, decimals, chainId };
}

/** @type {[string, number[], string, number[]][]} a token and its source chains, a token and its destination chains */
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
/** Every swap there is, with its fee in percent and its limits in the smallest unit. */
export const pairs = ROUTES.flatMap(([from, sources, to, destinations]) => sources.flatMap((srcChain) => destinations.map((dstChain) => {
  const srcToken = tokenOn(srcChain, from);
  const unit = 10n ** BigInt(srcToken.decimals);
  const [min, max] = from.endsWith('ETH') ? [unit / 100n, 20n * unit] : [10n * unit, 25000n * unit];
  const type = ISSUER_CHAINS.includes(srcChain) ? 'CCTP_INBOUND' : 'DIRECT';
  const fee = dstChain === HUB && !PRIVATE.includes(srcChain) ? 0.3 : 0.5;
  return { srcChain, srcToken, dstChain, dstToken: tokenOn(dstChain, to), type, fee, min, max };
})));

// Reading values that may be anything. No text of ours has half of 2048 characters.
const isObject = (value) => typeof value === 'object' && value !== null;
const own = (value, key) => (isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined);
const at = (value, path) => path.split('.').reduce((inner, key) => own(inner, key), value);
const text = (value) => (typeof value === 'string' && value.length <= 2048 ? value : '');
const lower = (value) => (text(value).startsWith('0x') ? value.toLowerCase() : value);
const isAddress = (value) => /^0x[0-9a-fA-F]{40}$/.test(text(value));
const amountOf = (value) => (/^[0-9]{1,78}$/.test(text(value)) ? BigInt(value) : -1n);
const show = (value) => (value === undefined ? 'left out' : isObject(value) ? 'an object'
  : String(value?.description ?? value).slice(0, 200));

/**
 * Adds a problem for every wanted value that differs. If exact, and in lists, there may be nothing else. Nothing equals a
 * symbol, which says in words what is wanted.
 */
function compare(problems, path, got, want, exact = false) {
  if (!isObject(want) || !isObject(got) || Array.isArray(got) !== Array.isArray(want)) {
    if (lower(got) !== lower(want)) problems.push(`${path} is ${show(got)}, but must be ${show(want)}.`);
    return;
  }
  const inner = (key) => (path ? `${path}.${key}` : key);
  for (const key of Object.keys(want)) compare(problems, inner(key), own(got, key), want[key], exact);
  if (!exact && !Array.isArray(want)) return;
  const extra = Object.keys(got).find((key) => !Object.hasOwn(want, key));
  if (extra !== undefined) problems.push(`${inner(show(extra))} must be left out.`);
}

// Calldata. Numbers are decimal strings, all else is 0x and lower-case digits.
const inputsOf = (list) => list.split(', ').map((input) => input.split(' '));
const [APPROVE, SWAP, BURN] = [
  ['0x095ea7b3', 'approve', 'address spender, uint256 amount'],
  ['0x095ff22d', 'swap',
    'uint256 dstChainId, uint256 amount, bytes recipient, uint8 recipientType, address dstToken, bytes32 integratorId'],
  ['0x779b432d', 'depositForBurnWithHook', 'uint256 amount, uint32 destinationDomain, bytes32 mintRecipient, ' +
    'address burnToken, bytes32 destinationCaller, uint256 maxFee, uint32 minFinalityThreshold, bytes hookData'],
].map(([selector, name, list]) => {
  const inputs = inputsOf(list);
  return { selector, inputs, signature: `${name}(${inputs.map(([type]) => type)})` };
});
const HOOK = inputsOf('uint256 dstChainId, address dstToken, bytes32 integratorId, uint8 recipientType, bytes recipient');
const BYTES = { uint256: 32, bytes32: 32, address: 20, uint32: 4, uint8: 1 };
const hex = (value, bytes) => BigInt(value).toString(16).padStart(2 * bytes, '0');
const valueOf = (type, digits) => (type.startsWith('uint') ? String(BigInt('0x' + digits)) : '0x' + digits);

/** Canonical ABI encoding, for at most one argument of type bytes. */
function encode({ selector, inputs }, values) {
  let tail = '';
  const words = inputs.map(([type, name]) => {
    if (type !== 'bytes') return hex(values[name], 32);
    const digits = values[name].slice(2);
    tail = hex(digits.length / 2, 32) + digits.padEnd(Math.ceil(digits.length / 64) * 64, '0');
    return hex(32 * inputs.length, 32);
  });
  return selector + words.join('') + tail;
}

/**
 * Says what calldata does, or null if it is no approval, swap or burn in canonical encoding.
 * @param {unknown} calldata
 * @returns {{function: string, arguments: Record<string, string>, hook?: Record<string, string>} | null}
 */
export function decode(calldata) {
  const data = text(calldata).toLowerCase();
  const called = [APPROVE, SWAP, BURN].find(({ selector }) => data.startsWith(selector));
  if (!called || !/^0x([0-9a-f]{2})*$/.test(data)) return null;
  const word = (i) => data.slice(10 + 64 * i, 74 + 64 * i).padEnd(64, '0');
  const count = called.inputs.length;
  const values = Object.fromEntries(called.inputs.map(([type, name], i) => {
    if (type !== 'bytes') return [name, valueOf(type, word(i).slice(-2 * BYTES[type]))];
    return [name, '0x' + data.slice(74 + 64 * count).slice(0, 2 * parseInt(word(count).slice(-4), 16))];
  }));
  if (encode(called, values) !== data) return null;
  const decoded = { function: called.signature, arguments: values };
  const { hookData } = values;
  if (!(hookData?.length >= 2 + 2 * 85)) return decoded;
  let end = 2;
  decoded.hook = Object.fromEntries(HOOK.map(([type, name]) =>
    [name, valueOf(type, hookData.slice(end, (end += 2 * (BYTES[type] ?? hookData.length))))]));
  return decoded;
}

/**
 * @param {Request} request
 * @param {unknown} quote
 * @param {Known} known
 * @returns {Report}
 */
export function verify(request, quote, known) {
  const report = { ok: false, problems: [], unchecked: [], checked: [], calls: [], expired: false };
  try {
    const swap = readRequest(request, known, report.problems);
    if (swap) checkQuote(swap, quote, report);
    const now = own(known, 'now');
    const time = now instanceof Date ? now.getTime() : now;
    report.expired = typeof time === 'number' && time > Date.parse(text(at(quote, 'details.validUntil')));
  } catch {
    report.problems.push('The quote cannot be read.');
  }
  report.ok = report.problems.length === 0;
  if (!report.ok) report.calls = [];
  return report;
}

/** Reads what was asked for and what is known, or nothing if there are problems. */
function readRequest(request, known, problems) {
  const must = (right, sentence) => right || problems.push(sentence);
  const read = (name) => text(own(request, name));
  const names = (name, { symbol, address }) => name.toUpperCase() === symbol || lower(name) === lower(address) ||
    (address === NATIVE && /^0x0{40}$/.test(name));
  const [from, to, source, destination] = ['srcChain', 'dstChain', 'srcToken', 'dstToken'].map(read);
  const pair = pairs.find((p) => String(p.srcChain) === from && String(p.dstChain) === to &&
    names(source, p.srcToken) && names(destination, p.dstToken));
  if (!pair) return void must(false, 'request must have a supported pair of tokens and chains.');
  const { srcChain, srcToken, dstChain, dstToken, min, max } = pair;
  const amount = amountOf(read('amount'));
  must(amount >= min && amount <= max, `request.amount is ${show(read('amount'))}, but must be ${min} to ${max}.`);

  const routers = Array.isArray(own(known, 'routers')) ? known.routers : [];
  const rows = routers.filter((row) => own(row, 'chainId') === srcChain && own(row, 'symbol') === srcToken.symbol);
  const router = lower(own(rows[0], 'router'));
  must(rows.length === 1 && lower(own(rows[0], 'token')) === lower(srcToken.address) && isAddress(router),
    `routers must have one row for ${srcToken.symbol} on chain ${srcChain}, with its token and a router.`);
  const [chainId, domain, receiver] = ['chainId', 'domain', 'receiver'].map((name) => lower(at(known, `settlement.${name}`)));
  must(Number.isInteger(chainId) && Number.isInteger(domain) && domain >= 0 && domain < 2 ** 32 &&
    isAddress(receiver) && BigInt(receiver) !== 0n,
    'settlement must have a chainId, a domain and a receiver.');

  const shields = PRIVATE.includes(dstChain);
  const recipient = lower(read('recipient'));
  const contracts = [NATIVE, dstToken.address, receiver, ...routers.map((row) => own(row, 'router'))].map(lower);
  if (shields) must(/^0zk1[02-9ac-hj-np-z]{123}$/i.test(recipient), 'request.recipient must be a 0zk address.');
  else must(isAddress(recipient) && BigInt(recipient) >= 0x10000n && !contracts.includes(recipient),
    'request.recipient must be an EVM address that can own money: no contract of the service.');
  must(['', '0', shields && '2'].includes(read('recipientType')), 'request.recipientType must be 0, or 2 for 0zk.');
  const partner = lower(read('integratorId')).replace(/^0x0{24}(?=.{40}$)/, '0x') || undefined;
  must(!partner || (isAddress(partner) && BigInt(partner) !== 0n), 'request.integratorId must be a wallet address or its 32 bytes.');
  if (problems.length) return undefined;
  const integratorId = '0x' + hex(partner ?? 0, 32);
  const sender = lower(read('from')) || undefined;
  return { pair, amount, router, chainId, domain, receiver, recipient, shields, sender, partner, integratorId };
}

/** Builds the main call. Of the quote's call it takes only a shield note, and a burn's maxFee within its bound. */
function buildCall({ pair, amount, domain, receiver, recipient, shields, integratorId }, theirs) {
  const dstToken = lower(pair.dstToken.address);
  if (pair.type === 'DIRECT') {
    const note = text(theirs?.recipient).padEnd(322, '0').slice(0, 322);
    const to = shields ? { recipient: note, recipientType: 2 } : { recipient, recipientType: 0 };
    return encode(SWAP, { dstChainId: pair.dstChain, amount, ...to, dstToken, integratorId });
  }
  const bound = (((amount + 99n) / 100n) * 6n + 4n) / 5n; // 1 % and a fifth of that, both rounded up
  const maxFee = amountOf(theirs?.maxFee);
  return encode(BURN, {
    amount, destinationDomain: domain, mintRecipient: receiver, burnToken: pair.srcToken.address, destinationCaller: receiver,
    maxFee: maxFee < 0n || maxFee > bound ? bound : maxFee, minFinalityThreshold: 1000,
    hookData: `0x${hex(pair.dstChain, 32)}${dstToken.slice(2)}${integratorId.slice(2)}00${recipient.slice(2)}`,
  });
}

/** Builds the quote that there must be, and compares. */
function checkQuote(swap, quote, { problems, unchecked, checked, calls }) {
  const { pair, amount, router, shields, sender, partner } = swap;
  const { srcToken, dstToken } = pair;
  const check = (group, want, path = '', got = path ? at(quote, path) : quote, exact = false) => {
    const before = problems.length;
    compare(problems, path, got, want, exact);
    if (problems.length === before) checked.push(group);
  };
  checked.push('limits');
  check('contract', { to: router });
  check('route', { route: { type: pair.type } });
  check('tokens', { srcToken, destToken: dstToken });

  const isRate = (value, most) => Number.isFinite(value) && value >= 0 && value <= most && Math.round(value * 100) / 100 === value;
  const share = (whole, rate) => (whole * BigInt(Math.round(rate * 100))) / 10000n; // rounded down
  const gross = (amount * 10n ** BigInt(dstToken.decimals)) / 10n ** BigInt(srcToken.decimals);
  const protocol = share(gross, pair.fee);
  const stated = at(quote, 'fee.integrator.percentage');
  const usable = isRate(stated, partner ? 10 : 0);
  const integrator = usable ? share(gross, stated) : 0n;
  const dest = gross - protocol - integrator;
  const feeChain = POOL_CHAINS.includes(dstToken.chainId) ? dstToken.chainId : swap.chainId;
  check('fees', {
    fee: {
      chainId: feeChain, token: 'destination', protocol: { percentage: pair.fee, amount: String(protocol) },
      integrator: {
        percentage: usable ? stated : Symbol(partner ? 'from 0 to 10' : '0'), amount: String(integrator),
        id: partner && swap.integratorId, address: partner,
      },
      total: { amount: String(protocol + integrator) },
    },
  });
  check('amounts', { srcAmount: String(amount), destAmount: String(dest) });
  if (partner) unchecked.push(`The integrator's fee of ${show(stated)} %: only its registry on chain ${feeChain} can tell.`);

  const theirs = decode(at(quote, 'methodParameters.calldata'));
  const data = buildCall(swap, theirs?.arguments);
  const call = decode(data);
  if (theirs) check('calldata', call, 'methodParameters.calldata', theirs);
  else problems.push(`methodParameters.calldata must be a call of ${call.function} in canonical encoding.`);
  if (shields) unchecked.push('Whom the shield note pays: only the owner of the 0zk address can open it.');
  if (call.hook) unchecked.push(`The issuer's fee: at most maxFee, ${call.arguments.maxFee}. The service pays it.`);
  const unshields = PRIVATE.includes(pair.srcChain);
  if (shields || unshields) unchecked.push("RAILGUN's own fee: its owner decides.");

  const native = srcToken.address === NATIVE;
  const main = { to: router, data, value: native ? '0x' + amount.toString(16) : '0x0' };
  const approve = (most) => ({ to: lower(srcToken.address), data: encode(APPROVE, { spender: router, amount: most }), value: '0x0' });
  const approval = approve(amount);
  check('value', { methodParameters: { value: main.value } });
  check('approval', {
    approval: native ? undefined : { token: approval.to, spender: router, amount: String(amount), calldata: approval.data },
  });
  calls.push(...(native ? [main] : [approval, main]));
  if (at(quote, 'details') === undefined) return;

  // The approval may be left out where the allowance is said to be enough. If it is not, the main call fails.
  const count = at(quote, 'details.sendCalls.calls.length');
  const allowed = sender && amountOf(at(quote, 'details.checks.allowance.actual')) >= amount;
  const sent = native || (allowed && count === 1) ? [main] : count === 3 ? [approve(0), approval, main] : calls;
  check('sendCalls', {
    version: '2.0.0', ...(sender && { from: sender }), chainId: '0x' + srcToken.chainId.toString(16), atomicRequired: false, calls: sent,
  }, 'details.sendCalls', undefined, true);

  let arrives = dest;
  const listed = at(quote, 'details.arrival.deductions');
  const deductions = (shields && Array.isArray(listed) ? listed.slice(0, 9) : []).map((deduction) => {
    const percentage = own(deduction, 'percentage');
    const taken = isRate(percentage, 100) ? share(dest, percentage) : 0n;
    arrives -= taken;
    return { amount: String(taken) };
  });
  const out = at(quote, 'details.arrival.unshieldAmount');
  const enough = amountOf(out) >= amount && amountOf(out) * 100n <= amount * 101n;
  const until = at(quote, 'details.validUntil');
  const needed = { needed: String(amount) };
  if (sender) unchecked.push(`What ${sender} holds: only the chain can tell.`);
  check('details', {
    request: {
      srcChain: String(pair.srcChain), srcToken: srcToken.address, dstChain: String(pair.dstChain), dstToken: dstToken.address,
      amount: String(amount), recipient: swap.recipient, recipientType: shields ? 2 : 0, integratorId: partner && swap.integratorId,
    },
    call,
    arrival: {
      amount: String(arrives), deductions: listed && deductions,
      unshieldAmount: unshields ? (enough ? out : Symbol(`${amount} or up to 1 % more`)) : undefined,
    },
    validUntil: Date.parse(text(until)) ? until : Symbol('a time'),
    issuerFee: call.hook && { maxFee: call.arguments.maxFee },
    integrator: partner && { chainId: feeChain },
    checks: sender && (at(quote, 'details.checks') === null ? null : { balance: needed, allowance: native ? undefined : needed }),
  }, 'details');
}
