// The contracts to check a quote against: those that the visitor pinned, else what the gateway lists now.
let pinned; // a name and a file: a listing of pairs or of routers
let tool; // the client module
let client;
async function loadClient(tell) {
  tool ??= await loadPart('/v3/client/index.js', tell);
  client ??= tool.createClient({ gateway: location.origin, pinned: () => pinned?.file });
  return client;
}
const knownName = () => pinned?.name ?? 'this gateway’s contract list';

// A quote on the page, or under way to it, is judged by what is pinned now. A swap that is being sent stays as it is.
// Until a file is read, and if it cannot be, a quote must not be checked against less.
async function pin(source) {
  const mine = source.trim() ? { file: { data: [], settlement: {} }, name: 'a file that cannot be read' } : undefined;
  const before = phase;
  let hint = 'Nothing is pinned: quotes are checked against this gateway’s contract list.';
  let problem = '';
  let file = mine;
  pinned = mine;
  try {
    if (mine) file = await parsePin(source);
    if (mine) hint = `Pinned: ${file.count} contracts. Quotes are checked against ${file.name}.`;
  } catch (error) {
    hint = '';
    problem = typeof error === 'string' ? error : 'The gateway does not answer. Try again later.';
    problem += ' No quote passes until you correct or empty this field.';
  }
  if (pinned !== mine) return;
  pinned = file;
  markField($('pin'), problem);
  $('pin-hint').textContent = hint;
  if (phase === before && (phase === 'quote' || phase === 'refused')) getQuote();
}
async function pinFile(file) {
  if (!file) return;
  $('pin').value = file.size <= MOST_PINNED ? await file.text() : 'This file is too large.';
  pin($('pin').value);
}
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

const MOST_PINNED = 400_000;
const MESSENGER = '0x28b5a0e9C621a5BadaA536219b3a228C8168cf5d';
const CCTP_DOMAINS = { 1: 0, 8453: 6 };
const NO_LISTING = 'This is neither a response of /v3/app/pairs or /v3/app/routers nor a deployment file.';

// Reads an answer of /v3/app/pairs or /v3/app/routers, or a deployment file, or throws a sentence.
async function parsePin(source) {
  if (source.length > MOST_PINNED) throw 'This file is too large.';
  let file;
  try {
    file = JSON.parse(source);
  } catch {
    throw 'This is not JSON.';
  }
  const { pairs: listed, data, pools, settlement } = Object(file);
  const name = 'your pinned listing';
  if (!settlement) throw NO_LISTING;
  if (Array.isArray(listed)) return { file, name, count: new Set(listed.map((pair) => field(pair, 'to'))).size };
  if (Array.isArray(data)) return { file: { data, settlement }, name, count: data.length };
  if (Array.isArray(pools)) return parseDeployment(file);
  throw NO_LISTING;
}
// A deployment file names pools and messengers; which pairs there are, and the tokens' addresses, the gateway lists.
async function parseDeployment(file) {
  const { pools, settlement } = file;
  const routers = new Map();
  const tell = (words) => { $('pin-hint').textContent = words; return true; };
  const listed = await (await loadClient(tell)).pairs();
  for (const { srcChain, srcToken, type } of listed.pairs) {
    const pool = pools.filter((row) => field(row, 'chainId') === srcChain && field(row, 'token') === srcToken);
    const router = type === 'DIRECT' ? field(pool[0], 'router') : field(file, `messengers.${srcChain}`) ?? MESSENGER;
    if (pool.length > 1 || typeof router !== 'string') {
      throw `The file must have one pool for ${text(srcToken, 20)} on chain ${srcChain}.`;
    }
    const { address } = listed.tokens.find((token) => token.chainId === srcChain && token.symbol === srcToken);
    routers.set(`${srcToken}@${srcChain}`, { chainId: srcChain, symbol: srcToken, token: address, router });
  }
  const { chainId, receiver } = settlement;
  const data = [...routers.values()];
  return {
    file: { data, settlement: { chainId, domain: CCTP_DOMAINS[chainId], receiver } },
    name: `the deployment “${read(file, 'name', 60)}” that you pinned`, count: data.length,
  };
}
