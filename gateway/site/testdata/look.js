// The scripts of look_test.go.

// What a visitor may see. Each brings a page there, with a wallet.
const states = {
  async form() {
    wallet({ rdns: 'other.example' });
    (await until(() => document.querySelector('#wallet-row summary'))).click();
  },
  async errors() {
    await connect();
    await quote({ ...usdc, amount: 'x', recipient: 'y', integrator: 'z' });
  },
  async quote() {
    visit(`/${link}`);
    await until(() => $('meant'));
    for (const details of document.querySelectorAll('#rest details')) details.open = true;
  },
  async refused() {
    alter('/v3/swap/quote', 'to', partner);
    await quote(usdc);
    restore();
  },
  async shield() {
    await quote({ ...usdc, to: 'USDC@69696969', recipient: hidden });
  },
  async unshield() {
    await quote({ ...usdc, from: 'USDC@69696969' });
  },
  async signing() {
    wallet({ rdns: 'other.example', does: { eth_requestAccounts: forever } });
    await quote(usdc);
    await until(() => $('wallet'));
    type('wallet', 'other.example');
    sendButton().click();
    await until(() => named('Stop waiting'));
  },
  async 'on its way'() {
    await quote(usdc);
    sendButton().click();
    await status('On its way');
  },
  async unclear() {
    wallet({ rdns: 'other.example', does: { eth_sendTransaction: () => refuse(-32603) } });
    await quote(eth);
    await until(() => $('wallet'));
    type('wallet', 'other.example');
    sendButton().click();
    await status('We do not know');
  },
  async failed() {
    told({ state: 'FAILED', final: true, reason: 'paused' });
    track();
    await until(alertText);
  },
  async 'not a swap'() {
    told({ state: 'NOT_A_SWAP', final: true, swap: undefined });
    track();
    await until(alertText);
  },
  async 'not found'() {
    told({ state: 'NOT_FOUND', source: undefined, swap: undefined });
    track();
    await status('Not found');
  },
  async late() {
    told({ expectedSeconds: 13, contact: 'help@example.org' });
    later(31 * 60);
    track();
    await status('Not arrived yet');
  },
  async done() {
    arrived();
    track();
    await status('Complete');
  },
  async 'first of two'() {
    arrived();
    visit(`/?then=USDC%4042161&chain=1&tx=${'0x' + 'a'.repeat(64)}`);
    await status('Complete');
  },
  async developers() {
    $('old').value = `/v1/quote${byQuery}`;
    $('move-form').querySelector('button').click();
    await until(() => $('moved').innerText && $('lives').innerText);
  },
};

