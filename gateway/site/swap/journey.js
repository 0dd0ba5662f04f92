// A swap under way, and done. What is known of it is one object, and the card is drawn from it. Nothing here is sent.
const MARKS = { done: '✓', now: '●', overdue: '!', unknown: '?', failed: '✗', later: '' };
const STEPS = ['Sent', 'Confirmed', 'Settled'];
// Chain, hash or batch, the checked swap if it was sent from here, the source token that the link names, what the
// gateway tells, and what to say.
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
  const { swap, failed, sentence, more, unclear, noSwap } = journey;
  const overdue = isOverdue(journey);
  const headline = overdue && !journey.silent && OVERDUE[journey.reached] || journey.headline;
  const said = `${headline}|${sentence}|${overdue}`;
  const place = journey.said === said ? $ : renewed;
  if (journey.said !== said) {
    Object.assign(journey, { said, overdue });
    const below = sentence ? [el('p', { class: unclear ? 'sentence caution' : 'sentence' }, sentence)] : [];
    $('answer').replaceChildren(el('p', { class: 'big' }, headline), ...below);
  }
  put(place('send'), noSwap ? '' : stepList(journey), el('div', { id: 'elapsed' }));
  showTime();
  const whom = journey.contact && !overdue && ['Contact', contactLink(journey.contact)];
  put(place('rest'), facts([...mainFacts(journey), ...more, whom]), origin(journey), nextLeg(journey),
    unclear || failed && swap ? unclearChoice(failed) : el('p', { class: 'buttons' }, newSwapButton()));
  document.title = `${titleMark(journey)} ${headline} · ${TITLE}`;
}
// A part of the card, as a new one: what is above it has changed its height, and nothing is seen to move. Whoever has
// the focus in it keeps it.
function renewed(id) {
  const old = $(id);
  const place = old.cloneNode(false);
  const focus = document.activeElement;
  place.append(...old.childNodes);
  old.replaceWith(place);
  if (place.contains(focus)) focus.focus({ preventScroll: true });
  return place;
}
function titleMark(mine) {
  if (mine.failed) return '✗';
  if (mine.overdue) return '⚠';
  return isOpen(mine) || mine.untold && mine.swap ? '…' : '?';
}
// Whether it is under way, as far as somebody can tell.
const isOpen = ({ swap, seen, failed, unclear, untold }) => Boolean((swap || seen) && !failed && !unclear && !untold);
function stepList(mine) {
  const stateOf = (i) => {
    if (i !== mine.reached) return i < mine.reached ? 'done' : 'later';
    if (mine.failed) return 'failed';
    if (mine.unclear) return 'unknown';
    if (mine.overdue) return 'overdue';
    return isOpen(mine) ? 'now' : 'later';
  };
  return el('ol', { class: 'steps', id: 'steps' }, STEPS.map((words, i) => el('li', { class: stateOf(i) },
    el('span', { class: 'shape', 'aria-hidden': 'true' }, MARKS[stateOf(i)]), words,
    el('span', { class: 'unseen' }, `: ${stateOf(i)}`))));
}

