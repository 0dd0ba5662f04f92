// Sending a checked quote, never twice. Before the wallet is asked to pay, an error proves that nothing was paid. From then
// on only a clear refusal does: anything else is followed, or watched for.
const REFUSED = [4001, 4100, 5750];
const NO_BATCH = [4200, -32601, 5700, 5710, 5740, 5760]; // the wallet has not taken the batch, and would not
let leave; // ends the wait for the wallet

function showSend() {
  const place = $('send');
  const { request, quote, expiresAt } = shown;
  if (shown.unshield) return showWrap(place);
  if (!wallets.size) return place.replaceChildren(el('p', {}, 'No wallet has announced itself in this browser. Install or unlock one, or send the transactions with a program.'), clock(expiresAt));
  const wallet = wallets.get(chosen);
  const choice = el('select', { id: 'wallet' }, [...wallets].map(([id, { name }]) => el('option', { value: id }, name)));
  choice.value = chosen;
  choice.addEventListener('change', () => {
    chosen = choice.value;
    showSend();
    $('wallet').focus();
  });
  const ticks = isPrivate(request.dstChain) ? [el('label', { class: 'tick' }, el('input', { type: 'checkbox', id: 'consent' }),
    el('span', {}, 'This page cannot open the encrypted note, so it cannot tell whom it pays. I trust the gateway with that.'))] : [];
  const go = el('button', { type: 'button', id: 'send-button', class: 'wide', click: () => send(shown, wallet) }, `Sign in ${wallet.name}: ${plural(shown.calls.length, 'transaction')}`);
  const lacks = lacking(quote);
  const box = ticks[0]?.firstChild;
  go.disabled = Boolean(box) || lacks.some(([certain]) => certain);
  box?.addEventListener('change', () => { go.disabled = !box.checked || lacks.some(([certain]) => certain); });
  if (account) noteBalance(source().key, account.address, quote);
  return place.replaceChildren(...(wallets.size > 1 ? [el('label', { for: 'wallet' }, 'Wallet'), choice] : []), ...ticks,
    ...lacks.map(([, sentence]) => el('p', { class: 'wrong' }, sentence)), go, clock(expiresAt), el('p', { id: 'waiting', class: 'hint' }));
}

// What the account lacks, as the gateway read it; and whether that is certain. Gas has a price that moves.
function lacking({ srcToken, details }) {
  const amounts = (path) => ['actual', 'needed'].map((name) => text(field(details, `${path}.${name}`), 78)).map((digits) => (/^\d+$/.test(digits) ? BigInt(digits) : undefined));
  const [has, needs] = amounts('checks.balance');
  if (has < needs) return [[true, `Your account has ${inWords(has, srcToken)}, and ${inWords(needs, srcToken)} are needed.`]];
  const coin = { decimals: 18, symbol: coinOf(srcToken.chainId) };
  const [coins, cost] = field(details, 'simulation.native') ? amounts('simulation.native') : amounts('checks.native');
  if (coins < cost || coins === 0n) return [[false, `Your account has ${inWords(coins, coin)}, which is too little for the gas.`]];
  const [works, sentence] = dryRun({ quote: { srcToken, details } }) ?? [true];
  return works ? [] : [[false, `Dry run: ${sentence}`]];
}

// An unshielding swap is for a RAILGUN wallet to wrap.
function showWrap(place) {
  const { details } = shown.quote;
  const bytes = () => JSON.stringify({ unshieldAmount: details.arrival.unshieldAmount, calls: shown.wrap }, null, 2);
  place.replaceChildren(el('p', {}, el('b', {}, 'This takes money out of a private balance, so a RAILGUN wallet has to send it.'),
    ' Sent from a public account, it would be an ordinary swap at another fee and without privacy. Give these calls to your RAILGUN wallet, for its private transaction.'),
  el('div', { class: 'snippet' }, el('div', {}, el('b', {}, 'For a RAILGUN wallet'), copyButton('the calls', bytes)), el('pre', { tabindex: 0, 'aria-label': 'The calls for a RAILGUN wallet' }, bytes())), clock(shown.expiresAt));
}

// Says how long the quote counts. An expired one cannot be sent.
function clock(until) {
  const words = el('span', { 'aria-live': 'off' });
  const line = el('p', { class: 'hint', id: 'valid' }, words);
  const tick = () => {
    const seconds = Math.ceil((until - Date.now()) / 1000);
    if (seconds > 0) {
      words.textContent = `Valid for ${seconds} more seconds.`;
      return;
    }
    clearInterval(ticking);
    if (phase !== 'quote') return;
    const renew = button('Renew the quote', () => getQuote(), { id: 'renew' });
    line.replaceChildren(el('b', {}, 'This quote has expired. '), renew);
    const had = document.activeElement === $('send-button');
    $('send-button')?.remove();
    if (had) queueMicrotask(() => renew.focus());
  };
  clearInterval(ticking);
  ticking = setInterval(tick, 500);
  tick();
  return line;
}
const isExpired = ({ expiresAt }) => Date.now() > expiresAt;

async function send(swap, wallet) {
  if (phase !== 'quote' || swap !== shown) return;
  calm();
  $('add')?.remove();
  setPhase('signing');
  const go = $('send-button');
  const label = go.textContent;
  go.textContent = 'Confirm in your wallet…';
  go.setAttribute('aria-disabled', 'true');
  const progress = { done: '' };
  try {
    await execute(swap, wallet, progress);
  } catch (error) {
    if (error instanceof Unclear) return void showUnclear(swap, wallet, error);
    if (phase !== 'signing') return;
    setPhase('quote');
    go.textContent = label;
    go.removeAttribute('aria-disabled');
    $('waiting').replaceChildren();
    $('valid').replaceWith(clock(swap.expiresAt));
    complain(...explain(error, progress.done), $('send-alert'));
  }
}

