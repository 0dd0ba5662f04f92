// The form: two choices for each side, the address bar, and what the visitor typed.
const FIELDS = {
  srcToken: 'from-token', srcChain: 'from-chain', dstToken: 'to-token', dstChain: 'to-chain', amount: 'amount',
  recipient: 'recipient', recipientType: 'recipient', integratorId: 'integrator'
};
const isReference = listing.deployment === 'reference'; // its contracts exist on local chains only: nothing is signed
// The chains that most people have come first, then the others by name, then the private balances.
const FIRST = [1, 8453, 56, HUB];
const rank = (id) => (isPrivate(id) ? 99 + rank(networkOf(id)) : FIRST.includes(id) ? FIRST.indexOf(id) : 50);
const byRank = (a, b) => rank(a) - rank(b) || chainName(a).localeCompare(chainName(b));
const inOrder = (ids) => [...new Set(ids)].sort(byRank);
// What the visitor typed into an empty field key by key, or undefined if it came in another way: from a link, the
// clipboard, a drop or a browser's own help. Everything else that is paid is confirmed before it is signed.
const typed = { recipient: '', integrator: '' };
const KEYS = ['insertText', 'deleteContentBackward', 'deleteContentForward'];
const meant = new Set(); // whom the visitor typed or confirmed: see payeesOf
const recipientKey = (recipient, chain) => `${recipient} on ${chain}`;
let goal; // the token that is meant in the end, where that takes a second swap from the hub
let stop; // and the token at the hub in between
let prefilled = ''; // the recipient that this page filled in: the connected account

function fill(select, values, label, wanted) {
  const options = values.map((value) => el('option', { value }, label(value)));
  select.replaceChildren(...options);
  select.value = values.map(String).includes(String(wanted)) ? wanted : values[0];
}
function fillChains(select, ids, wanted) {
  fill(select, ids, chainName, wanted);
  const hidden = [...select.options].filter((option) => isPrivate(option.value));
  if (hidden.length && hidden.length < ids.length) select.append(el('optgroup', { label: 'Private balances' }, hidden));
}
const picked = (side) => ({ chain: Number($(`${side}-chain`).value), symbol: $(`${side}-token`).value });
const tokenOf = ({ chain, symbol }) => byKey.get(`${symbol}@${chain}`);
const source = () => tokenOf(picked('from'));
const target = () => (goal ? stop : tokenOf(picked('to'))); // of the swap that is quoted
const pairsFrom = (token) => pairs.filter((pair) => pair.from === token);
const reachedFrom = (token) => pairsFrom(token).map((pair) => pair.to);
const sources = [...new Set(pairs.map((pair) => pair.from))];
const pairOf = (from, to) => pairs.find((pair) => pair.from === from && pair.to === to);
const legs = () => (goal ? [pairOf(source(), stop), pairOf(stop, goal)] : [pairOf(source(), target())]);

// What a second swap reaches, from where the first one ends at the hub.
function beyond(src) {
  const reached = reachedFrom(src);
  const near = new Set([src.chain, HUB, ...reached.map((token) => token.chain)]);
  return reached.filter((token) => token.chain === HUB).flatMap(reachedFrom).filter((token) => !near.has(token.chain));
}

// Fills the four choices with what there is, as near as possible to what is wanted.
function choose(from = picked('from'), to = picked('to')) {
  const nearest = (list, { chain, symbol }, usual) => list.find((token) => token.key === `${symbol}@${chain}`)
    ?? list.find((token) => token.chain === chain) ?? list.find((token) => token.key === usual) ?? list[0];
  const symbolsOn = (list, chain) => [...new Set(list.filter((one) => one.chain === chain).map((one) => one.symbol))];
  const src = nearest(sources, from, 'USDC@1');
  fillChains($('from-chain'), inOrder(sources.map((token) => token.chain)), src.chain);
  fill($('from-token'), symbolsOn(sources, src.chain), String, src.symbol);
  const reached = reachedFrom(src);
  const farther = beyond(src);
  const dst = nearest([...reached, ...farther], to, 'USDC@369');
  goal = farther.includes(dst) ? dst : undefined;
  stop = goal && nearest(reached.filter((token) => pairOf(token, goal)), { chain: HUB, symbol: goal.symbol });
  fillChains($('to-chain'), inOrder(reached.map((token) => token.chain)), dst.chain);
  if (farther.length) {
    const two = inOrder(farther.map((token) => token.chain)).map((id) => el('option', { value: id }, chainName(id)));
    $('to-chain').append(el('optgroup', { label: `Two swaps, via ${chainName(HUB)}` }, two));
    $('to-chain').value = dst.chain;
  }
  fill($('to-token'), symbolsOn([...reached, ...farther], dst.chain), String, dst.symbol);
  showHints();
}

