// The contracts to check a quote against: those that the visitor pinned, else what the gateway lists now.
const MESSENGER = '0x28b5a0e9C621a5BadaA536219b3a228C8168cf5d';
let pinned;
let verifier;
const loadVerifier = async () => (verifier ??= await import('/v3/verify.js'));

async function knownContracts() {
  if (pinned) return pinned;
  const answer = await ask('/v3/app/routers');
  if (!answer.ok) return { failed: answer };
  return { routers: answer.body.data, settlement: answer.body.settlement, name: 'what this gateway lists' };
}

// Reads an answer of /v3/app/routers, or a deployment file, or throws a sentence.
function parsePin(source, pairs) {
  let file;
  try {
    file = JSON.parse(source);
  } catch {
    throw 'This is not JSON.';
  }
  const settlement = field(file, 'settlement');
  if (Array.isArray(field(file, 'data')) && settlement) return { routers: file.data, settlement, name: 'the listing that you pinned' };
  if (!Array.isArray(field(file, 'pools')) || !settlement) throw 'This is neither an answer of /v3/app/routers nor a deployment file.';
  const routers = new Map();
  for (const { srcChain, srcToken, type } of pairs) {
    const pool = file.pools.filter((row) => field(row, 'chainId') === srcChain && field(row, 'token') === srcToken.symbol);
    const router = type === 'DIRECT' ? field(pool[0], 'router') : field(file, `messengers.${srcChain}`) ?? MESSENGER;
    if (pool.length > 1 || typeof router !== 'string') throw `The file must have one pool for ${srcToken.symbol} on chain ${srcChain}.`;
    routers.set(`${srcToken.symbol}@${srcChain}`, { chainId: srcChain, symbol: srcToken.symbol, token: srcToken.address, router });
  }
  const domain = { 1: 0, 8453: 6 }[field(settlement, 'chainId')];
  return {
    routers: [...routers.values()], settlement: { chainId: settlement.chainId, domain, receiver: field(settlement, 'receiver') },
    name: `the deployment “${text(field(file, 'name'), 60)}” that you pinned`,
  };
}

async function pin(source) {
  calm();
  pinned = undefined;
  const hint = $('pin-hint');
  if (!source.trim()) {
    hint.textContent = 'Nothing is pinned: quotes are checked against what this gateway lists.';
    return;
  }
  try {
    if (source.length > 200_000) throw 'This is longer than any such file.';
    pinned = parsePin(source, (await loadVerifier()).pairs);
    hint.textContent = `Pinned: ${pinned.routers.length} contracts. Quotes are checked against ${pinned.name}.`;
    if (shown) getQuote();
  } catch (problem) {
    // Without what was meant to be pinned, a quote must not be checked against less.
    pinned = { routers: [], settlement: {}, name: 'a file that cannot be read' };
    $('pin').setAttribute('aria-invalid', 'true');
    const why = typeof problem === 'string' ? problem : 'The checks could not be loaded. Reload the page.';
    hint.textContent = `${why} No quote passes until this is corrected or emptied.`;
    $('answer').replaceChildren();
    complain('These contracts cannot be pinned.', [why], $('result'), $('pin'));
  }
}
const pinFile = async (file) => {
  if (!file) return;
  $('pin').value = file.size <= 200_000 ? await file.text() : 'This file is too large.';
  pin($('pin').value);
};

function watchPin() {
  const box = $('pin');
  box.addEventListener('change', () => pin(box.value));
  $('pin-file').addEventListener('change', (event) => pinFile(event.target.files[0]));
  box.addEventListener('dragover', (event) => event.preventDefault());
  box.addEventListener('drop', (event) => {
    if (!event.dataTransfer.files.length) return;
    event.preventDefault();
    pinFile(event.dataTransfer.files[0]);
  });
}
