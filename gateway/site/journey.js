// A swap under way, and done. What is known of it is one object, and the card is drawn from it. Nothing here can be sent.
const MARKS = { done: ['✓', 'done'], now: ['●', 'now'], failed: ['✗', 'failed'], later: ['○', 'later'] };
// Chain, hash or batch, swap if it was sent from here, and what to say.
let journey;
let stopFollowing;

const swaps = new Map(); // by hash: what was sent from here, for whoever comes back to it

function begin(next) {
  leaveSwap();
  stopFollowing = new AbortController();
  journey = { reached: 0, headline: 'Sent', sentence: '', more: [], began: Date.now(), ...next, signal: stopFollowing.signal };
  turn++;
  setPhase('under way');
  draw();
  timing = setInterval(showTime, 1000);
  loadDevelopers().then(showTime); // the time and the receipt
  return journey;
}
// Leaves what is shown. A swap that was sent goes on without the page.
function leaveSwap() {
  stopFollowing?.abort();
  clearInterval(timing);
  journey = undefined;
  shown = undefined;
  calm();
  clearCard();
  setPhase('form');
}
const current = (one) => journey === one && phase === 'under way';
// Whether something may be lost that is in no address yet.
const isSending = () => phase === 'signing' || phase === 'under way' && !journey.hash && !journey.failed;

function draw() {
  const { chain, hash, batch, swap, reached, failed, headline, sentence, more, unclear } = journey;
  const where = swap ? chainName(swap.request.dstChain) : journey.where ?? 'the other chain';
  const steps = [`In a block on ${chainName(chain)}`, 'On its way', `Arrived on ${where}`];
  const states = steps.map((_, i) => (failed && i === reached ? 'failed' : i < reached ? 'done' : i === reached && !unclear ? 'now' : 'later'));
  const said = `${headline}|${sentence}`;
  if (journey.said !== said) {
    journey.said = said;
    $('answer').replaceChildren(el('p', { class: 'big' }, headline), ...(sentence ? [el('p', {}, sentence)] : []));
  }
  put($('send'), el('ol', { class: 'steps', id: 'steps' }, steps.map((words, i) => {
    const [shape, name] = MARKS[states[i]];
    return el('li', { class: states[i] }, el('span', { class: 'shape', 'aria-hidden': 'true' }, shape), words, el('span', { class: 'state' }, name));
  })), el('p', { class: 'hint', id: 'elapsed' }));
  showTime();
  put($('rest'),
    facts([
      swap && [unclear ? 'The swap' : 'You sent', [money(swap.request.amount, swap.quote.srcToken), ` on ${chainName(chain)}`]],
      swap && ['For', short(swap.request.recipient, 'the recipient', networkOf(swap.request.dstChain))],
      hash && ['Transaction', short(hash, 'the hash of the transaction', chain, 'tx')],
      batch && !hash && ['Batch', short(batch, 'the ID of the batch')],
      ...more,
    ]),
    unclear || failed && swap ? unclearChoice(failed) : el('p', {}, button('New swap', newSwap, { id: 'new' })),
  );
  document.title = failed ? `✗ Failed · ${TITLE}` : `… ${headline} · ${TITLE}`;
}

let timing;
function showTime() {
  if (journey) developers?.tellTime($('elapsed'), journey);
}

// A new swap after one of which nobody knows whether it was sent, or which failed as far as the gateway says: only on purpose.
function unclearChoice(failed) {
  const box = el('input', { type: 'checkbox', id: 'sure' });
  const go = button('New swap', newSwap, { id: 'new', disabled: true });
  box.addEventListener('change', () => { go.disabled = !box.checked; });
  return el('div', {}, el('label', { class: 'tick' }, box, el('span', {}, failed ? 'I have looked in my wallet: this swap failed there too, and paid nothing.' : 'I have looked in my wallet: this swap was not sent, and will not be.')), go);
}
function newSwap() {
  leaveSwap();
  enter(formQuery(), { typed: true }, true);
  $('amount').focus();
}

