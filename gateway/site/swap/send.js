// Sending a checked quote. The client's own send.js does it, and never twice; this is what the visitor sees of it.
let sender;
const loadSender = async (tell) => (sender ??= await loadPart('/v3/client/send.js', tell));

const RISK = 'The contracts guarantee no minimum and give no refund: the payout depends on the operator.';
function showSend() {
  const place = $('send');
  // Some wallets open a window, which a browser allows only right after a click.
  loadSender().catch(() => {});
  const { quote, expiresAt } = shown;
  showChecked(shown);
  const above = [whom(shown), legsOf(shown), caution('Risk: ', RISK), confirmations(shown)].flat();
  if (isReference) {
    const words = el('p', { id: 'no-signing' }, 'Reference deployment: this quote cannot be signed here.');
    return place.replaceChildren(...above, words, clock(expiresAt));
  }
  if (shown.unshield) {
    const wrap = unconfirmed(shown).length ? [] : toWrap(shown);
    return place.replaceChildren(...above, ...wrap, clock(expiresAt));
  }
  if (!wallets.size) return place.replaceChildren(...above, withoutWallet(), clock(expiresAt));
  const wallet = wallets.get(chosen);
  const choice = el('select', { id: 'wallet' });
  fill(choice, [...wallets.keys()], (id) => named(wallets.get(id)), chosen);
  choice.addEventListener('change', () => {
    chosen = choice.value;
    showSend();
    $('wallet').focus();
  });
  const go = button(sendWords(shown, wallet), () => send(shown, wallet), { id: 'send-button', class: 'wide' });
  const verdict = verdictOf(shown);
  const enable = () => {
    const open = unconfirmed(shown).length || place.querySelector('input[type=checkbox]:not(:checked)');
    go.disabled = Boolean(open || verdict?.certain);
  };
  if (account) noteBalance(source().key, account.address, quote);
  place.replaceChildren(...above, ...(wallets.size > 1 ? [el('label', { for: 'wallet' }, 'Wallet'), choice] : []),
    verdict && !verdict.good ? el('p', { class: 'wrong' }, verdict.sentence) : '', go,
    el('p', { class: 'hint signing', id: 'signatures' }, `${signaturesOf(shown)} in ${named(wallet)}`),
    el('p', { class: 'hint signing', id: 'waiting' }), clock(expiresAt));
  place.onchange = enable;
  return enable();
}
// What the button does. The amount is cut as money cuts it, and whole above.
function sendWords({ request, quote: { srcToken } }, wallet) {
  const network = networkOf(request.srcChain);
  if (account?.wallet === wallet && account.chain && account.chain !== network) {
    return `Switch to ${chainName(network)} and swap`;
  }
  const whole = showAmount(request.amount, srcToken.decimals);
  const few = brief(whole);
  return `Swap ${separate(few)}${few === whole ? '' : '…'} ${text(srcToken.symbol, 20)}`;
}
// A box that says whether a key is in a set of what the visitor means.
function tick(id, key, words, changed = () => {}) {
  const box = el('input', { type: 'checkbox', id });
  box.checked = meant.has(key);
  box.addEventListener('change', () => {
    meant[box.checked ? 'add' : 'delete'](key);
    changed();
  });
  return el('label', { class: 'tick' }, box, el('span', {}, words));
}

// Whom a quote pays that was not typed here: the recipient, and a partner at its rate. Each is confirmed once.
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

// The whole address: in groups of four for the eye, which can be compared, and as one text for a screen reader.
function whom({ request }) {
  const groups = request.recipient.match(/^0x|.{1,4}/gi).map((four) => el('span', {}, four));
  return el('div', { id: 'whom' }, hint('Recipient'),
    el('p', {}, el('span', { class: 'unseen' }, request.recipient),
      el('span', { class: 'mono groups', 'aria-hidden': 'true' }, groups)),
    el('p', { id: 'whose', class: 'hint' }, whose(request, account?.address)));
}
// What the visitor has to say before anything is signed.
function confirmations({ request, payees }) {
  const { dstChain } = request;
  const confirmed = () => {
    history.replaceState({ ...history.state, own: ownWords() }, '');
    showRecipientHint();
    showChecked(shown);
    if (shown.unshield) keepFocus(showSend);
  };
  const boxes = payees.map(({ id, key, what, address, rate }) => tick(id, key, what === 'partner'
    ? [`I have checked this partner, which gets a fee of ${rate} %: `, mono(address)]
    : ['I have checked this recipient: ', mono(address), ` on ${chainName(dstChain)}`], confirmed));
  if (!isPrivate(dstChain)) return boxes;
  const blind = 'The note is encrypted, so this page cannot check whom it pays. I trust the gateway with that.';
  return [...boxes, tick('consent', `trust ${recipientKey(request.recipient, dstChain)}`, blind)];
}
function whose({ recipient, dstChain }, from) {
  if (isPrivate(dstChain)) return 'A private address';
  if (!from) return 'Check that this address is yours';
  return from.toLowerCase() === recipient.toLowerCase() ? 'Your connected account' : 'Not your connected account';
}

