// Amounts are integers in the smallest unit of a token; people write them with a decimal point.
function showAmount(amount, decimals) {
  if (!/^[0-9]{1,78}$/.test(String(amount)) || !Number.isInteger(decimals) || decimals < 0 || decimals > 36) return '?';
  const digits = String(amount).padStart(decimals + 1, '0');
  const whole = digits.slice(0, digits.length - decimals).replace(/^0+(?=.)/, '');
  const part = digits.slice(digits.length - decimals).replace(/0+$/, '');
  return part ? `${whole}.${part}` : whole;
}
const separate = (number) => number.replace(/^\d+/, (whole) => whole.replace(/\B(?=(\d{3})+$)/g, ','));

// What has more than twelve digits is cut off to eight that count, and not rounded up: nobody is promised too much.
function brief(number) {
  const [whole, part = ''] = number.split('.');
  if (whole.length + part.length <= 12) return number;
  const few = part.slice(0, whole === '0' ? /^0*/.exec(part)[0].length + 8 : Math.max(8 - whole.length, 0));
  return few ? `${whole}.${few}` : whole;
}
// Rounded up to a few digits that count.
function roundUp(amount, count) {
  const unit = 10n ** BigInt(Math.max(String(amount).length - count, 0));
  return (BigInt(amount) + unit - 1n) / unit * unit;
}
// What something costs, in a few letters.
function roughly(amount, { decimals, symbol }) {
  const whole = separate(showAmount(amount, decimals));
  const few = separate(showAmount(roundUp(amount, 3), decimals));
  return `${whole.length > 7 && few !== whole ? `≈ ${few}` : whole} ${symbol}`;
}
const inWords = (amount, { decimals, symbol }) => `${separate(showAmount(amount, decimals))} ${text(symbol, 20)}`;

const isTiny = (number) => /^0\.0{6}/.test(number);
// The same for the eye: what is cut off is one click away.
function money(amount, token) {
  const whole = showAmount(amount, token.decimals);
  const few = isTiny(whole) ? 'less than 0.000001' : brief(whole);
  const symbol = ` ${text(token.symbol, 20)}`;
  if (few === whole) return separate(whole) + symbol;
  const digits = button('…', () => digits.parentNode.replaceWith(separate(whole)),
    { class: 'digits', 'aria-label': `All digits: ${separate(whole)}` });
  return [el('span', {}, separate(few), digits), symbol];
}
// What something costs at most, in two digits that count.
function atMost(amount, token) {
  const rounded = String(roundUp(amount, 2));
  const most = money(rounded, token);
  return isTiny(showAmount(rounded, token.decimals)) ? most : ['up to ', most];
}

// Gives the amount, or throws a sentence for the person who typed it. It may be typed with the symbol, in dollars if it
// is a token of dollars, and with spaces between the thousands.
function parseAmount(typed, token) {
  const { symbol, decimals, min, max } = token;
  const isDollar = /USD|DAI/.test(symbol);
  const given = withoutSymbol(typed.trim(), symbol, isDollar);
  if (given.startsWith('$') && !isDollar) throw `Enter an amount in ${symbol}, not in dollars.`;
  if (/^\d{1,3}(,\d{3})+(\.\d+)?$/.test(given)) {
    const less = given.split(',')[0];
    throw `Enter ${given.replaceAll(',', '')} without commas: some read ${given} as a little more than ${less}.`;
  }
  if (/^\d+,\d+$/.test(given)) throw `Enter ${given.replace(',', '.')} with a decimal point instead of the comma.`;
  const digits = /^\d{1,3}(\s\d{3})+(\.|$)/.test(given) ? given.replace(/\s/g, '') : given;
  const [, whole, part = ''] = /^([0-9]{0,60})(?:\.([0-9]{0,60}))?$/.exec(digits) ?? [];
  if (whole === undefined || !(whole || part)) throw `Enter an amount in ${symbol}, such as 100 or 0.5.`;
  if (part.replace(/0+$/, '').length > decimals) {
    throw `${symbol} has ${decimals} decimals on this chain: enter at most ${decimals} digits after the point.`;
  }
  const amount = BigInt(whole + part.padEnd(decimals, '0').slice(0, decimals));
  if (amount < BigInt(min)) throw `The minimum is ${inWords(min, token)}.`;
  if (amount > BigInt(max)) throw `The maximum is ${inWords(max, token)}.`;
  return amount;
}
function withoutSymbol(typed, symbol, isDollar) {
  const end = typed.length - symbol.length;
  if (typed.slice(end).toUpperCase() === symbol) return typed.slice(0, end).trim();
  return isDollar ? typed.replace(/^\$\s*/, '') : typed;
}

function duration(seconds) {
  if (!(seconds > 0 && seconds < 1e7)) return '';
  if (seconds < 90) return `about ${Math.round(seconds)} s`;
  return seconds < 5400 ? `about ${Math.round(seconds / 60)} min` : `about ${Math.round(seconds / 3600)} h`;
}
