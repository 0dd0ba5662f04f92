// The form: two choices for each side, the address bar, and what the visitor typed.
const tokens = listing.tokens.map(([chain, symbol, decimals, min, max]) => ({ chain, symbol, decimals, min, max, key: `${symbol}@${chain}` }));
const byKey = new Map(tokens.map((token) => [token.key, token]));
const pairs = listing.pairs.map(([from, to, fee, seconds]) => ({ from: tokens[from], to: tokens[to], fee, seconds }));
const FIELDS = { srcToken: 'from-token', srcChain: 'from-chain', dstToken: 'to-token', dstChain: 'to-chain', amount: 'amount', recipient: 'recipient', recipientType: 'recipient', integratorId: 'integrator' };
const HUB = 369;
// The chains that most people have come first, then the others by name, then the private balances.
const FIRST = [1, 8453, 56, HUB];
const rank = (id) => (isPrivate(id) ? 99 + rank(networkOf(id)) : FIRST.includes(id) ? FIRST.indexOf(id) : 50);
const inOrder = (ids) => [...new Set(ids)].sort((a, b) => rank(a) - rank(b) || chainName(a).localeCompare(chainName(b)));
// What the visitor typed into an empty field key by key, or undefined if it came in another way: from a link, the
// clipboard, a drop or a browser's own help. Everything else that is paid is confirmed before it is signed.
const typed = { recipient: '', integrator: '' };
const KEYS = ['insertText', 'deleteContentBackward', 'deleteContentForward'];
const meant = new Set(); // whom the visitor typed or confirmed: see payeesOf
const recipientKey = (recipient, chain) => `${recipient} on ${chain}`;
let onward; // the token that is meant in the end, where that takes a second swap from the hub

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
const source = () => byKey.get(`${$('from-token').value}@${$('from-chain').value}`);
const target = () => byKey.get(`${$('to-token').value}@${$('to-chain').value}`);
const pairsFrom = (token) => pairs.filter((pair) => pair.from === token);

const picked = (side) => ({ chain: Number($(`${side}-chain`).value), symbol: $(`${side}-token`).value });

// What a second swap reaches, from where the first one ends at the hub.
function beyond(src) {
  const reached = pairsFrom(src).map((pair) => pair.to);
  const near = new Set([src.chain, HUB, ...reached.map((token) => token.chain)]);
  return pairs.filter((pair) => reached.includes(pair.from) && pair.from.chain === HUB && !near.has(pair.to.chain)).map((pair) => pair.to);
}

// Fills the four choices with what there is, as near as possible to what is wanted.
function choose(from = picked('from'), to = picked('to')) {
  const nearest = (list, wanted, usual) => list.find((token) => token.chain === wanted?.chain && token.symbol === wanted.symbol)
    ?? list.find((token) => token.chain === wanted?.chain) ?? list.find((token) => token.key === usual) ?? list[0];
  const sources = [...new Set(pairs.map((pair) => pair.from))];
  const src = nearest(sources, from, 'USDC@1');
  fillChains($('from-chain'), inOrder(sources.map((token) => token.chain)), src.chain);
  fill($('from-token'), sources.filter((token) => token.chain === src.chain).map((token) => token.symbol), String, src.symbol);
  const reached = pairsFrom(src).map((pair) => pair.to);
  const farther = beyond(src);
  onward = farther.find((token) => token.chain === to?.chain);
  const dst = nearest(reached, onward ? { chain: HUB, symbol: onward.symbol } : to, 'USDC@369');
  fillChains($('to-chain'), inOrder(reached.map((token) => token.chain)), dst.chain);
  if (farther.length) {
    const two = inOrder(farther.map((token) => token.chain)).map((id) => el('option', { value: id }, chainName(id)));
    $('to-chain').append(el('optgroup', { label: `In two swaps, through ${chainName(HUB)}` }, two));
  }
  fill($('to-token'), reached.filter((token) => token.chain === dst.chain).map((token) => token.symbol), String, dst.symbol);
  showHints();
}

// The pair of the other direction, or the nearest to it.
function flipped() {
  const [from, to] = [source(), target()];
  const back = pairs.filter((pair) => pair.from.chain === to.chain && pair.to.chain === from.chain);
  return back.find((pair) => pair.from === to && pair.to === from) ?? back.find((pair) => pair.from === to) ?? back[0];
}

