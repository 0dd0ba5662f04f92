// The scripts of developers_test.go.
const compared = async () => {
  await until(() => alertText() || $('moved').innerText);
  note('offers', $('moved').innerText.includes('New URL'));
  const marks = [...$('moved').querySelectorAll('pre mark')];
  note('marks', marks.map((mark) => `${mark.previousElementSibling.textContent} ${mark.textContent}`).join(', '));
};
const answered = () => until(() => $('answered').textContent !== 'Loading');
const box = (element) => element.getBoundingClientRect();
const overlap = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
const snippets = () => Object.fromEntries(['curl', 'client', 'viem', 'go'].map(
  (name) => [name, $(`snippet-${name}`).textContent]));

Object.assign(scripts, {
  'served versions': () => JSON.parse($('listing').textContent).versions,
  snippets: () => snippets(),

  async 'compare a URL'(url) {
    $('moved').replaceChildren();
    $('old').value = url;
    named('Compare').click();
    await compared();
  },
  async 'compare an example'(name) {
    await press(`Example of ${name}`);
    await compared();
    note('old', $('old').value);
  },
  async 'rehearse'(stage) {
    await press(`Rehearse ${stage}`);
    await until(() => document.querySelector('.life pre'));
  },

  // What is said of each version, and whether what its timeline says can be read.
  async 'plans'() {
    await until(() => document.querySelector('.life'));
    for (const life of document.querySelectorAll('.life')) {
      const name = life.querySelector('h3').firstChild.textContent;
      const rehearsals = life.querySelectorAll('button').length;
      const labels = [...life.querySelectorAll('text')];
      const { className } = life.querySelector('.tag');
      note(name, `${className}, ${rehearsals} rehearsals, ${life.querySelector('p').innerText}`);
      note(`labels of ${name}`, labels.map((label) => label.textContent).join(', '));
      const rest = [...life.querySelectorAll('text, line')];
      for (const label of labels) {
        const { left, right } = box(label);
        const isWhole = left >= 0 && right <= document.documentElement.clientWidth;
        if (!isWhole) note('unreadable', `${label.textContent} is cut off`);
        const other = rest.find((one) => one !== label && overlap(box(one), box(label)));
        if (other) note('unreadable', `${label.textContent} is under ${other.textContent || 'a line'}`);
      }
    }
  },

  async 'own calls'(key) {
    const show = async (words, ready) => {
      $('own-key').value = words;
      named('Show my calls').click();
      await until(() => $('own-calls').innerText.includes(ready));
    };
    await show('', 'Enter your API key');
    await show('qg_wrong', 'only a key proves');
    await show(key, 'You are Harbour');
    note('kept', (location.href + document.documentElement.outerHTML).includes(key));
  },

  // Goes through the tabs with the arrow keys and copies what each shows, as far as the browser can.
  async 'tabs'() {
    let copied;
    const clipboard = { writeText: async (words) => { copied = words; } };
    Object.defineProperty(navigator, 'clipboard', { value: clipboard, configurable: true });
    const all = [...document.querySelectorAll('[role=tab]')];
    const seen = [];
    all[0].focus();
    for (const key of ['Home', 'ArrowRight', 'ArrowRight', 'ArrowRight', 'ArrowRight', 'ArrowLeft']) {
      document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
      const tab = document.activeElement;
      const open = [...document.querySelectorAll('[role=tabpanel]')].filter((panel) => panel.checkVisibility());
      const isOne = open.length === 1 && open[0].id === tab.getAttribute('aria-controls');
      const stops = all.filter(({ tabIndex }) => tabIndex === 0);
      const isStop = stops.length === 1 && stops[0] === tab && tab.getAttribute('aria-selected') === 'true';
      copied = '';
      named('Cop').click();
      await until(() => copied);
      const isCopied = copied === open[0].querySelector('pre').textContent;
      seen.push(isOne && isStop && isCopied ? tab.textContent : `${tab.outerHTML} ${copied}`);
    }
    note('keys', seen.join(' '));
    all[2].click();
    note('clicked', document.querySelector('[role=tabpanel]:not([hidden])').innerText.slice(0, 200));
    Object.defineProperty(navigator, 'clipboard', { value: undefined, configurable: true });
    named('Cop').click();
    await until(() => named('Select and copy'));
    await answered();
  },

  async 'answered'() {
    await answered();
  },

  async 'links'() {
    for (const { href } of $('contracts').querySelectorAll('a')) if (!(await fetch(href)).ok) throw new Error(href);
  },

  // Code and contents, as the page is wide now.
  async 'code and contents'() {
    await answered();
    const codes = [...document.querySelectorAll('.panes pre')].filter((code) => code.checkVisibility());
    note('codes', codes.map((code) => {
      const { whiteSpace, overflowX } = getComputedStyle(code);
      return `${whiteSpace} ${overflowX} ${code.tabIndex}`;
    }).join(', '));
    const [request, response] = [...document.querySelectorAll('.pane')].map(box);
    note('response', request.right < response.left && request.top === response.top ? 'beside' : 'below');
    const contents = box(document.querySelector('.contents'));
    note('contents', contents.right < box($('code')).left ? 'beside' : 'above');
    const targets = [...document.querySelectorAll('.contents a')].map(({ hash }) => $(hash.slice(1)));
    note('targets', targets.every((target) => target?.checkVisibility()) && targets.length);
    for (const whole of document.querySelectorAll('#codes td:first-child, #codes td:nth-child(2), .bar button')) {
      const range = document.createRange();
      range.selectNodeContents(whole);
      const lines = new Set([...range.getClientRects()].map(({ bottom }) => Math.round(bottom)));
      if (lines.size > 1) note('broken', whole.innerText);
    }
    note('sideways', document.documentElement.scrollWidth > document.documentElement.clientWidth);
  },

  // How far the page moves while it is filled.
  async 'shifts'() {
    await until(() => document.querySelector('.life'));
    await answered();
    let sum = 0;
    const where = [];
    new PerformanceObserver((entries) => {
      for (const { value, sources } of entries.getEntries()) {
        sum += value;
        where.push(...sources.map(({ node }) => node?.id || node?.className || node?.nodeName));
      }
    }).observe({ type: 'layout-shift', buffered: true });
    for (let i = 0; i < 3; i++) await new Promise((done) => requestAnimationFrame(() => realTimeout(done)));
    note('shifts', sum <= 0.05 ? 'little' : `${sum} ${where}`);
  },
});
