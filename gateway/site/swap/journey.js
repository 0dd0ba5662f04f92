// A swap under way, and done. What is known of it is one object, and the card is drawn from it. Nothing here is sent.
const MARKS = { done: '✓', now: '●', failed: '✗', later: '○' };
const STEPS = ['Sent', 'Confirmed', 'Settled'];
// Chain, hash or batch, source token, swap if it was sent from here, and what to say.
let journey;
let stopFollowing;
let timing;

const swaps = new Map(); // by hash: what was sent from here, for whoever comes back to it

function begin(next) {
  leaveSwap();
  stopFollowing = new AbortController();
  const { signal } = stopFollowing;
  journey = { reached: 0, headline: 'Loading…', sentence: '', more: [], began: Date.now(), ...next, signal };
  turn++;
  setPhase('under way');
  draw();
  timing = setInterval(showTime, 1000);
  return journey;
}
// Leaves what is shown. A swap that was sent goes on without the page.
function leaveSwap() {
  stopFollowing?.abort();
  clearInterval(timing);
  journey = undefined;
  calm();
  clearCard();
  setPhase('form');
}
const current = (one) => journey === one && phase === 'under way';
// Whether something may be lost that is in no address yet.
const isSending = () => phase === 'signing' || phase === 'under way' && !journey.hash && !journey.failed;

function draw() {
  const { chain, hash, batch, swap, reached, failed, headline, sentence, more, unclear } = journey;
  const stateOf = (i) => {
    if (failed && i === reached) return 'failed';
    if (i < reached) return 'done';
    return i === reached && !unclear ? 'now' : 'later';
  };
  const said = `${headline}|${sentence}`;
  if (journey.said !== said) {
    journey.said = said;
    const below = sentence ? [el('p', { class: 'sentence' }, sentence)] : [];
    $('answer').replaceChildren(el('p', { class: 'big' }, headline), ...below);
  }
  const steps = STEPS.map((words, i) => el('li', { class: stateOf(i) },
    el('span', { class: 'shape', 'aria-hidden': 'true' }, MARKS[stateOf(i)]), words,
    el('span', { class: 'unseen' }, `: ${stateOf(i)}`)));
  put($('send'), el('ol', { class: 'steps', id: 'steps' }, steps), el('p', { class: 'hint', id: 'elapsed' }));
  showTime();
  const paid = swap && [money(swap.request.amount, swap.quote.srcToken), ` on ${chainName(chain)}`];
  put($('rest'), facts([
    swap && [unclear ? 'Amount' : 'You paid', paid],
    swap && ['Recipient', short(swap.request.recipient, 'the recipient', networkOf(swap.request.dstChain))],
    hash && ['Transaction', short(hash, 'the transaction hash', chain, 'tx')],
    batch && !hash && ['Batch', short(batch, 'the batch ID')],
    ...more,
  ]), unclear || failed && swap ? unclearChoice(failed) : el('p', { class: 'buttons' }, newSwapButton()));
  document.title = failed ? `✗ Failed · ${TITLE}` : `… ${headline} · ${TITLE}`;
}
const newSwapButton = (more) => button('New swap', newSwap, { id: 'new', ...more });
// How long it has been under way, and how long such a swap usually takes where the operator states that.
function showTime() {
  const place = $('elapsed');
  const { began, expected, failed, missing } = journey ?? {};
  if (!place || !journey || failed || missing) return void place?.replaceChildren();
  const seconds = Math.max(0, Math.round((Date.now() - began) / 1000));
  const usual = duration(expected) ? `, usually ${duration(expected)}` : '';
  const late = expected && seconds > 2 * expected
    ? ' Taking longer than usual. The swap continues without this page: keep its link and check again later.'
    : '';
  place.textContent = `${lasting(seconds)} elapsed${usual}.${late}`;
}
function lasting(seconds) {
  const [minutes, hours] = [Math.floor(seconds / 60), Math.floor(seconds / 3600)];
  if (hours) return `${hours} h ${minutes % 60} min`;
  return minutes ? `${minutes} min ${seconds % 60} s` : `${seconds} s`;
}

// A new swap after one of which nobody knows whether it was sent, or which failed as far as the gateway says: only on
// purpose.
function unclearChoice(failed) {
  const go = newSwapButton({ disabled: true });
  const box = el('input', { type: 'checkbox', id: 'sure' });
  box.addEventListener('change', () => { go.disabled = !box.checked; });
  const words = failed ? 'this swap failed and paid nothing.' : 'this swap was not sent.';
  const label = el('label', { class: 'tick' }, box, el('span', {}, `I have checked in my wallet that ${words}`));
  return el('div', {}, label, go);
}
function newSwap() {
  leaveSwap();
  enterForm(true);
  $('amount').focus();
}