// What it means that the quote has ended while the wallet is open, by what it was asked for.
const ENDED = {
  swap: 'If you sign now, the swap is still sent, at the fees in force when it arrives. '
    + 'Reject the request to get a new quote.',
  approval: 'The approval pays nothing. This page gets a new quote before it asks for the swap.',
};
ENDED.batch = ENDED.swap;
ENDED.reset = ENDED.approval;
let asked = ''; // of the wallet

// Says how long the quote counts. An expired one cannot be sent: it is renewed while the page is looked at.
function clock(until) {
  const words = el('span', { 'aria-live': 'off' });
  const line = el('p', { class: 'hint signing', id: 'valid' }, words,
    el('span', { class: 'paper' }, `Valid until ${day(until)}`));
  const mine = shown;
  const tick = () => {
    const seconds = Math.ceil((until - Date.now()) / 1000);
    if (seconds > 0) {
      words.textContent = `Expires in ${seconds} s, renews automatically`;
      return;
    }
    if (phase === 'signing') {
      clearInterval(ticking);
      const means = ENDED[asked] ?? 'This page gets a new quote before it asks for the swap.';
      line.replaceChildren(el('b', {}, 'This quote has expired. '), means);
      say(`This quote has expired. ${means}`);
      return;
    }
    $('send-button')?.setAttribute('aria-disabled', 'true');
    words.textContent = 'Renewing the quote…';
    if (phase !== 'quote' || document.hidden) return;
    clearInterval(ticking);
    setTimeout(() => renewQuote(mine), 1000);
  };
  clearInterval(ticking);
  ticking = setInterval(tick, 500);
  tick();
  return line;
}

async function send(swap, wallet) {
  if (isReference || phase !== 'quote' || swap !== shown || unconfirmed(swap).length || Date.now() > swap.expiresAt) {
    return;
  }
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
      const options = { client, resume, signal: stop.signal, onStep };
      const { txHash, since } = await sender.send(wallet.provider, swap, options);
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
  put($('waiting'), `${words} `, small('Stop waiting', () => stop.abort()));
  return !stop.signal.aborted;
}
const SIGNED = { swap: 'swap', approval: 'approval', reset: 'reset of the allowance' };
// Shows what the wallet is asked, with a way out; or that it has taken the swap, or may have.
function showStep(swap, wallet, step, stop) {
  const wait = (words) => tellSigning(words, stop);
  if (phase === 'signing' && step.from) {
    $('whose').textContent = whose(swap.request, step.from);
    if (!account) meetAccount({ address: step.from, wallet });
  }
  asked = step.what ?? asked;
  const turn = `${step.index + 1} of ${step.count}`;
  switch (step.step) {
    case 'connect': return wait('Connect your account in your wallet.');
    case 'switch': return wait(`Switch your wallet to ${chainName(Number(step.chainId))}.`);
    case 'read': return wait('Checking your balance…');
    case 'unchecked': return showUnchecked(step);
    case 'sign':
      if (step.what === 'batch') return wait(`Sign the ${step.count} transactions in ${wallet.name}.`);
      return wait(`${turn}: sign the ${SIGNED[step.what]} in ${wallet.name}.`);
    case 'look': return wait('Your wallet reports insufficient funds. Checking whether the swap was sent anyway…');
    case 'confirm': return wait(`Waiting for the approval ${step.txHash.slice(0, 10)}… to confirm.`);
    case 'batch': return showBatch(journeyOf(swap, stop), step);
    case 'unclear': return showUnclear(journeyOf(swap, stop), step);
    default: return undefined;
  }
}

// Stays beside what the wallet asks, so that it is read before anything is signed.
function showUnchecked({ addresses }) {
  const places = addresses.slice(0, 9).map((address) => text(address, 42)).join(' and ');
  const title = 'Your wallet cannot confirm that these contracts exist.';
  complain(title, [`Sign only if you know ${places}.`], $('send-alert'));
}

// It was not sent, as far as the error says, and the visitor reads why.
function giveUp(swap, wallet, error, label) {
  const under = phase === 'under way' && journey?.swap === swap;
  if (under && error.code?.startsWith('BATCH_')) {
    const isPart = error.code === 'BATCH_IN_PART';
    if (isPart) return fails('Only part of the batch was executed.', ['Check in your wallet which part.']);
    return fails('The batch failed.', ['Your wallet reports that nothing was moved.']);
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
  if (error.code === 'EXPIRED') return void renewExpired(error, swap);
  $('valid').replaceWith(clock(swap.expiresAt));
  swap.approved ||= error.sent === 'APPROVAL';
  $('signatures').textContent = `${signaturesOf(swap)} in ${named(wallet)}`;
  if (error.code === 'UNKNOWN_CHAIN') offerToAdd(wallet.provider, networkOf(swap.request.srcChain));
  return complain(...explain(error, swap), $('send-alert'));
}

// The quote ended on the way, and the swap was not asked for. The next quote is there to be looked at first.
async function renewExpired(error, swap) {
  const [title] = explain(error, swap);
  await getQuote();
  if (phase !== 'quote') return;
  const stands = error.sent === 'NOTHING' ? 'Nothing was sent.' : 'The approval was sent, the swap was not.';
  shown.approved = error.sent === 'APPROVAL';
  showSend();
  complain(title, [`${stands} Review the new quote, then sign the swap.`], $('send-alert'));
}