// The pair of the other direction, or the nearest to it.
function flipped() {
  const [from, to] = [goal ?? target(), source()];
  const reached = (src) => [...reachedFrom(src), ...beyond(src)].filter((dst) => dst.chain === to.chain);
  const ways = sources.filter((src) => src.chain === from.chain).flatMap(
    (src) => reached(src).map((dst) => ({ from: src, to: dst })));
  return ways.find((way) => way.from === from && way.to === to) ?? ways.find((way) => way.from === from) ?? ways[0];
}

function showHints() {
  const [from, to] = [source(), target()];
  const shown = goal ?? to;
  const [here, there] = [chainName(from.chain), chainName(to.chain)];
  const only = new Set(reachedFrom(from).map((token) => token.chain)).size === 1;
  for (const [side, { symbol, chain }] of [['from', from], ['to', shown]]) {
    $(`${side}-mark`).firstChild.setAttribute('href', `#${symbol}`);
    $(`${side}-chain-mark`).firstChild.setAttribute('href', isPrivate(chain) ? '#private' : `#c${chain}`);
  }
  const onward = to.chain === HUB ? ', and on from there' : '';
  let words = only ? `From ${here}, ${from.symbol} can only go to ${there}${onward}.` : '';
  if (goal) words = `Two swaps, via ${there}. The second is signed there once the first arrives, so you need `
    + `${coinOf(HUB)} on ${there} for gas.`;
  $('to-hint').textContent = words;
  const { name, fee, time, coins } = costOf(legs());
  $('fee-name').textContent = `${name} ${fee}`;
  $('time').textContent = time || '—';
  $('gas').textContent = coins;
  $('flip').disabled = !flipped();
  prefill();
  showRecipientHint();
  showEstimate();
}
// Fee, time and the coins for gas, of all swaps that it takes.
function costOf(all) {
  const seconds = all.every((leg) => leg.seconds) ? all.reduce((sum, leg) => sum + leg.seconds, 0) : 0;
  const shield = shieldOf(all.at(-1).to);
  const left = all.reduce((share, leg) => share * (1 - leg.fee / 100), 1 - shield / 10_000);
  return {
    name: all.length > 1 || shield ? 'Total fee' : 'Fee', fee: `${Number((100 - 100 * left).toFixed(2))} %`,
    time: duration(seconds), coins: [...new Set(all.map((leg) => coinOf(leg.from.chain)))].join(' and '),
  };
}
const shieldOf = ({ chain }) => (isPrivate(chain) ? listing.shieldBps : 0); // what RAILGUN takes of what arrives there
// What arrives by the fees that the gateway lists. The client works it out, as it does for a quote.
let estimator; // once it and the listing are loaded
async function loadEstimator() {
  const [{ estimate }, listed] = await Promise.all([
    loadPart('/v3/client/estimate.js', () => true), loadClient(() => true).then((client) => client.pairs()),
  ]);
  estimator = ({ from, to }, amount) => {
    const ends = { srcToken: from.symbol, srcChain: from.chain, dstToken: to.symbol, dstChain: to.chain };
    return BigInt(estimate(listed, { ...ends, amount }).destAmount);
  };
  showEstimate();
}
function readAmount() {
  try {
    return { amount: parseAmount($('amount').value, source()) };
  } catch (sentence) {
    return { sentence };
  }
}
// What these swaps leave, one after the other; undefined while that is not known, or if one would get too little.
function estimateOf(amount, all = legs()) {
  if (!estimator || amount === undefined) return undefined;
  try {
    const left = all.reduce((sum, leg) => estimator(leg, sum), amount);
    return left - left * BigInt(shieldOf(all.at(-1).to)) / 10_000n;
  } catch {
    return undefined;
  }
}
// Shows what arrives and what it costs, and nothing where no such swap is possible. The hint says the bound then.
function showEstimate() {
  const [from, end] = [source(), goal ?? target()];
  const { amount, sentence } = readAmount();
  const left = estimateOf(amount);
  const limits = [from.min, from.max].map((bound) => separate(showAmount(bound, from.decimals))).join(' to ');
  let words = `${limits} ${from.symbol}`;
  if (/^The m(in|ax)imum /.test(sentence)) words = sentence;
  if (estimator && amount !== undefined && left === undefined) words = 'Too little for the second swap.';
  $('amount-hint').textContent = words;
  $('estimate').classList.toggle('none', left === undefined);
  $('estimate').textContent = left === undefined ? '—' : `≈ ${separate(brief(showAmount(left, end.decimals)))}`;
  $('fee').textContent = left === undefined ? '—' : roughly(inUnits(amount, from, end) - left, end);
  fitFigure($('amount'), $('amount').value);
  fitFigure($('estimate'), $('estimate').textContent);
  showNext();
}
const inUnits = (amount, from, to) => amount * 10n ** BigInt(to.decimals) / 10n ** BigInt(from.decimals);
// A long figure is smaller, so that all of it is seen.
const fitFigure = (figure, words) => figure.style.setProperty('--digits', String(Math.max(words.length, 1)));

