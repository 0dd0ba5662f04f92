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
  pinned = source.trim() ? { file: { data: [], settlement: {} }, name: 'a file that cannot be read' } : undefined;
  const mine = pinned;
  const before = phase;
  const read = await readPin(source, () => pinned === mine);
  if (pinned !== mine) return;
  pinned = read ?? mine;
  if (phase === before && (phase === 'quote' || phase === 'refused')) getQuote();
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
  if (Array.isArray(field(file, 'pairs')) && settlement) return {
    file, name: 'your pinned listing', count: new Set(file.pairs.map((pair) => field(pair, 'to'))).size
  };
  if (Array.isArray(field(file, 'data')) && settlement) return {
    file: { data: file.data, settlement }, name: 'your pinned listing', count: file.data.length
  };
  if (!Array.isArray(field(file, 'pools')) || !settlement) {
    throw 'This is neither a response of /v3/app/pairs or /v3/app/routers nor a deployment file.';
  }
  const routers = new Map();
  const tell = (words) => { $('pin-hint').textContent = words; return true; };
  const listed = await (await loadClient(tell)).pairs();
  for (const { srcChain, srcToken, type } of listed.pairs) {
    const pool = file.pools.filter((row) => field(row, 'chainId') === srcChain && field(row, 'token') === srcToken);
    const router = type === 'DIRECT' ? field(pool[0], 'router') : field(file, `messengers.${srcChain}`) ?? MESSENGER;
    if (pool.length > 1 || typeof router !== 'string') {
      throw `The file must have one pool for ${text(srcToken, 20)} on chain ${srcChain}.`;
    }
    const { address } = listed.tokens.find((token) => token.chainId === srcChain && token.symbol === srcToken);
    routers.set(`${srcToken}@${srcChain}`, { chainId: srcChain, symbol: srcToken, token: address, router });
  }
  const domain = { 1: 0, 8453: 6 }[field(settlement, 'chainId')];
  return {
    file: {
      data: [...routers.values()],
      settlement: { chainId: settlement.chainId, domain, receiver: field(settlement, 'receiver') }
    },
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
  if (!source.trim()) return void tell('Nothing is pinned: quotes are checked against this gateway’s contract list.');
  try {
    if (source.length > 400_000) throw 'This file is too large.';
    const read = await parsePin(source);
    tell(`Pinned: ${read.count} contracts. Quotes are checked against ${read.name}.`);
    return read;
  } catch (problem) {
    const why = typeof problem === 'string' ? problem : 'The gateway does not answer. Try again later.';
    return void tell('', `${why} No quote passes until you correct or empty this field.`);
  }
}
