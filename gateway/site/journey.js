// A swap under way, and done. What is known of it is one object, and the card is drawn from it. Nothing here can be sent.
const MARKS = { done: ['✓', 'done'], now: ['●', 'now'], failed: ['✗', 'failed'], later: ['○', 'later'] };
let journey; // chain, hash or batch, swap if it was sent from here, and what to say
let stopFollowing;

function begin(next) {
  stopFollowing?.abort();
  stopFollowing = new AbortController();
  journey = { reached: 0, headline: 'Sent', sentence: '', more: [], ...next, signal: stopFollowing.signal };
  shown = undefined;
  turn++;
  calm();
  setPhase('under way');
  clearCard();
  draw();
  return journey;
}
const current = (one) => journey === one && phase === 'under way';

function draw() {
  const { chain, hash, batch, swap, reached, failed, headline, sentence, more, unclear } = journey;
  const where = swap ? chainName(swap.request.dstChain) : journey.where ?? 'the other chain';
  const steps = [`In a block on ${chainName(chain)}`, 'On its way', `Arrived on ${where}`];
  const states = steps.map((_, i) => (failed && i === reached ? 'failed' : i < reached ? 'done' : i === reached && !unclear ? 'now' : 'later'));
  const said = `${headline}|${sentence}`;
  if (journey.said !== said) {
    journey.said = said;
    $('answer').replaceChildren(el('p', { class: 'big' }, headline), sentence ? el('p', {}, sentence) : '');
  }
  $('send').replaceChildren(el('ol', { class: 'steps', id: 'steps' }, steps.map((words, i) => {
    const [shape, name] = MARKS[states[i]];
    return el('li', { class: states[i] }, el('span', { class: 'shape', 'aria-hidden': 'true' }, shape), words, el('span', { class: 'state' }, name));
  })));
  $('rest').replaceChildren(
    facts([
      swap && [unclear ? 'The swap' : 'You sent', [money(swap.request.amount, swap.quote.srcToken), ` on ${chainName(chain)}`]],
      swap && ['For', short(swap.request.recipient, 'the recipient', networkOf(swap.request.dstChain))],
      hash && ['Transaction', short(hash, 'the hash of the transaction', chain, 'tx')],
      batch && !hash && ['Batch', short(batch, 'the ID of the batch')],
      ...more,
    ]),
    unclear ? unclearChoice() : el('p', {}, button('New swap', newSwap, { id: 'new' })),
  );
  document.title = failed ? `✗ Failed · ${TITLE}` : `… ${headline} · ${TITLE}`;
}

// A new swap after one of which nobody knows whether it was sent: only on purpose.
function unclearChoice() {
  const box = el('input', { type: 'checkbox', id: 'sure' });
  const go = button('New swap', newSwap, { id: 'new', disabled: true });
  box.addEventListener('change', () => { go.disabled = !box.checked; });
  return el('div', {}, el('label', { class: 'tick' }, box, el('span', {}, 'I have looked in my wallet: this swap was not sent, and will not be.')), go);
}
function newSwap() {
  stopFollowing?.abort();
  journey = undefined;
  calm();
  clearCard();
  setPhase('form');
  remember();
  $('amount').focus();
}

// It was sent: there is a hash, or the ID of a batch.
function sent(swap, wallet, { hash, batch, from, call, since }) {
  const mine = begin({ chain: networkOf(swap.request.srcChain), swap, hash, batch, sentence: hash ? 'Waiting for the chain.' : 'The wallet has taken the batch.' });
  $('answer').focus();
  if (hash) followOn(mine);
  else watchBatch(mine, wallet.provider, from, call, since);
}

