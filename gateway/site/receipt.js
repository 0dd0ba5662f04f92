// What is needed once a swap was sent, and what few need.
// What was paid in, and what of it went to fees: what is paid out is the gross amount less all of them. The status names
// no source token: it is that of the quote, or of the link.
function paidIn({ swap, chain, token: symbol }, status, token, paid) {
  const dst = token && byKey.get(`${token.symbol}@${text(field(status, 'swap.dstChain'), 30)}`);
  const src = swap
    ? byKey.get(`${swap.quote.srcToken.symbol}@${swap.request.srcChain}`)
    : byKey.get(`${symbol}@${chain}`);
  const amount = swap?.request.amount ?? text(field(status, 'swap.amount'), 78);
  if (!src || !/^\d+$/.test(amount)) return {};
  const gross = dst && BigInt(amount) * 10n ** BigInt(dst.decimals) / 10n ** BigInt(src.decimals);
  return { sent: [money(amount, src), ` on ${chainName(chain)}`], fees: dst && gross - BigInt(paid), gross };
}

function showDone(mine, status, amount, token, paid, arrived) {
  const { swap, chain, hash } = mine;
  const there = mine.where ?? 'the other chain';
  const at = (path) => timeOf(field(status, path));
  const show = (time) => new Date(time).toISOString().slice(0, 19).replace('T', ' ') + ' UTC';
  const [began, ended] = [at('source.timestamp'), at('settlement.timestamp')];
  const { sent, fees, gross } = paidIn(mine, status, token, paid);
  $('answer').replaceChildren(
    el('p', { class: 'big' }, `${amount} arrived on ${there}`),
    el('p', { class: 'good' }, el('span', { 'aria-hidden': 'true' }, '✓ '), 'Complete')
  );
  put($('send'));
  put($('rest'),
    facts([
      sent && ['You paid', sent],
      [
        'Recipient',
        swap ? short(swap.request.recipient, 'the recipient', networkOf(swap.request.dstChain))
          : short(text(field(status, 'swap.recipient'), 66), 'the recipient'),
      ],
      gross > 0n && fees >= 0n && [
        'Total fee', [money(fees, token), ` (${Number(fees * 1000000n / gross) / 10000} %)`],
      ],
      token && paid !== arrived && ['Paid out', money(paid, token)],
      token && paid !== arrived && ['Arrived', [money(arrived, token), ' after RAILGUN’s fee']],
      began && ['Sent', show(began)],
      ended && ['Arrived', show(ended)],
      began && ended >= began && ['Time taken', lasting((ended - began) / 1000)],
      ['Transaction', [short(hash, 'the transaction hash', chain, 'tx'), ` on ${chainName(chain)}`]],
      ...mine.more.filter((row) => row && row[0] === 'Payout'),
      [
        'Link',
        [
          el('a', { href: location.href }, 'This receipt'), el('span', { class: 'paper mono' }, location.href), ' ',
          copyButton('the link', () => location.href),
        ],
      ],
    ]),
    el(
      'p', { class: 'buttons' }, goOn(mine, token, arrived), button('New swap', newSwap, { id: 'new' }), ' ',
      button('Print receipt', () => print())
    ),
  );
  document.title = `✓ ${amount} arrived · ${TITLE}`;
}
// The second of two swaps, from the hub to where the money is meant to go.
function goOn({ then }, token, arrived) {
  const pair = pairs.find(({ from, to }) => to.key === then && from.chain === HUB && from.symbol === token?.symbol);
  if (!pair) return '';
  return [el('button', { type: 'button', id: 'second', click: () => {
    leaveSwap();
    choose(pair.from, pair.to);
    $('amount').value = showAmount(arrived, pair.from.decimals);
    changed('amount');
    enterForm(true);
    $('amount').focus();
  } }, `Continue to ${chainName(pair.to.chain)}`), ' '];
}

const hex = (number) => '0x' + BigInt(number).toString(16);
// Asks for what a wallet needs to know of a chain, since the gateway lists no nodes.
function offerToAdd(provider, chain) {
  const node = el('input', { id: 'node', type: 'url', placeholder: 'https://…', maxlength: 300 });
  $('add')?.remove();
  $('send').append(el('div', { id: 'add' }, el('label', { for: 'node' }, `RPC URL for ${chainName(chain)}`), node,
    button('Add network', async () => {
      calm();
      try {
        await provider.request({ method: 'wallet_addEthereumChain', params: [{
          chainId: hex(chain), chainName: chainName(chain), rpcUrls: [node.value.trim()],
          nativeCurrency: { name: coinName(chain), symbol: coinOf(chain), decimals: 18 },
          ...(listing.explorers?.[chain] && { blockExplorerUrls: [listing.explorers[chain]] }) }] });
        $('add')?.remove();
      } catch (error) {
        complain(...explain(sender.sendErrorOf(error)), $('send-alert'));
      }
    })));
}

// An unshielding swap is for a RAILGUN wallet to wrap.
function toWrap({ quote, wrap }) {
  const bytes = () => JSON.stringify({ unshieldAmount: quote.details.arrival.unshieldAmount, calls: wrap }, null, 2);
  const leaves = inWords(quote.details.arrival.unshieldAmount, quote.srcToken);
  return [
    el('p', { class: 'risk' }, el('b', {}, 'Send this from your RAILGUN wallet.'),
      ' From a public account it would be an ordinary swap, at another fee and without privacy.'),
    el('ol', {}, el('li', {}, 'Copy the calls below.'),
      el('li', {}, `In your RAILGUN wallet, start a private transaction that unshields ${leaves} and runs these calls.`),
      el('li', {}, 'Track the swap below by its transaction hash.')),
    el(
      'div', { class: 'snippet' },
      el('div', {}, el('b', {}, 'Calls for a RAILGUN wallet'), copyButton('the calls', bytes)),
      el('pre', { tabindex: 0, 'aria-label': 'Calls for a RAILGUN wallet' }, bytes())
    )];
}

// A quote that was sent is not offered a second time by itself.
function tellSent([chain, hash, token]) {
  setPhase('done');
  $('answer').replaceChildren(el('p', {}, 'You have sent this swap.'));
  put(
    $('rest'),
    el(
      'p', { class: 'buttons' }, button('Show status', () => openJourney(chain, hash, token)),
      button('New swap', newSwap, { id: 'new' })
    )
  );
}
