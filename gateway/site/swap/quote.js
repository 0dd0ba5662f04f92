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
const ROUTES = {
  DIRECT: 'DIRECT: you pay a pool of the service.',
  CCTP_INBOUND: 'CCTP_INBOUND: the issuer of USDC burns it here and mints it there.',
};
let phase = 'form'; // then: asking, quote or refused, signing, under way, done
let shown; // the quote on the card
let turn = 0;
let ticking;
let simulates = true; // whether the gateway can

function setPhase(next) {
  phase = next;
  if (next !== 'signing') clearInterval(ticking); // the quote ends also while the wallet is open
  foldForm();
  if (!['under way', 'done'].includes(next)) document.title = TITLE;
}
// Empties the card for another view. What is below the answer is new then, and so nothing that moves.
function clearCard() {
  shown = undefined;
  $('answer').replaceChildren();
  for (const id of ['send', 'rest']) $(id).replaceWith($(id).cloneNode(false));
}
function dropAnswer() {
  if (!['quote', 'asking', 'refused'].includes(phase)) return;
  turn++;
  calm();
  clearCard();
  setPhase('form');
}

async function getQuote(again = false) {
  if (phase === 'signing') {
    const advice = ['Sign or reject the request there first.'];
    return complain('Your wallet is still asking you to sign.', advice, $('send-alert'));
  }
  if (phase === 'under way') {
    return complain('A swap is in progress.', ['Press New swap first if you want to send another one.']);
  }
  calm();
  const mine = ++turn;
  const { request, errors } = readForm();
  if (!errors.length) rememberQuote();
  clearCard();
  setPhase(errors.length ? 'form' : 'asking');
  if (errors.length) return refuseFields(errors);
  $('answer').focus({ preventScroll: true });
  scrollTo(0, 0);
  tellWaiting('Getting a quote…');
  const swap = await askFor(request, mine, again);
  if (!swap) return undefined;
  seekWallets();
  return takeQuote(swap);
}
// Gives a checked quote, or tells why there is none, unless the page has gone on to something else.
async function askFor({ from, simulate, ...request }, mine, again) {
  try {
    await loadClient((words) => mine === turn && tellWaiting(words));
    const asked = { ...request, ...(account && { from: account.address.toLowerCase(), simulate: simulates }) };
    const swap = await client.quote(asked).catch((error) => {
      if (isReference && error.result) return error.result; // its quotes carry a warning: they are shown, not signed
      if (!asked.simulate || error.param !== 'include') throw error;
      simulates = false;
      return client.quote({ ...asked, simulate: false });
    });
    return mine === turn ? swap : undefined;
  } catch (error) {
    if (mine === turn) showFailure(error, again, mine);
    return undefined;
  }
}
function takeQuote(swap) {
  shown = swap;
  swap.payees = payeesOf(swap);
  try {
    setPhase('quote');
    showQuote(swap);
  } catch {
    clearCard();
    setPhase('form');
    complain('This quote cannot be shown, so it cannot be sent.', [], $('ask-alert'));
  }
}
// A quote that has expired is renewed while somebody looks at it. What was confirmed stays confirmed.
async function renewQuote(old) {
  if (shown !== old || phase !== 'quote') return;
  const focus = document.activeElement.id;
  const swap = await askFor(old.request, ++turn);
  if (!swap || phase !== 'quote') return;
  takeQuote(swap);
  const { amount } = swap.quote.details.arrival;
  const receive = `You now receive ${inWords(amount, swap.quote.destToken)}.`;
  if (amount !== old.quote.details.arrival.amount) complain('The quote has changed.', [receive], $('send-alert'));
  if (focus && document.activeElement === document.body) $(focus)?.focus({ preventScroll: true });
}
function tellWaiting(...words) {
  $('answer').replaceChildren(hint(words));
  return true;
}

function showFailure(error, again, mine) {
  clearCard();
  if (error.code === 'UNVERIFIED') return showRefused(error);
  const [title, sentences] = problemOf(error);
  const passes = error.code === 'UNREACHABLE' || error.status === 429 || error.status === 503;
  if (passes && (!again || !navigator.onLine) && !(error.retryAfter > 120)) {
    return waitAndAsk(title, error.retryAfter ?? 3, mine);
  }
  setPhase('form');
  const id = error.status === 400 && field(FIELDS, text(error.param));
  if (id) return refuseFields([[id, [title, ...sentences].join(' ')]]);
  complain(title, sentences, $('ask-alert'));
  if (passes) $('alert').append(button('Try again', () => getQuote()));
  return $('alert').focus();
}
// What passes by itself: the page waits, once for what the gateway says and always for a connection, and goes on.
async function waitAndAsk(title, seconds, mine) {
  setPhase('asking');
  const left = el('span', { 'aria-live': 'off' });
  if (navigator.onLine) tellWaiting(`${title} Retrying in `, left, ' seconds.');
  for (let wait = Math.max(Math.ceil(seconds), 1); wait > 0 && mine === turn && navigator.onLine; wait--) {
    left.textContent = String(wait);
    await online(1);
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
    return el('li', { class: passed ? 'yes' : 'no' }, el('span', { 'aria-hidden': 'true' }, passed ? '✓' : '✗'),
      el('div', {}, !passed && el('b', {}, 'Failed: '), sentence));
  }));
}

