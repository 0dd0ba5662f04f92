// What is needed once a swap was sent, and what few need.

// What of it went to fees: what is paid out is the gross amount less all of them.
function feesOf(mine, { settlement }, token) {
  const { amount, token: paid } = orderOf(mine) ?? {};
  if (!paid || !token) return '';
  const gross = inUnits(BigInt(amount), paid, token);
  const fees = gross - BigInt(settlement.amount);
  return gross > 0n && fees >= 0n && [money(fees, token), ` (${Number(fees * 1000000n / gross) / 10000} %)`];
}

function showDone(mine, status, amount, token) {
  const { settlement } = status;
  const show = (time) => new Date(time).toISOString().slice(0, 19).replace('T', ' ') + ' UTC';
  const [began, ended] = [timeOf(status.source.timestamp), timeOf(settlement.timestamp)];
  const fees = feesOf(mine, status, token);
  const isLess = token && settlement.arrived !== settlement.amount;
  const link = el('span', { class: 'short' }, el('a', { href: location.href }, 'This page'),
    el('span', { class: 'paper mono' }, location.href), ' ', copyButton('the link', () => location.href));
  const next = goOn(mine, settlement.arrived);
  $('answer').replaceChildren(
    el('p', { class: 'seal', 'aria-hidden': 'true' }),
    el('p', { class: 'big' }, `${amount} arrived on ${whereTo(mine)}`),
    el('p', { class: 'good' }, next ? 'Complete: swap 1 of 2' : 'Complete'),
  );
  put(renewed('send'));
  put(renewed('rest'),
    facts([
      ...mainFacts(mine),
      fees && ['Total fee', fees],
      isLess && ['Paid out', money(settlement.amount, token)],
      isLess && ['Arrived', [money(settlement.arrived, token), ' after RAILGUN’s fee']],
      began && ['Sent', show(began)],
      ended && ['Arrived', show(ended)],
      began && ended >= began && ['Time taken', lasting((ended - began) / 1000)],
      ['Link', link],
    ]),
    origin(mine), nextLeg(mine),
    el('p', { class: 'buttons' },
      next, newSwapButton(next ? {} : { class: '' }), ' ', button('Print receipt', () => print())),
  );
  document.title = `✓ ${amount} arrived · ${TITLE}`;
}

// The second of two swaps, from the hub to where the money is meant to go.
const secondOf = ({ then, arriving }) => pairs.find(({ from, to }) =>
  to.key === then && from.chain === HUB && (!arriving || from.symbol === arriving.symbol));
function nextLeg(mine) {
  const pair = !mine.failed && !mine.unclear && secondOf(mine);
  if (!pair) return '';
  const way = `Still to do: the swap from ${chainName(HUB)} to ${chainName(pair.to.chain)}.`;
  const when = phase === 'done' ? 'Sign it now.' : 'You sign it here once this one has arrived.';
  return el('p', { class: 'risk', id: 'next' }, el('b', {}, 'Swap 1 of 2. '), way,
    ` ${when} It needs ${coinOf(HUB)} on ${chainName(HUB)} for gas.`);
}
function goOn(mine, arrived) {
  const pair = mine.arriving && secondOf(mine);
  if (!pair) return '';
  const goThere = () => {
    leaveSwap();
    choose(pair.from, pair.to);
    $('amount').value = showAmount(arrived, pair.from.decimals);
    changed('amount');
    enterForm(true);
    $('amount').focus();
  };
  return [button(`Continue to ${chainName(pair.to.chain)}`, goThere, { id: 'second', class: '' }), ' '];
}

// Asks for a node that the wallet is to use on a chain. One that the gateway lists is a proposal: it would answer the
// questions that check the gateway, so the visitor decides.
async function offerToAdd(provider, chain) {
  const node = el('input', { id: 'node', type: 'url', placeholder: 'https://…', maxlength: 300 });
  const listed = await client.pairs().catch(() => ({ chains: [] }));
  if (phase !== 'quote') return;
  const row = listed.chains.find(({ chainId }) => chainId === chain) ?? { chainId: chain };
  node.value = text(row.rpcUrls?.[0]);
  const add = async () => {
    calm();
    const chosenRow = { ...row, rpcUrls: [node.value.trim()] };
    try {
      await sender.addChain(provider, chain, { listing: { chains: [chosenRow] }, trustListing: true });
      $('add')?.remove();
    } catch (error) {
      if (error instanceof TypeError) {
        return complain('Enter the address of a node.', ['It looks like https://rpc.example.org.'], $('send-alert'));
      }
      complain(...explain(error), $('send-alert'));
    }
    return undefined;
  };
  $('add')?.remove();
  $('send').append(el('div', { id: 'add' }, el('label', { for: 'node' }, `RPC URL for ${chainName(chain)}`), node,
    button('Add network', add)));
}

// An unshielding swap is for a RAILGUN wallet to wrap.
function toWrap({ quote, wrap }) {
  const { unshieldAmount } = quote.details.arrival;
  const bytes = JSON.stringify({ unshieldAmount, calls: wrap }, null, 2);
  const leaves = inWords(unshieldAmount, quote.srcToken);
  const title = 'Calls for a RAILGUN wallet';
  const how = `In your RAILGUN wallet, start a private transaction that unshields ${leaves} and runs these calls.`;
  return [
    el('p', { class: 'risk' }, el('b', {}, 'Send this from your RAILGUN wallet.'),
      ' From a public account it would be an ordinary swap, at another fee and without privacy.'),
    el('ol', {}, ['Copy the calls below.', how, 'Enter its transaction hash under Track.'].map(
      (step) => el('li', {}, step))),
    snippet(title, 'the calls', pre(title, bytes)),
  ];
}

// A quote that was sent is not offered a second time by itself.
function tellSent([chain, hash, token, then]) {
  setPhase('done');
  $('answer').replaceChildren(el('p', {}, 'You have sent this swap.'));
  const show = button('Show status', () => openJourney(chain, hash, token, then));
  put($('rest'), el('p', { class: 'buttons' }, show, newSwapButton()));
}