// The journey of a swap that the wallet has taken, or may have. New swap ends what watches for it.
function journeyOf(swap, stop) {
  if (journey?.swap === swap && current(journey)) return journey;
  const mine = begin({ chain: networkOf(swap.request.srcChain), swap, then: onward?.key, expected: swap.quote.details.arrival.seconds, sentence: 'Waiting for the chain.' });
  mine.signal.addEventListener('abort', () => stop.abort());
  $('answer').focus();
  return mine;
}
function found(mine, hash, since) {
  Object.assign(mine, { unclear: false, hash, since, headline: 'Sent', sentence: 'Waiting for the chain.' });
  swaps.set(hash, mine);
  draw();
  followOn(mine);
}

// Nobody knows whether it was sent. Everything that may tell is watched.
function showUnclear(mine, { reason }) {
  const said = text(reason, 300).replace(/\.$/, '');
  Object.assign(mine, { unclear: true, headline: 'We do not know whether it was sent',
    sentence: `${said ? `The wallet says: ${said}. ` : ''}Look in your wallet before you do anything else. This page watches for the transaction.` });
  draw();
}
function showBatch(mine, { batch, state }) {
  const sentence = {
    DONE: 'The batch was carried out, and the wallet does not say in which transaction. Look for it in the wallet, and follow it below.',
    PENDING: 'The wallet has taken the batch, and is at it.', SILENT: 'The wallet has taken the batch, and cannot tell now how far it is.',
  }[state];
  Object.assign(mine, { unclear: false, batch, headline: 'Sent', sentence });
  draw();
}
function fails(title, sentences) {
  Object.assign(journey, { failed: true, headline: 'This did not work', sentence: '' });
  draw();
  complain(title, sentences);
}

// Follows a hash with the client, and keeps it in the address: reload, bookmark and Back go on.
async function followOn(mine) {
  rememberSwap(mine);
  const tell = (words) => {
    if (current(mine)) Object.assign(mine, { sentence: `${words} The swap goes on without it.` });
    if (current(mine)) draw();
    return current(mine);
  };
  const onRetry = () => tell(navigator.onLine ? 'The gateway does not answer. This page tries again by itself.' : OFFLINE);
  try {
    await loadClient(tell);
    const { chain: srcChain, hash: txHash, signal, since, swap } = mine;
    for await (const status of client.follow({ srcChain, txHash, quote: swap?.quote, since, signal, onRetry })) {
      if (!current(mine)) return;
      await showStatus(mine, status);
    }
  } catch (error) {
    if (!current(mine)) return;
    const [title, sentences] = problemOf(error);
    if (error.status === 400) return void fails(title, sentences);
    if (error.code === 'UNVERIFIED' && mine.swap) {
      const headline = 'The gateway tells of something else';
      Object.assign(mine, { unclear: true, headline, sentence: `${title} So it is not known what became of your swap: look in your wallet.` });
      return void draw();
    }
    mine.sentence = error.status === 501 || error.status === 404 ? 'This gateway does not follow swaps: look for the transaction in your wallet or an explorer.' : title;
    draw();
  }
}

// The token that arrives: of the quote, or of the listing.
async function arrivingToken({ swap }, status) {
  if (swap) return swap.quote.destToken;
  try {
    const { tokens: listed } = await client.pairs();
    return listed.find(({ chainId, address }) => String(chainId) === text(field(status, 'swap.dstChain')) && address.toLowerCase() === text(field(status, 'swap.dstToken')).toLowerCase());
  } catch {
    return undefined;
  }
}

