// Asking for a quote, and the card that shows it.
const CHECKS = {
  limits: 'The amount is within the limits.',
  contract: 'The transaction goes to the contract of this token on this chain.',
  route: 'The route is the one for this pair.',
  tokens: 'Both tokens are the ones you chose.',
  fees: 'The fees are as published, to the unit.',
  amounts: 'What arrives is the amount less these fees.',
  calldata: 'The bytes to sign say what you asked for, and nothing else.',
  value: 'The coins sent along are right.',
  approval: 'The approval is for this contract and this amount only.',
  sendCalls: 'The batch holds these transactions and no others.',
  details: 'The details agree with the bytes.',
};
const ROUTES = { DIRECT: 'DIRECT: you pay a pool of the service.', CCTP_INBOUND: 'CCTP_INBOUND: the issuer of USDC burns it here and mints it there.' };
let phase = 'form'; // then: asking, quote or refused, signing, under way, done
let shown; // the quote on the card
let turn = 0;
let ticking;
let simulates = true; // whether the gateway can

function setPhase(next) {
  phase = next;
  if (next !== 'signing') clearInterval(ticking); // the quote ends also while the wallet is open
  $('card').className = ['form', 'asking'].includes(next) ? '' : 'card';
  foldForm();
  if (!['under way', 'done'].includes(next)) document.title = TITLE;
}
function clearCard() {
  for (const id of ['answer', 'send', 'rest']) $(id).replaceChildren();
}
function dropAnswer() {
  if (!['quote', 'asking', 'refused'].includes(phase)) return;
  turn++;
  shown = undefined;
  calm();
  clearCard();
  setPhase('form');
}

async function getQuote(again = false) {
  if (phase === 'signing') return complain('Your wallet is still asking you to sign.', ['Sign or refuse there first.'], $('send-alert'));
  if (phase === 'under way') return complain('A swap is under way.', ['Press New swap there first, if you mean to send another one.']);
  calm();
  const mine = ++turn;
  shown = undefined;
  const { request, errors } = readForm();
  if (errors.length) {
    clearCard();
    setPhase('form');
    refuseFields(errors);
    return;
  }
  rememberQuote();
  clearCard();
  setPhase('asking');
  $('answer').focus({ preventScroll: true });
  $('asked').scrollIntoView({ block: 'nearest' });
  $('answer').append(el('p', { class: 'hint' }, 'Asking the gateway…'));
  let swap;
  try {
    await loadClient((words) => mine === turn && tellWaiting(words));
    swap = await askFor(request);
    if (swap.unshield) await loadDevelopers();
  } catch (error) {
    if (mine === turn) showFailure(error, again, mine);
    return;
  }
  if (mine !== turn) return;
  shown = swap;
  swap.payees = payeesOf(swap);
  seekWallets();
  try {
    setPhase('quote');
    showQuote(swap);
  } catch {
    shown = undefined;
    clearCard();
    setPhase('form');
    complain('This answer cannot be shown, so it cannot be sent.', [], $('ask-alert'));
    return;
  }
}
const tellWaiting = (...words) => {
  $('answer').replaceChildren(el('p', { class: 'hint' }, words));
  return true;
};

async function askFor(request) {
  const asked = { ...request, ...(account && { from: account.address.toLowerCase(), simulate: simulates }) };
  try {
    return await client.quote(asked);
  } catch (error) {
    if (!asked.simulate || error.param !== 'include') throw error;
    simulates = false;
    return client.quote({ ...asked, simulate: false });
  }
}

function showFailure(error, again, mine) {
  clearCard();
  if (error.code === 'UNVERIFIED') return showRefused(error);
  const [title, sentences] = problemOf(error);
  const passes = error.code === 'UNREACHABLE' || error.status === 429 || error.status === 503;
  if (passes && (!again || !navigator.onLine) && !(error.retryAfter > 120)) return waitAndAsk(title, error.retryAfter ?? 3, mine);
  setPhase('form');
  const id = error.status === 400 && field(FIELDS, text(error.param));
  if (id) return refuseFields([[id, [title, ...sentences].join(' ')]]);
  complain(title, sentences, $('ask-alert'));
  if (passes) $('alert').append(button('Try again', () => getQuote()));
  $('alert').focus();
}
// What passes by itself: the page waits, once for what the gateway says and always for a connection, and goes on.
async function waitAndAsk(title, seconds, mine) {
  setPhase('asking');
  if (navigator.onLine) {
    const left = el('span', { 'aria-live': 'off' });
    tellWaiting(`${title} The page asks again in `, left, ' seconds.');
    for (let wait = Math.max(Math.ceil(seconds), 1); wait > 0 && mine === turn && navigator.onLine; wait--) {
      left.textContent = String(wait);
      await online(1);
    }
  }
  while (!navigator.onLine && mine === turn) {
    tellWaiting(OFFLINE);
    await online();
  }
  if (mine === turn) getQuote(true);
}