// What was paid in, to whom and as what: by the checked quote, or else by what the gateway has read.
function orderOf(mine) {
  const { swap, told } = mine;
  if (swap) return { ...swap.request, token: swap.quote.srcToken };
  return told && { ...told, token: sourceToken(mine) };
}
// A status names no source token. It is one of those that can become the one that arrives, by the link if that names
// one, and by its limits: a token of other decimals would be another amount.
function sourceToken({ chain, told, arriving, token: symbol }) {
  const key = `${arriving?.symbol}@${told.dstChain}`;
  const amount = BigInt(told.amount);
  const ways = pairs.filter(({ from, to }) => networkOf(from.chain) === chain && to.key === key);
  const all = ways.map(({ from }) => from);
  const fits = all.filter(({ min, max }) => amount >= BigInt(min) && amount <= BigInt(max));
  const named = fits.filter((token) => token.symbol === symbol);
  const possible = [named, fits, all].find((some) => some.length) ?? [];
  const [decimals, ...others] = new Set(possible.map((token) => token.decimals));
  const symbols = [...new Set(possible.map((token) => token.symbol))];
  return decimals === undefined || others.length ? undefined : { decimals, symbol: symbols.join(' or ') };
}
// Amount, recipient and both transactions stand there in every state, known or not.
function mainFacts(mine) {
  const { chain, hash, batch, swap, failed, unclear, noSwap } = mine;
  const { amount, token } = orderOf(mine) ?? {};
  const isSwap = swap || !noSwap;
  const paid = token ? [money(amount, token), ` on ${chainName(chain)}`] : UNKNOWN;
  const none = failed && hash ? 'None' : UNKNOWN;
  return [
    isSwap && [token && !unclear && !failed ? 'You paid' : 'Amount', paid],
    isSwap && ['Recipient', recipientOf(mine)],
    ['Transaction', hash ? short(hash, 'the transaction hash', chain, 'tx') : UNKNOWN],
    batch && !hash && ['Batch', short(batch, 'the batch ID')],
    ['Payout', mine.payout ?? (isOpen(mine) ? 'Not yet' : none)],
  ];
}
const UNKNOWN = 'Not known';
// Of a private note, a status has only its key.
function recipientOf(mine) {
  const { recipient, dstChain } = orderOf(mine) ?? {};
  if (!recipient) return UNKNOWN;
  if (mine.swap || mine.told.recipientType !== 2) return short(recipient, 'the recipient', networkOf(dstChain));
  return [short(recipient, 'the key of the note'), ' (key of the private note)'];
}
const origin = ({ swap, told }) => (swap || !told ? ''
  : hint('Amount and recipient as reported by the gateway: this page has no quote to compare them with.'));
const whereTo = (mine) => (orderOf(mine) ? chainName(orderOf(mine).dstChain) : 'the other chain');

const newSwapButton = (more) => button('New swap', newSwap, { id: 'new', ...more });
// How long it has been under way, and how long such a swap usually takes where the operator states that. From twice
// that time on it is overdue, unless nobody can tell.
const OVERDUE = ['Not confirmed yet', 'Not confirmed yet', 'Not arrived yet'];
const secondsOf = ({ began }) => Math.max(0, Math.round((Date.now() - began) / 1000));
const isOverdue = (mine) => isOpen(mine) && mine.expected > 0 && secondsOf(mine) >= 2 * mine.expected;
function showTime() {
  const place = $('elapsed');
  if (!place || !isOpen(journey)) return;
  if (isOverdue(journey) !== journey.overdue) return void draw();
  const seconds = secondsOf(journey);
  const usual = journey.expected > 0 ? `, usually ${lasting(journey.expected)}` : '';
  if (!journey.overdue) return void place.replaceChildren(hint(`${lasting(seconds)} elapsed${usual}.`));
  if (!place.firstChild) place.append(overdueNote(journey));
  const words = `Taking longer than usual: ${lasting(seconds < 60 ? seconds : seconds - seconds % 60)}${usual}.`;
  if ($('overdue').textContent !== words) $('overdue').textContent = words;
}
// What it means, what to do, and whom to ask.
function overdueNote(mine) {
  const here = chainName(mine.chain);
  const means = mine.silent ? 'The gateway cannot tell how far it is.' : [
    'Your wallet has not reported the transaction yet.',
    `${here} has not confirmed the transaction yet. Check in your wallet whether it is pending.`,
    `The payment is confirmed on ${here}. The payout on ${whereTo(mine)} is missing.`,
    `The payout on ${whereTo(mine)} is not final yet.`,
  ][mine.reached];
  const advice = ' Do not send it again. The swap continues without this page: keep its link, and check later.';
  return el('div', { class: 'caution' }, el('p', {}, el('strong', { id: 'overdue' })), el('p', {}, means, advice),
    el('p', {}, 'If nothing arrives, send the transaction hash to the operator: ',
      contactLink(mine.contact ?? listing.contact ?? listing.deployment), '.'));
}
function lasting(seconds) {
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  const parts = [hours && `${hours} h`, minutes && `${minutes} min`, !hours && seconds % 60 && `${seconds % 60} s`];
  return parts.filter(Boolean).join(' ') || '0 s';
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
    + 'Find its hash, then enter it under Track.',
  PENDING: 'Your wallet is executing the batch.',
  SILENT: 'Your wallet has accepted the batch, but does not report its progress.',
};
function showBatch(mine, { batch, state }) {
  Object.assign(mine, { unclear: false, batch, headline: 'Sent', sentence: BATCH[state] });
  draw();
}
function fails(title, sentences, headline = 'Failed') {
  Object.assign(journey, { failed: true, headline, sentence: '' });
  draw();
  complain(title, sentences, $('send-alert'));
}

