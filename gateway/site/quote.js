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
  CCTP_INBOUND: 'CCTP_INBOUND: the issuer of USDC burns it here and mints it there.'
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
  $('answer').replaceChildren();
  for (const id of ['send', 'rest']) $(id).replaceWith($(id).cloneNode(false));
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
  if (phase === 'signing') return complain(
    'Your wallet is still asking you to sign.', ['Sign or reject the request there first.'], $('send-alert')
  );
  if (phase === 'under way') return complain(
    'A swap is in progress.', ['Press New swap first if you want to send another one.']
  );
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
  scrollTo(0, 0);
  $('answer').append(el('p', { class: 'hint' }, 'Getting a quote…'));
  let swap;
  try {
    await loadClient((words) => mine === turn && tellWaiting(words));
    swap = await askFor(request);
  } catch (error) {
    if (mine === turn) showFailure(error, again, mine);
    return;
  }
  if (mine !== turn) return;
  seekWallets();
  takeQuote(swap);
}
function takeQuote(swap) {
  shown = swap;
  swap.payees = payeesOf(swap);
  try {
    setPhase('quote');
    showQuote(swap);
  } catch {
    shown = undefined;
    clearCard();
    setPhase('form');
    complain('This quote cannot be shown, so it cannot be sent.', [], $('ask-alert'));
  }
}
// A quote that has expired is renewed while somebody looks at it. What was confirmed stays confirmed.
async function renewQuote(old) {
  if (shown !== old || phase !== 'quote') return;
  const mine = ++turn;
  const focus = document.activeElement.id;
  let swap;
  try {
    swap = await askFor(old.request);
  } catch (error) {
    if (mine === turn) showFailure(error, false, mine);
    return;
  }
  if (mine !== turn || phase !== 'quote') return;
  takeQuote(swap);
  const { arrival } = swap.quote.details;
  if (arrival.amount !== old.quote.details.arrival.amount) complain(
    'The quote has changed.', [`You now receive ${inWords(arrival.amount, swap.quote.destToken)}.`], $('send-alert')
  );
  if (focus && document.activeElement === document.body) $(focus)?.focus({ preventScroll: true });
}
const tellWaiting = (...words) => {
  $('answer').replaceChildren(el('p', { class: 'hint' }, words));
  return true;
};

async function askFor({ from, simulate, ...request }) {
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
  if (passes && (!again || !navigator.onLine) && !(error.retryAfter > 120)) {
    return waitAndAsk(title, error.retryAfter ?? 3, mine);
  }
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
    tellWaiting(`${title} Retrying in `, left, ' seconds.');
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
    return el(
      'li', { class: passed ? 'yes' : 'no' }, el('span', { 'aria-hidden': 'true' }, passed ? '✓' : '✗'),
      el('div', {}, passed ? sentence : [el('b', {}, 'Failed: '), sentence])
    );
  }));
}

// Says in a sentence what a call does, from its bytes.
function describe(call, { request, quote }) {
  const { srcToken, destToken } = quote;
  const decoded = tool.decode(call.data);
  const given = decoded.arguments;
  const paid = () => inWords(given.amount, srcToken);
  const whom = (recipient, type) => {
    if (type === '2') return 'whoever can open the encrypted note';
    return recipient === request.recipient.toLowerCase() ? request.recipient : recipient;
  };
  if ('spender' in given) {
    if (given.amount === '0') return [
      decoded, `Set the allowance to zero first: ${srcToken.symbol} requires it before a new one.`,
    ];
    return [
      decoded,
      `Allow ${given.spender === quote.to.toLowerCase() ? quote.to : given.spender} to take ${paid()} from you.`,
    ];
  }
  const pays = ({ dstChainId, recipient, recipientType }) =>
    `which pays ${destToken.symbol} on ${chainName(dstChainId)} to ${whom(recipient, recipientType)}.`;
  if (!decoded.hook) return [decoded, `Pay ${paid()} into the pool ${quote.to}, ${pays(given)}`];
  const burn = `Burn ${paid()} at the issuer's contract ${quote.to}.`;
  return [decoded, `${burn} It is minted for the receiver of the service, ${pays(decoded.hook)}`];
}
const callsOf = (swap) => (swap.unshield ? swap.wrap : swap.calls);
function transactions(swap) {
  return el('ol', {}, callsOf(swap).map((call) => {
    const [decoded, sentence] = describe(call, swap);
    const rows = [
      ['chain', String(Number(call.chainId))], ['to', call.to], ['value', call.value], ['function', decoded.function],
      ...Object.entries(decoded.arguments),
      ...Object.entries(decoded.hook ?? {}).map(([name, value]) => [`hook ${name}`, value]),
    ];
    return el(
      'li', {}, sentence, fold('Decoded bytes', facts(rows.map(([name, value]) => [name, mono(value, 1200)]), 'small'))
    );
  }));
}

// What the swap costs, and of what that is made up.
function feeRows({ request, quote }) {
  const { fee, details, destToken, srcToken } = quote;
  const share = (part) => [money(part.amount, destToken), ` (${part.percentage} %)`];
  const [railgun] = Array.isArray(details.arrival.deductions) ? details.arrival.deductions : [];
  const parts = [fee.protocol, request.integratorId && fee.integrator, railgun].filter(Boolean);
  const total = parts.reduce((sum, part) => sum + BigInt(part.amount), 0n);
  const several = parts.length > 1;
  return [
    ['Total fee', several ? money(String(total), destToken) : share(fee.protocol)],
    several && ['Protocol fee', share(fee.protocol)],
    request.integratorId && [
      'Partner fee', [share(fee.integrator), ' to ', short(fee.integrator.address, 'the partner')],
    ],
    railgun && [
      'RAILGUN fee',
      [
        share({ amount: railgun.amount, percentage: text(railgun.percentage) }), ' of ',
        money(quote.destAmount, destToken),
      ],
    ],
    details.issuerFee && ['Issuer fee', ['up to ', money(details.issuerFee.maxFee, srcToken), ', paid by the service']],
  ];
}
// What there is, and what is needed, as far as the gateway says.
function amountsAt(details, path) {
  const digits = ['actual', 'needed'].map((name) => text(field(details, `${path}.${name}`), 78));
  return digits.map((amount) => (/^\d+$/.test(amount) ? BigInt(amount) : undefined));
}

