// Sending a checked quote. The client's own send.js does it, and never twice; this is what the visitor sees of it.
let sender;
const loadSender = async (tell) => (sender ??= await loadPart('/v3/client/send.js', tell));

function showSend() {
  const place = $('send');
  // Some wallets open a window, which a browser allows only right after a click.
  loadSender().catch(() => {});
  const { request, quote, expiresAt } = shown;
  showChecked(shown);
  const payee = whom(shown);
  if (listing.demo) return place.replaceChildren(...payee, el('p', { id: 'no-signing' }, 'Demo deployment: this quote cannot be signed here.'), clock(expiresAt));
  if (shown.unshield) return place.replaceChildren(...payee, ...(unconfirmed(shown).length ? [] : developers.toWrap(shown)), clock(shown.expiresAt));
  if (!wallets.size) return place.replaceChildren(...payee, ...withoutWallet(), clock(expiresAt));
  const wallet = wallets.get(chosen);
  const choice = el('select', { id: 'wallet' }, [...wallets].map(([id, one]) => el('option', { value: id }, named(one))));
  choice.value = chosen;
  choice.addEventListener('change', () => {
    chosen = choice.value;
    showSend();
    $('wallet').focus();
  });
  const ticks = isPrivate(request.dstChain) ? [tick('consent', () => true, 'This page cannot open the encrypted note, so it cannot tell whom it pays. I trust the gateway with that.')] : [];
  const go = el('button', { type: 'button', id: 'send-button', class: 'wide', click: () => send(shown, wallet) }, `Sign in ${named(wallet)}: ${plural(shown.calls.length, 'transaction')}`);
  const verdict = verdictOf(shown);
  const enable = () => { go.disabled = Boolean(unconfirmed(shown).length || verdict?.certain || place.querySelector('input[type=checkbox]:not(:checked)')); };
  if (account) noteBalance(source().key, account.address, quote);
  place.replaceChildren(...payee, ...(wallets.size > 1 ? [el('label', { for: 'wallet' }, 'Wallet'), choice] : []), ...ticks,
    verdict && !verdict.good ? el('p', { class: 'wrong' }, verdict.sentence) : '', go, clock(expiresAt), el('p', { id: 'waiting', class: 'hint' }));
  place.onchange = enable;
  return enable();
}
function tick(id, changed, ...words) {
  const box = el('input', { type: 'checkbox', id });
  box.addEventListener('change', () => changed(box.checked));
  return el('label', { class: 'tick' }, box, el('span', {}, ...words));
}

// Whom a quote pays that was not typed here: the recipient, and a partner at its rate. Each is confirmed once on this page.
function payeesOf({ request, quote }) {
  const { recipient, dstChain, integratorId } = request;
  const payees = [{ id: 'meant', what: 'recipient', address: recipient, key: recipientKey(recipient, dstChain) }];
  if (typed.recipient?.trim() === recipient) meant.add(payees[0].key);
  if (integratorId) {
    const { address, percentage } = quote.fee.integrator;
    const key = `${integratorId} for ${percentage} %`;
    payees.push({ id: 'meant-partner', what: 'partner', address, rate: percentage, key });
    if (typed.integrator?.trim() === integratorId) meant.add(key);
  }
  return payees.filter(({ key }) => !meant.has(key));
}
const unconfirmed = ({ payees }) => payees.filter(({ key }) => !meant.has(key));

// The whole address in groups of four, which can be compared.
const grouped = (address) => el('span', { class: 'mono groups' }, (/^0x/i.test(address) ? ['0x', ...address.slice(2).match(/.{1,4}/g)] : address.match(/.{1,4}/g)).map((four) => el('span', {}, four)));
function whom({ request, payees }) {
  const { recipient, dstChain } = request;
  const boxes = payees.map(({ id, key, what, address, rate }) => {
    const confirmed = (is) => {
      meant[is ? 'add' : 'delete'](key);
      showRecipientHint();
      showChecked(shown);
      if (shown.unshield) keepFocus(showSend);
    };
    const words = what === 'partner' ? [`a fee of ${rate} % to the partner `, grouped(address), '.'] : [grouped(address), ` on ${chainName(dstChain)}.`];
    const box = tick(id, confirmed, `I did not type this ${what}. I have compared it, and I mean to pay `, ...words);
    box.firstChild.checked = meant.has(key);
    return box;
  });
  return [el('div', { id: 'whom' }, el('p', { class: 'hint' }, `Pays on ${chainName(dstChain)} to`), el('p', {}, grouped(recipient)),
    el('p', { id: 'whose', class: 'hint' }, whose(request, account?.address))), ...boxes];
}
function whose({ recipient, dstChain }, from) {
  if (isPrivate(dstChain)) return 'A private address: this page cannot tell whose it is.';
  if (!from) return 'No account is connected, so this page cannot tell whether it is yours.';
  return from.toLowerCase() === recipient.toLowerCase() ? 'This is your connected account.' : `This is not your account: you are connected as ${from}.`;
}

