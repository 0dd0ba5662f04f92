// The form, its place in the address bar, and the question to the gateway.
const tokens = listing.tokens.map(([chain, symbol, decimals, min, max]) => ({ chain, symbol, decimals, min, max, key: `${symbol}@${chain}`, label: `${symbol} on ${chainName(chain)}` }));
const byKey = new Map(tokens.map((token) => [token.key, token]));
const pairs = listing.pairs.map(([from, to, fee, seconds]) => ({ from: tokens[from].key, to: tokens[to].key, fee, seconds }));
const FIELDS = ['from', 'to', 'amount', 'recipient', 'integrator'];
const PARAMS = { srcToken: 'from', srcChain: 'from', dstToken: 'to', dstChain: 'to', amount: 'amount', recipient: 'recipient', recipientType: 'recipient', integratorId: 'integrator' };
let shown; // the swap that is on the page
let turn = 0;
let skew = 0; // of this computer's clock, in milliseconds
const now = () => Date.now() + skew;

function fill(select, keys, wanted) {
  const groups = Map.groupBy(keys, (key) => byKey.get(key).symbol);
  select.replaceChildren(...[...groups].map(([symbol, group]) => el('optgroup', { label: symbol }, group.map((key) => el('option', { value: key }, byKey.get(key).label)))));
  select.value = keys.includes(wanted) ? wanted : keys[0];
}
const fillTo = (wanted) => fill($('to'), pairs.filter((pair) => pair.from === $('from').value).map((pair) => pair.to), wanted);

function showHints(linked = false) {
  const source = byKey.get($('from').value);
  const target = byKey.get($('to').value);
  const { fee, seconds } = pairs.find((pair) => pair.from === source.key && pair.to === target.key);
  $('symbol').textContent = source.symbol;
  $('limits').textContent = `From ${showAmount(source.min, source.decimals)} to ${showAmount(source.max, source.decimals)} ${source.symbol} in one transaction. Fee ${fee} %${seconds ? `, takes ${duration(seconds)}` : ''}.`;
  const kind = isPrivate(target) ? 'A private address, 0zk…' : `An address on ${chainName(target.chain)}, 0x…`;
  $('recipient-hint').textContent = linked ? `${kind} The link that you opened filled it in: make sure that it is whom you mean to pay.` : kind;
  showSnippets();
}
const isPrivate = (token) => token.chain in listing.networks;

// Reads the form, or throws a field and a sentence.
function readForm() {
  const value = (id) => $(id).value.trim();
  const [source, target] = [byKey.get(value('from')), byKey.get(value('to'))];
  let amount;
  try {
    amount = parseAmount(value('amount'), source);
  } catch (sentence) {
    throw ['amount', sentence];
  }
  const recipient = value('recipient');
  if (isPrivate(target) !== /^0zk/i.test(recipient) || !/^(0x[0-9a-f]{40}|0zk1[0-9a-z]{60,150})$/i.test(recipient)) {
    throw ['recipient', isPrivate(target) ? 'The recipient of shielded money is a private address that begins with 0zk.' : `The recipient is an address on ${chainName(target.chain)}: 0x and 40 hexadecimal digits.`];
  }
  const request = { srcToken: source.symbol, dstToken: target.symbol, amount: String(amount), srcChain: String(source.chain), dstChain: String(target.chain), recipient };
  if (value('integrator')) request.integratorId = value('integrator');
  return request;
}

function remember() {
  const query = new URLSearchParams(FIELDS.filter((id) => $(id).value.trim()).map((id) => [id, $(id).value.trim()]));
  history.replaceState(null, '', `?${query}${location.hash}`);
}
function recall() {
  const query = new URLSearchParams(location.search);
  const read = (id) => text(query.get(id), 200);
  fill($('from'), [...new Set(pairs.map((pair) => pair.from))], byKey.has(read('from')) ? read('from') : 'USDC@1');
  fillTo(read('to') || 'USDC@369');
  for (const id of ['amount', 'recipient', 'integrator']) $(id).value = read(id);
  if (read('integrator')) $('more').open = true;
  showHints(read('recipient') !== '');
  return Boolean(read('amount') && read('recipient'));
}

function refuseField(id, sentence, more = []) {
  if (id === 'integrator') $('more').open = true;
  $(id).setAttribute('aria-invalid', 'true');
  complain(sentence, more, $('result'), $(id));
}

// A quote on the page belongs to what the form says. One that was sent stays, so that it can be followed.
function dropAnswer() {
  if (!shown || $('send').dataset.busy || $('status-note')) return;
  turn++;
  shown = undefined;
  calm();
  $('answer').classList.remove('card');
  $('answer').replaceChildren();
}

async function getQuote() {
  calm();
  if ($('send')?.dataset.busy) return complain('Your wallet is still asking you to sign.', ['Sign or refuse there first.']);
  const mine = ++turn;
  shown = undefined;
  clearInterval(ticking);
  const answer = $('answer');
  answer.classList.remove('card');
  answer.replaceChildren();
  let request;
  try {
    request = readForm();
  } catch ([id, sentence]) {
    refuseField(id, sentence);
    return;
  }
  remember();
  answer.replaceChildren(el('p', { class: 'hint' }, 'Asking the gateway…'));
  const [got, known, loaded] = await Promise.all([
    ask(`/v3/swap/quote?${new URLSearchParams({ ...request, include: 'details' })}`), knownContracts(), loadVerifier().catch(() => undefined)]);
  if (mine !== turn) return;
  answer.replaceChildren();
  const failed = got.ok ? known.failed : got;
  if (failed) {
    const [title, sentences] = problemOf(failed);
    const id = failed.status === 400 && field(PARAMS, text(field(failed.body, 'param')));
    if (id) refuseField(id, title, sentences);
    else complain(title, sentences);
  } else if (!loaded) {
    complain('The checks could not be loaded, so this quote cannot be trusted.', ['Reload the page and try again.']);
  } else {
    const date = Date.parse(got.headers.get('date')) - Date.now();
    skew = Math.abs(date) > 5000 ? date : 0;
    judge({ request, quote: got.body, known, warning: got.headers.get('quote-warning') });
  }
}

function judge(swap) {
  swap.report = verifier.verify(swap.request, swap.quote, { ...swap.known, now: now() });
  if (typeof field(swap.quote, 'details') !== 'object') swap.report.problems.push('details is left out, but was asked for.');
  if (swap.report.problems.length) {
    showRefused(swap);
    complain('This answer is not what you asked for. Nothing of it can be sent.', swap.report.problems);
    return;
  }
  shown = swap;
  try {
    showAnswer(swap);
  } catch {
    shown = undefined;
    $('answer').replaceChildren();
    complain('This answer cannot be shown, so it cannot be sent.');
    return;
  }
  $('answer').focus({ preventScroll: matchMedia('(min-width: 58rem)').matches });
}