// Whether it would work, in one sentence: what the account lacks, and what the dry run says, as the gateway read it. What is
// certain leaves nothing to sign; gas has a price that moves.
function verdictOf({ quote: { srcToken, details } }) {
  const [has, needs] = amountsAt(details, 'checks.balance');
  if (has < needs) return {
    certain: true,
    sentence: `Insufficient balance: your account has ${inWords(has, srcToken)}, and ${inWords(needs, srcToken)} are needed.`
  };
  const simulation = field(details, 'simulation');
  const runs = simulation ? simulation.calls.slice(0, 9) : [];
  const failed = runs.findIndex((run) => run.status === 'FAILED');
  if (failed >= 0) return {
    sentence: `Simulation: transaction ${failed + 1} would fail: ${text(runs[failed].error, 300) || 'the node does not say why'}.`
  };
  if (field(simulation, 'event') === false) return {
    sentence: 'Simulation: the contract would not do what you asked for.'
  };
  const coin = { decimals: 18, symbol: coinOf(srcToken.chainId) };
  const [coins, cost] = amountsAt(details, simulation ? 'simulation.native' : 'checks.native');
  if (coins < cost || coins === 0n) return {
    sentence: `Insufficient ${coin.symbol} for gas: your account has ${inWords(coins, coin)}.`
  };
  if (!simulation) return undefined;
  if (simulation.event !== true) return {
    sentence: 'Simulation: no node could show whether the contract would do the swap.'
  };
  return { good: true, sentence: `Succeeds, ${separate(String(runs.reduce((sum, run) => sum + run.gasUsed, 0)))} gas` };
}
// What the network takes at most, where the account is known.
function networkFee({ quote: { srcToken, srcAmount, details } }) {
  const coin = { decimals: 18, symbol: coinOf(srcToken.chainId), chain: srcToken.chainId };
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
  const { details, destToken } = quote;
  $('answer').replaceChildren(
    el('p', { class: 'hint' }, `You receive on ${chainName(request.dstChain)}`),
    el('p', { class: 'big' }, money(details.arrival.amount, destToken)),
    el('p', { id: 'verdict' }),
  );
  showSend();
  $('rest').replaceChildren(
    fold(
      `What you sign: ${plural(callsOf(swap).length, 'transaction')}`, transactions(swap),
      el('p', { class: 'hint' }, `Route ${field(ROUTES, quote.route.type) ?? text(quote.route.type, 40)}`)
    ),
    fold('Checks', checkList(checked),
      el(
        'p', { class: 'hint' }, `Checked against ${knownName()}. `,
        'This page and its checks come from the gateway itself. They find mistakes and alterations. ',
        'Against a dishonest gateway, pin contracts that you have reviewed, and check with your own copy of /v3/client.'
      )),
    unchecked.length ? fold('What cannot be checked', list(unchecked.map((sentence) => text(sentence)))) : '',
  );
}
// What the swap means in figures.
function factsOf(swap) {
  const { request, quote } = swap;
  const { details, srcToken } = quote;
  const verdict = verdictOf(swap);
  const { unshieldAmount } = details.arrival;
  return facts([
    ['You pay', [money(request.amount, srcToken), ` on ${chainName(request.srcChain)}`]],
    unshieldAmount && ['Leaves RAILGUN', money(unshieldAmount, srcToken)],
    ...feeRows(swap),
    !swap.unshield && ['Network fee', networkFee(swap)],
    duration(details.arrival.seconds) && ['Estimated time', duration(details.arrival.seconds)],
    verdict?.good && ['Simulation', el('span', { class: 'good' }, verdict.sentence)],
    ...secondRows(),
  ]);
}
// Of two swaps, what both take together, before the first is signed.
function secondRows() {
  if (!goal) return [];
  const [fee, ...time] = termsOf(legs()).slice(0, -1);
  return [
    [`Both swaps, to ${chainName(goal.chain)}`, [fee, ...time].join(', ')],
    ['Second swap', `needs ${coinOf(HUB)} on ${chainName(HUB)} for gas`],
  ];
}
// The checks are about what was asked for. Whether that is what the visitor means, only the visitor can say.
function showChecked({ checked }) {
  const passed = `Checked in your browser: ${checked.length} of ${Object.keys(CHECKS).length}`;
  const line = $('verdict');
  const open = unconfirmed(shown).map(({ what }) => what).join(' and ');
  line.className = open ? 'hint' : 'good';
  line.replaceChildren(...(open ? [`${passed}. Confirm the ${open} below.`]
    : [el('span', { 'aria-hidden': 'true' }, '✓ '), passed, pinned ? `, against ${knownName()}` : '']));
}

function showRefused({ problems, checked }) {
  setPhase('refused');
  $('answer').append(el('p', {}, el('b', {}, 'Do not sign this quote anywhere.'), ' At least one check failed.'));
  const folded = fold(
    'Checks', el('p', { class: 'hint' }, `Checked in your browser against ${knownName()}.`), checkList(checked)
  );
  folded.open = true;
  $('rest').append(folded);
  complain(
    'This quote is not what you asked for. It cannot be sent.',
    problems.slice(0, 50).map((problem) => text(problem, 600))
  );
  $('alert').focus();
}