// The button says what is next.
const NEXT = { amount: 'Enter an amount', recipient: 'Enter a recipient' };
function showNext() {
  const [missing] = readForm().errors.map(([id]) => NEXT[id]).filter(Boolean);
  $('ask').textContent = missing ?? 'Review swap';
}

// The connected account is the recipient, where it may be one and nothing else was entered.
function prefill() {
  const input = $('recipient');
  if (input.value && input.value !== prefilled) return;
  prefilled = account?.isPlain && !isPrivate(target().chain) ? account.address : '';
  input.value = prefilled;
  typed.recipient = prefilled;
}
function recipientHint(recipient) {
  const { chain } = target();
  const isForeign = typed.recipient?.trim() !== recipient && !meant.has(recipientKey(recipient, chain));
  if (recipient && isForeign) return 'Not typed here: you confirm it before signing.';
  if (account && recipient === account.address) return `Your account, on ${chainName(chain)}`;
  if (isPrivate(chain)) return `A private address on ${chainName(chain)}`;
  if (account?.isPlain === false && !recipient) {
    return `Your account is a contract. It may not exist on ${chainName(chain)}.`;
  }
  return `${goal ? 'Your own address' : 'An address'} on ${chainName(chain)}`;
}
function showRecipientHint() {
  const recipient = $('recipient').value.trim();
  const hidden = isPrivate(target().chain);
  $('recipient').placeholder = hidden ? '0zk…' : '0x…';
  $('recipient').rows = hidden ? 3 : 1; // so that nothing moves when it is filled in
  $('recipient-hint').textContent = recipientHint(recipient);
  const own = small('Use my address', () => {
    $('recipient').value = account.address;
    typed.recipient = account.address;
    changed('recipient');
    $('recipient').focus();
  });
  $('own').replaceChildren(...(account && !hidden && recipient !== account.address ? [own] : []));
  showNext();
}