const WAITING = { headline: 'Sent', sentence: 'Waiting for confirmation.' };
// The journey of a swap that the wallet has taken, or may have. New swap ends what watches for it.
function journeyOf(swap, stop) {
  if (journey?.swap === swap && current(journey)) return journey;
  const mine = begin({
    chain: networkOf(swap.request.srcChain), token: swap.quote.srcToken.symbol, swap, then: goal?.key,
    expected: swap.quote.details.arrival.seconds, ...WAITING
  });
  mine.signal.addEventListener('abort', () => stop.abort());
  $('answer').focus();
  return mine;
}
function found(mine, hash, since) {
  Object.assign(mine, { unclear: false, hash, since, reached: 1, ...WAITING });
  swaps.set(hash, mine);
  draw();
  followOn(mine);
}

// Nobody knows whether it was sent. Everything that may tell is watched.
function showUnclear(mine, { reason }) {
  const said = text(reason, 300).replace(/\.$/, '');
  const advice = 'Check your wallet before you do anything else. This page watches for the transaction.';
  const sentence = said ? `Your wallet says: ${said}. ${advice}` : advice;
  Object.assign(mine, { unclear: true, headline: 'We do not know whether it was sent', sentence });
  draw();
}
const BATCH = {
  DONE: 'The batch was executed, but your wallet does not say in which transaction. '
    + 'Find its hash, then track it below.',
  PENDING: 'Your wallet is executing the batch.',
  SILENT: 'Your wallet has accepted the batch, but does not report its progress.',
};
function showBatch(mine, { batch, state }) {
  Object.assign(mine, { unclear: false, batch, headline: 'Sent', sentence: BATCH[state] });
  draw();
}
function fails(title, sentences) {
  Object.assign(journey, { failed: true, headline: 'Failed', sentence: '' });
  draw();
  complain(title, sentences);
}

// Follows a hash with the client, and keeps it in the address: reload, bookmark and Back go on.
async function followOn(mine) {
  rememberSwap(mine);
  const tell = (words) => {
    if (!current(mine)) return false;
    if (mine.headline === 'Loading…') mine.headline = 'Status unknown';
    mine.sentence = `${words} The swap continues without this page.`;
    draw();
    return true;
  };
  const onRetry = (error) => {
    const silent = error.code === 'CHAIN_UNAVAILABLE' ? outOfReach(error, mine) : SILENT;
    return tell(navigator.onLine ? silent : OFFLINE);
  };
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
      const headline = 'Status does not match';
      const sentence = `${title} The gateway reports something other than your swap: check your wallet.`;
      Object.assign(mine, { unclear: true, headline, sentence });
      return void draw();
    }
    const unfollowed = error.status === 501 || error.status === 404;
    mine.headline = mine.swap ? 'Sent' : 'Status unknown';
    mine.sentence = unfollowed ? unfollowedOn(chainName(mine.chain)) : title;
    draw();
  }
}

const unfollowedOn = (name) =>
  `This gateway cannot follow swaps on ${name}. Check the transaction in your wallet or an explorer.`;
// Of a chain that the gateway cannot ask, by its error: for now, or because nobody gave it an endpoint there.
function outOfReach(error, mine) {
  const [, id] = /chain (\d+)/.exec(text(error.message)) ?? [];
  const name = chainName(id ? Number(id) : mine.chain);
  if (/no RPC endpoint/.test(error.message)) return unfollowedOn(name);
  return `No node of ${name} answers the gateway. This page retries automatically.`;
}
// The token that arrives: of the quote, or of the listing.
async function arrivingToken({ swap }, found) {
  if (swap || !found) return swap?.quote.destToken;
  try {
    const { tokens: listed } = await client.pairs();
    const isIt = ({ address }) => address.toLowerCase() === found.dstToken.toLowerCase();
    return listed.find((token) => String(token.chainId) === found.dstChain && isIt(token));
  } catch {
    return undefined;
  }
}