// Nobody knows whether it was sent. Everything that may tell is watched.
function showUnclear(swap, { provider }, { cause, from, call, since, late, taken }) {
  const said = cause instanceof Stop ? cause.message : text(cause?.message, 300);
  const mine = begin({ chain: networkOf(swap.request.srcChain), swap, unclear: true, headline: 'We do not know whether it was sent',
    sentence: `${said ? `The wallet says: ${said.replace(/\.$/, '')}. ` : ''}Look in your wallet before you do anything else. This page watches for the transaction.` });
  $('answer').focus();
  late.then((result) => {
    if (!current(mine) || !taken(result)) return;
    if (taken === isHash) found(mine, result);
    else {
      Object.assign(mine, { unclear: false, headline: 'Sent', sentence: 'The wallet has taken the batch.', batch: batchOf(result) });
      draw();
      watchBatch(mine, provider, from, call, since);
    }
  }, (error) => {
    if (!current(mine) || !REFUSED.includes(error?.code) || error === cause) return;
    newSwap();
    complain(...explain(error, ''));
  });
  watchChain(mine, provider, from, call, since);
}
function found(mine, hash) {
  Object.assign(mine, { unclear: false, hash, headline: 'Sent', sentence: 'Waiting for the chain.' });
  draw();
  followOn(mine);
}

// Looks for the transaction in the blocks since it was asked for, through the wallet's node.
async function watchChain(mine, provider, from, call, since) {
  for (let next = since === undefined ? undefined : since + 1n; current(mine) && !mine.hash; await pause(2)) {
    next = await lookInBlocks(mine, provider, from, call, next);
  }
}
async function lookInBlocks(mine, provider, from, call, next) {
  const latest = await readAmount(provider, 'eth_blockNumber', []);
  if (latest === undefined) return next;
  let number = next ?? latest;
  for (let n = 0; number <= latest && n < 20; n++, number++) {
    let block;
    try {
      block = await provider.request({ method: 'eth_getBlockByNumber', params: [hex(number), true] });
    } catch {
      return number;
    }
    const same = (tx, name, value) => text(field(tx, name), 20_000).toLowerCase() === value.toLowerCase();
    const transactions = field(block, 'transactions');
    const tx = (Array.isArray(transactions) ? transactions : []).find((one) => same(one, 'from', from) && same(one, 'to', call.to) && same(one, 'input', call.data));
    if (tx && isHash(tx.hash) && current(mine) && !mine.hash) found(mine, tx.hash);
  }
  return number;
}

// Asks the wallet about a batch until it tells. One that cannot tell has sent it all the same.
async function watchBatch(mine, provider, from, call, since) {
  let next = since === undefined ? undefined : since + 1n;
  for (; current(mine) && !mine.hash; await pause(2)) {
    let got;
    try {
      got = await provider.request({ method: 'wallet_getCallsStatus', params: [mine.batch] });
    } catch { /* asked again */ }
    if (!current(mine)) return;
    const status = Number(field(got, 'status'));
    const receipts = field(got, 'receipts');
    const hash = field(Array.isArray(receipts) ? receipts.at(-1) : undefined, 'transactionHash');
    if (status >= 400) return void fails(status === 600 ? 'A part of the batch was carried out.' : 'The wallet’s batch failed.', [status === 600 ? 'Look in the wallet which.' : 'The wallet says that nothing was moved.']);
    if (status >= 200 && isHash(hash)) return void found(mine, hash);
    mine.sentence = status >= 200 ? 'The batch was carried out, and the wallet does not say in which transaction. Look for it in the wallet, and follow it below.'
      : status >= 100 ? 'The wallet has taken the batch, and is at it.' : 'The wallet has taken the batch, and cannot tell now how far it is.';
    draw();
    next = await lookInBlocks(mine, provider, from, call, next);
  }
}
function fails(title, sentences) {
  journey.failed = true;
  journey.headline = title;
  journey.sentence = '';
  draw();
  complain(title, sentences);
}