function showHints() {
  const [from, to] = [source(), target()];
  const { fee, seconds } = pairs.find((pair) => pair.from === from && pair.to === to);
  $('symbol').textContent = from.symbol;
  for (const [side, { symbol }] of [['from', from], ['to', to]]) $(`${side}-mark`).firstChild.setAttribute('href', `#${symbol}`);
  const [here, there] = [chainName(from.chain), chainName(to.chain)];
  const only = new Set(pairsFrom(from).map((pair) => pair.to.chain)).size === 1;
  const way = onward ? `${chainName(onward.chain)} takes two swaps, through ${there}. This is the first: send it to an address of yours there. When it has arrived, this page offers the second. `
    : only ? `From ${here}, ${from.symbol} goes to ${there}${to.chain === HUB ? ', the hub: from there it can go on' : ' only'}. ` : '';
  $('to-hint').textContent = `${way}Fee ${fee} %${seconds ? `, usually takes ${duration(seconds)}` : ''}.`;
  $('amount-hint').textContent = `${separate(showAmount(from.min, from.decimals))} to ${separate(showAmount(from.max, from.decimals))} ${from.symbol} in one transaction.`;
  $('flip').disabled = !flipped();
  showRecipientHint();
  developers?.showSnippets();
}
function showRecipientHint() {
  const to = target();
  const hint = $('recipient-hint');
  hint.replaceChildren(isPrivate(to.chain) ? 'A private address, 0zk…' : `An address on ${chainName(to.chain)}, 0x…`);
  const recipient = $('recipient').value;
  if (recipient && typed.recipient !== recipient && !meant.has(recipientKey(recipient.trim(), to.chain))) {
    hint.append(' You have not typed this: you confirm it before you sign.');
  } else if (account && !isPrivate(to.chain) && $('recipient').value.trim() !== account.address) {
    hint.append(' ', button('Use my address', () => {
      $('recipient').value = account.address;
      typed.recipient = account.address;
      changed('recipient');
      $('recipient').focus();
    }, { class: 'second small' }));
  }
}

// Reads the form: a request, or errors with their fields.
function readForm() {
  const value = (id) => $(id).value.trim();
  const [from, to, recipient] = [source(), target(), value('recipient')];
  const errors = [];
  let amount = 0n;
  try {
    amount = parseAmount(value('amount'), from);
  } catch (sentence) {
    errors.push(['amount', sentence]);
  }
  if (isPrivate(to.chain) ? !/^0zk/i.test(recipient) : !isAddress(recipient)) {
    errors.push(['recipient', isPrivate(to.chain) ? 'The recipient of a private balance is an address that begins with 0zk.' : 'The recipient is an address: 0x and 40 hexadecimal digits.']);
  }
  if (value('integrator') && !/^0x([0-9a-f]{40}|[0-9a-f]{64})$/i.test(value('integrator'))) errors.push(['integrator', 'The partner is the address of its wallet: 0x and 40 hexadecimal digits.']);
  const request = { srcToken: from.symbol, dstToken: to.symbol, amount: String(amount), srcChain: String(from.chain), dstChain: String(to.chain), recipient };
  if (value('integrator')) request.integratorId = value('integrator');
  return { request, errors };
}

// Each quote and each sent swap is an entry of the browser's history, so that Back finds it again; nothing else is kept.
// An entry that is only typed so far is overwritten as the visitor types on.
let entry = ''; // of what is shown
let arriving = false; // whether the address says what to show, and not the visitor
const entryNow = () => location.search + (history.state?.quoted ? ' quoted' : '');
function enter(query, state, push) {
  history[push ? 'pushState' : 'replaceState'](state, '', `?${query}${push ? '' : location.hash}`);
  entry = entryNow();
}
function formQuery() {
  const values = { from: source().key, to: target().key, then: onward?.key, amount: $('amount').value.trim(), recipient: $('recipient').value.trim(), integrator: $('integrator').value.trim() };
  return new URLSearchParams(Object.entries(values).filter(([, value]) => value));
}
const isSwapEntry = () => Boolean(history.state?.quoted) || new URLSearchParams(location.search).has('tx');
function rememberTyped() {
  if (!isSwapEntry()) enter(formQuery(), { typed: true }, false);
}
function rememberQuote() {
  const query = formQuery();
  const again = arriving || location.search === `?${query}` && !history.state?.typed;
  enter(query, { quoted: true }, !again);
}
function rememberSwap({ chain, hash, swap, then }) {
  const query = new URLSearchParams({ chain, ...(then && { then }), tx: hash });
  const again = arriving || location.search === `?${query}`;
  if (swap && history.state?.quoted) history.replaceState({ quoted: true, sent: [chain, hash] }, '');
  enter(query, null, !again);
}

