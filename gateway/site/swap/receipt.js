// What is needed once a swap was sent, and what few need.

// What was paid in, and what of it went to fees: what is paid out is the gross amount less all of them. The status
// names no source token: it is that of the quote, or of the link.
function paidIn({ swap, chain, token: symbol }, status, token) {
  const dst = token && byKey.get(`${token.symbol}@${status.swap?.dstChain}`);
  const src = byKey.get(swap ? `${swap.quote.srcToken.symbol}@${swap.request.srcChain}` : `${symbol}@${chain}`);
  const amount = swap?.request.amount ?? status.swap?.amount;
  if (!src || !amount) return {};
  const gross = dst && BigInt(amount) * 10n ** BigInt(dst.decimals) / 10n ** BigInt(src.decimals);
  const fees = dst && gross - BigInt(status.settlement.amount);
  return { sent: [money(amount, src), ` on ${chainName(chain)}`], fees, gross };
}

function showDone(mine, status, amount, token) {
  const { swap, chain, hash } = mine;
  const { settlement } = status;
  const there = mine.where ?? 'the other chain';
  const show = (time) => new Date(time).toISOString().slice(0, 19).replace('T', ' ') + ' UTC';
  const [began, ended] = [timeOf(status.source.timestamp), timeOf(settlement.timestamp)];
  const { sent, fees, gross } = paidIn(mine, status, token);
  const isLess = token && settlement.arrived !== settlement.amount;
  const whom = swap ? short(swap.request.recipient, 'the recipient', networkOf(swap.request.dstChain))
    : short(status.swap?.recipient, 'the recipient');
  const rate = gross > 0n && fees >= 0n && ` (${Number(fees * 1000000n / gross) / 10000} %)`;
  const link = [
    el('a', { href: location.href }, 'This receipt'), el('span', { class: 'paper mono' }, location.href), ' ',
    copyButton('the link', () => location.href),
  ];
  $('answer').replaceChildren(
    el('p', { class: 'big' }, `${amount} arrived on ${there}`),
    el('p', { class: 'good' }, el('span', { 'aria-hidden': 'true' }, '✓ '), 'Complete'),
  );
  put($('send'));
  put($('rest'),
    facts([
      sent && ['You paid', sent],
      ['Recipient', whom],
      rate && ['Total fee', [money(fees, token), rate]],
      isLess && ['Paid out', money(settlement.amount, token)],
      isLess && ['Arrived', [money(settlement.arrived, token), ' after RAILGUN’s fee']],
      began && ['Sent', show(began)],
      ended && ['Arrived', show(ended)],
      began && ended >= began && ['Time taken', lasting((ended - began) / 1000)],
      ['Transaction', [short(hash, 'the transaction hash', chain, 'tx'), ` on ${chainName(chain)}`]],
      mine.payout,
      ['Link', link],
    ]),
    el('p', { class: 'buttons' },
      goOn(mine, token, settlement.arrived), newSwapButton(), ' ', button('Print receipt', () => print())),
  );
  document.title = `✓ ${amount} arrived · ${TITLE}`;
}
// The second of two swaps, from the hub to where the money is meant to go.
function goOn({ then }, token, arrived) {
  const pair = pairs.find(({ from, to }) => to.key === then && from.chain === HUB && from.symbol === token?.symbol);
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
    el('ol', {}, ['Copy the calls below.', how, 'Track the swap below by its transaction hash.'].map(
      (step) => el('li', {}, step))),
    snippet(title, 'the calls', pre(title, bytes)),
  ];
}

// A quote that was sent is not offered a second time by itself.
function tellSent([chain, hash, token]) {
  setPhase('done');
  $('answer').replaceChildren(el('p', {}, 'You have sent this swap.'));
  const show = button('Show status', () => openJourney(chain, hash, token));
  put($('rest'), el('p', { class: 'buttons' }, show, newSwapButton()));
}
