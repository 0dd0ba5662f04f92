// The scripts of form_test.go. What it declares is its own.
{
  const people = { alice, partner, hidden, 69696969: hidden, long: `${'Harbour '.repeat(7)}wallet` };
  const formOf = (form = {}) => Object.fromEntries(
    Object.entries({ ...usdc, ...form }).map(([name, value]) => [name, people[value] ?? value])
  );
  // As type, but without leaving the field: a browser slows down who changes its history too often.
  const enter = (id, value) => {
    $(id).value = value;
    $(id).dispatchEvent(new InputEvent('input', { bubbles: true, inputType: 'insertFromPaste' }));
  };
  const frame = () => new Promise(requestAnimationFrame);
  const visible = (selector) => [...document.querySelectorAll(selector)].filter((one) => one.checkVisibility());

  // What a row does in a word or two, with its form.
  Object.assign(scripts, {
    fill: (form) => fill(formOf(form)),
    type: (id, value) => type(id, value),
    ask: () => quote(),
    quote: (form) => quote(formOf(form)),
    quoted,
    alert: () => until(alertText),
    'meets a wallet': async () => {
      wallet();
      await until(sendButton);
    },
    'asks with a wallet': async (form) => {
      wallet();
      await quote(formOf(form));
    },
    'asks and hears a lie': async (path, value) => {
      wallet();
      alter('/v3/swap/quote', path, value);
      await quote(usdc);
      restore();
    },
    'asks and is robbed': async () => {
      const stolen = (text) => text.replaceAll(alice.slice(2).toLowerCase(), partner.slice(2).toLowerCase());
      alterText('/v3/swap/quote', stolen);
      await quote(usdc);
      restore();
      note('fields', [...$('alert').querySelectorAll('details li')].map((item) => item.textContent).join('|'));
    },
    'asks, waits and is told': async () => {
      fill(usdc);
      $('ask').click();
      note('told', await until(() => statusText().includes('Retrying in') && statusText()));
      await until(alertText);
    },
    'asks until there is a quote': async () => {
      fill(usdc);
      $('ask').click();
      await quoted();
    },
    'tries again': async () => {
      await press('Try again');
      await quoted();
    },
  });

  Object.assign(scripts, {
    async 'loads, asks and checks'() {
      await quote(usdc);
      const isScript = ({ name }) => new URL(name).pathname.endsWith('.js');
      const files = performance.getEntriesByType('resource').filter(isScript);
      note('files', files.length < 18 ? 'few' : files.map(({ name }) => name));
    },
    async 'shows what cannot be signed'(form) {
      wallet();
      if (form) await quote(formOf(form));
      await quoted();
      wallet();
      window.ethereum = { request: async () => [] };
      dispatchEvent(new Event('ethereum#initialized'));
      note('banner', $('reference').innerText);
      const isAbove = $('reference').compareDocumentPosition($('form')) & Node.DOCUMENT_POSITION_FOLLOWING;
      note('above', Boolean(isAbove));
      note('asked', calls.length);
      const words = buttons().map(({ textContent }) => textContent);
      note('signs', words.filter((one) => /Sign|Connect|Swap /.test(one)));
    },
    'fits'() {
      note('button', $('ask').getBoundingClientRect().bottom <= innerHeight);
      note('page', document.documentElement.scrollHeight <= innerHeight);
      note('figure', getComputedStyle($('amount')).fontSize);
    },
    chains: () => note('chains', [...$('from-chain').options].map((option) => option.textContent).join()),
    async estimate(form) {
      fill(formOf(form));
      await until(() => $('estimate').textContent !== '—');
    },
    flip(form) {
      fill(form);
      $('flip').click();
    },
    // Turns each pair round, and lists those where that leads elsewhere although the way back exists.
    'flips every pair'() {
      const { tokens, pairs } = JSON.parse($('listing').textContent);
      const keys = pairs.map(([from, to]) => [from, to].map((place) => `${tokens[place][1]}@${tokens[place][0]}`));
      const ways = new Set(keys.map(String));
      const now = () => [formNow().from, formNow().to];
      const wrong = keys.filter(([from, to]) => {
        for (const [side, key] of [['from', from], ['to', to]]) {
          const [token, chain] = key.split('@');
          enter(`${side}-chain`, chain);
          enter(`${side}-token`, token);
        }
        const [there, hasBack] = [String(now()), ways.has(`${to},${from}`)];
        $('flip').click();
        return there !== `${from},${to}` || hasBack && String(now()) !== `${to},${from}`;
      });
      note('wrong', wrong.join(' '));
    },
    'forgets the second swap'() {
      named('←').click();
      type('to-chain', '69696969');
    },
    pastes: (text) => paste('amount', text),
    'presses on'() {
      const said = [];
      const press = (form) => {
        fill(form);
        said.push($('ask').textContent);
        $('ask').click();
        said.push(`${document.activeElement.id} ${$('recipient-error').textContent && 'both'}`.trim());
      };
      press({ ...usdc, amount: '' });
      press({ amount: '5' });
      press({ amount: '100', recipient: '' });
      fill({ recipient: alice });
      note('said', [...said, $('ask').textContent].join(', '));
    },
    async 'refuses all at once'() {
      await quote({ ...usdc, amount: 'x', recipient: 'y', integrator: 'z' });
      note('errors', visible('.error').map((one) => one.innerText));
      type('amount', '100');
      note('corrected', $('amount').getAttribute('aria-invalid') + $('amount-error').textContent);
    },
    // Gives the addresses that the form calls mistyped when they are pasted.
    mistyped: (addresses) => addresses.filter((address) => {
      enter('recipient', address);
      const isRecipient = /typo/.test($('recipient-error').textContent);
      enter('integrator', address);
      if (isRecipient !== /typo/.test($('integrator-error').textContent)) throw new Error(`one field: ${address}`);
      return isRecipient;
    }),
    // Finds tokens and chains of the listing without a drawing of their own.
    marks() {
      const { tokens, chains, networks } = JSON.parse($('listing').textContent);
      const ids = Object.keys(chains).filter((id) => !(id in networks)).map((id) => `c${id}`);
      const drawings = new Map();
      const missing = [...new Set(tokens.map(([, symbol]) => symbol)), ...ids, 'private'].filter((id) => {
        const drawn = document.querySelector(`g#${id}`)?.innerHTML;
        const isOwn = drawn && !drawings.has(drawn);
        drawings.set(drawn, id);
        return !isOwn;
      });
      pick('from', 'USDT@1');
      for (const [mark, name] of [['from-mark', '#USDT'], ['from-chain-mark', '#c1']]) {
        if ($(mark).firstChild.getAttribute('href') !== name || !$(mark).getBBox().width) missing.push(mark);
      }
      note('marks', missing);
    },
    'opens Track'() {
      const isOpen = () => `${$('track').open} ${document.activeElement.id || document.activeElement.textContent}`;
      note('by link', isOpen());
      $('tx').dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape', bubbles: true }));
      note('escaped', isOpen());
      $('track').querySelector('summary').click();
      note('pressed', isOpen());
      $('amount').click();
      note('elsewhere', isOpen());
    },
    'tracks and closes'() {
      $('track').open = true;
      named('Track').click();
      note('wrong', $('track').open);
      $('tx').value = hash();
      named('Track').click();
      note('tracked', $('track').open);
    },
  });

  // What is seen on a narrow screen, of an address, of long figures and of the button for the wallet.
  Object.assign(scripts, {
    async 'cuts nothing'() {
      const cut = [];
      const measure = (what, one) => {
        const isWide = one.scrollWidth > one.clientWidth || one.getBoundingClientRect().right > innerWidth;
        const isHigh = one.scrollHeight > one.clientHeight + 1;
        if (isWide || isHigh) cut.push(`${what} ${one.scrollWidth}/${one.clientWidth}`);
      };
      fill({ ...usdc, amount: '25000' });
      measure('recipient', $('recipient'));
      for (const amount of ['12345.678901', '1234.567890123456789', '12345.678901234567890123']) {
        fill({ from: 'DAI@1', amount });
        await until(() => $('estimate').textContent !== '—');
        measure(amount, $('amount'));
        measure(amount, $('estimate'));
        note('figure', parseFloat(getComputedStyle($('amount')).fontSize) > 13);
      }
      fill({ to: 'USDC@69696969', recipient: hidden });
      measure('private recipient', $('recipient'));
      fill(usdc);
      wallet({ account: rich });
      await until(() => named('Connect'));
      for (const one of visible('#terms dd, #terms dt, header a')) measure(one.textContent, one);
      if (document.documentElement.scrollWidth > document.documentElement.clientWidth) cut.push('page');
      note('cut', cut.join(', '));
    },
    // A name that is too long ends with an ellipsis within its button, and not inside a letter.
    async 'shortens its wallet'(name) {
      const wrong = [];
      const measure = () => {
        const whole = visible('#wallet-row > button, #wallet-row summary')[0];
        const words = whole.querySelector('.cut');
        const [outer, inner] = [whole, words].map((one) => one.getBoundingClientRect());
        const isShort = getComputedStyle(words).textOverflow === 'ellipsis' && inner.width > 30;
        const header = document.querySelector('header').getBoundingClientRect();
        if (!isShort || inner.right > outer.right - 5 || outer.right > header.right) wrong.push(whole.textContent);
        const mayBeCut = name === 'long' || whole.textContent === 'Open in wallet';
      if (!mayBeCut && words.scrollWidth > words.clientWidth) wrong.push(`cut: ${whole.textContent}`);
      };
      if (isPhoneNow()) measure();
      wallet({ name: people[name] ?? name });
      await until(() => named('Connect'));
      measure();
      wallet({ name: 'Other', rdns: 'other.example' });
      await until(() => document.querySelector('#wallet-row summary'));
      measure();
      named('Other').click();
      await until(() => $('wallet-row').textContent.includes('0x'));
      measure();
      note('wrong', wrong.join(', '));
    },
    async 'stays still'(to) {
      const tops = new Set();
      const typing = [
        ['amount', '1'], ['amount', '123'], ['amount', '1234.56789'], ['amount', '99999'], ['amount', '12345.678901'],
        ['recipient', '0x'], ['recipient', people[to] ?? alice], ['amount', ''],
      ];
      type('to-chain', to);
      for (const [id, value] of typing) {
        type(id, value);
        await frame();
        tops.add(Math.round($('ask').getBoundingClientRect().top + scrollY));
      }
      note('tops', tops.size);
    },
  });
  const isPhoneNow = () => matchMedia('(max-width: 48rem)').matches;

  // The contrast of WCAG between what is drawn, measured in the colours that the browser has computed.
  const channels = (color) => color.match(/[\d.]+/g).map(Number);
  const luminance = (color) => channels(color).slice(0, 3).map((value) => value / 255).map(
    (value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4)
  ).reduce((sum, value, i) => sum + value * [0.2126, 0.7152, 0.0722][i], 0);
  const contrastOf = (one, other) => {
    const [light, dark] = [luminance(one), luminance(other)].sort((a, b) => b - a);
    return (light + 0.05) / (dark + 0.05);
  };
  const fillOf = (element) => {
    const color = getComputedStyle(element).backgroundColor;
    const isClear = channels(color)[3] === 0;
    return isClear && element.parentElement ? fillOf(element.parentElement) : color;
  };
  Object.assign(scripts, {
    async contrast() {
      wallet();
      await connect();
      await quote({ ...usdc, recipient: '0x', integrator: 'z' });
      openAll();
      const low = [];
      const want = (least, what, one, other) => {
        const found = contrastOf(one, other);
        if (!(found >= least)) low.push(`${what} ${found.toFixed(2)}`);
      };
      const isClear = (style) => style.borderTopStyle === 'none' || parseFloat(style.borderTopWidth) === 0;
      const boundary = (what, control) => {
        const style = getComputedStyle(control);
        const outside = fillOf(control.parentElement);
        const edge = isClear(style) ? style.backgroundColor : style.borderTopColor;
        want(3, `${what} against what is around`, edge, outside);
      };
      const isPanel = (control) => control.closest('.side') && control.matches('input, textarea');
      const controls = visible('input, select, textarea, button').filter((one) => !one.matches('.hidden, :disabled'));
      for (const control of controls) {
        const what = control.id || control.textContent;
        boundary(what, isPanel(control) ? control.closest('.side') : control);
        want(4.5, `${what}, its text`, getComputedStyle(control).color, fillOf(control));
        if (control.placeholder) {
          want(4.5, `${what}, its placeholder`, getComputedStyle(control, '::placeholder').color, fillOf(control));
        }
      }
      for (const one of visible('h1, p, dt, dd, label, summary, output, a, span, footer p')) {
        if (one.innerText) want(4.5, one.innerText.slice(0, 30), getComputedStyle(one).color, fillOf(one));
      }
      note('low', low.join(', '));
      note('measured', controls.length > 12);
    },
  });

  Object.assign(scripts, {
    async 'shows all digits'(form) {
      await quote(formOf(form));
      document.querySelector('#answer .digits').click();
    },
    pin: async (file) => {
      await pinned(file);
      return true;
    },
    'pins and asks': async (file, from) => {
      await pinned(file);
      await quote({ ...usdc, from });
    },
    async 'drops a file and empties it'(file) {
      const dataTransfer = new DataTransfer();
      dataTransfer.items.add(new File([file], 'deployment.json'));
      $('pin').dispatchEvent(new DragEvent('drop', { dataTransfer, bubbles: true, cancelable: true }));
      await until(() => $('pin-hint').textContent.startsWith('Pinned'));
      await quote(usdc);
      note('dropped', alertText());
      type('pin', '');
      await quoted();
    },
    async 'asks until it is refused'() {
      fill(usdc);
      $('ask').click();
      await until(() => alertText() || sendButton());
    },
    async 'folds the form'() {
      await quoted();
      note('folded', `${$('asked-words').innerText}, form ${$('form').checkVisibility()}`);
      $('change').click();
      if (!$('form').checkVisibility() || $('asked').checkVisibility()) throw new Error('the form stays folded');
    },
  });

  // Markup where others write: it stays text.
  const places = {
    async fields(words) {
      openAll();
      await quote({ ...usdc, amount: words, recipient: words, integrator: words, pin: words });
    },
    address: () => until(alertText),
    error: () => quote(usdc),
    async answer() {
      await quote(usdc);
      track();
      await until(() => !statusText().includes('Loading'));
    },
    versions: () => until(() => $('lives').innerText),
    async wallet(words) {
      const request = async () => { throw { code: 1, message: words }; };
      announce({ name: words, rdns: 'a', icon: 'javascript:window.hurt=1' }, { request });
      for (const detail of [null, 7, {}, { info: null }, { info: {}, provider: {} }]) {
        dispatchEvent(new CustomEvent('eip6963:announceProvider', { detail }));
      }
      for (const value of [words, -1]) {
        alter('/v3/swap/quote', 'details.arrival.seconds', value);
        await quote(usdc);
      }
      restore();
      await quote(usdc);
      await send();
    },
  };
  Object.assign(scripts, {
    async 'reads markup'(place, words) {
      await places[place](words);
      const markup = document.querySelector('main img:not([src^="data:image/"]), main script, [onload]');
      note('hurt', Boolean(window.hurt || markup));
    },
    // Asks with an amount if there is one, and gives the page once it says so.
    async 'sees while offline'(words, amount) {
      if (amount) {
        fill({ ...usdc, amount });
        $('ask').click();
      }
      await status(words);
      return see();
    },
  });
}
