// Works a v3 quote out, for USDC, USDT, DAI, USD1 and ETH towards the hub.

import { readFileSync } from 'node:fs';
import {
  encodeFunctionData, encodePacked, getAddress, isAddress, numberToHex, pad, parseAbi, prepareEncodeFunctionData, zeroAddress,
} from 'viem';

const HUB = 369;
const NATIVE = '0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE';
const ZERO_ID = pad('0x', { size: 32 });
const PROTOCOL_BPS = 30n;
const SETTLEMENT_FINALITY = 1000;
const DESTINATIONS = { USDC: 'USDC', USDT: 'USDC', DAI: 'USDC', USD1: 'USDC', ETH: 'WETH' };

const abi = parseAbi([
  'function approve(address spender, uint256 amount)',
  'function swap(uint256 dstChainId, uint256 amount, bytes recipient, uint8 recipientType, address dstToken, bytes32 integratorId) payable',
  'function depositForBurnWithHook(uint256 amount, uint32 destinationDomain, bytes32 mintRecipient, address burnToken, bytes32 destinationCaller, uint256 maxFee, uint32 minFinalityThreshold, bytes hookData)',
]);

export class BadRequest extends Error {
  statusCode = 400;
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

const ceilDiv = (n, d) => (n + d - 1n) / d;

/**
 * Reads the chains and the deployment, and gives the function that quotes.
 * Tuned, it works the selectors out beforehand.
 */
export function newQuoter(chainsFile, deploymentFile, tuned) {
  const method = (functionName) => (tuned ? prepareEncodeFunctionData({ abi, functionName }) : { abi, functionName });
  const approve = method('approve');
  const swap = method('swap');
  const burn = method('depositForBurnWithHook');
  const chains = new Map(JSON.parse(readFileSync(chainsFile, 'utf8')).map((c) => [c.chainId, c]));
  const deployment = JSON.parse(readFileSync(deploymentFile, 'utf8'));
  const pools = new Map(deployment.pools.map((p) => [`${p.chainId}/${p.token}`, getAddress(p.router)]));
  const receiver = pad(deployment.settlement.receiver, { size: 32 }).toLowerCase();
  const settlementDomain = chains.get(deployment.settlement.chainId).cctp.domain;

  const tokens = new Map();
  for (const { chainId, native, tokens: listed } of chains.values()) {
    const add = (token) => {
      const t = { ...token, chainId, scale: 10n ** BigInt(token.decimals) };
      tokens.set(`${chainId}/${t.symbol}`, t);
      tokens.set(`${chainId}/${t.address.toLowerCase()}`, t);
    };
    for (const [symbol, t] of Object.entries(listed)) add({ address: getAddress(t.address), symbol, decimals: t.decimals });
    if (native.symbol === 'ETH') add({ address: NATIVE, symbol: 'ETH', decimals: 18 });
  }

  function findToken(chainId, name, param) {
    const token = tokens.get(`${chainId}/${name.toUpperCase()}`) ?? tokens.get(`${chainId}/${name.toLowerCase()}`);
    if (!token) throw new BadRequest('UNSUPPORTED_TOKEN', `${param} is not supported on chain ${chainId}`);
    return token;
  }

  // Limits are in whole tokens: 10 to 25,000 of a stablecoin, 0.01 to 20 of ether.
  function checkLimits(token, amount) {
    const ether = token.symbol === 'ETH' || token.symbol === 'WETH';
    const [least, most] = ether ? [token.scale / 100n, 20n * token.scale] : [10n * token.scale, 25000n * token.scale];
    if (amount < least || amount > most) throw new BadRequest('AMOUNT_OUT_OF_RANGE', `amount must be ${least} to ${most}`);
  }

  // ceil(ceil(amount × bps / 10000) × 1.2); the rates have at most three decimals.
  function maxFee(amount, bps) {
    const estimate = ceilDiv(amount * BigInt(Math.round(bps * 1000)), 10_000_000n);
    return ceilDiv(estimate * 6n, 5n);
  }

  function encodeBurn(source, token, destToken, amount, recipient) {
    const hookData = encodePacked(
      ['uint256', 'address', 'bytes32', 'uint8', 'bytes'],
      [BigInt(HUB), destToken.address, ZERO_ID, 0, recipient],
    );
    return encodeFunctionData({
      ...burn,
      args: [amount, settlementDomain, receiver, token.address, receiver, maxFee(amount, source.cctp.fastFeeBps), SETTLEMENT_FINALITY, hookData],
    });
  }

  return function quote(query) {
    const source = chains.get(Number(query.srcChain));
    if (!source || Number(query.dstChain) !== HUB) throw new BadRequest('UNSUPPORTED_CHAIN', 'srcChain or dstChain is not supported');
    const token = findToken(source.chainId, query.srcToken, 'srcToken');
    const destToken = findToken(HUB, query.dstToken, 'dstToken');
    const pool = pools.get(`${source.chainId}/${token.symbol}`);
    const direct = pool !== undefined;
    if (DESTINATIONS[token.symbol] !== destToken.symbol || !(direct || source.cctp)) {
      throw new BadRequest('UNSUPPORTED_PAIR', 'Unsupported swap pair');
    }
    if (!isAddress(query.recipient) || query.recipient === zeroAddress) {
      throw new BadRequest('INVALID_RECIPIENT', 'recipient must be a non-zero EVM address');
    }
    const recipient = query.recipient.toLowerCase();
    const amount = BigInt(query.amount);
    checkLimits(token, amount);

    const gross = (amount * destToken.scale) / token.scale;
    const fee = (gross * PROTOCOL_BPS) / 10_000n;
    const to = direct ? pool : getAddress(source.cctp.tokenMessenger);
    const calldata = direct
      ? encodeFunctionData({ ...swap, args: [BigInt(HUB), amount, recipient, 0, destToken.address, ZERO_ID] })
      : encodeBurn(source, token, destToken, amount, recipient);
    const native = token.address === NATIVE;
    return {
      to,
      srcToken: token,
      destToken,
      srcAmount: amount.toString(),
      destAmount: (gross - fee).toString(),
      fee: {
        chainId: HUB,
        token: 'destination',
        protocol: { percentage: Number(PROTOCOL_BPS) / 100, amount: fee.toString() },
        integrator: { percentage: 0, amount: '0' },
        total: { amount: fee.toString() },
      },
      approval: native
        ? undefined
        : { token: token.address, spender: to, amount: amount.toString(), calldata: encodeFunctionData({ ...approve, args: [to, amount] }) },
      methodParameters: { calldata, value: native ? numberToHex(amount) : '0x0' },
      route: { type: direct ? 'DIRECT' : 'CCTP_INBOUND' },
    };
  };
}