// What a status says is of the right form, and about this transaction: the client has checked that.
async function showStatus(mine, status) {
  const { state, final, swap, settlement, source, swaps: several } = status;
  const token = await arrivingToken(mine, swap);
  if (!current(mine)) return;
  const reason = text(status.reason, 300);
  const amount = token && settlement ? inWords(settlement.arrived, token) : 'The money';
  const isLess = token && settlement && settlement.arrived !== settlement.amount;
  if (swap) mine.where = chainName(swap.dstChain);
  if (source && !mine.swap) mine.began = timeOf(source.timestamp);
  mine.expected = status.expectedSeconds || mine.expected;
  mine.missing = state === 'NOT_FOUND' && !mine.swap;
  mine.reached = { NOT_FOUND: mine.missing ? 0 : 1, SETTLING: 2, SETTLED: 3 }[state] ?? 1;
  mine.payout = settlement && payoutRow(status);
  mine.more = [
    mine.payout,
    isLess && ['Paid out', [money(settlement.amount, token), ' before RAILGUN’s fee']],
    state !== 'SETTLED' && status.contact && ['Contact', contactLink(status.contact)],
    several && ['Swaps', `${several.length} in this transaction; this is the least advanced`],
  ];
  const [title, advice] = BAD[state] ?? [];
  if (title && final) return void fails(title, [advice, ...(reason ? [`The chain says: ${reason}`] : [])]);
  if (final) {
    draw();
    setPhase('done');
    clearInterval(timing);
    return void showDone(mine, status, amount, token);
  }
  const otherwise = mine.missing ? 'Not found' : 'Sent';
  mine.headline = { SETTLING: 'On its way', SETTLED: `${amount} arrived` }[state] ?? otherwise;
  mine.sentence = sentenceOf(mine, status, reason);
  draw();
}
function sentenceOf({ missing, chain, where = 'the other chain' }, { state, burn }, reason) {
  if (BAD[state]) return 'The chain reports a failure, which may still change.';
  if (missing) return `No node of ${chainName(chain)} knows this transaction. Check the hash and the chain.`;
  if (state === 'NOT_FOUND') return 'No node has seen the transaction yet. If this lasts, check it in your wallet.';
  if (state === 'PENDING') return WAITING.sentence;
  if (state === 'SETTLED') return `The payout is not final yet. ${reason}`.trim();
  const issuer = text(burn?.reason) || text(burn?.attestationState);
  const known = [reason, issuer && `The issuer of USDC says: ${issuer}.`].filter(Boolean).join(' ');
  return known || `Waiting for the payout on ${where}.`;
}
// What a bad end means, and what to do.
const BAD = {
  FAILED: [
    'The transaction failed on the chain.',
    'Nothing was swapped: you paid only the network fee. Get a new quote to try again.',
  ],
  NOT_A_SWAP: ['This transaction is not a swap.', 'The gateway finds no swap in it. Check the hash and the chain.'],
};
// The payout's transaction. The issuer of USDC may pay out in one that nobody names: then the recipient shows it.
function payoutRow({ swap, settlement: { chainId, txHash } }) {
  if (txHash) return ['Payout', short(txHash, 'the payout hash', chainId, 'tx')];
  const base = listing.explorers?.[chainId];
  const link = { href: `${base}/address/${swap?.recipient}`, rel: 'noreferrer' };
  return base && isAddress(swap?.recipient) && ['Payout', el('a', link, 'See the recipient’s account')];
}
function contactLink(contact) {
  const words = text(contact, 200);
  const isMail = /^[^\s@/:]+@[^\s@/:]+$/.test(words);
  const href = isMail ? `mailto:${words}` : words;
  return isMail || /^https:\/\//.test(words) ? el('a', { href, rel: 'noreferrer' }, words) : words;
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
    const busy = 'A swap is being sent from this page: open another tab to track a transaction.';
    if (phase === 'signing' || journey?.unclear) return refuseFields([['tx', busy]]);
    openJourney(Number($('tx-chain').value), hash);
    return $('answer').focus();
  });
}
// Shows a transaction: with what is known of it, if it was sent from here.
function openJourney(chain, hash, token, then) {
  const { swap, since, began = Date.now(), expected, ...known } = swaps.get(hash) ?? { token, then };
  const { token: symbol, then: next } = known;
  followOn(begin({ chain: networkOf(chain), hash, swap, since, began, expected, token: symbol, then: next }));
}
// Chain and hash stand in the fragment, or as earlier links have them in the query.
function recallJourney() {
  const query = new URLSearchParams(isSwapHash() ? location.hash.slice(1) : location.search);
  const [chain, hash] = [text(query.get('chain'), 12), text(query.get('swap') ?? query.get('tx'), 70)];
  if (!isHash(hash) || !Object.hasOwn(listing.chains, chain)) return false;
  openJourney(chain, hash, text(query.get('token'), 20), text(query.get('then'), 60));
  return true;
}
