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
// What a decoded transaction says, in words. A name that is not here is shown as it is.
const DECODED = {
  chain: 'Chain', to: 'Contract', value: 'Coins sent along', function: 'Function', spender: 'Who may take it',
  amount: 'Amount, in the smallest unit', dstChainId: 'Destination chain', dstToken: 'Destination token',
  recipient: 'Recipient', recipientType: 'Kind of recipient', integratorId: 'Partner',
  destinationDomain: 'Minted on', mintRecipient: 'Minted for', burnToken: 'Burned token',
  destinationCaller: 'Who may have it minted', maxFee: 'Issuer’s highest fee, in the smallest unit',
  minFinalityThreshold: 'Confirmation level', hookData: 'Message to the operator',
};
const KINDS = { 0: 'address', 2: 'private address' };
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
  if (goal && !estimator) await loadEstimator().catch(() => {});
  if (mine !== turn) return undefined;
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
  clearCard();
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
// Grey blocks stand where the quote will be.
function tellWaiting(...words) {
  const bones = (...kinds) => kinds.map((kind) => el('p', { class: `bone ${kind}`, 'aria-hidden': 'true' }));
  $('answer').replaceChildren(hint(words), ...bones('title', 'line'));
  $('send').replaceChildren(...bones('panel', 'line', 'line', 'line', 'panel', 'panel'));
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

function checkList(checked, missing = 'Failed') {
  return el('ul', { class: 'checks' }, Object.entries(CHECKS).map(([group, sentence]) => {
    const passed = checked.includes(group);
    return el('li', { class: passed ? 'yes' : 'no' }, el('span', { 'aria-hidden': 'true' }, passed ? '✓' : '✗'),
      el('div', {}, !passed && el('b', {}, `${missing}: `), sentence));
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
    const parts = {
      chain: call.chainId, to: call.to, value: call.value, function: decoded.function,
      ...decoded.arguments, ...decoded.hook,
    };
    const rows = Object.entries(parts).map(([name, value]) =>
      [field(DECODED, name) ?? name, mono(decodedWords(name, value), 1200)]);
    return el('li', {}, describe(decoded, swap),
      fold('Decoded bytes', facts(rows, 'small')));
  }));
}

// A value with what it stands for, where that is known.
function decodedWords(name, value) {
  const meanings = {
    chain: () => chainName(Number(value)), dstChainId: () => chainName(value),
    destinationDomain: () => chainName(chainOfDomain(value)), recipientType: () => KINDS[value],
    value: () => (BigInt(value) ? undefined : 'none'),
  };
  const meaning = field(meanings, name)?.();
  const shown = name === 'chain' ? String(Number(value)) : value;
  return meaning ? `${meaning} (${shown})` : value;
}
const chainOfDomain = (domain) =>
  Object.keys(CCTP_DOMAINS).find((id) => String(CCTP_DOMAINS[id]) === domain) ?? `of domain ${domain}`;
// A sentence of the client, without the names of fields.
const plainly = (sentence, { srcToken }) => text(sentence)
  .replace(/ \([a-z]\w*(\.\w+)*(, [a-z]\w*(\.\w+)*)*\)/g, '')
  .replace(/\bmaxFee, (\d+)/, (all, most) => inWords(most, srcToken))
  .replace(/\bchain (\d+)\b/g, (all, id) => chainName(id));

// The way of the money: stops, and on what the hop from each to the next rests. It is checked where this page has
// worked out the bytes again, and trusted where it is somebody's word.
const checkedStop = (name, detail, hop) => ({ name, detail, hop, isChecked: true });
const trustedStop = (name, detail, hop) => ({ name, detail, hop });
function stopsOf(swap) {
  const { request, quote: { destToken, details: { arrival } } } = swap;
  const end = chainName(networkOf(request.dstChain));
  const shields = isPrivate(request.dstChain);
  const payout = shields ? 'the operator shields the payout.' : `the operator pays out on ${end}.`;
  const { hook, arguments: given } = tool.decode(callsOf(swap).at(-1).data);
  const stops = hook ? burnStops(swap, given, payout) : poolStops(swap, payout);
  const note = 'this page cannot see whom the encrypted note pays.';
  if (shields) stops.push(trustedStop(`RAILGUN on ${end}`, 'takes a fee of its own', note));
  const arrives = `${inWords(arrival.amount, destToken)} on ${chainName(request.dstChain)}`;
  return [...stops, { name: 'Recipient', detail: arrives }];
}
const paidBy = ({ request, quote }) =>
  `${inWords(request.amount, quote.srcToken)} on ${chainName(networkOf(request.srcChain))}`;
function poolStops(swap, payout) {
  const { request, quote: { srcToken, to, details }, unshield } = swap;
  const names = isPrivate(request.dstChain) ? '' : ' and names the recipient';
  const pool = short(to, 'the pool’s address', networkOf(request.srcChain));
  const stops = [
    checkedStop(unshield ? 'Your calls' : 'You', paidBy(swap), `what you sign pays this pool${names}.`),
    trustedStop('Pool', pool, 'the operator acts on what it was paid.'),
    trustedStop('Operator', 'takes the fee', payout),
  ];
  if (!unshield) return stops;
  const left = `${inWords(details.arrival.unshieldAmount, srcToken)} in RAILGUN`;
  return [trustedStop('Private balance', left, 'your RAILGUN wallet takes it out.'), ...stops];
}
function burnStops(swap, { destinationDomain, mintRecipient }, payout) {
  const { request, quote: { to } } = swap;
  const mint = chainOfDomain(destinationDomain);
  const receiver = `0x${mintRecipient.slice(-40)}`;
  return [
    checkedStop('You', paidBy(swap), 'what you sign burns it, and names receiver and recipient.'),
    trustedStop('Issuer of USDC', short(to, 'the issuer’s address', networkOf(request.srcChain)),
      `the issuer mints it on ${chainName(mint)} for this receiver.`),
    trustedStop('Operator’s receiver', short(receiver, 'the receiver’s address', mint), payout),
  ];
}
function route(swap) {
  const stops = stopsOf(swap).map(({ name, detail, hop, isChecked }) => el('li', {},
    el('b', {}, name), ' ', el('span', { class: 'hint' }, detail),
    hop && el('p', { class: isChecked ? 'hop checked' : 'hop' },
      el('b', {}, isChecked ? '✓ Checked: ' : 'Trusted: '), hop)));
  return [el('h2', {}, 'Route'), el('ol', { class: 'route' }, stops)];
}

const whole = (words) => el('span', { class: 'whole' }, words); // not cut at the end of a line

// What the swap costs, and of what that is made up.
function feeRows({ request, quote }) {
  const { fee, details, destToken, srcToken } = quote;
  const share = ({ amount, percentage }) => [money(amount, destToken), ' ', whole(`(${text(percentage)} %)`)];
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
  const { request, quote, checked, unchecked, warnings } = swap;
  const { amount } = quote.details.arrival;
  $('answer').replaceChildren(
    hint(`You receive on ${chainName(request.dstChain)}`),
    el('p', { class: 'big' }, money(amount, quote.destToken)),
    ...warnings.map((sentence) => caution('Warning: ', plainly(sentence, quote))),
    el('p', { id: 'verdict' }),
  );
  showSend();
  const trust = 'This page and its checks come from the gateway itself. They find mistakes and alterations. Against a '
    + 'dishonest gateway, pin contracts that you have reviewed, and check with your own copy of /v3/client.';
  const open = unchecked.map((sentence) => plainly(sentence, quote));
  $('rest').replaceChildren(
    ...route(swap),
    fold(`What you sign: ${plural(callsOf(swap).length, 'transaction')}`, transactions(swap)),
    fold('Checks', checkList(checked, 'Does not apply'), hint(`Checked against ${knownName()}. ${trust}`)),
    open.length ? fold('What cannot be checked', list(open)) : '',
  );
}
const caution = (title, words) => el('p', { class: 'caution' }, el('b', {}, title), words);
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
  ]);
}
// Of two swaps, this one is signed now and the other later, by itself. What that one costs and gives is an estimate.
function legsOf(swap) {
  if (!goal) return [factsOf(swap)];
  const { amount } = swap.quote.details.arrival;
  const hub = chainName(HUB);
  const second = pairOf(stop, goal);
  const { fee, time } = costOf([second]);
  const both = costOf(legs());
  const legsInWords = el('ol', { class: 'legs' },
    el('li', {}, el('b', {}, 'This signature'), factsOf(swap)),
    el('li', {}, el('b', {}, `Later, on ${hub}`), facts([
      ['You pay', ['≈ ', money(amount, stop), ` on ${hub}`]],
      ['Total fee', fee],
      ['Network fee', `paid in ${coinOf(HUB)}: have some on ${hub}`],
      time && ['Estimated time', time],
    ])));
  if (BigInt(amount) < BigInt(stop.min)) {
    return [legsInWords, caution('Too little for the second swap: ', `it takes ${inWords(stop.min, stop)} or more.`)];
  }
  const arrives = estimateOf(BigInt(amount), [second]);
  return [legsInWords, facts([
    arrives && [`In the end, on ${chainName(goal.chain)}`, ['≈ ', money(arrives, goal), ' (estimate)']],
    ['Both swaps', [whole(`${both.name} ${both.fee}`), both.time && [', ', whole(both.time)]]],
  ], 'total')];
}
// The checks are about what was asked for. Whether that is what the visitor means, only the visitor can say.
function showChecked({ checked }) {
  const all = Object.keys(CHECKS);
  const passed = all.filter((group) => checked.includes(group)).length;
  const words = passed === all.length ? `All ${passed} checks passed in your browser`
    : `${passed} checks passed in your browser, ${all.length - passed} did not apply`;
  const open = unconfirmed(shown).map(({ what }) => what).join(' and ');
  const tick = el('span', { 'aria-hidden': 'true' }, '✓ ');
  $('verdict').className = open ? 'hint' : 'good';
  $('verdict').replaceChildren(...(open ? [`${words}. Confirm the ${open} below.`]
    : [tick, words, pinned ? `, against ${knownName()}` : '']));
}

// The two values stand below each other, where they are compared most easily.
const inLines = (problem) => problem.split(/ (?=Quote: )| · (?=yours: |expected: )/).map(
  (line) => [line.replace(/^[ye]/, (letter) => letter.toUpperCase()), el('br')]);
// What it would mean stands in the alert, once; where that is in the quote, for developers, is folded away.
function showRefused({ problems, checked, result }) {
  setPhase('refused');
  $('rest').append(fold('Checks', hint(`Checked in your browser against ${knownName()}.`), checkList(checked)));
  $('rest').firstChild.open = true;
  const told = problems.slice(0, 50).map((problem) => text(problem));
  const path = / \(([^)]*)\)$/;
  const meanings = [...new Set(told.map((problem) => problem.replace(path, '')))].map(inLines);
  complain(`This quote ${result ? 'must not be signed' : 'is not what you asked for'}. It cannot be sent.`, meanings);
  $('alert').append(el('p', {}, el('strong', {}, 'Do not sign this quote anywhere.')));
  const fields = told.flatMap((problem) => path.exec(problem)?.[1] ?? []).map((field) => mono(field));
  if (fields[0]) $('alert').append(fold('Fields', list(fields)));
  $('alert').focus();
}