// What people and scripts rely on: names of controls, IDs, and that nothing is cut off.
function namesAmiss() {
  const problems = [];
  const ownNames = (control) => [...control.labels].map((label) => label.textContent.trim()).join(' ');
  const nameOf = (control) => control.getAttribute('aria-label') ?? ownNames(control);
  for (const control of document.querySelectorAll('input, select, textarea')) {
    if (!nameOf(control)) problems.push(`${control.id} has no label`);
  }
  for (const button of buttons()) {
    if (!button.textContent.trim() && !button.getAttribute('aria-label')) problems.push('a button without a name');
  }
  const ids = [...document.querySelectorAll('[id]')].map((element) => element.id);
  if (new Set(ids).size !== ids.length) problems.push('an ID is there twice');
  const { scrollWidth, clientWidth } = document.documentElement;
  if (scrollWidth > clientWidth) problems.push('the page scrolls sideways');
  for (const cell of document.querySelectorAll('td')) {
    if (cell.scrollWidth > cell.clientWidth) problems.push(`a cell is cut off: ${cell.innerText}`);
  }
  const wanted = { 'from-chain': 'From chain', 'to-token': 'To token', amount: 'Amount', recipient: 'Recipient' };
  for (const [id, name] of $('form') ? Object.entries(wanted) : []) {
    if (nameOf($(id)) !== name) problems.push(`${id} is not called ${name}`);
  }
  return problems;
}
async function rulesBroken(runOnly) {
  const { violations } = await axe.run(document, { runOnly, resultTypes: ['violations'] });
  const place = ({ html, failureSummary }) => `${html.slice(0, 150)} ${failureSummary.slice(0, 150)}`;
  return violations.map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map(place).join(' | ')}`);
}

// Whether all that a selector names is on the screen, and the card is one and in the middle.
const visible = (selector) => [...document.querySelectorAll(selector)].filter((one) => one.checkVisibility());
function fits(name, selector) {
  const places = visible(selector).map((one) => one.getBoundingClientRect());
  const isWhole = places.length >= selector.split(',').length;
  const isSeen = isWhole && places.every(({ top, bottom }) => top >= 0 && bottom <= innerHeight);
  const cards = visible('.card');
  const { left, right, width } = cards[0].getBoundingClientRect();
  const { clientWidth, scrollWidth } = document.documentElement;
  const isInTheMiddle = width <= 482 && Math.abs(left + right - document.body.clientWidth) <= 2;
  const isCentred = cards.length === 1 && isInTheMiddle && scrollWidth <= clientWidth;
  note(name, isSeen && isCentred ? 'fits' : JSON.stringify([places, isCentred]));
}
// How far the parts of the page were moved by themselves, since it began to load.
async function shifts() {
  let sum = 0;
  const where = [];
  new PerformanceObserver((list) => {
    for (const { value, hadRecentInput, sources } of list.getEntries()) {
      if (hadRecentInput) continue;
      sum += value;
      where.push(...sources.map(({ node }) => node?.id || node?.className || node?.nodeName));
    }
  }).observe({ type: 'layout-shift', buffered: true });
  for (let i = 0; i < 3; i++) await new Promise((done) => requestAnimationFrame(() => realTimeout(done)));
  note('shifts', sum <= 0.05 ? 'little' : `${sum} ${where}`);
}
function animations() {
  const parts = [...document.querySelectorAll('*')].flatMap(
    (one) => [null, '::before', '::after'].map((part) => getComputedStyle(one, part)));
  note('moves', parts.some(({ animationName }) => animationName !== 'none'));
}
async function sends() {
  wallet();
  await quote(usdc);
  sendButton().click();
}

Object.assign(scripts, {
  async 'go to'(state) {
    wallet();
    await states[state]();
  },
  async accessible(isWhole) {
    const rules = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];
    return rulesBroken(isWhole ? rules : { type: 'rule', values: ['color-contrast', 'target-size'] });
  },
  'names amiss': namesAmiss,

  async 'still while it quotes'() {
    fits('empty', '#ask');
    wallet({ account: rich, code: '0x' });
    await connect();
    await until(() => $('recipient').value && $('balance').innerText);
    fits('connected', '#ask');
    await quote({ amount: '100' });
    fits('quoted', '.big, .good, .caution, #whom, #send-button');
    note('finger', sendButton().getBoundingClientRect().height >= 44);
    await shifts();
  },
  async 'still while it swaps'() {
    await sends();
    await status('On its way');
    fits('sent', '#steps');
    await shifts();
  },
  async 'still while a link is quoted'() {
    await quoted();
    await shifts();
  },
  async 'still while a transaction is followed'() {
    await status('On its way');
    fits('sent', '#steps');
    await shifts();
  },
  async 'still while a swap is late'() {
    await status('On its way');
    later(300);
    await status('Not arrived yet');
    await shifts();
  },
  async 'still while a swap fails'() {
    await status('On its way');
    told({ state: 'FAILED', final: true });
    await until(alertText);
    await shifts();
  },
  async 'still while a swap arrives'() {
    await status('On its way');
    arrived();
    await status('Complete');
    await shifts();
  },
  'where the button is'() {
    $('ask').scrollIntoView({ block: 'center' });
    const { left, top, width, height } = $('ask').getBoundingClientRect();
    window.moves = [];
    for (const name of ['mousedown', 'mouseup']) {
      addEventListener(name, () => window.moves.push($('ask').getBoundingClientRect().top), true);
    }
    return [left + width / 2, top + height / 2];
  },
  async 'was pressed where it was'() {
    await quoted();
    note('moves', moves.length === 2 && moves[0] === moves[1]);
  },
  async 'types and looks'() {
    $('change').click();
    const tops = new Set();
    for (const [id, value] of [['recipient', alice], ['amount', '1'], ['recipient', '0x'], ['amount', '']]) {
      type(id, value);
      await new Promise(requestAnimationFrame);
      tops.add(Math.round($('ask').getBoundingClientRect().top + scrollY));
    }
    note('tops', tops.size);
  },

  async 'is complete'() { await status('Complete'); },
  async 'is sent, and moves'() {
    await status('Sent');
    animations();
  },
  animations,
  paper: () => document.body.innerText,
  'main and what is dead'() {
    const controls = visible('button, input, select, textarea, summary');
    return `${document.querySelector('main').innerText} ${controls.length} dead`;
  },

  async 'hears each step'() {
    const heard = [];
    for (const place of document.querySelectorAll('[role=alert], [role=status], [aria-live=polite]')) {
      let last; // a place that says again what it says already is not heard again
      const listen = () => {
        const words = place.textContent.trim();
        if (words && last !== words) heard.push(words);
        last = words;
      };
      new MutationObserver(listen).observe(place, { childList: true, subtree: true, characterData: true });
    }
    await sends();
    await status('arrived');
    await pause(50);
    const steps = ['Connect your account', '1 of 2: sign the approval', '2 of 2: sign the swap',
      'Waiting for confirmation', 'On its way', '99.7 USDC arrived on'];
    note('heard', steps.map((words) => heard.filter((one) => one.includes(words)).length));
  },
  async 'types while it settles'() {
    $('track').open = true;
    $('tx').focus();
    await status('arrived');
  },
  async 'holds a button while it settles'() {
    (await until(() => named('New swap'))).focus();
    await status('arrived');
  },
  async 'connects and disconnects'() {
    wallet();
    named('Connect').focus();
    await connect();
    note('menu', document.activeElement.textContent);
    await press('Disconnect');
  },

  async 'poses for a picture'(state) {
    wallet();
    await states[state]();
    document.activeElement.blur();
    scrollTo(0, 0);
  },
  async 'poses with a quote'() {
    wallet();
    await quote(usdc);
    document.documentElement.style.overflow = 'hidden';
    document.activeElement.blur();
    scrollTo(0, 0);
  },
});
