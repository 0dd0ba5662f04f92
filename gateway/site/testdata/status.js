// The scripts of status_test.go, and what brings the page to a status.
const told = (more) => alterText('/swap/status', (text) => JSON.stringify({ ...JSON.parse(text), ...more }));
const arrived = () => told({
  state: 'SETTLED', final: true, source: { blockNumber: 9, confirmations: 12, timestamp: '2026-11-15T12:00:00Z' },
  settlement: {
    chainId: 369, txHash: '0x' + 'b'.repeat(64), amount: '99700000', arrived: '99700000',
    timestamp: '2026-11-15T12:00:13Z',
  },
});
const noteControls = () => {
  const names = [...document.querySelectorAll('#rest .buttons button')].map(
    ({ textContent, className }) => textContent + (className === 'second' ? '' : ' (primary)'));
  note('buttons', names.join(', '));
  note('links', [...document.querySelectorAll('#card a')].map(({ href }) => href));
};
Object.assign(scripts, {
  // A second payment needs a look into the wallet, unless the page knows what became of the first.
  async 'sends, and is told'(ready) {
    wallet({ does: { eth_blockNumber: () => '0x64', eth_getBlockByNumber: () => null } });
    await quote(usdc);
    sendButton().click();
    await until(() => (alertText() + cardText()).includes(ready));
    noteControls();
    if (!$('sure')) return;
    note('new swap', named('New swap').disabled ? 'needs a look' : 'is free');
    note('seen', see());
    $('ask').click();
    if (payments() !== 2 || sendButton()) throw new Error('it can be sent again');
    $('sure').click();
    named('New swap').click();
    await until(() => !statusText());
  },
  async 'opens'(ready) {
    await until(() => cardText().includes(ready));
    noteControls();
  },
  async 'opens, and the gateway falls silent'(ready) {
    await until(() => cardText().includes('Taking longer'));
    window.fetch = () => Promise.reject(new TypeError('gone'));
    await scripts.opens(ready);
    restore();
  },
  async 'tracks by the field'() {
    $('track').open = true;
    $('tx').value = '0x12';
    named('Track').click();
    note('wrong', alertText() + document.activeElement.id);
    track('8453');
    await status('Complete');
    note('card', cardText());
    note('hash', location.hash);
    named('New swap').click();
  },
  async 'signs the second swap'() {
    await press('Continue to Arbitrum One');
  },
  async 'waits'() {
    const since = Date.parse('2026-11-15T12:00:00Z');
    const elapsed = (seconds, words) => {
      Date.now = () => since + seconds * 1000;
      return until(() => $('elapsed')?.innerText.includes(words) && $('elapsed').innerText);
    };
    note('early', await elapsed(75, '1 min 15 s elapsed'));
    note('at twice the time', await elapsed(180, 'Taking longer'));
    note('late', await elapsed(7500, '2 h 5 min'));
  },
  async 'goes back'() {
    const back = async (ready) => {
      history.back();
      await until(ready);
    };
    wallet();
    const start = history.length;
    await quote(usdc);
    await quote({ amount: '200' });
    await quote({ amount: '200' });
    note('entries', history.length - start);
    await back(() => location.search.includes('amount=100') && statusText().includes('99.7'));
    await until(sendButton);
    for (const box of document.querySelectorAll('#send input[type=checkbox]')) box.click();
    sendButton().click();
    await status('On its way');
    const swap = location.hash;
    named('New swap').click();
    note('fresh', location.href + statusText());
    await back(() => location.hash === swap && statusText().includes('On its way'));
    note('found', cardText());
    await back(() => location.search.includes('amount=100') && named('Show status'));
    note('sent', cardText() + Boolean(sendButton()));
    named('Show status').click();
    await until(() => location.hash === swap && statusText().includes('On its way'));
  },
  async 'goes back while signing'() {
    let release;
    const held = new Promise((done) => { release = () => done(hash()); });
    wallet({ allowance: '0xffffffffff', does: { eth_sendTransaction: () => held } });
    await quote({ ...usdc, amount: '300' });
    await quote(usdc);
    sendButton().click();
    await until(payments);
    const returned = new Promise((done) => addEventListener('popstate', done, { once: true }));
    history.back();
    await returned;
    await until(() => location.search.includes('amount=100'));
    note('during', $('send-button').textContent);
    release();
    await until(isSwap);
  },
});