async function showStatus(mine, status) {
  const state = text(field(status, 'state'), 30);
  const final = field(status, 'final') !== false;
  const reason = text(field(status, 'reason'), 300);
  const token = await arrivingToken(mine, status);
  if (!current(mine)) return;
  const paid = text(field(status, 'settlement.amount'), 78);
  const arrived = text(field(status, 'settlement.arrived'), 78) || paid;
  const there = text(field(status, 'settlement.txHash'), 66);
  const dstChain = text(field(status, 'swap.dstChain'), 30);
  if (dstChain) mine.where = chainName(dstChain);
  const sentAt = timeOf(field(status, 'source.timestamp'));
  if (sentAt && !mine.swap) mine.began = sentAt;
  mine.expected = Number(field(status, 'expectedSeconds')) || mine.expected;
  const amount = token && arrived ? inWords(arrived, token) : 'The money';
  mine.more = [
    there && ['Payout', short(there, 'the hash of the payout', field(status, 'settlement.chainId'), 'tx')],
    token && paid !== arrived && ['Paid out', [money(paid, token), ', of which RAILGUN takes its part']],
    state !== 'SETTLED' && field(status, 'contact') && ['Contact', text(status.contact, 200)],
    Array.isArray(field(status, 'swaps')) && ['Swaps', `${status.swaps.length} in this transaction; this is the one that is least advanced`],
  ];
  if (state === 'FAILED' || state === 'NOT_A_SWAP') {
    if (final) return void fails(state === 'FAILED' ? 'The transaction failed on the chain.' : 'The gateway sees no swap in this transaction.', [reason ? `The chain says: ${reason}` : 'Look at it in your wallet or an explorer.']);
    mine.sentence = 'The chain says that it failed, which may still change.';
    return void draw();
  }
  mine.reached = { SETTLING: 1, SETTLED: 3 }[state] ?? 0;
  if (state === 'SETTLED' && final) {
    const { showDone } = await loadDevelopers();
    if (!current(mine)) return;
    draw();
    setPhase('done');
    clearInterval(timing);
    return void showDone(mine, status, amount, token, paid, arrived);
  }
  const burn = text(field(status, 'burn.reason')) || text(field(status, 'burn.attestationState'));
  mine.headline = { SETTLING: 'On its way', SETTLED: `${amount} arrived` }[state] ?? 'Sent';
  mine.sentence = state === 'SETTLED' ? `It is there, and not yet final. ${reason}`.trim() : state === 'NOT_FOUND' ? 'No node has seen the transaction yet.' : state === 'PENDING' ? 'Waiting for the chain to confirm it.'
    : [reason, burn && `The issuer of USDC says: ${burn}.`].filter(Boolean).join(' ');
  draw();
}

// Any hash, from the address or the field.
function watchFollow() {
  addEventListener('beforeunload', (event) => { // what is not in the address yet would be lost
    if (isSending()) event.preventDefault();
  });
  const chains = inOrder(Object.keys(listing.chains).map(Number).filter((id) => !isPrivate(id)));
  fill($('tx-chain'), chains, chainName, 1);
  $('follow-form').addEventListener('submit', (event) => {
    event.preventDefault();
    const hash = $('tx').value.trim();
    if (!isHash(hash)) return refuseFields([['tx', 'A transaction hash is 0x and 64 hexadecimal digits.']]);
    if (phase === 'signing' || journey?.unclear) return refuseFields([['tx', 'A swap is being sent from this page: open another tab to follow a transaction.']]);
    openJourney(Number($('tx-chain').value), hash);
    return $('answer').focus();
  });
}
// Shows a transaction: with what is known of it, if it was sent from here.
function openJourney(chain, hash, then) {
  const { swap, since, began = Date.now(), expected, then: further = then } = swaps.get(hash) ?? {};
  followOn(begin({ chain: networkOf(chain), hash, swap, since, began, expected, then: further, sentence: 'Asking the gateway.' }));
}
function recallJourney(query) {
  const [chain, hash] = [text(query.get('chain'), 12), text(query.get('tx'), 70)];
  if (!isHash(hash) || !Object.hasOwn(listing.chains, chain)) return false;
  openJourney(chain, hash, text(query.get('then'), 60));
  return true;
}
