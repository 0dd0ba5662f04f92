// The contracts that a visitor has reviewed.
const MESSENGER = '0x28b5a0e9C621a5BadaA536219b3a228C8168cf5d';

// Reads an answer of /v3/app/pairs or /v3/app/routers, or a deployment file, or throws a sentence.
async function parsePin(source) {
  let file;
  try {
    file = JSON.parse(source);
  } catch {
    throw 'This is not JSON.';
  }
  const settlement = field(file, 'settlement');
  if (Array.isArray(field(file, 'pairs')) && settlement) return { file, name: 'the listing that you pinned', count: new Set(file.pairs.map((pair) => field(pair, 'to'))).size };
  if (Array.isArray(field(file, 'data')) && settlement) return { file: { data: file.data, settlement }, name: 'the listing that you pinned', count: file.data.length };
  if (!Array.isArray(field(file, 'pools')) || !settlement) throw 'This is neither an answer of /v3/app/pairs or /v3/app/routers nor a deployment file.';
  const routers = new Map();
  const tell = (words) => { $('pin-hint').textContent = words; return true; };
  const listed = await (await loadClient(tell)).pairs();
  for (const { srcChain, srcToken, type } of listed.pairs) {
    const pool = file.pools.filter((row) => field(row, 'chainId') === srcChain && field(row, 'token') === srcToken);
    const router = type === 'DIRECT' ? field(pool[0], 'router') : field(file, `messengers.${srcChain}`) ?? MESSENGER;
    if (pool.length > 1 || typeof router !== 'string') throw `The file must have one pool for ${text(srcToken, 20)} on chain ${srcChain}.`;
    const { address } = listed.tokens.find((token) => token.chainId === srcChain && token.symbol === srcToken);
    routers.set(`${srcToken}@${srcChain}`, { chainId: srcChain, symbol: srcToken, token: address, router });
  }
  const domain = { 1: 0, 8453: 6 }[field(settlement, 'chainId')];
  return {
    file: { data: [...routers.values()], settlement: { chainId: settlement.chainId, domain, receiver: field(settlement, 'receiver') } },
    name: `the deployment “${text(field(file, 'name'), 60)}” that you pinned`, count: routers.size,
  };
}

// Reads what was pinned, and says what it is, or what is wrong with it, while it is still what the visitor wants.
async function readPin(source, wanted) {
  const [box, hint, error] = [$('pin'), $('pin-hint'), $('pin-error')];
  const tell = (words, problem = '') => {
    if (!wanted()) return;
    if (problem) box.setAttribute('aria-invalid', 'true');
    else box.removeAttribute('aria-invalid');
    hint.textContent = words;
    error.textContent = problem;
  };
  if (!source.trim()) return void tell('Nothing is pinned: quotes are checked against what this gateway lists.');
  try {
    if (source.length > 400_000) throw 'This is longer than any such file.';
    const read = await parsePin(source);
    tell(`Pinned: ${read.count} contracts. Quotes are checked against ${read.name}.`);
    return read;
  } catch (problem) {
    const why = typeof problem === 'string' ? problem : 'The gateway does not answer. Try again in a while.';
    return void tell('', `${why} No quote passes until this is corrected or emptied.`);
  }
}
