// The contracts to check a quote against: those that the visitor pinned, else what the gateway lists now.
const MESSENGER = '0x28b5a0e9C621a5BadaA536219b3a228C8168cf5d';
let pinned; // a name and a file: a listing of pairs or of routers
let tool; // the client module
let client;
async function loadClient() {
  tool ??= await import('/v3/client/index.js');
  client ??= tool.createClient({ gateway: location.origin, pinned: () => pinned?.file });
  return client;
}
async function knownNow() {
  const file = pinned?.file;
  if (file && 'pairs' in file) return { listing: file };
  return { listing: await client.pairs(), ...(file && { routers: file.data, settlement: file.settlement }) };
}
const knownName = () => pinned?.name ?? 'what this gateway lists';

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
  const listed = await (await loadClient()).pairs();
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

// A quote on the page, or under way to it, is judged by what is pinned now. A swap that is being sent stays as it is.
async function pin(source) {
  const hint = $('pin-hint');
  const box = $('pin');
  box.removeAttribute('aria-invalid');
  $('pin-error').replaceChildren();
  if (!source.trim()) {
    pinned = undefined;
    hint.textContent = 'Nothing is pinned: quotes are checked against what this gateway lists.';
  } else {
    // Until it is read, and if it cannot be, a quote must not be checked against less.
    pinned = { file: { data: [], settlement: {} }, name: 'a file that cannot be read' };
    const mine = pinned;
    try {
      if (source.length > 400_000) throw 'This is longer than any such file.';
      const read = await parsePin(source);
      if (pinned !== mine) return;
      pinned = read;
      hint.textContent = `Pinned: ${read.count} contracts. Quotes are checked against ${read.name}.`;
    } catch (problem) {
      if (pinned !== mine) return;
      const why = typeof problem === 'string' ? problem : 'The checks could not be loaded. Reload the page.';
      box.setAttribute('aria-invalid', 'true');
      $('pin-error').textContent = `${why} No quote passes until this is corrected or emptied.`;
      hint.replaceChildren();
    }
  }
  if (phase === 'quote' || phase === 'refused') getQuote();
}
const pinFile = async (file) => {
  if (!file) return;
  $('pin').value = file.size <= 400_000 ? await file.text() : 'This file is too large.';
  pin($('pin').value);
};

function watchPin() {
  const box = $('pin');
  box.addEventListener('input', () => pin(box.value));
  $('pin-file').addEventListener('change', (event) => pinFile(event.target.files[0]));
  box.addEventListener('dragover', (event) => event.preventDefault());
  box.addEventListener('drop', (event) => {
    if (!event.dataTransfer.files.length) return;
    event.preventDefault();
    pinFile(event.dataTransfer.files[0]);
  });
}
