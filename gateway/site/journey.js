// A swap under way, and done. What is known of it is one object, and the card is drawn from it. Nothing here can be sent.
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
  journey = {
    reached: 0, headline: 'Loading…', sentence: '', more: [], began: Date.now(), ...next, signal: stopFollowing.signal
  };
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
  const states = STEPS.map(
    (_, i) => (failed && i === reached ? 'failed' : i < reached ? 'done' : i === reached && !unclear ? 'now' : 'later')
  );
  const said = `${headline}|${sentence}`;
  if (journey.said !== said) {
    journey.said = said;
    $('answer').replaceChildren(el('p', { class: 'big' }, headline), ...(sentence ? [el('p', { class: 'sentence' }, sentence)] : []));
  }
  put($('send'), el('ol', { class: 'steps', id: 'steps' }, STEPS.map((words, i) =>
    el(
      'li', { class: states[i] }, el('span', { class: 'shape', 'aria-hidden': 'true' }, MARKS[states[i]]), words,
      el('span', { class: 'unseen' }, `: ${states[i]}`)
    ))),
  el('p', { class: 'hint', id: 'elapsed' }));
  showTime();
  put($('rest'),
    facts([
      swap && [
        unclear ? 'Amount' : 'You paid', [money(swap.request.amount, swap.quote.srcToken), ` on ${chainName(chain)}`],
      ],
      swap && ['Recipient', short(swap.request.recipient, 'the recipient', networkOf(swap.request.dstChain))],
      hash && ['Transaction', short(hash, 'the transaction hash', chain, 'tx')],
      batch && !hash && ['Batch', short(batch, 'the batch ID')],
      ...more,
    ]),
    unclear || failed && swap ? unclearChoice(failed) : el(
      'p', { class: 'buttons' }, button('New swap', newSwap, { id: 'new' })
    ),
  );
  document.title = failed ? `✗ Failed · ${TITLE}` : `… ${headline} · ${TITLE}`;
}
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

// A new swap after one of which nobody knows whether it was sent, or which failed as far as the gateway says: only on purpose.
function unclearChoice(failed) {
  const box = el('input', { type: 'checkbox', id: 'sure' });
  const go = button('New swap', newSwap, { id: 'new', disabled: true });
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
function showBatch(mine, { batch, state }) {
  const sentence = {
    DONE: 'The batch was executed, but your wallet does not say in which transaction. Find its hash, then track it below.',
    PENDING: 'Your wallet is executing the batch.',
    SILENT: 'Your wallet has accepted the batch, but does not report its progress.',
  }[state];
  Object.assign(mine, { unclear: false, batch, headline: 'Sent', sentence });
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
  const onRetry = (error) => tell(
    !navigator.onLine ? OFFLINE : error.code === 'CHAIN_UNAVAILABLE' ? outOfReach(error, mine) : SILENT
  );
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
    mine.sentence = unfollowed
      ? `This gateway cannot follow swaps on ${chainName(mine.chain)}. Check the transaction in your wallet or an explorer.`
      : title;
    draw();
  }
}

