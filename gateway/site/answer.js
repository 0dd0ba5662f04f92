// Shows a quote that was checked.
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

function checkList(report) {
  return el('ul', { class: 'checks' }, Object.entries(CHECKS).map(([group, sentence]) => {
    const passed = report.checked.includes(group);
    return el('li', { class: passed ? 'yes' : 'no' }, el('span', { 'aria-hidden': 'true' }, passed ? '✓' : '✗'),
      el('div', {}, passed ? sentence : [el('b', {}, 'Not so: '), sentence]));
  }));
}

// Says in a sentence what a call does, from its bytes.
function describe(call, { request, quote }) {
  const { srcToken, destToken } = quote;
  const decoded = verifier.decode(call.data);
  const given = decoded.arguments;
  const whom = (recipient, type) => (type === '2' ? 'whoever can open the encrypted note' : recipient === request.recipient.toLowerCase() ? request.recipient : recipient);
  if ('spender' in given) {
    if (given.amount === '0') return [decoded, `Set the allowance to zero first: ${srcToken.symbol} demands it before a new one.`];
    return [decoded, `Allow ${given.spender === quote.to.toLowerCase() ? quote.to : given.spender} to take ${money(given.amount, srcToken)} from you.`];
  }
  if (!decoded.hook) {
    return [decoded, `Pay ${money(given.amount, srcToken)} into the pool ${call.to}, which pays ${destToken.symbol} on ${chainName(given.dstChainId)} to ${whom(given.recipient, given.recipientType)}.`];
  }
  return [decoded, `Burn ${money(given.amount, srcToken)} at the issuer's contract ${call.to}. It is minted for the receiver of the service, which pays ${destToken.symbol} on ${chainName(decoded.hook.dstChainId)} to ${whom(decoded.hook.recipient, decoded.hook.recipientType)}.`];
}

function transactions(swap) {
  const { calls } = swap.quote.details.sendCalls;
  return el('ol', {}, calls.map((call) => {
    const [decoded, sentence] = describe(call, swap);
    const rows = [['to', call.to], ['value', call.value], ['function', decoded.function],
      ...Object.entries(decoded.arguments), ...Object.entries(decoded.hook ?? {}).map(([name, value]) => [`hook ${name}`, value])];
    return el('li', {}, sentence, el('details', {}, el('summary', {}, 'Every byte, decoded'),
      facts(rows.map(([name, value]) => [name, mono(value, 1200)]), 'small')));
  }));
}

function feeRows({ request, quote }) {
  const { fee, details, destToken, srcToken } = quote;
  const share = (part) => `${money(part.amount, destToken)} (${part.percentage} %)`;
  const [railgun] = Array.isArray(details.arrival.deductions) ? details.arrival.deductions : [];
  return [
    ['Protocol fee', share(fee.protocol)],
    request.integratorId && ['Integrator', [share(fee.integrator), ' for ', mono(fee.integrator.address)]],
    railgun && ['RAILGUN', `${money(railgun.amount, destToken)} (${text(railgun.percentage)} %), which RAILGUN takes from the ${money(quote.destAmount, destToken)} that are paid out`],
    details.arrival.unshieldAmount && ['Unshield', `${money(details.arrival.unshieldAmount, srcToken)}, so that ${money(request.amount, srcToken)} are left after RAILGUN's own fee`],
    details.issuerFee && ['Issuer’s fee', `up to ${money(details.issuerFee.maxFee, srcToken)}, which the service pays`],
  ];
}

let ticking;
function countdown(until) {
  const clock = el('span', { 'aria-live': 'off', class: 'clock' });
  const tick = () => {
    const left = Math.ceil((until - now()) / 1000);
    const words = left > 0 ? `for ${left} more seconds` : 'no more: get a new quote';
    if (clock.textContent !== words) clock.textContent = words;
  };
  clearInterval(ticking);
  ticking = setInterval(tick, 500);
  tick();
  return clock;
}

function showAnswer(swap) {
  const { request, quote, report, known, warning } = swap;
  const { details, destToken, srcToken } = quote;
  const seconds = duration(details.arrival.seconds);
  const answer = $('answer');
  answer.classList.add('card');
  answer.replaceChildren(
    el('p', { class: 'hint' }, `Arrives on ${chainName(request.dstChain)}`),
    el('p', { class: 'big' }, money(details.arrival.amount, destToken)),
    el('p', { class: 'good' }, `✓ ${report.checked.length} of ${Object.keys(CHECKS).length} checks passed, made in your browser`),
    facts([
      ['For', mono(request.recipient)],
      ['You send', `${money(request.amount, srcToken)} on ${chainName(request.srcChain)}`],
      ...feeRows(swap),
      ['Route', quote.route.type === 'DIRECT' ? 'DIRECT: you pay a pool of the service' : 'CCTP_INBOUND: the issuer of USDC burns it here and mints it there'],
      ['Takes', seconds || 'The operator does not say.'],
      ['Valid', countdown(Date.parse(details.validUntil))],
      warning && ['Warning', text(warning)],
    ]),
    el('h2', {}, 'What you would sign'), transactions(swap),
    el('h2', {}, 'Checked here'),
    el('p', { class: 'hint' }, `Worked out again in your browser, against ${known.name}.`),
    checkList(report),
    ...(report.unchecked.length ? [el('h2', {}, 'What nobody can check from here'), list(report.unchecked)] : []),
    el('p', { class: 'hint' }, 'This page and its checks come from the gateway itself. They find mistakes and alterations. Against a gateway that lies, pin contracts that you have reviewed, and check with a copy of /v3/verify.js of your own.'),
    el('div', { id: 'send', class: 'send' }),
  );
  showSend();
}

function showRefused({ report, known }) {
  const answer = $('answer');
  answer.classList.add('card');
  answer.replaceChildren(
    el('p', {}, el('b', {}, 'Do not sign it anywhere.'), ' These checks were made, and at least one failed.'),
    el('p', { class: 'hint' }, `Worked out again in your browser, against ${known.name}.`),
    checkList(report),
  );
}