// Reads the form: a request, or errors with their fields.
function readForm() {
  const value = (id) => $(id).value.trim();
  const [from, to, recipient] = [source(), target(), value('recipient')];
  const integratorId = value('integrator');
  const { amount = 0n, sentence } = readAmount();
  const wrong = { amount: sentence, recipient: wrongRecipient(recipient, to), integrator: wrongPartner(integratorId) };
  const errors = Object.entries(wrong).filter(([, words]) => words);
  const request = {
    srcToken: from.symbol, dstToken: to.symbol, amount: String(amount), srcChain: String(from.chain),
    dstChain: String(to.chain), recipient, ...(integratorId && { integratorId }),
  };
  return { request, errors };
}
function wrongRecipient(recipient, { chain }) {
  if (isPrivate(chain)) return /^0zk/i.test(recipient) ? '' : 'Enter a private address, which begins with 0zk.';
  if (!isAddress(recipient)) return 'Enter an address: 0x and 40 hexadecimal digits.';
  return isMistyped(recipient) ? MISTYPED : '';
}
function wrongPartner(partner) {
  if (!partner || isHash(partner)) return '';
  if (!isAddress(partner)) return 'Enter the address of the partner’s wallet: 0x and 40 hexadecimal digits.';
  return isMistyped(partner) ? MISTYPED : '';
}

// Each quote and each sent swap is an entry of the browser's history, so that Back finds it again; nothing else is
// kept. An entry that is only typed so far is overwritten as the visitor types on. What was typed here is noted in the
// entry, which no link can: reloading does not turn it into something from outside.
let entry = ''; // of what is shown
let arriving = false; // whether the address says what to show, and not the visitor
const isSwapHash = () => location.hash.startsWith('#swap=');
const placeNow = () => location.search + (isSwapHash() ? location.hash : '');
const entryNow = () => placeNow() + (history.state?.quoted ? ' quoted' : '');
function enter(place, state, push) {
  history[push ? 'pushState' : 'replaceState'](state, '', `/${place}`);
  entry = entryNow();
  $('developers').href = `/developers?${formQuery()}`;
}
function formQuery() {
  const values = {
    from: source().key, to: target().key, then: goal?.key, amount: $('amount').value.trim(),
    recipient: $('recipient').value.trim(), integrator: $('integrator').value.trim()
  };
  return new URLSearchParams(Object.entries(values).filter(([, value]) => value));
}
function ownWords() {
  const recipient = $('recipient').value.trim();
  const known = typed.recipient?.trim() === recipient || meant.has(recipientKey(recipient, target().chain));
  return { recipient: known ? recipient : undefined, integrator: typed.integrator?.trim() };
}
const enterForm = (push) => enter(`?${formQuery()}`, { typed: true, own: ownWords() }, push);
function rememberTyped() {
  if (!history.state?.quoted && !isSwapHash()) enterForm(false);
}
function rememberQuote() {
  const place = `?${formQuery()}`;
  const again = arriving || location.search === place && !history.state?.typed;
  enter(place, { quoted: true, own: ownWords() }, !again);
}
function rememberSwap({ chain, hash, swap, token, then }) {
  const place = `#swap=${hash}&${new URLSearchParams({ chain, ...(token && { token }), ...(then && { then }) })}`;
  const again = arriving || placeNow() === place;
  if (swap && history.state?.quoted) history.replaceState({ quoted: true, sent: [chain, hash, token, then] }, '');
  enter(place, null, !again);
}

