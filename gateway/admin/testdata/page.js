// Functions that look at a page as a person does. Tests load them before each use.

// inspect lists what a person could not see, read or reach.
function inspect() {
  const problems = [
    ...structure(), ...unnamed(), ...controls(), ...duplicates(), ...smallTargets(), ...faintText(), ...faintEdges(),
  ];
  const root = document.documentElement;
  if (root.scrollWidth > root.clientWidth) {
    problems.push(`the page scrolls sideways: ${root.scrollWidth} of ${root.clientWidth}`);
  }
  return problems;
}

const all = (selector) => [...document.querySelectorAll(selector)];
const start = (element) => element.outerHTML.slice(0, 90);

function structure() {
  const problems = [];
  const headings = all('h1, h2, h3, h4, h5, h6');
  const levels = headings.map((heading) => Number(heading.tagName[1]));
  if (levels.filter((level) => level === 1).length !== 1) problems.push('there is not one h1');
  const skips = levels.some((level, i) => level > (levels[i - 1] ?? 0) + 1);
  if (skips) problems.push(`headings leave out a level: ${levels}`);
  const size = (element) => parseFloat(getComputedStyle(element).fontSize);
  const largest = size(document.querySelector('h1'));
  const larger = all('body *').filter((element) => size(element) > largest);
  if (larger.length) problems.push(`larger than the headline: ${start(larger[0])}`);
  const scripts = location.pathname === '/client' && document.querySelector('textarea') ? 1 : 0;
  if (document.scripts.length > scripts) problems.push('there is a script too many');
  return problems;
}

// unnamed are the pictures and links without a text.
function unnamed() {
  const named = (svg) => svg.closest('[aria-hidden=true]') || svg.matches('[role=img][aria-label]');
  const pictures = all('svg').filter((svg) => !named(svg));
  const links = all('a').filter((link) => !link.textContent.trim());
  return [...pictures, ...links].map((element) => `no text: ${start(element)}`);
}

function controls() {
  const labelled = (control) => control.labels.length > 0;
  const fields = all('input:not([type=hidden]), select, textarea').filter((field) => !labelled(field));
  const boxes = all('.scroll').filter((box) => box.tabIndex !== 0 || !box.getAttribute('aria-label'));
  return [...fields, ...boxes].map((element) => `no label, or not for the keyboard: ${start(element)}`);
}

function duplicates() {
  const ids = all('[id]').map(({ id }) => id);
  return ids.filter((id, i) => ids.indexOf(id) !== i).map((id) => `an id is there twice: ${id}`);
}

// smallTargets are controls below 24 pixels, and main buttons below 44.
function smallTargets() {
  const low = (element, least) => element.checkVisibility() && element.getBoundingClientRect().height < least;
  const small = [
    ...all('button, .button').filter((button) => low(button, 44)),
    ...all('input:not([type=hidden]), select, nav a').filter((control) => low(control, 24)),
  ];
  return small.map((element) => `too small to touch: ${start(element)}`);
}

const parse = (color) => {
  const [r, g, b, a = 1] = color.match(/[\d.]+/g).map(Number);
  return { r, g, b, a };
};

const channel = (value) => {
  const share = value / 255;
  return share <= 0.03928 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
};

const luminance = ({ r, g, b }) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);

function contrast(one, other) {
  const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}

// ground is the color behind an element.
function ground(element) {
  for (let back = element; back; back = back.parentElement) {
    const color = parse(getComputedStyle(back).backgroundColor);
    if (color.a > 0) return color;
  }
  return { r: 255, g: 255, b: 255 };
}

// faintText is text with less than 4.5:1, in the first rows of tables.
function faintText() {
  const seen = new Set();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    const skip = element.closest('tr:nth-child(n+6), title, script') || !element.checkVisibility();
    if (walker.currentNode.data.trim() && !skip) seen.add(element);
  }
  const problems = seen.size < 5 ? ['there is hardly any text'] : [];
  for (const element of seen) {
    const style = getComputedStyle(element);
    const ratio = contrast(parse(element.closest('svg') ? style.fill : style.color), ground(element));
    if (ratio < 4.5) problems.push(`contrast ${ratio.toFixed(2)}: ${start(element)}`);
  }
  return problems;
}

// faintEdges are borders of controls, and marks of pictures that carry meaning, with less than 3:1.
function faintEdges() {
  const edge = (element) => parse(getComputedStyle(element).borderTopColor);
  const paint = (element) => {
    const { fill, stroke } = getComputedStyle(element);
    return parse(element.matches('line, path, .shade') ? stroke : fill);
  };
  const ratios = [
    ...all('input:not([type=hidden]), select, textarea, button, .button, .stage').map((element) =>
      [element, contrast(edge(element), ground(element.parentElement))]),
    ...all('.used, .bar .limit, .plot .line, line.limit, line.now, line.sunset, .shade, .plot .current, .plot .old0')
      .map((element) => [element, contrast(paint(element), ground(element))]),
  ];
  const faint = ratios.filter(([element, ratio]) => element.checkVisibility() && ratio < 3);
  return faint.map(([element, ratio]) => `contrast ${ratio.toFixed(2)}: ${start(element)}`);
}

// overflow is by how many pixels the widest table is too wide.
function overflow() {
  return Math.max(0, ...all('.scroll').map((box) => box.scrollWidth - box.clientWidth));
}

// hidden is what paper does not have: the element, or the part of the page that it belongs to.
function hidden() {
  const matters = (element) => element.textContent.trim() && !element.closest('svg, .vh, script');
  const gone = all('body *').filter((element) => matters(element) && !element.checkVisibility());
  return gone.map((element) => element.closest('nav, .skip')?.tagName ?? element.outerHTML);
}

// axeFindings is what axe finds, its best practices included. Contrast, which takes it long, is what
// inspect looks at.
async function axeFindings() {
  const { violations } = await axe.run(document, { rules: { 'color-contrast': { enabled: false } } });
  const node = ({ html, failureSummary }) => `${html.slice(0, 150)} ${failureSummary.slice(0, 150)}`;
  return violations.map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map(node).join(' | ')}`);
}

// letter is what a person has of the first letter of a page: the buttons, the result, what is selected
// whether the clipboard of a test has it.
function letter() {
  const text = document.querySelector('textarea');
  const buttons = all('.actions button, .actions .button').filter((button) => button.checkVisibility());
  const chosen = text.value.slice(text.selectionStart, text.selectionEnd);
  return {
    buttons: buttons.map((button) => button.textContent),
    result: document.querySelector('.actions [role=status]').textContent,
    selected: chosen === text.value,
    copied: window.copied === text.value,
  };
}

// result waits until the page says what has become of the letter.
async function result() {
  const place = document.querySelector('.actions [role=status]');
  for (let tries = 0; tries < 100 && !place.textContent; tries += 1) {
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return place.textContent !== '';
}

// focusLink looks for a link by its text or its address.
function focusLink(name) {
  const link = all('a').find((one) => one.textContent.trim() === name || one.getAttribute('href') === name);
  link?.focus();
  return Boolean(link);
}