// What it means that the quote has ended while the wallet is open, by what it was asked for.
const ENDED = {
  swap: 'If you sign now, the swap is sent all the same, at the fees that are in force when it arrives. Refuse in the wallet to get a new quote.',
  approval: 'The approval pays nothing, and stays. The swap is not asked for: this page gets a new quote first.',
};
ENDED.batch = ENDED.swap;
ENDED.reset = ENDED.approval;
let asked = ''; // of the wallet

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
    if (phase === 'signing') {
      const means = ENDED[asked] ?? 'The swap is not asked for any more: this page gets a new quote first.';
      line.replaceChildren(el('b', {}, 'This quote has ended. '), means);
      say(`This quote has ended. ${means}`);
    }
    if (phase !== 'quote') return;
    say('This quote has expired.');
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

async function send(swap, wallet) {
  if (listing.demo || phase !== 'quote' || swap !== shown || unconfirmed(swap).length) return;
  calm();
  asked = '';
  $('add')?.remove();
  setPhase('signing');
  const go = $('send-button');
  const label = go.textContent;
  go.textContent = 'Confirm in your wallet…';
  go.setAttribute('aria-disabled', 'true');
  for (let resume; ;) {
    const stop = new AbortController();
    try {
      await loadSender((words) => tellSigning(words, stop));
      const onStep = (step) => showStep(swap, wallet, step, stop);
      const { txHash, since } = await sender.send(wallet.provider, swap, { client, resume, signal: stop.signal, onStep });
      return void found(journeyOf(swap, stop), txHash, since);
    } catch (error) {
      resume = error.step;
      // The visitor stopped waiting: the chain is watched.
      if (error.code === 'UNCLEAR' && phase === 'signing') continue;
      return void giveUp(swap, wallet, error, label);
    }
  }
}

// Says what is waited for, once, with a way out.
function tellSigning(words, stop) {
  if (!$('waiting').textContent.startsWith(words)) say(words);
  put($('waiting'), `${words} `, button('Stop waiting', () => stop.abort(), { class: 'second small' }));
  return !stop.signal.aborted;
}
// Shows what the wallet is asked, with a way out; or that it has taken the swap, or may have.
function showStep(swap, wallet, step, stop) {
  const wait = (words) => tellSigning(words, stop);
  if (phase === 'signing' && step.from) $('whose').textContent = whose(swap.request, step.from);
  asked = step.what ?? asked;
  const turn = `${step.index + 1} of ${step.count}`;
  switch (step.step) {
    case 'connect': return wait('Connect your account in the wallet.');
    case 'switch': return wait(`Let the wallet use ${chainName(Number(step.chainId))}.`);
    case 'read': return wait('Reading what the account has…');
    case 'unchecked': return showUnchecked(step);
    case 'sign':
      if (step.what === 'batch') return wait(`Sign all ${step.count} together in ${wallet.name}.`);
      return wait(`${turn}: ${{ swap: 'sign the swap', approval: 'sign the approval', reset: 'sign the reset of the allowance' }[step.what]} in ${wallet.name}.`);
    case 'look': return wait('The wallet says that the account has too little. This page looks whether the swap was sent all the same.');
    case 'confirm': return wait(`Waiting until the approval ${step.txHash.slice(0, 10)}… is in a block.`);
    case 'batch': return showBatch(journeyOf(swap, stop), step);
    case 'unclear': return showUnclear(journeyOf(swap, stop), step);
    default: return undefined;
  }
}

// Stays beside what the wallet asks, so that it is read before anything is signed.
function showUnchecked({ addresses }) {
  const places = addresses.slice(0, 9).map((address) => text(address, 42)).join(' and ');
  complain('Your wallet’s node does not say whether these contracts exist.', [`Sign only if you know ${places}.`], $('send-alert'));
}

// It was not sent, as far as the error says, and the visitor reads why.
function giveUp(swap, wallet, error, label) {
  const under = phase === 'under way' && journey?.swap === swap;
  if (under && error.code?.startsWith('BATCH_')) {
    const part = error.code === 'BATCH_IN_PART';
    return fails(part ? 'A part of the batch was carried out.' : 'The wallet’s batch failed.', [part ? 'Look in the wallet which.' : 'The wallet says that nothing was moved.']);
  }
  // A late refusal.
  if (under && error.code !== 'UNCLEAR') {
    newSwap();
    return complain(...explain(error, swap));
  }
  if (phase !== 'signing') return undefined;
  setPhase('quote');
  const go = $('send-button');
  go.textContent = label;
  go.removeAttribute('aria-disabled');
  if ($('waiting').contains(document.activeElement)) go.focus();
  $('waiting').replaceChildren();
  if (error.code === 'EXPIRED') return void renew(error, swap);
  $('valid').replaceWith(clock(swap.expiresAt));
  if (error.code === 'UNKNOWN_CHAIN') loadDevelopers().then(({ offerToAdd }) => offerToAdd(wallet.provider, networkOf(swap.request.srcChain)));
  return complain(...explain(error, swap), $('send-alert'));
}

// The quote ended on the way, and the swap was not asked for. The next quote is there to be looked at first.
async function renew(error, swap) {
  const [title] = explain(error, swap);
  await getQuote();
  if (phase !== 'quote') return;
  const stands = error.sent === 'NOTHING' ? 'Nothing was sent.' : 'The approval was sent and stands, the swap was not sent.';
  complain(title, [`${stands} This is a new quote: look at it, then sign the swap.`], $('send-alert'));
}