function checkList(checked) {
  return el('ul', { class: 'checks' }, Object.entries(CHECKS).map(([group, sentence]) => {
    const passed = checked.includes(group);
    return el('li', { class: passed ? 'yes' : 'no' }, el('span', { 'aria-hidden': 'true' }, passed ? '✓' : '✗'), el('div', {}, passed ? sentence : [el('b', {}, 'Not so: '), sentence]));
  }));
}

// Says in a sentence what a call does, from its bytes.
function describe(call, { request, quote }) {
  const { srcToken, destToken } = quote;
  const decoded = tool.decode(call.data);
  const given = decoded.arguments;
  const paid = () => inWords(given.amount, srcToken);
  const whom = (recipient, type) => (type === '2' ? 'whoever can open the encrypted note' : recipient === request.recipient.toLowerCase() ? request.recipient : recipient);
  if ('spender' in given) {
    if (given.amount === '0') return [decoded, `Set the allowance to zero first: ${srcToken.symbol} demands it before a new one.`];
    return [decoded, `Allow ${given.spender === quote.to.toLowerCase() ? quote.to : given.spender} to take ${paid()} from you.`];
  }
  if (!decoded.hook) return [decoded, `Pay ${paid()} into the pool ${quote.to}, which pays ${destToken.symbol} on ${chainName(given.dstChainId)} to ${whom(given.recipient, given.recipientType)}.`];
  return [decoded, `Burn ${paid()} at the issuer's contract ${quote.to}. It is minted for the receiver of the service, which pays ${destToken.symbol} on ${chainName(decoded.hook.dstChainId)} to ${whom(decoded.hook.recipient, decoded.hook.recipientType)}.`];
}
const callsOf = (swap) => (swap.unshield ? swap.wrap : swap.calls);
function transactions(swap) {
  return el('ol', {}, callsOf(swap).map((call) => {
    const [decoded, sentence] = describe(call, swap);
    const rows = [['chain', String(Number(call.chainId))], ['to', call.to], ['value', call.value], ['function', decoded.function],
      ...Object.entries(decoded.arguments), ...Object.entries(decoded.hook ?? {}).map(([name, value]) => [`hook ${name}`, value])];
    return el('li', {}, sentence, fold('Every byte, decoded', facts(rows.map(([name, value]) => [name, mono(value, 1200)]), 'small')));
  }));
}

function feeRows({ request, quote }) {
  const { fee, details, destToken, srcToken } = quote;
  const share = (part) => [money(part.amount, destToken), ` (${part.percentage} %)`];
  const [railgun] = Array.isArray(details.arrival.deductions) ? details.arrival.deductions : [];
  return [
    ['Protocol fee', share(fee.protocol)],
    request.integratorId && ['Integrator', [share(fee.integrator), ' for ', short(fee.integrator.address, 'the integrator')]],
    railgun && ['RAILGUN', [share({ amount: railgun.amount, percentage: text(railgun.percentage) }), ', which RAILGUN takes from the ', money(quote.destAmount, destToken), ' that are paid out']],
    details.arrival.unshieldAmount && ['Unshield', [money(details.arrival.unshieldAmount, srcToken), ', so that ', money(request.amount, srcToken), ' are left after RAILGUN’s own fee']],
    details.issuerFee && ['Issuer’s fee', ['up to ', money(details.issuerFee.maxFee, srcToken), ', which the service pays']],
  ];
}