// Follows a hash with the client, and keeps it in the address: reload, bookmark and Back go on.
async function followOn(mine) {
  rememberSwap(mine);
  const tell = (words) => {
    if (!current(mine)) return false;
    if (mine.headline === 'Loading…') mine.headline = 'Status unknown';
    mine.sentence = `${words} The swap continues without this page.`;
    mine.silent = true;
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
    mine.untold = true;
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
async function arrivingToken({ swap, told }) {
  if (swap || !told) return swap?.quote.destToken;
  try {
    const { tokens: listed } = await client.pairs();
    const isIt = ({ address }) => address.toLowerCase() === told.dstToken.toLowerCase();
    return listed.find((token) => String(token.chainId) === told.dstChain && isIt(token));
  } catch {
    return undefined;
  }
}

// What a status says is of the right form, and about this transaction: the client has checked that. With a quote it is
// about that swap too.
async function showStatus(mine, status) {
  const { state, final, settlement, source, swaps: several } = status;
  mine.told = status.swap ?? mine.told;
  const token = await arrivingToken(mine);
  if (!current(mine)) return;
  const reason = text(status.reason, 300);
  const amount = token && settlement ? inWords(settlement.arrived, token) : 'The money';
  const isLess = token && settlement && settlement.arrived !== settlement.amount;
  if (source && !mine.swap) mine.began = timeOf(source.timestamp);
  mine.expected = status.expectedSeconds || mine.expected;
  mine.silent = false;
  mine.arriving = token;
  mine.contact = text(status.contact, 200) || undefined;
  mine.seen = state !== 'NOT_FOUND';
  mine.missing = !mine.seen && !mine.swap;
  mine.noSwap = final && state === 'NOT_A_SWAP';
  mine.reached = { NOT_FOUND: mine.missing ? 0 : 1, SETTLING: 2, SETTLED: 3 }[state] ?? 1;
  mine.payout = settlement && payoutOf(mine, settlement);
  mine.more = [
    isLess && ['Paid out', [money(settlement.amount, token), ' before RAILGUN’s fee']],
    several && ['Swaps', `${several.length} in this transaction; this is the least advanced`],
  ];
  const [headline, title, advice] = BAD[state] ?? [];
  if (title && final) {
    return void fails(title, [advice, ...(reason ? [`The chain says: ${reason}`] : [])], headline);
  }
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
function sentenceOf(mine, { state, burn }, reason) {
  if (BAD[state]) return 'The chain reports a failure, which may still change.';
  if (mine.missing) return `No node of ${chainName(mine.chain)} knows this transaction. Check the hash and the chain.`;
  if (state === 'NOT_FOUND') return 'No node has seen the transaction yet. If this lasts, check it in your wallet.';
  if (state === 'PENDING') return WAITING.sentence;
  if (state === 'SETTLED') return `The payout is not final yet. ${reason}`.trim();
  const issuer = text(burn?.reason) || text(burn?.attestationState);
  const known = [reason, issuer && `The issuer of USDC says: ${issuer}.`].filter(Boolean).join(' ');
  return known || `Waiting for the payout on ${whereTo(mine)}.`;
}
// What a bad end is called, what it means, and what to do.
const BAD = {
  FAILED: [
    'Failed', 'The transaction failed on the chain.',
    'Nothing was swapped: you paid only the network fee. Get a new quote to try again.',
  ],
  NOT_A_SWAP: [
    'Not a swap', 'The gateway finds no swap in this transaction.',
    'It succeeded, but not as a swap of this service. Check the hash and the chain.',
  ],
};
// The payout's transaction. The issuer of USDC may pay out in one that nobody names: then the recipient shows it.
function payoutOf(mine, { chainId, txHash }) {
  if (txHash) return short(txHash, 'the payout hash', chainId, 'tx');
  const base = listing.explorers?.[chainId];
  const { recipient } = orderOf(mine) ?? {};
  const link = { href: `${base}/address/${recipient}`, rel: 'noreferrer' };
  return base && isAddress(recipient) ? el('span', {}, el('a', link, 'See the recipient’s account')) : UNKNOWN;
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
