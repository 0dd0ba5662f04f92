// Sending a checked quote.
function showSend() {
  const place = $('send');
  if (!place || place.dataset.busy) return;
  const { request } = shown;
  place.replaceChildren(el('h2', {}, 'Send it'));
  if (!wallets.size) {
    place.append(el('p', {}, 'No wallet has announced itself in this browser. Install or unlock one, or send the transactions above with a program.'));
    return;
  }
  if (!wallets.has(chosen)) chosen = [...wallets.keys()][0];
  const choice = el('select', { id: 'wallet' }, [...wallets].map(([id, { name }]) => el('option', { value: id }, name)));
  choice.value = chosen;
  choice.addEventListener('change', () => { chosen = choice.value; });
  const ticks = consents(request).map((sentence, i) => el('label', { class: 'tick' }, el('input', { type: 'checkbox', id: `consent-${i}` }), el('span', {}, sentence)));
  const button = el('button', { type: 'button', id: 'send-button', click: () => send(shown, wallets.get(chosen).provider) }, 'Send');
  const boxes = ticks.map((tick) => tick.firstChild);
  const allow = () => { button.disabled = boxes.some((box) => !box.checked); };
  for (const box of boxes) box.addEventListener('change', allow);
  allow();
  place.append(el('label', { for: 'wallet' }, 'Wallet'), choice, ...ticks, button, el('ol', { class: 'steps', id: 'steps' }));
}

// What the visitor must accept by a tick of its own.
function consents({ srcChain, dstChain }) {
  const all = [];
  if (dstChain in listing.networks) all.push('This page cannot open the encrypted note, so it cannot tell whom it pays. I trust the gateway with that.');
  if (srcChain in listing.networks) all.push(`A RAILGUN wallet should send this as part of its private transaction. I want to pay from the public balance of my wallet on ${chainName(networkOf(srcChain))} instead.`);
  return all;
}

// Shows how far it is. The steps before are done.
function step(label, state = 'now', ...more) {
  const steps = $('steps');
  for (const item of steps.querySelectorAll('.now')) item.className = 'done';
  const item = el('li', { class: state }, label, ...more);
  steps.append(item);
  return item;
}

async function send(swap, provider) {
  const place = $('send');
  if (place.dataset.busy) return;
  calm();
  $('add')?.remove();
  $('steps').replaceChildren();
  place.dataset.busy = 'yes';
  for (const control of place.querySelectorAll('button, select, input')) control.disabled = true;
  const progress = { done: '' };
  try {
    const hash = await execute(swap, provider, progress);
    delete place.dataset.busy;
    await follow(swap.request, hash);
  } catch (error) {
    for (const item of place.querySelectorAll('.now')) item.className = 'bad';
    delete place.dataset.busy;
    for (const control of place.querySelectorAll('button, select, input')) control.disabled = false;
    complain(...explain(error, progress.done));
  }
}

const expired = (swap) => now() > Date.parse(swap.quote.details.validUntil);

async function execute(swap, provider, progress) {
  const chain = networkOf(swap.request.srcChain);
  if (expired(swap)) throw new Stop('This quote has expired.', 'Press Get quote for a new one. Nothing was sent.');
  step('Connect the wallet');
  const account = await connect(provider);
  step(`Use ${chainName(chain)}`);
  await switchTo(provider, chain);
  const calls = await neededCalls(provider, account, swap);
  if (calls.length > 1) {
    const hash = await sendBatch(provider, account, chain, calls);
    if (hash) return hash;
  }
  for (const [i, call] of calls.entries()) {
    const last = i === calls.length - 1;
    if (expired(swap)) throw new Stop('This quote has expired while you were signing.', `${progress.done} Press Get quote for a new one; the approval stands.`);
    await stillThere(provider, account, chain);
    const item = step(last ? 'Sign the swap' : calls.length - i === 3 ? 'Sign the reset of the allowance' : 'Sign the approval');
    const hash = await provider.request({ method: 'eth_sendTransaction', params: [{ from: account, to: call.to, data: call.data, value: call.value, chainId: hex(chain) }] });
    if (!isHash(hash)) throw new Stop('The wallet gave no transaction hash.', 'Look in the wallet whether it has sent anything.');
    item.append(el('br'), mono(hash));
    if (last) return hash;
    await receiptOf(provider, hash);
    progress.done = 'The approval was sent and stands.';
  }
}

// Between two transactions the visitor may have changed the wallet. One that does not list its accounts refuses by itself.
async function stillThere(provider, account, chain) {
  let accounts;
  try {
    accounts = await provider.request({ method: 'eth_accounts' });
  } catch { /* accounts stays undefined */ }
  if (Array.isArray(accounts) && !accounts.some((other) => text(other).toLowerCase() === account.toLowerCase())) throw new Stop('The wallet has disconnected the account.', 'Connect it again, then press Send.');
  if (await onChain(provider) !== chain) throw new Stop('The wallet has changed to another chain.', `Switch it back to ${chainName(chain)}, then press Send.`);
}

async function receiptOf(provider, hash) {
  for (;;) {
    const receipt = await provider.request({ method: 'eth_getTransactionReceipt', params: [hash] });
    if (receipt) {
      if (field(receipt, 'status') === '0x0') throw new Stop('The transaction failed on the chain.', `It is ${hash}.`);
      return;
    }
    await pause(1);
  }
}

// Sends all calls at once where the wallet can (EIP-5792), and gives the hash of the swap; else nothing.
async function sendBatch(provider, account, chain, calls) {
  try {
    await provider.request({ method: 'wallet_getCapabilities', params: [account, [hex(chain)]] });
  } catch {
    return undefined;
  }
  step('Sign the approval and the swap together');
  let batch;
  try {
    batch = await provider.request({ method: 'wallet_sendCalls', params: [{ version: '2.0.0', from: account, chainId: hex(chain), atomicRequired: false, calls: calls.map(({ to, data, value }) => ({ to, data, value })) }] });
  } catch (error) {
    if ([4200, -32601, 5700, 5710].includes(error?.code)) return undefined;
    throw error;
  }
  const id = text(field(batch, 'id') ?? batch, 9000);
  for (;;) {
    const got = await provider.request({ method: 'wallet_getCallsStatus', params: [id] });
    const status = Number(field(got, 'status'));
    if (status >= 400) throw new Stop('The wallet’s batch failed.', status === 600 ? 'A part of it was carried out: look in the wallet.' : 'Nothing was moved.');
    if (status >= 200) {
      const receipts = field(got, 'receipts');
      const hash = field(Array.isArray(receipts) ? receipts.at(-1) : undefined, 'transactionHash');
      if (!isHash(hash)) throw new Stop('The batch was carried out, and the wallet does not say in which transaction.', 'Look for it in the wallet.');
      return hash;
    }
    await pause(1);
  }
}