// Whether it would work, in one sentence: what the account lacks, and what the dry run says, as the gateway read it. What is
// certain leaves nothing to sign; gas has a price that moves.
function verdictOf({ quote: { srcToken, details } }) {
  const amounts = (path) => ['actual', 'needed'].map((name) => text(field(details, `${path}.${name}`), 78)).map((digits) => (/^\d+$/.test(digits) ? BigInt(digits) : undefined));
  const [has, needs] = amounts('checks.balance');
  if (has < needs) return { certain: true, sentence: `Your account has ${inWords(has, srcToken)}, and ${inWords(needs, srcToken)} are needed.` };
  const simulation = field(details, 'simulation');
  const runs = simulation ? simulation.calls.slice(0, 9) : [];
  const failed = runs.findIndex((run) => run.status === 'FAILED');
  if (failed >= 0) return { sentence: `Dry run: transaction ${failed + 1} would fail: ${text(runs[failed].error, 300) || 'the node does not say why'}.` };
  if (field(simulation, 'event') === false) return { sentence: 'Dry run: the contract would not do what you asked for.' };
  const coin = { decimals: 18, symbol: coinOf(srcToken.chainId) };
  const [coins, cost] = simulation ? amounts('simulation.native') : amounts('checks.native');
  if (coins < cost || coins === 0n) return { sentence: `Your account has ${inWords(coins, coin)}, which is too little for the gas.` };
  if (!simulation) return undefined;
  if (simulation.event !== true) return { sentence: 'Dry run: no node could show whether the contract would do the swap.' };
  const gas = runs.reduce((sum, run) => sum + run.gasUsed, 0);
  return { good: true, sentence: `Would succeed, with ${separate(String(gas))} gas; at most ${inWords(cost, coin)} for value and gas.` };
}
const coinOf = (chain) => field(listing.coins, String(networkOf(chain))) ?? 'ETH';

function showQuote(swap) {
  const { request, quote, checked, unchecked } = swap;
  const { details, destToken, srcToken } = quote;
  const takes = duration(details.arrival.seconds);
  $('answer').replaceChildren(
    el('p', { class: 'hint' }, `Arrives on ${chainName(request.dstChain)}`),
    el('p', { class: 'big' }, money(details.arrival.amount, destToken)),
    el('p', { id: 'verdict' }),
  );
  showSend();
  const verdict = verdictOf(swap);
  $('rest').replaceChildren(
    facts([
      ['You send', [money(request.amount, srcToken), ` on ${chainName(request.srcChain)}`]],
      ...feeRows(swap),
      takes && ['Takes', takes],
      verdict?.good && ['Dry run', el('span', { class: 'good' }, verdict.sentence)],
    ]),
    fold(`What you sign, decoded: ${plural(callsOf(swap).length, 'transaction')}`, transactions(swap), el('p', { class: 'hint' }, `Route ${field(ROUTES, quote.route.type) ?? text(quote.route.type, 40)}`)),
    fold('The checks', checkList(checked),
      el('p', { class: 'hint' }, 'This page and its checks come from the gateway itself. They find mistakes and alterations. Against a gateway that lies, pin contracts that you have reviewed, and check with a copy of /v3/client of your own.')),
    unchecked.length ? fold('What nobody can check from here', list(unchecked.map((sentence) => text(sentence)))) : '',
  );
}
// The checks are about what was asked for. Whether that is what the visitor means, only the visitor can say.
function showChecked({ checked }) {
  const passed = `${checked.length} of ${Object.keys(CHECKS).length} checks passed`;
  const line = $('verdict');
  const open = unconfirmed(shown).map(({ what }) => `a ${what}`).join(' and ');
  line.className = open ? 'hint' : 'good';
  line.replaceChildren(...(open ? [`${passed}, for ${open} that you have not typed. No check can tell whether you mean that: confirm it below.`]
    : [el('span', { 'aria-hidden': 'true' }, '✓ '), `${passed}, made in your browser against ${knownName()}`]));
}
const plural = (count, noun) => `${count} ${noun}${count === 1 ? '' : 's'}`;

function showRefused({ problems, checked }) {
  setPhase('refused');
  $('answer').append(el('p', {}, el('b', {}, 'Do not sign it anywhere.'), ' At least one check failed.'));
  const folded = fold('The checks', el('p', { class: 'hint' }, `Worked out again in your browser, against ${knownName()}.`), checkList(checked));
  folded.open = true;
  $('rest').append(folded);
  complain('This answer is not what you asked for. Nothing of it can be sent.', problems.slice(0, 50).map((problem) => text(problem, 600)));
  $('alert').focus();
}
