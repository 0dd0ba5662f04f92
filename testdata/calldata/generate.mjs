// Makes vectors.json: calldata encoded by two independent libraries, ethers
// and viem, which must agree with one another. `make vectors` runs it.
import { AbiCoder, Interface, solidityPacked } from "ethers";
import { encodeAbiParameters, encodeFunctionData, encodePacked, parseAbi, parseAbiParameters } from "viem";
import { createHash } from "node:crypto";

const functions = [
  "function swap(uint256 dstChainId, uint256 amount, bytes recipient, uint8 recipientType, address dstToken, bytes32 integratorId)",
  "function approve(address spender, uint256 amount)",
  "function depositForBurnWithHook(uint256 amount, uint32 destinationDomain, bytes32 mintRecipient, address burnToken, bytes32 destinationCaller, uint256 maxFee, uint32 minFinalityThreshold, bytes hookData)",
];
const ethers = new Interface(functions);
const viem = parseAbi(functions);

// Inputs are drawn from a hash, so that the file is the same on every run.
const draw = (label, bytes) => {
  let out = "";
  for (let i = 0; out.length < 2 * bytes; i++) out += createHash("sha256").update(`${label}/${i}`).digest("hex");
  return "0x" + out.slice(0, 2 * bytes);
};
const pad = (address) => "0x" + address.slice(2).padStart(64, "0");

const same = (what, a, b) => {
  [a, b] = [a.toLowerCase(), b.toLowerCase()]; // viem keeps the case of its input
  if (a !== b) throw new Error(`ethers and viem disagree on ${what}:\n${a}\n${b}`);
  return a;
};
const call = (name, args) =>
  same(name, ethers.encodeFunctionData(name, args), encodeFunctionData({ abi: viem, functionName: name, args }));

const usual = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed";
const none = "0x" + "00".repeat(32);
const partner = pad("0xfb6916095ca1df60bb79ce92ce3ea74c37c5d359");
const noteTypes = ["bytes32", "bytes32[3]", "bytes32"];
const noteArgs = (label) => [
  draw(label + " npk", 32),
  [0, 1, 2].map((i) => draw(`${label} bundle ${i}`, 32)),
  draw(label + " key", 32),
];
const note = (label) =>
  same("note", AbiCoder.defaultAbiCoder().encode(noteTypes, noteArgs(label)),
    encodeAbiParameters(parseAbiParameters(noteTypes.join(", ")), noteArgs(label)));

const swaps = [
  ["100 USDC to Ethereum", 1, "100000000", usual, 0, "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48", none],
  ["0.01 ETH to the hub", 369, "10000000000000000", usual, 0, "0x02DcdD04e3F455D838cd1249292C58f3B79e3C3C", none],
  ["WETH to native ETH", 4663, "20000000000000000000", usual, 0, "0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE", none],
  ["zero recipient", 369, "25000000000", "0x" + "00".repeat(20), 0, "0x15D38573d2feeb82e7ad5187aB8c1D52810B1f07", none],
  ["with an integrator", 98866, "12345678", usual, 0, "0x222365EF19F7947e5484218551B56bb3965Aa7aF", partner],
  ["shielding", 69696969, "10000000", note("shielding"), 2, "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48", none],
  ["shielding with an integrator", 96969696, "25000000000000000000000", note("second"), 2, "0x8AC76a51cc950d9822D68b83fE1Ad97B32Cd580d", partner],
  ["largest amount", 1, (2n ** 256n - 1n).toString(), usual, 0, usual, "0x" + "ff".repeat(32)],
].map(([name, dstChainId, amount, recipient, recipientType, dstToken, integratorId]) => ({
  name, dstChainId, amount, recipient, recipientType, dstToken, integratorId,
  calldata: call("swap", [BigInt(dstChainId), BigInt(amount), recipient, recipientType, dstToken, integratorId]),
}));

const approvals = [
  ["100 USDC", usual, "100000000"],
  ["everything", "0x28b5a0e9C621a5BadaA536219b3a228C8168cf5d", (2n ** 256n - 1n).toString()],
  ["nothing", usual, "0"],
].map(([name, spender, amount]) => ({ name, spender, amount, calldata: call("approve", [spender, BigInt(amount)]) }));

const hookTypes = ["uint256", "address", "bytes32", "uint8", "bytes"];
const burns = [
  ["100 USDC from Avalanche", "100000000", 6, "0xB97EF9Ef8734C71904D8002F8b6Bc66Dd9c48a6E", "0", none, 0, usual],
  ["25,000 USDC from Linea", "25000000000", 6, "0x176211869cA2b568f2A7D4EE941E073a821EE1ff", "39000000", none, 0, usual],
  ["with an integrator", "10000000", 0, "0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359", "1560", partner, 0, usual],
  ["a longer recipient", "10000001", 6, "0xaf88d065e77c8cC2239327C5EDb3A432268e5831", "1681", none, 2, note("hook")],
].map(([name, amount, destinationDomain, burnToken, maxFee, integratorId, recipientType, recipient]) => {
  const receiver = "0x25b3Af079309a5477760AC0405107952d11c8fd9";
  const dstToken = "0x15D38573d2feeb82e7ad5187aB8c1D52810B1f07";
  const hook = [369n, dstToken, integratorId, recipientType, recipient];
  const hookData = same("hook", solidityPacked(hookTypes, hook), encodePacked(hookTypes, hook));
  return {
    name, amount, destinationDomain, receiver, burnToken, maxFee,
    hook: { dstChainId: 369, dstToken, integratorId, recipientType, recipient },
    calldata: call("depositForBurnWithHook",
      [BigInt(amount), destinationDomain, pad(receiver), burnToken, pad(receiver), BigInt(maxFee), 1000, hookData]),
  };
});

process.stdout.write(JSON.stringify({ swaps, approvals, burns }, null, 1) + "\n");
