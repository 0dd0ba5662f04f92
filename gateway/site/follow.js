// Follows a swap that was sent, where the gateway can tell (/v3/swap/status).
const SETTLING = { NOT_FOUND: 0, PENDING: 0, SETTLING: 1, SETTLED: 2 };

async function follow(request, hash) {
  const chain = networkOf(request.srcChain);
  const target = byKey.get(`${request.dstToken}@${request.dstChain}`);
  for (const item of $('steps').querySelectorAll('.now')) item.className = 'done';
  const items = [step(`In a block on ${chainName(chain)}`), step('Settling', ''), step(`Arrived on ${chainName(request.dstChain)}`, '')];
  items[0].className = 'now';
  const note = el('p', { class: 'hint', id: 'status-note' }, 'Transaction ', mono(hash));
  $('steps').after(note);
  const say = (...words) => note.replaceChildren(...words, el('br'), 'Transaction ', mono(hash), ` on ${chainName(chain)}.`);
  for (let failures = 0; failures < 20;) {
    const answer = await ask(`/v3/swap/status?${new URLSearchParams({ srcChain: chain, txHash: hash })}`);
    if (!note.isConnected) return;
    const state = text(field(answer.body, 'state'), 30);
    if (!state && [400, 404, 501].includes(answer.status)) {
      items[0].className = '';
      say('Sent. This gateway does not follow swaps: look for the transaction in your wallet or an explorer.');
      return;
    }
    if (!state) {
      failures++;
      say('The gateway cannot be asked for the status now. The swap goes on without it.');
      await pause(Math.min(Number(answer.headers.get('retry-after')) || 5, 60));
      continue;
    }
    failures = 0;
    if (showState(state, answer.body, items, say, target)) return;
    await pause(Math.min(Math.max(Number(field(answer.body, 'nextCheckSeconds')) || 3, 1), 120));
  }
}

// Shows a state, and tells whether it is the last.
function showState(state, body, items, say, target) {
  const final = field(body, 'final') !== false;
  if (state === 'FAILED' || state === 'NOT_A_SWAP') {
    if (!final) {
      say('The chain says that it failed, which may still change.');
      return false;
    }
    items[0].className = 'bad';
    const reason = text(field(body, 'reason') ?? field(body, 'source.reason'));
    complain(state === 'FAILED' ? 'The transaction failed on the chain.' : 'The gateway sees no swap in this transaction.', reason ? [`The chain says: ${reason}`] : ['Look at it in your wallet or an explorer.']);
    return true;
  }
  const reached = field(SETTLING, state) ?? 0;
  items.forEach((item, i) => { item.className = i < reached || state === 'SETTLED' ? 'done' : i === reached ? 'now' : ''; });
  const burn = text(field(body, 'burn.reason')) || text(field(body, 'burn.attestationState'));
  const amount = text(field(body, 'settlement.amount'), 78);
  const there = text(field(body, 'settlement.txHash'), 66);
  if (state === 'SETTLED') say(`The gateway reports that ${amount ? money(amount, target) : 'the money'} arrived${final ? '' : ', not yet final'}. `, ...(there ? ['It was paid in ', mono(there), '.'] : []));
  else if (state === 'NOT_FOUND') say('No node has seen the transaction yet.');
  else if (state === 'PENDING') say('Waiting for the chain to confirm it.');
  else say(burn ? `On its way. The issuer says: ${burn}.` : 'On its way.');
  return state === 'SETTLED' && final;
}