// Shows what the wallet is asked, with a way out.
function waitFor(words, promise) {
  return new Promise((resolve, reject) => {
    leave = () => reject(new Stop('You stopped waiting for the wallet.', 'If it still asks you something, refuse there. Nothing was sent.'));
    $('waiting').replaceChildren(`${words} `, button('Stop waiting', () => leave(), { class: 'second small' }));
    promise.then(resolve, reject);
  });
}

// Unclear is an end of which nobody knows whether the swap was sent.
class Unclear extends Error {
  constructor(cause, details) {
    super('unclear');
    Object.assign(this, { cause, ...details });
  }
}

async function execute(swap, wallet, progress) {
  const { provider } = wallet;
  const chain = networkOf(swap.request.srcChain);
  if (isExpired(swap)) throw new Stop('This quote has expired.', 'Renew it. Nothing was sent.');
  const from = await waitFor('Connect your account in the wallet.', connect(provider));
  await waitFor(`Let the wallet use ${chainName(chain)}.`, switchTo(provider, chain));
  const calls = await waitFor('Reading what the account has…', neededCalls(provider, from, swap));
  if (calls.length > 1 && await sendBatch(swap, wallet, from, chain, calls)) return;
  for (const [i, call] of calls.entries()) {
    const pays = i === calls.length - 1;
    if (isExpired(swap)) throw new Stop('This quote has expired while you were signing.', `${progress.done} Renew it; what you approved stands.`);
    await stillThere(provider, from, chain);
    if (pays) await neededCalls(provider, from, swap); // what is pinned may have changed
    const params = [{ from, to: call.to, data: call.data, value: call.value, chainId: call.chainId }];
    const words = `${i + 1} of ${calls.length}: ${pays ? 'sign the swap' : calls.length - i === 3 ? 'sign the reset of the allowance' : 'sign the approval'} in ${wallet.name}.`;
    if (pays) return void await pay(swap, wallet, from, call, words, () => provider.request({ method: 'eth_sendTransaction', params }));
    const hash = await waitFor(words, provider.request({ method: 'eth_sendTransaction', params }));
    if (!isHash(hash)) throw new Stop('The wallet gave no transaction hash for the approval.', 'Look in the wallet whether it has sent it. An approval pays nothing, and the swap was not sent.');
    progress.done = 'The approval was sent and stands.';
    await waitFor(`Waiting until the approval ${hash.slice(0, 10)}… is in a block.`, receiptOf(provider, hash, swap));
  }
}

// Asks the wallet to pay. What comes back is a hash, a clear refusal, or unclear.
async function pay(swap, wallet, from, call, words, ask, taken = isHash) {
  const since = await readAmount(wallet.provider, 'eth_blockNumber', []);
  const late = ask();
  const unclear = (cause) => new Unclear(cause, { from, call, since, late, taken });
  let result;
  try {
    result = await waitFor(words, late);
  } catch (error) {
    if (REFUSED.includes(error?.code)) throw error;
    if (taken !== isHash && NO_BATCH.includes(error?.code)) return false;
    throw unclear(error);
  }
  if (!taken(result)) throw unclear(undefined);
  sent(swap, wallet, { from, call, since, ...(taken === isHash ? { hash: result } : { batch: batchOf(result) }) });
  return true;
}

// Between two transactions the visitor may have changed the wallet. One that does not list its accounts refuses by itself.
async function stillThere(provider, from, chain) {
  let accounts;
  try {
    accounts = await provider.request({ method: 'eth_accounts' });
  } catch { /* accounts stays undefined */ }
  if (Array.isArray(accounts) && !accounts.some((other) => text(other).toLowerCase() === from.toLowerCase())) throw new Stop('The wallet has disconnected the account.', 'Connect it again, then try again. The swap was not sent.');
  if (await onChain(provider) !== chain) throw new Stop('The wallet has changed to another chain.', `Switch it back to ${chainName(chain)}, then try again. The swap was not sent.`);
}

// Waits for an approval. A node that fails is asked again; the visitor can stop waiting.
async function receiptOf(provider, hash, swap) {
  while (phase === 'signing' && shown === swap) {
    let receipt;
    try {
      receipt = await provider.request({ method: 'eth_getTransactionReceipt', params: [hash] });
    } catch { /* asked again */ }
    if (receipt) {
      if (field(receipt, 'status') === '0x0') throw new Stop('The approval failed on the chain.', `It is ${hash}. The swap was not sent.`);
      return;
    }
    await pause(1);
  }
}

const batchOf = (result) => text(field(result, 'id') ?? result, 9000);

// Sends all calls at once where the wallet can (EIP-5792). It gives false where it cannot.
async function sendBatch(swap, wallet, from, chain, calls) {
  const { provider } = wallet;
  try {
    await provider.request({ method: 'wallet_getCapabilities', params: [from, [hex(chain)]] });
  } catch {
    return false;
  }
  const params = [{ version: '2.0.0', from, chainId: hex(chain), atomicRequired: false, calls: calls.map(({ to, data, value }) => ({ to, data, value })) }];
  return pay(swap, wallet, from, calls.at(-1), `Sign all ${calls.length} together in ${wallet.name}.`, () => provider.request({ method: 'wallet_sendCalls', params }), (result) => batchOf(result) !== '');
}
