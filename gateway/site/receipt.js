// What few need, or nobody before a swap was sent.
// What was paid in, and what of it went to fees: what is paid out is the gross amount less all of them.
function paidIn({ swap, chain }, status, token, paid) {
  const dst = token && byKey.get(`${token.symbol}@${text(field(status, 'swap.dstChain'), 30)}`);
  const amount = swap?.request.amount ?? text(field(status, 'swap.amount'), 78);
  if (!/^\d+$/.test(amount)) return {};
  // The status names no token. Those that fit the payout may be several, of the same number of decimals.
  const gross = (src) => BigInt(amount) * 10n ** BigInt(dst.decimals) / 10n ** BigInt(src.decimals);
  const fits = swap || !dst ? [] : pairs.filter(({ from, to }) => from.chain === chain && to === dst && gross(from) >= BigInt(paid) && gross(from) < 2n * BigInt(paid)).map(({ from }) => from);
  const src = swap ? byKey.get(`${swap.quote.srcToken.symbol}@${swap.request.srcChain}`) : fits[0];
  if (!src || fits.some(({ decimals }) => decimals !== src.decimals)) return {};
  const symbol = swap ? src.symbol : fits.map((one) => one.symbol).join(' or ');
  return { sent: [money(amount, { decimals: src.decimals, symbol }), ` on ${chainName(chain)}`], fees: dst && gross(src) - BigInt(paid), gross: dst && gross(src) };
}

function showDone(mine, status, amount, token, paid, arrived) {
  const { swap, chain, hash } = mine;
  const there = mine.where ?? 'the other chain';
  const at = (path) => timeOf(field(status, path));
  const show = (time) => new Date(time).toISOString().slice(0, 19).replace('T', ' ') + ' UTC';
  const [began, ended] = [at('source.timestamp'), at('settlement.timestamp')];
  const { sent, fees, gross } = paidIn(mine, status, token, paid);
  $('answer').replaceChildren(el('p', { class: 'big' }, `${amount} arrived on ${there}`), el('p', { class: 'good' }, el('span', { 'aria-hidden': 'true' }, '✓ '), 'Settled, and final.'));
  put($('send'));
  put($('rest'),
    facts([
      sent && ['You sent', sent],
      ['For', swap ? short(swap.request.recipient, 'the recipient', networkOf(swap.request.dstChain)) : short(text(field(status, 'swap.recipient'), 66), 'the recipient')],
      gross > 0n && fees >= 0n && ['Fees', [money(fees, token), ` (${Number(fees * 1000000n / gross) / 10000} %)`]],
      token && paid !== arrived && ['Paid out', money(paid, token)],
      token && paid !== arrived && ['Arrived', [money(arrived, token), ', after what RAILGUN takes']],
      began && ['Sent at', show(began)],
      ended && ['Arrived at', show(ended)],
      began && ended >= began && ['Time taken', lasting((ended - began) / 1000)],
      ['Transaction', [short(hash, 'the hash of the transaction', chain, 'tx'), ` on ${chainName(chain)}`]],
      ...mine.more.filter((row) => row && row[0] === 'Payout'),
      ['Link', [el('a', { href: location.search }, 'This receipt'), el('span', { class: 'paper mono' }, location.href), ' ', copyButton('the link', () => location.href)]],
    ]),
    el('p', { class: 'buttons' }, goOn(mine, token, arrived), button('New swap', newSwap, { id: 'new' }), ' ', button('Print a receipt', () => print())),
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
    enter(formQuery(), { typed: true }, true);
    $('amount').focus();
  } }, `Go on to ${chainName(pair.to.chain)}: the second swap`), ' '];
}

const hex = (number) => '0x' + BigInt(number).toString(16);
// Asks for what a wallet needs to know of a chain, since the gateway lists no nodes.
function offerToAdd(provider, chain) {
  const node = el('input', { id: 'node', type: 'url', placeholder: 'https://…', maxlength: 300 });
  $('add')?.remove();
  $('send').append(el('div', { id: 'add' }, el('label', { for: 'node' }, `Address of a node of ${chainName(chain)}`), node,
    button('Add the chain', async () => {
      calm();
      try {
        await provider.request({ method: 'wallet_addEthereumChain', params: [{
          chainId: hex(chain), chainName: chainName(chain), rpcUrls: [node.value.trim()],
          nativeCurrency: { name: coinOf(chain), symbol: coinOf(chain), decimals: 18 },
          ...(listing.explorers?.[chain] && { blockExplorerUrls: [listing.explorers[chain]] }) }] });
        $('add')?.remove();
      } catch (error) {
        complain(...explainWallet(error), $('send-alert'));
      }
    })));
}

// How long it has been under way, and how long such a swap usually takes where the operator states that.
function tellTime(place, { began, expected, failed }) {
  if (!place || failed) return void place?.replaceChildren();
  const seconds = Math.max(0, Math.round((Date.now() - began) / 1000));
  const usually = duration(expected) && ` Such a swap usually takes ${duration(expected)}.`;
  const late = expected && seconds > 3 * expected + 60 ? ' This one takes longer. It goes on without this page: keep the address of the page, and look again later.' : '';
  place.textContent = `${lasting(seconds)} so far.${usually || ''}${late}`;
}
function lasting(seconds) {
  const [minutes, hours] = [Math.floor(seconds / 60), Math.floor(seconds / 3600)];
  if (hours) return `${hours} h ${minutes % 60} min`;
  return minutes ? `${minutes} min ${seconds % 60} s` : `${seconds} s`;
}

// An unshielding swap is for a RAILGUN wallet to wrap.
function toWrap({ quote, wrap }) {
  const bytes = () => JSON.stringify({ unshieldAmount: quote.details.arrival.unshieldAmount, calls: wrap }, null, 2);
  return [el('p', {}, el('b', {}, 'This takes money out of a private balance, so a RAILGUN wallet has to send it.'),
    ' Sent from a public account, it would be an ordinary swap at another fee and without privacy. Give these calls to your RAILGUN wallet, for its private transaction.'),
  el('div', { class: 'snippet' }, el('div', {}, el('b', {}, 'For a RAILGUN wallet'), copyButton('the calls', bytes)), el('pre', { tabindex: 0, 'aria-label': 'The calls for a RAILGUN wallet' }, bytes()))];
}

// A quote that was sent is not offered a second time by itself.
function tellSent([chain, hash]) {
  $('card').className = 'card';
  $('answer').replaceChildren(el('p', {}, 'You have sent this swap. ', button('See what became of it', () => openJourney(chain, hash), { class: 'second small' })));
}
