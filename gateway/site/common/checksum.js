// The checksum of an address is the case of its letters (EIP-55), which follows from Keccak-256 of its digits.
const rotate = (lane, by) => BigInt.asUintN(64, lane << by | lane >> 64n - by);
const KECCAK_ROUNDS = 24;

function keccakRound(given, bits) {
  const parity = [0, 1, 2, 3, 4].map((x) => given[x] ^ given[x + 5] ^ given[x + 10] ^ given[x + 15] ^ given[x + 20]);
  const mixed = given.map((lane, i) => lane ^ parity[(i + 4) % 5] ^ rotate(parity[(i + 1) % 5], 1n));
  const moved = [...mixed];
  let [x, y] = [1, 0];
  for (let step = 1, from = 1; step <= 24; step++) {
    [x, y] = [y, (2 * x + 3 * y) % 5];
    const to = x + 5 * y;
    moved[to] = rotate(mixed[from], BigInt(step * (step + 1) / 2 % 64));
    from = to;
  }
  const next = (i, by) => moved[i - i % 5 + (i + by) % 5];
  const out = moved.map((lane, i) => lane ^ ~next(i, 1) & next(i, 2));
  bits.forEach((isSet, j) => { if (isSet) out[0] ^= 1n << (1n << BigInt(j)) - 1n; });
  return out;
}
// Gives the state after one block, which holds less than 136 letters.
function keccak(letters) {
  let state = Array(25).fill(0n);
  [...letters, '\x01'].forEach((letter, i) => {
    state[i >> 3] |= BigInt(letter.charCodeAt(0)) << BigInt(i % 8 * 8);
  });
  state[16] |= 1n << 63n;
  let register = 1; // the constants of the rounds are made of its bits
  for (let round = 0; round < KECCAK_ROUNDS; round++) {
    const bits = [0, 1, 2, 3, 4, 5, 6].map(() => {
      register = (register << 1 ^ (register >> 7) * 0x71) % 256;
      return register & 2;
    });
    state = keccakRound(state, bits);
  }
  return state;
}
function withChecksum(address) {
  const digits = address.slice(2).toLowerCase();
  const hash = keccak(digits);
  const isUpper = (i) => hash[i >> 4] >> BigInt((i ^ 1) % 16 * 4) & 8n;
  return `0x${[...digits].map((digit, i) => (isUpper(i) ? digit.toUpperCase() : digit)).join('')}`;
}
// Letters of one case have no checksum: they are allowed, as the gateway allows them.
const isMistyped = (address) => isAddress(address) && /[a-f]/.test(address) && /[A-F]/.test(address)
  && withChecksum(address) !== address;
const MISTYPED = 'This address has a typo. Copy it again from your wallet.';