// Shows what the address says: a transaction, a quote, or a form that is filled in.
function arrive() {
  const query = new URLSearchParams(location.search);
  const { quoted, typed: onlyTyped, sent } = history.state ?? {};
  // what is typed stays where a swap is looked at
  const complete = entry && isSwapHash() ? false : recall(query, history.state?.own);
  entry = entryNow();
  leaveSwap();
  arriving = true;
  if (!recallJourney()) {
    if (sent) tellSent(sent);
    else if (complete && (quoted || !onlyTyped)) getQuote();
  }
  arriving = false;
}
function watchHistory() {
  addEventListener('popstate', () => {
    if (entryNow() === entry) return;
    const [place] = entry.split(' ');
    // Of a swap that the wallet may be sending, nothing is lost by a step back.
    if (isSending()) return void enter(place, entry === place ? null : { quoted: true }, true);
    arrive();
  });
}
// Once there is something to look at, it takes the place of the form.
function foldForm() {
  const folded = phase !== 'form';
  document.documentElement.classList.toggle('folded', folded);
  if (!folded) return;
  const way = (amount, from, symbol, to) => `${amount} on ${chainName(from)} → ${symbol} on ${chainName(to)}`;
  const { request, quote } = journey?.swap ?? {};
  const [src, dst] = [source(), target()];
  let words = way(`${$('amount').value.trim()} ${src.symbol}`, src.chain, dst.symbol, dst.chain);
  if (journey) words = `Swap from ${chainName(journey.chain)}`;
  if (request) {
    const paid = inWords(request.amount, quote.srcToken);
    words = way(paid, request.srcChain, text(quote.destToken.symbol, 20), request.dstChain);
  }
  $('asked-words').textContent = words;
  $('change').hidden = !['asking', 'quote', 'refused'].includes(phase);
}

function recall(query, own) {
  const { from, to, amount, recipient, integrator } = readQuery(query);
  const then = byKey.get(text(query.get('then'), 60));
  $('amount').value = amount;
  $('recipient').value = recipient;
  $('integrator').value = integrator;
  if (integrator) $('more').open = true;
  typed.recipient = own?.recipient === recipient ? recipient : recipient && undefined;
  typed.integrator = own?.integrator === integrator ? integrator : integrator && undefined;
  choose(from ?? {}, then ?? to ?? {});
  return Boolean(amount && recipient);
}

// Something was typed or chosen. A quote on the page belongs to what the form says; one that is being signed stays.
function changed(id) {
  if (id.endsWith('-chain') || id.endsWith('-token')) choose();
  else if (id === 'recipient') showRecipientHint();
  else if (id === 'amount') showEstimate();
  if ($(id).hasAttribute('aria-invalid')) markField($(id), '');
  dropAnswer();
  if (Object.hasOwn(typed, id) && isMistyped($(id).value.trim())) markField($(id), MISTYPED);
}
function watchForm() {
  const form = $('form');
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    getQuote();
  });
  $('recipient').addEventListener('keydown', (event) => { // it has lines only to show all of an address
    if (event.key !== 'Enter' || event.isComposing) return;
    event.preventDefault();
    form.requestSubmit();
  });
  form.addEventListener('input', ({ target, inputType, data }) => {
    if (/[\r\n]/.test(target.value) && target.id === 'recipient') target.value = target.value.replace(/[\r\n]+/g, '');
    const { id, value } = target;
    if (Object.hasOwn(typed, id)) {
      const byKeys = typed[id] !== undefined && KEYS.includes(inputType) && !(data?.length > 1);
      typed[id] = value === '' || byKeys ? value : undefined;
    }
    if (Object.values(FIELDS).includes(id)) changed(id);
  });
  form.addEventListener('change', ({ target: { id } }) => {
    if (!Object.values(FIELDS).includes(id)) return;
    if (id.endsWith('-chain') && goal) say($('to-hint').textContent);
    if (phase !== 'under way') rememberTyped();
    if (id.startsWith('from-')) readBalance();
  });
  $('amount').addEventListener('paste', (event) => {
    const pasted = event.clipboardData.getData('text');
    if (!/(^|[?&])amount=\d/.test(pasted)) return;
    event.preventDefault();
    const query = new URLSearchParams(pasted.slice(pasted.indexOf('?') + 1));
    if (query.get('srcToken')) recall(query);
    else $('amount').value = showAmount(text(query.get('amount'), 60), source().decimals);
    showEstimate();
    dropAnswer();
    say('The amount was in the smallest unit of the token.');
  });
  $('change').addEventListener('click', () => {
    dropAnswer();
    $('amount').focus();
  });
  $('flip').addEventListener('click', () => {
    const { from, to } = flipped();
    choose(from, to);
    dropAnswer();
    rememberTyped();
    readBalance();
  });
}