// Says in a sentence what a call does, from its bytes.
function describe({ arguments: given, hook }, { request, quote: { srcToken, destToken, to } }) {
  const paid = inWords(given.amount, srcToken);
  const spelled = (address, known) => (address === known.toLowerCase() ? known : address);
  if ('spender' in given && given.amount === '0') {
    return `Set the allowance to zero first: ${srcToken.symbol} requires it before a new one.`;
  }
  if ('spender' in given) return `Allow ${spelled(given.spender, to)} to take ${paid} from you.`;
  const { dstChainId, recipient, recipientType } = hook ?? given;
  const isNote = recipientType === '2';
  const whom = isNote ? 'whoever can open the encrypted note' : spelled(recipient, request.recipient);
  const pays = `which pays ${destToken.symbol} on ${chainName(dstChainId)} to ${whom}.`;
  if (!hook) return `Pay ${paid} into the pool ${to}, ${pays}`;
  return `Burn ${paid} at the issuer's contract ${to}. It is minted for the receiver of the service, ${pays}`;
}
const callsOf = (swap) => (swap.unshield ? swap.wrap : swap.calls);
function transactions(swap) {
  return el('ol', {}, callsOf(swap).map((call) => {
    const decoded = tool.decode(call.data);
    const rows = [
      ['chain', String(Number(call.chainId))], ['to', call.to], ['value', call.value], ['function', decoded.function],
      ...Object.entries(decoded.arguments),
      ...Object.entries(decoded.hook ?? {}).map(([name, value]) => [`hook ${name}`, value]),
    ];
    return el('li', {}, describe(decoded, swap),
      fold('Decoded bytes', facts(rows.map(([name, value]) => [name, mono(value, 1200)]), 'small')));
  }));
}

// What the swap costs, and of what that is made up.
function feeRows({ request, quote }) {
  const { fee, details, destToken, srcToken } = quote;
  const share = ({ amount, percentage }) => [money(amount, destToken), ` (${text(percentage)} %)`];
  const [railgun] = Array.isArray(details.arrival.deductions) ? details.arrival.deductions : [];
  const partner = request.integratorId && fee.integrator;
  const parts = [fee.protocol, partner, railgun].filter(Boolean);
  const several = parts.length > 1;
  const total = parts.reduce((sum, part) => sum + BigInt(part.amount), 0n);
  return [
    ['Total fee', several ? money(String(total), destToken) : share(fee.protocol)],
    several && ['Protocol fee', share(fee.protocol)],
    partner && ['Partner fee', [share(partner), ' to ', short(partner.address, 'the partner')]],
    railgun && ['RAILGUN fee', [share(railgun), ' of ', money(quote.destAmount, destToken)]],
    details.issuerFee && ['Issuer fee', ['up to ', money(details.issuerFee.maxFee, srcToken), ', paid by the service']],
  ];
}
// What there is, and what is needed, as far as the gateway says.
function amountsAt(details, path) {
  const digits = ['actual', 'needed'].map((name) => read(details, `${path}.${name}`, 78));
  return digits.map((amount) => (/^\d+$/.test(amount) ? BigInt(amount) : undefined));
}