// Of a chain that the gateway cannot ask, by its error: for now, or because nobody gave it an endpoint there.
function outOfReach(error, mine) {
  const [, id] = /chain (\d+)/.exec(text(error.message)) ?? [];
  const name = chainName(id ? Number(id) : mine.chain);
  if (!/no RPC endpoint/.test(error.message)) {
    return `No node of ${name} answers the gateway. This page retries automatically.`;
  }
  return `This gateway cannot follow swaps on ${name}. Check the transaction in your wallet or an explorer.`;
}
// The token that arrives: of the quote, or of the listing.
async function arrivingToken({ swap }, status) {
  if (swap) return swap.quote.destToken;
  try {
    const { tokens: listed } = await client.pairs();
    const [chain, token] = ['swap.dstChain', 'swap.dstToken'].map((path) => text(field(status, path)).toLowerCase());
    return listed.find(({ chainId, address }) => String(chainId) === chain && address.toLowerCase() === token);
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
    payoutRow(status, there),
    token && paid !== arrived && ['Paid out', [money(paid, token), ' before RAILGUN’s fee']],
    state !== 'SETTLED' && field(status, 'contact') && ['Contact', contactLink(status.contact)],
    Array.isArray(field(status, 'swaps')) && [
      'Swaps', `${status.swaps.length} in this transaction; this is the least advanced`,
    ],
  ];
  mine.missing = state === 'NOT_FOUND' && !mine.swap;
  if (state === 'FAILED' || state === 'NOT_A_SWAP') {
    mine.reached = 1;
    const [title, advice] = BAD[state];
    if (final) return void fails(title, [advice, ...(reason ? [`The chain says: ${reason}`] : [])]);
    mine.sentence = 'The chain reports a failure, which may still change.';
    return void draw();
  }
  mine.reached = { NOT_FOUND: mine.swap ? 1 : 0, SETTLING: 2, SETTLED: 3 }[state] ?? 1;
  if (state === 'SETTLED' && final) {
    draw();
    setPhase('done');
    clearInterval(timing);
    return void showDone(mine, status, amount, token, paid, arrived);
  }
  const burn = text(field(status, 'burn.reason')) || text(field(status, 'burn.attestationState'));
  const known = [reason, burn && `The issuer of USDC says: ${burn}.`].filter(Boolean).join(' ');
  mine.headline = {
    NOT_FOUND: mine.swap ? 'Sent' : 'Not found', SETTLING: 'On its way', SETTLED: `${amount} arrived`
  }[state] ?? 'Sent';
  mine.sentence = {
    NOT_FOUND: mine.swap ? 'No node has seen the transaction yet. If this lasts, check it in your wallet.'
      : `No node of ${chainName(mine.chain)} knows this transaction. Check the hash and the chain.`,
    PENDING: WAITING.sentence,
    SETTLED: `The payout is not final yet. ${reason}`.trim(),
  }[state] ?? (known || `Waiting for the payout on ${mine.where ?? 'the other chain'}.`);
  draw();
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
function payoutRow(status, there) {
  const chain = field(status, 'settlement.chainId');
  if (there) return ['Payout', short(there, 'the payout hash', chain, 'tx')];
  const recipient = text(field(status, 'swap.recipient'), 66);
  const base = listing.explorers?.[chain];
  return base && isAddress(recipient) && [
    'Payout', el('a', { href: `${base}/address/${recipient}`, rel: 'noreferrer' }, 'See the recipient’s account'),
  ];
}
const contactLink = (contact) => {
  const words = text(contact, 200);
  const href = /^https:\/\//.test(words) ? words : /^[^\s@/:]+@[^\s@/:]+$/.test(words) ? `mailto:${words}` : '';
  return href ? el('a', { href, rel: 'noreferrer' }, words) : words;
};

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
    if (phase === 'signing' || journey?.unclear) return refuseFields(
      [['tx', 'A swap is being sent from this page: open another tab to track a transaction.']]
    );
    openJourney(Number($('tx-chain').value), hash);
    return $('answer').focus();
  });
}
// Shows a transaction: with what is known of it, if it was sent from here.
function openJourney(chain, hash, token, then) {
  const known = swaps.get(hash) ?? {};
  const { swap, since, began = Date.now(), expected } = known;
  followOn(begin({
    chain: networkOf(chain), hash, swap, since, began, expected, token: known.token ?? token, then: known.then ?? then,
  }));
}
// Chain and hash stand in the fragment, or as earlier links have them in the query.
function recallJourney() {
  const query = new URLSearchParams(isSwapHash() ? location.hash.slice(1) : location.search);
  const [chain, hash] = [text(query.get('chain'), 12), text(query.get('swap') ?? query.get('tx'), 70)];
  if (!isHash(hash) || !Object.hasOwn(listing.chains, chain)) return false;
  openJourney(chain, hash, text(query.get('token'), 20), text(query.get('then'), 60));
  return true;
}
