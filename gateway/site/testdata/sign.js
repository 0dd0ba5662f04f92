// The scripts of sign_test.go, by group. What a row says in Go by its name is looked up in a table here.
{
  const forms = { usdc, usdt, eth };
  const paying = (pay) => ({ does: { eth_sendTransaction: pay } });
  const other = { name: 'Other', rdns: 'other' };
  const refusing = (asked = () => {}) => ({ request: async ({ method }) => { asked(method); throw { code: 4001 }; } });
  const batching = (status) => ({ does: batches({ wallet_getCallsStatus: status }) });

  // send: the wallets of rows that need no more than a wallet.
  const wallets = {
    'allowance in place': { allowance: '0x5f5e100' },
    reset: { allowance: '0x1' },
    'switch refused': { chain: '0x38', does: { wallet_switchEthereumChain: () => refuse(4001) } },
    'not switched': { chain: '0x38', does: { wallet_switchEthereumChain: () => null } },
    'chain changes': { does: { eth_chainId: () => (transactions().length ? '0x38' : '0x1') } },
    'no account': { does: { eth_requestAccounts: () => [] } },
    'account gone': { does: { eth_accounts: () => [] } },
    'swap refused': paying(once(hash, () => refuse(4001))),
    'too little': { balance: '0x5f5e0ff' },
    'no contract': { code: '0x' },
    'no words': { does: { eth_requestAccounts: () => { throw undefined; } } },
  };
  Object.assign(scripts, {
    async 'send: once'(name, form) {
      wallet(wallets[name]);
      await quote(forms[form]);
      await send();
      note('value', transactions()[0]?.value);
    },
    async 'send: approval and swap'() {
      let body;
      alterText('/v3/swap/quote', (text) => { body = JSON.parse(text); return text; });
      wallet({ chain: '0x38' });
      await quote(usdc);
      await send();
      const [approval, swap] = transactions();
      note('approval', [approval.to, approval.data.slice(0, 10), approval.from, approval.chainId]);
      note('swap', [swap.to, swap.data === body.methodParameters.calldata, swap.value, swap.from, swap.chainId]);
    },
    async 'send: batch'() {
      wallet(batching(() => ({ status: 200, receipts: [{ transactionHash: hash() }] })));
      await quote(usdc);
      await send();
      const { params: [{ calls: [approval, swap] }] } = calls.find(({ method }) => method === 'wallet_sendCalls');
      note('batch', [approval.data.slice(0, 10), swap.to]);
    },
    async 'send: shield'() {
      wallet();
      await quote({ ...usdc, to: 'USDC@69696969', recipient: hidden });
      note('before', sendButton().disabled);
      $('consent').click();
      await send();
    },
    async 'send: switch'() {
      wallet({ chain: '0x38' });
      await connect();
      await until(() => shown('wallet-row').includes('BNB Smart Chain'));
      await quote(usdc);
      note('label', $('send-button').textContent);
      $('send-button').click();
      await status('cannot follow');
    },
    async 'send: unknown network'() {
      let added;
      let chain = '0x38';
      wallet({ does: {
        eth_chainId: () => chain,
        wallet_switchEthereumChain: ([{ chainId }]) => {
          if (!added) refuse(4902);
          chain = chainId;
          return null;
        },
        wallet_addEthereumChain: ([to]) => {
          added = to;
          return null;
        },
      } });
      await quote(usdc);
      await send();
      note('told', alertText());
      await until(() => $('node'));
      $('node').value = 'node.example';
      await press('Add network');
      await until(() => alertText() !== '');
      note('wrong', alertText());
      $('node').value = 'https://node.example';
      await press('Add network');
      await until(() => !$('node'));
      note('added', JSON.stringify(added));
      await send();
    },
    async 'send: silent node'() {
      wallet({ does: { eth_getCode: () => refuse(4200), eth_sendTransaction: forever } });
      await quote(usdc);
      sendButton().click();
      await until(() => transactions().length);
    },
    async 'send: closed wallet'() {
      wallet({ does: { eth_requestAccounts: forever } });
      await quote(usdc);
      sendButton().focus();
      sendButton().click();
      await until(() => named('Stop waiting'));
      note('waits', `${document.activeElement.textContent}, ${shown('waiting')}`);
      for (let i = 0; i < 2; i++) $('send-button').click();
      named('Stop waiting').focus();
      named('Stop waiting').click();
      await until(alertText);
      note('asked', calls.length);
    },
  });

  // never twice: a visitor who does not believe it, and presses everything that looks like sending.
  const insist = async () => {
    note('told', alertText());
    for (const words of ['Swap ', 'Confirm in', 'Review swap']) named(words)?.click();
    if (statusText().includes('We do not know')) named('New swap').click();
    await pause(100);
    note('payments', payments());
  };
  const misbehaves = {
    'request expires': { form: eth, has: paying(() => refuse(-32603, 'Request expired')), says: 'We do not know' },
    'swap after an approval': {
      form: usdc, has: paying(once(hash, () => refuse(-32000, 'nonce too low'))), says: 'We do not know',
    },
    'batch is silent': { form: usdc, has: batching(() => refuse(-32603)), says: 'does not report its progress' },
    'batch is pending': { form: usdc, has: batching(() => ({ status: 100 })), says: 'is executing the batch' },
    'batch without receipts': {
      form: usdc, has: batching(() => ({ status: 200 })), says: 'does not say in which transaction',
    },
    'batch fails': { form: usdc, has: batching(() => ({ status: 500 })), says: 'batch failed' },
    'batch in part': { form: usdc, has: batching(() => ({ status: 600 })), says: 'part of the batch' },
  };
  // A wallet that is asked, and answers when it is told: with a hash, or by refusing.
  const hold = async () => {
    let release;
    const held = new Promise((done, fail) => { release = (sent) => (sent ? done(sent) : fail({ code: 4001 })); });
    wallet(paying(() => held));
    await quote(eth);
    sendButton().click();
    await until(payments);
    return release;
  };
  const stopWaiting = async () => {
    await press('Stop waiting');
    await status('We do not know');
  };
  Object.assign(scripts, {
    async 'never twice: misbehaves'(name) {
      const { form, has, says } = misbehaves[name];
      wallet(has);
      await quote(form);
      sendButton().click();
      await until(() => (alertText() + statusText()).includes(says));
      await insist();
    },
    async 'never twice: visitor does other things'() {
      const release = await hold();
      announce(other, refusing());
      await until(() => shown('wallet-row').includes('0x9d78'));
      type('pin', 'x');
      type('pin', '');
      await until(() => $('pin-hint').textContent.startsWith('Nothing'));
      type('amount', '0.6');
      $('ask').click();
      pick('from', 'USDC@1');
      $('flip').click();
      dispatchEvent(new PopStateEvent('popstate'));
      release(hash());
      await status('Sent');
      await insist();
    },
    async 'never twice: visitor stops waiting'() {
      await hold();
      await stopWaiting();
      await insist();
    },
    async 'never twice: hash comes late'() {
      const release = await hold();
      await stopWaiting();
      release(hash());
      await status('Sent');
      await insist();
    },
    async 'never twice: late refusal'() {
      const release = await hold();
      await stopWaiting();
      note('before', named('New swap').disabled);
      $('sure').click();
      note('sure', named('New swap').disabled);
      release();
      await until(alertText);
    },
    async 'never twice: what is pinned changes'() {
      wallet(paying(() => {
        type('pin', 'no listing');
        return hash();
      }));
      await quote(usdc);
      await send();
    },
    async 'never twice: refused, then signed'() {
      wallet(paying(once(() => refuse(4001), hash)));
      await quote(eth);
      await send();
      sendButton().click();
      await status('Sent');
    },
    async 'never twice: too little money'() {
      wallet({ does: {
        eth_sendTransaction: () => refuse(-32000, 'insufficient funds for gas * price + value'),
        eth_getTransactionCount: () => '0x7',
        eth_getBlockByNumber: () => ({ transactions: [] }),
      } });
      await quote(eth);
      const heard = listenTo($('said'));
      await send();
      note('heard', heard.join().includes('Checking whether the swap was sent anyway'));
    },
  });
  const listenTo = (place) => {
    const heard = [];
    new MutationObserver(() => heard.push(place.textContent)).observe(place, { childList: true });
    return heard;
  };

  // two tabs: the wallets of both send through one node, /test/node.
  const node = async (method, params = []) => {
    const answer = await fetch('/test/node', { method: 'POST', body: JSON.stringify({ method, params }) });
    return answer.json();
  };
  const onNode = (pay) => wallet({ does: {
    eth_blockNumber: () => node('eth_blockNumber'),
    eth_getBlockByNumber: (params) => node('eth_getBlockByNumber', params),
    eth_sendTransaction: pay,
  } });
  Object.assign(scripts, {
    async 'two tabs: first asks'() {
      const open = new Promise((done) => { window.sign = done; });
      onNode(async (params) => {
        await open;
        return node('eth_sendTransaction', params);
      });
      await quote(eth);
      sendButton().click();
      return until(payments);
    },
    // Its own wallet sends, and then says that it failed.
    async 'two tabs: second asks'() {
      onNode(async (params) => {
        await node('eth_sendTransaction', params);
        refuse(-32603, 'Request expired');
      });
      await quote(eth);
      await send();
      return alertText() + payments();
    },
    async 'two tabs: first signs'() {
      window.sign();
      await until(isSwap);
      return location.hash;
    },
    async 'two tabs: second asks again'() {
      sendButton().click();
      return status('We do not know');
    },
    // The block is looked through more than once.
    async 'two tabs: first is mined'() {
      await node('mine');
      await until(() => calls.some(({ method, params }) => method === 'eth_getBlockByNumber' && params[0] === '0x1'));
      const then = calls.length;
      await until(() => calls.length > then + 6);
      return statusText() + location.hash;
    },
    async 'two tabs: second is mined'() {
      await node('mine');
      await until(isSwap);
      return location.hash;
    },
  });

  // account: who connects, and what the page did before.
  const connects = {
    'delegated account': { code: '0xef0100' + 'ab'.repeat(20) },
    contract: {},
    'typed before': { code: '0x', before: () => type('recipient', alice) },
    'from a link': { code: '0x', before: () => visit('?recipient=' + alice) },
  };
  const success = { gasUsed: 50000, gasLimit: 70000, status: 'SUCCESS' };
  const dryRuns = {
    succeeds: { calls: [success, { ...success, gasUsed: 73456 }] },
    'would fail': { calls: [{ ...success, gasLimit: 0, status: 'FAILED', error: 'paused' }] },
    'without the event': { calls: [success], event: false },
    'no gas': { calls: [success], native: { actual: '1', needed: '2' } },
    'little gas': { calls: [success], native: { actual: '1000000000000000000', needed: '123456789' } },
  };
  const connected = async () => {
    wallet({ code: '0x' });
    await connect();
    await press('Disconnect');
    await connect();
    await until(() => $('recipient').value);
    await quote({ amount: '100' });
    note('listeners', Object.values(listeners).map((list) => list.length));
  };
  Object.assign(scripts, {
    async 'account: fills'(name, words) {
      const { code, before = () => {} } = connects[name];
      before();
      wallet({ code });
      await connect();
      await until(() => $('recipient-hint').textContent.includes(words));
    },
    async 'account: another destination and back'() {
      wallet({ code: '0x' });
      await connect();
      await until(() => $('recipient').value);
      pick('to', 'USDC@69696969');
      note('private', $('recipient').value);
      pick('to', 'USDC@369');
      await quote({ amount: '100' });
    },
    async 'account: refused'() {
      wallet({ does: { eth_requestAccounts: () => refuse(4001) } });
      named('Connect').click();
      await until(() => alertText().includes('rejected'));
    },
    async 'account: locked'() {
      let unlock;
      wallet({ does: { eth_requestAccounts: () => new Promise((done) => { unlock = done; }) } });
      named('Connect').focus();
      named('Connect').click();
      await until(() => unlock && alertText().includes('unlock'));
      note('told', alertText());
      unlock([]);
      await until(() => alertText().includes('gave no account'));
    },
    async 'account: changes'(event, value, recipient) {
      await connected();
      tell(event, value);
      await until(() => $('recipient').value === recipient);
    },
    async 'account: no change'() {
      await connected();
      tell('accountsChanged', [sender.toLowerCase()]);
      tell('chainChanged', '0x1');
    },
    async 'account: balance'() {
      wallet({ account: rich });
      await connect();
      await until(() => $('balance').innerText.includes('Balance'));
      named('Use my address').click();
      document.querySelector('#balance .small').click();
    },
    'account: quote': (form) => quote(forms[form]),
    async 'account: dry run'(name) {
      const native = { actual: '1000000000000000000', needed: '2000000000000000' };
      const simulation = { blockNumber: 7, native, event: true, ...dryRuns[name] };
      alter('/v3/swap/quote', 'details.simulation', simulation);
      await quote(usdc);
      restore();
    },
    async 'account: too little'() {
      alter('/v3/swap/quote', 'details.checks.balance.actual', '99999999');
      await quote(usdc);
      restore();
    },
    async 'gas: balance'() {
      if (named('Disconnect')) named('Disconnect').click();
      else wallet({ account: rich });
      fill(eth);
      await connect();
      await until(() => $('balance').innerText.includes('Balance'));
      note('balance', $('balance').innerText);
      const max = [...document.querySelectorAll('#balance button')].find((button) => button.textContent === 'Max');
      max?.click();
      note('max', max ? $('amount').value : 'none');
    },
    async 'gas: most'() {
      await scripts['gas: balance']();
      await quote();
    },
    'gas: quote': (amount) => quote({ amount }),
  });

  // recipient: how one comes into the form.
  const comes = {
    'pasted URL': () => {
      paste('amount', 'https://x.example/v3/swap/quote' + byQuery);
      $('ask').click();
    },
    history: () => visit('/' + link),
    'link, other form': () => {
      pick('from', 'USDT@1');
      type('amount', '101');
      pick('to', 'USDC@69696969');
      pick('to', 'USDC@369');
      $('ask').click();
    },
    'link, typed anew': () => {
      type('recipient', alice);
      $('ask').click();
    },
    typed: async () => {
      await quote(usdc);
      dispatchEvent(new PopStateEvent('popstate'));
    },
  };
  const tickMeant = async () => (await until(() => $('meant'))).click();
  const beforeReload = {
    typed: () => quote(usdc),
    'typed, not asked': () => fill(usdc),
    confirmed: tickMeant,
    'confirmed and undone': async () => {
      await tickMeant();
      await tickMeant();
    },
  };
  const announced = () => wallet({ allowance: '0xffffffffff' });
  const ready = () => until(() => sendButton() && statusText().includes('You receive'));
  // The whole recipient, in groups of four, above the button.
  const seeRecipient = () => {
    const groups = document.querySelector('#whom .groups');
    const signs = sendButton()?.getBoundingClientRect().top ?? Infinity;
    const places = [...groups.children].map((group) => group.getBoundingClientRect());
    note('groups', [...groups.children].map((group) => group.textContent).join(' '));
    note('heard', `${document.querySelector('#whom .unseen').firstChild.data} ${groups.ariaHidden}`);
    note('seen', places.every(({ width, right, bottom }) => width && right <= innerWidth && bottom <= signs));
  };
  Object.assign(scripts, {
    async 'recipient: comes'(name) {
      announced();
      await comes[name]?.();
      await ready();
    },
    async 'recipient: confirmed'() {
      announced();
      await ready();
      const look = () => `${sendButton().disabled} ${Boolean(document.querySelector('#answer .good'))}`;
      sendButton().disabled = false; // as an extension may, and a script of its own
      sendButton().click();
      note('asked', calls.length);
      note('label', $('meant').labels[0].textContent);
      for (const then of ['confirmed', 'withdrawn', 'confirmed again']) {
        $('meant').click();
        note(then, look());
      }
      announce(other, refusing());
      await until(() => $('wallet'));
      note('redrawn', look());
      type('wallet', 'test.example');
      await send();
    },
    async 'recipient: partner of a link'() {
      announced();
      await ready();
      note('label', $('meant-partner').labels[0].textContent);
      note('told', statusText());
      $('meant').click();
      note('left', sendButton().disabled + statusText());
      $('meant-partner').click();
      note('both', sendButton().disabled);
      $('meant').click();
      sendButton().click();
      note('asked', calls.length);
    },
    async 'recipient: unshield of a link'() {
      await until(() => $('meant'));
      note('before', cardText().includes('Calls for a RAILGUN wallet'));
      $('meant').focus();
      $('meant').click();
    },
    async 'recipient: whole address'() {
      wallet();
      await quote(usdc);
      seeRecipient();
    },
    async 'recipient: whole private address'() {
      wallet();
      await connect();
      await quote({ ...usdc, to: 'USDC@69696969', recipient: hidden });
      seeRecipient();
    },
    "recipient: one's own": () => quote({ ...usdc, recipient: sender.toLowerCase() }),
    "recipient: another's": () => quote(usdc),
    async 'recipient: before a reload'(name) {
      announced();
      await beforeReload[name]();
      return true;
    },
    async 'recipient: after a reload'() {
      announced();
      if (!statusText()) $('ask').click();
      await ready();
    },
    async 'keys: form'(clipboard) {
      wallet();
      if (location.search.includes('recipient')) {
        await quoted();
        $('change').click();
      }
      openAll();
      $('tx').value = clipboard;
      return true;
    },
    async 'keys: asks'() {
      $('ask').click();
      await ready();
    },
    'keys: wallet': () => {
      announced();
      return true;
    },
    'keys: quoted': quoted,
    'keys: folds': () => {
      for (const details of document.querySelectorAll('details')) details.open = false;
      return true;
    },
    'keys: sent': () => status('cannot follow'),
  });

  // clock: a wallet that is open until it is told what to answer.
  const openWallet = () => {
    const state = {};
    state.asks = () => new Promise((done, fail) => {
      state.answer = (sent) => (sent ? done(sent) : fail({ code: 4001 }));
    });
    return state;
  };
  const expired = () => until(() => shown('valid').includes('has expired') && shown('valid'));
  const isRenewed = () => sendButton() && !sendButton().hasAttribute('aria-disabled');
  const replaced = {
    'renewed, altered': [['"99450000"', '"99450001"']],
    'renewed, a higher rate': [
      [/0\.25/g, '0.5'], [/"250000"/g, '"500000"'], [/"99450000"/g, '"99200000"'], [/"550000"/g, '"800000"'],
      [/0\.55/g, '0.8'],
    ],
  };
  Object.assign(scripts, {
    async 'clock: renewed'() {
      wallet();
      await quote(usdc);
      sendButton().focus();
      let asked = 0;
      alterText('/swap/quote', (text) => {
        asked++;
        later(0);
        return text;
      });
      later(120);
      await until(() => shown('valid').includes('Renewing'));
      sendButton().click();
      await until(() => asked && isRenewed());
      note('asked', `${asked} ${calls.length}`);
    },
    async 'clock: renewed otherwise'(name) {
      wallet();
      await quote({ ...usdc, integrator: partner });
      alterText('/swap/quote', (text) => {
        later(0);
        return replaced[name].reduce((body, [from, to]) => body.replace(from, to), text);
      });
      later(120);
      await until(alertText);
    },
    async 'clock: while signing'() {
      const heard = listenTo($('said'));
      const open = openWallet();
      let allowed = '0x0';
      const read = ([{ data }]) => (data.startsWith('0x70a08231') ? '0xffffffffffff' : allowed);
      wallet({ does: { eth_sendTransaction: open.asks, eth_call: read } });
      await quote(usdc);
      sendButton().click();
      await until(payments);
      later(30);
      await until(() => /Expires in (2\d|30) s/.test(shown('valid')));
      later(90);
      note('approval', await expired());
      allowed = '0xffffffffffff';
      open.answer(hash());
      note('then', await until(alertText));
      note('renewed', shown('valid') + transactions().length);
      sendButton().click();
      await until(() => transactions().length === 2);
      later(200);
      note('swap', await expired());
      open.answer('0x' + 'b'.repeat(64));
      await status('cannot follow');
      const steps = [
        '1 of 2: sign the approval', 'expired. The approval', '1 of 1: sign the swap', 'expired. If you sign now',
      ];
      note('heard', steps.map((words) => heard.join('|').split(words).length - 1));
    },
    async 'clock: refused after the end'() {
      const open = openWallet();
      wallet({ allowance: '0xffffffffff', does: { eth_sendTransaction: open.asks } });
      await quote(usdc);
      sendButton().click();
      await until(payments);
      later(90);
      await expired();
      open.answer();
      note('refused', await until(alertText));
      later(0);
      await until(isRenewed);
    },
    async 'clock: ended before anything was asked'() {
      let connect;
      wallet({ does: { eth_requestAccounts: () => new Promise((done) => { connect = () => done([sender]); }) } });
      await quote(usdc);
      sendButton().click();
      await until(() => connect);
      later(90);
      note('words', await expired());
      connect();
      await until(() => alertText().includes('expired'));
    },
  });

  // wallets: those that the page offers.
  const offered = () => [...document.querySelectorAll('#wallet-row button')].map((button) => button.textContent);
  const offers = (words) => until(() => offered().join().includes(words));
  const real = () => announce({ name: 'Real', rdns: 'org.real' }, refusing());
  const injects = () => { window.ethereum = refusing(); };
  const sendsInjected = async () => {
    await until(sendButton);
    note('injected', sendWords() + shown('wallet-row'));
    await send();
    real();
    await offers('Connect Real');
  };
  Object.assign(scripts, {
    async 'wallets: flood'() {
      addEventListener('eip6963:requestProvider', real);
      real();
      for (let i = 0; i < 2000; i++) announce({ name: 'Real', rdns: 'com.fake' + i }, refusing());
      await offers('com.fake1999');
      note('flooded', offered().length);
      await quote(usdc);
      await offers('Real (org.real)');
      note('choice', [...$('wallet').options].map((option) => option.textContent));
      announce({ name: 'Late', rdns: 'org.late' }, refusing());
      await offers('Late');
      note('late', offered());
    },
    async 'wallets: names'() {
      const asked = [];
      for (const [i, rdns] of ['org.one', 'ORG.one', 'org\u200b.one', 'org.two'].entries()) {
        announce({ name: 'Wallet ' + i, rdns }, refusing(() => asked.push(i)));
      }
      await offers('Wallet 3');
      note('one', offered());
      named('Wallet 0').click();
      await until(() => alertText().includes('rejected'));
      note('asked', asked);
      const turned = '\u202eksaMateM\u202c \u2066Meta\u200bMask\u2069\ufeff\u3164\u2800\ufe0f \n  \u00ad!';
      announce({ name: turned, rdns: '\u202eio.metamask\u0000' }, refusing());
      announce({ name: '\u200b\u2060', rdns: 'org.empty' }, refusing());
      announce({ name: 'Alike', rdns: 'io.m\u0435tamask' }, refusing());
      await offers('Alike');
    },
    async 'wallets: thief'() {
      wallet();
      await connect();
      let stolen = 0;
      announce({ name: 'Thief', rdns: 'test.example' }, refusing(() => { stolen++; }));
      for (let i = 0; i < 100; i++) announce({ name: 'More', rdns: 'more' + i }, refusing());
      await quote(usdc);
      await until(() => $('wallet'));
      type('wallet', 'test.example');
      await send();
      note('stolen', stolen);
    },
    async 'wallets: window.ethereum'() {
      injects();
      await quote(usdc);
      await sendsInjected();
    },
    async 'wallets: window.ethereum, late'() {
      await quote(usdc);
      injects();
      dispatchEvent(new Event('ethereum#initialized'));
      await sendsInjected();
    },
    'wallets: none': () => quote(usdc),
    async 'wallets: none on a phone'() {
      await quote(usdc);
      let copied;
      const clipboard = { writeText: async (text) => { copied = text; } };
      Object.defineProperty(navigator, 'clipboard', { value: clipboard, configurable: true });
      document.querySelector('[aria-label="Copy the link to this page"]').click();
      await until(() => copied);
      note('copied', copied);
      note('apps', [...document.querySelectorAll('#send .risk a')].map(({ href }) => href));
    },
  });

  // card: what a quote shows.
  const quotes = {
    pool: usdc,
    burn: { ...usdc, from: 'USDC@59144', integrator: partner },
    shield: { ...usdc, to: 'USDC@69696969', recipient: hidden },
    unshield: { ...usdc, from: 'USDC@69696969' },
    'two swaps': { ...usdc, to: 'USDC@42161' },
    'too little for the second': { ...usdc, to: 'USDC@42161', amount: '10' },
  };
  const visible = (selector) => [...document.querySelectorAll(selector)].filter((one) => one.checkVisibility());
  Object.assign(scripts, {
    async 'card: route'(name) {
      wallet({ account: rich });
      await connect();
      await quote(quotes[name]);
      openAll();
      const spoken = (item) => item.textContent.replace(/0x[0-9a-f]{40}|Copy/gi, '').replace(/\s+/g, ' ');
      note('route', [...document.querySelectorAll('.route li')].map(spoken).join(' → '));
      note('legs', visible('.legs li').map((leg) => leg.innerText.replace(/\s*\n\s*/g, ' ')).join('; '));
      note('caution', visible('.caution').map((one) => one.textContent).join(' '));
    },
    // Waits for a quote that does not come, and then for one that does.
    async 'card: waiting'() {
      let answer;
      window.fetch = async (path, options) => {
        const isQuote = String(path).includes('/swap/quote');
        if (isQuote) await new Promise((done) => { answer = done; });
        return original(path, options);
      };
      fill(usdc);
      $('ask').click();
      await until(() => answer);
      const bones = visible('.bone');
      note('bones', bones.length > 5 && bones.every((bone) => bone.ariaHidden === 'true' && !bone.innerText));
      note('told', statusText());
      restore();
      answer();
      await quoted();
      note('left', visible('.bone').length);
    },
    'card: quoted': quoted,
    'card: paper': () => document.body.innerText,
    async 'card: tiny fee'() {
      await scripts['account: dry run']('little gas');
      const digits = document.querySelector('dd .digits');
      note('fee', `${digits.closest('dd').innerText}; ${digits.ariaLabel}`);
      digits.click();
    },
  });
}