// Whether it would work, in one sentence: what the account lacks, and what the dry run says, as the gateway read it.
// What is certain leaves nothing to sign; gas has a price that moves.
function verdictOf({ quote: { srcToken, details } }) {
  const [has, needs] = amountsAt(details, 'checks.balance');
  if (has < needs) {
    const lack = `your account has ${inWords(has, srcToken)}, and ${inWords(needs, srcToken)} are needed.`;
    return { certain: true, sentence: `Insufficient balance: ${lack}` };
  }
  const simulation = field(details, 'simulation');
  const runs = simulation ? simulation.calls.slice(0, 9) : [];
  const failed = runs.findIndex((run) => run.status === 'FAILED');
  if (failed >= 0) {
    const why = text(runs[failed].error, 300) || 'the node does not say why';
    return { sentence: `Simulation: transaction ${failed + 1} would fail: ${why}.` };
  }
  const event = field(simulation, 'event');
  if (event === false) return { sentence: 'Simulation: the contract would not do what you asked for.' };
  const coin = { decimals: 18, symbol: coinOf(srcToken.chainId) };
  const [coins, cost] = amountsAt(details, simulation ? 'simulation.native' : 'checks.native');
  if (coins < cost || coins === 0n) {
    return { sentence: `Insufficient ${coin.symbol} for gas: your account has ${inWords(coins, coin)}.` };
  }
  if (!simulation) return undefined;
  if (event !== true) return { sentence: 'Simulation: no node could show whether the contract would do the swap.' };
  const gas = runs.reduce((sum, run) => sum + run.gasUsed, 0);
  return { good: true, sentence: `Succeeds, ${separate(String(gas))} gas` };
}
// What the network takes at most, where the account is known.
function networkFee({ quote: { srcToken, srcAmount, details } }) {
  const coin = { decimals: 18, symbol: coinOf(srcToken.chainId) };
  const [, needed] = amountsAt(details, 'simulation.native');
  const value = isCoin({ chain: Number(srcToken.chainId), symbol: srcToken.symbol }) ? BigInt(srcAmount) : 0n;
  return needed > value ? atMost(needed - value, coin) : `paid in ${coin.symbol}`;
}
// How many signatures the wallet asks for. An allowance that stands needs no approval, and none needs no reset.
function signaturesOf(swap) {
  const [allows, needs] = amountsAt(swap.quote.details, 'checks.allowance');
  const { length } = swap.calls;
  if (swap.approved || length === 1 || allows >= needs) return '1 signature';
  if (allows === undefined) return `Up to ${length} signatures`;
  return plural(allows === 0n ? 2 : length, 'signature');
}

function showQuote(swap) {
  const { request, quote, checked, unchecked } = swap;
  $('answer').replaceChildren(
    hint(`You receive on ${chainName(request.dstChain)}`),
    el('p', { class: 'big' }, money(quote.details.arrival.amount, quote.destToken)),
    el('p', { id: 'verdict' }),
  );
  showSend();
  const trust = 'This page and its checks come from the gateway itself. They find mistakes and alterations. Against a '
    + 'dishonest gateway, pin contracts that you have reviewed, and check with your own copy of /v3/client.';
  $('rest').replaceChildren(
    fold(`What you sign: ${plural(callsOf(swap).length, 'transaction')}`, transactions(swap),
      hint(`Route ${field(ROUTES, quote.route.type) ?? text(quote.route.type, 40)}`)),
    fold('Checks', checkList(checked), hint(`Checked against ${knownName()}. ${trust}`)),
    unchecked.length ? fold('What cannot be checked', list(unchecked.map((sentence) => text(sentence)))) : '',
  );
}
// What the swap means in figures.
function factsOf(swap) {
  const { request, quote } = swap;
  const { unshieldAmount, seconds } = quote.details.arrival;
  const verdict = verdictOf(swap);
  return facts([
    ['You pay', [money(request.amount, quote.srcToken), ` on ${chainName(request.srcChain)}`]],
    unshieldAmount && ['Leaves RAILGUN', money(unshieldAmount, quote.srcToken)],
    ...feeRows(swap),
    !swap.unshield && ['Network fee', networkFee(swap)],
    duration(seconds) && ['Estimated time', duration(seconds)],
    verdict?.good && ['Simulation', el('span', { class: 'good' }, verdict.sentence)],
    // Of two swaps, what both take together, before the first is signed.
    goal && [`Both swaps, to ${chainName(goal.chain)}`, termsOf(legs()).slice(0, -1).join(', ')],
    goal && ['Second swap', `needs ${coinOf(HUB)} on ${chainName(HUB)} for gas`],
  ]);
}
// The checks are about what was asked for. Whether that is what the visitor means, only the visitor can say.
function showChecked({ checked }) {
  const passed = `Checked in your browser: ${checked.length} of ${Object.keys(CHECKS).length}`;
  const open = unconfirmed(shown).map(({ what }) => what).join(' and ');
  const tick = el('span', { 'aria-hidden': 'true' }, '✓ ');
  $('verdict').className = open ? 'hint' : 'good';
  $('verdict').replaceChildren(...(open ? [`${passed}. Confirm the ${open} below.`]
    : [tick, passed, pinned ? `, against ${knownName()}` : '']));
}

function showRefused({ problems, checked, result }) {
  setPhase('refused');
  const why = result ? ' The gateway warns of it.' : ' At least one check failed.';
  $('answer').append(el('p', {}, el('b', {}, 'Do not sign this quote anywhere.'), why));
  $('rest').append(fold('Checks', hint(`Checked in your browser against ${knownName()}.`), checkList(checked)));
  $('rest').firstChild.open = true;
  const told = problems.slice(0, 50).map((problem) => text(problem, 600));
  complain(`This quote ${result ? 'must not be signed' : 'is not what you asked for'}. It cannot be sent.`, told);
  $('alert').focus();
}