// Shows what the address says: a transaction, a quote, or a form that is filled in.
function arrive() {
  const query = new URLSearchParams(location.search);
  const { quoted, typed, sent } = history.state ?? {};
  const complete = entry && query.has('tx') ? false : recall(query); // what is typed stays where a swap is looked at
  entry = entryNow();
  leaveSwap();
  arriving = true;
  if (!recallJourney(query)) {
    if (sent) loadDevelopers().then(({ tellSent }) => phase === 'form' && tellSent(sent));
    else if (complete && (quoted || !typed)) getQuote();
  }
  arriving = false;
}
function watchHistory() {
  addEventListener('popstate', () => {
    const [search] = entry.split(' ');
    if (entryNow() === entry || location.hash && location.search === search) return;
    // Of a swap that the wallet may be sending, nothing is lost by a step back.
    if (isSending()) return void enter(search.slice(1), entry === search ? null : { quoted: true }, true);
    arrive();
  });
}
// Once there is something to look at, the form folds to a line that says what was asked for.
function foldForm() {
  const folded = phase !== 'form';
  document.documentElement.classList.toggle('folded', folded);
  if (!folded) return;
  const [src, dst] = [source(), target()];
  const way = (amount, from, symbol, to) => `${amount} on ${chainName(from)} → ${symbol} on ${chainName(to)}`;
  const { request, quote } = journey?.swap ?? {};
  $('asked-words').textContent = request ? way(inWords(request.amount, quote.srcToken), request.srcChain, text(quote.destToken.symbol, 20), request.dstChain)
    : journey ? `A swap sent on ${chainName(journey.chain)}` : way(`${$('amount').value.trim()} ${src.symbol}`, src.chain, dst.symbol, dst.chain);
  $('change').hidden = !['asking', 'quote', 'refused'].includes(phase);
}

// Reads the query of this page, or of the interface, whose amounts are in the smallest unit.
function readQuery(query) {
  const read = (name) => text(query.get(name), 200);
  if (!read('srcToken') && !read('srcChain')) return { from: byKey.get(read('from')), to: byKey.get(read('to')), amount: read('amount'), recipient: read('recipient'), integrator: read('integrator') };
  const find = (symbol, chain) => byKey.get(`${symbol.toUpperCase()}@${chain}`);
  const from = find(read('srcToken'), read('srcChain'));
  const amount = read('amount');
  return { from, to: find(read('dstToken'), read('dstChain')), amount: from && /^\d{1,60}$/.test(amount) ? showAmount(amount, from.decimals) : amount, recipient: read('recipient'), integrator: read('integratorId') };
}
function recall(query) {
  const { from, to, amount, recipient, integrator } = readQuery(query);
  const then = byKey.get(text(query.get('then'), 60));
  $('amount').value = amount;
  $('recipient').value = recipient;
  $('integrator').value = integrator;
  if (integrator) $('more').open = true;
  typed.recipient = recipient && undefined;
  typed.integrator = integrator && undefined;
  choose(from ?? {}, then ?? to ?? {});
  return Boolean(amount && recipient);
}

// Something was typed or chosen. A quote on the page belongs to what the form says; one that is being signed stays.
function changed(id) {
  if (id.endsWith('-chain') || id.endsWith('-token')) choose(picked('from'), id.startsWith('to-') ? picked('to') : onward ?? picked('to'));
  else if (id === 'recipient') showRecipientHint();
  const input = $(id);
  if (input.hasAttribute('aria-invalid')) {
    input.removeAttribute('aria-invalid');
    $(input.getAttribute('aria-errormessage')).replaceChildren();
  }
  dropAnswer();
  developers?.showSnippets();
}
function watchForm() {
  const form = $('form');
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    getQuote();
  });
  form.addEventListener('input', ({ target: { id, value }, inputType, data }) => {
    if (Object.hasOwn(typed, id)) {
      const byKey = typed[id] !== undefined && KEYS.includes(inputType) && !(data?.length > 1);
      typed[id] = value === '' || byKey ? value : undefined;
    }
    if (Object.values(FIELDS).includes(id)) changed(id);
  });
  form.addEventListener('change', ({ target: { id } }) => {
    if (!Object.values(FIELDS).includes(id)) return;
    if (id.endsWith('-chain') && onward) say($('to-hint').textContent);
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