// Follows a hash with the client, and keeps it in the address: reload and bookmark go on.
async function followOn(mine) {
  history.replaceState(null, '', `?${new URLSearchParams({ chain: mine.chain, tx: mine.hash })}`);
  try {
    await loadClient();
    const onRetry = () => {
      if (!current(mine)) return;
      mine.sentence = 'The gateway cannot be asked for the status now. The swap goes on without it.';
      draw();
    };
    for await (const status of client.follow({ srcChain: mine.chain, txHash: mine.hash, signal: mine.signal, onRetry })) {
      if (!current(mine)) return;
      await showStatus(mine, status);
    }
  } catch (error) {
    if (!current(mine)) return;
    const [title, sentences] = problemOf(error);
    if (error.status === 400) return void fails(title, sentences);
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
  if (state === 'SETTLED' && final) return void showDone(mine, status, amount, token, paid, arrived);
  const burn = text(field(status, 'burn.reason')) || text(field(status, 'burn.attestationState'));
  mine.headline = { SETTLING: 'On its way', SETTLED: `${amount} arrived` }[state] ?? 'Sent';
  mine.sentence = state === 'SETTLED' ? 'It is there, and not yet final.' : state === 'NOT_FOUND' ? 'No node has seen the transaction yet.' : state === 'PENDING' ? 'Waiting for the chain to confirm it.'
    : [reason, burn && `The issuer says: ${burn}.`, duration(field(status, 'expectedSeconds')) && `It usually takes ${duration(status.expectedSeconds)}.`].filter(Boolean).join(' ');
  draw();
}

function showDone(mine, status, amount, token, paid, arrived) {
  const { swap, chain, hash } = mine;
  draw();
  setPhase('done');
  const time = text(field(status, 'settlement.timestamp'), 40);
  $('answer').replaceChildren(el('p', { class: 'big' }, `${amount} arrived on ${mine.where ?? 'the other chain'}`), el('p', { class: 'good' }, el('span', { 'aria-hidden': 'true' }, '✓ '), 'Settled, and final.'));
  $('send').replaceChildren();
  $('rest').replaceChildren(
    facts([
      swap && ['You sent', [money(swap.request.amount, swap.quote.srcToken), ` on ${chainName(chain)}`]],
      ['For', swap ? short(swap.request.recipient, 'the recipient', networkOf(swap.request.dstChain)) : short(text(field(status, 'swap.recipient'), 66), 'the recipient')],
      token && paid !== arrived && ['Paid out', money(paid, token)],
      token && paid !== arrived && ['Arrived', [money(arrived, token), ', after what RAILGUN takes']],
      time && ['At', time.replace('T', ' ').replace('Z', ' UTC')],
      ['Transaction', [short(hash, 'the hash of the transaction', chain, 'tx'), ` on ${chainName(chain)}`]],
      ...mine.more.filter((row) => row && row[0] === 'Payout'),
    ]),
    el('p', { class: 'buttons' }, button('New swap', newSwap, { id: 'new' }), ' ', button('Print a receipt', () => print())),
  );
  document.title = `✓ ${amount} arrived · ${TITLE}`;
  $('answer').focus({ preventScroll: true });
}

// Any hash, from the address or the field.
function watchFollow() {
  addEventListener('beforeunload', (event) => { // what is not in the address yet would be lost
    if (phase === 'signing' || phase === 'under way' && !journey.hash && !journey.failed) event.preventDefault();
  });
  const chains = inOrder(Object.keys(listing.chains).map(Number).filter((id) => !isPrivate(id)));
  fill($('tx-chain'), chains, chainName, 1);
  $('follow-form').addEventListener('submit', (event) => {
    event.preventDefault();
    const hash = $('tx').value.trim();
    if (!isHash(hash)) return refuseFields([['tx', 'A transaction hash is 0x and 64 hexadecimal digits.']]);
    if (phase === 'signing' || journey?.unclear) return refuseFields([['tx', 'A swap is being sent from this page: open another tab to follow a transaction.']]);
    followOn(begin({ chain: Number($('tx-chain').value), hash, sentence: 'Asking the gateway.' }));
    return $('answer').focus();
  });
}
function recallJourney(query) {
  const [chain, hash] = [text(query.get('chain'), 12), text(query.get('tx'), 70)];
  if (!isHash(hash) || !Object.hasOwn(listing.chains, chain)) return false;
  followOn(begin({ chain: networkOf(chain), hash, sentence: 'Asking the gateway.' }));
  return true;
}
