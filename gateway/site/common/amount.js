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
// Two digits that count, rounded up: what something costs at most.
function atMost(amount, { decimals, symbol }) {
  const digits = String(amount);
  const unit = 10n ** BigInt(Math.max(digits.length - 2, 0));
  const rounded = (BigInt(digits) + unit - 1n) / unit * unit;
  return `up to ${separate(showAmount(rounded, decimals))} ${symbol}`;
}
const inWords = (amount, { decimals, symbol }) => `${separate(showAmount(amount, decimals))} ${text(symbol, 20)}`;

// The same for the eye: what is cut off is one click away.
function money(amount, token) {
  const whole = showAmount(amount, token.decimals);
  const few = brief(whole);
  const symbol = ` ${text(token.symbol, 20)}`;
  if (few === whole) return separate(whole) + symbol;
  const digits = button('…', () => digits.parentNode.replaceWith(separate(whole)),
    { class: 'digits', 'aria-label': `All digits: ${separate(whole)}` });
  return [el('span', {}, separate(few), digits), symbol];
}

// Gives the amount, or throws a sentence for the person who typed it.
function parseAmount(typed, { symbol, decimals, min, max }) {
  const given = typed.trim();
  if (/^\d{1,3}(,\d{3})+(\.\d+)?$/.test(given)) {
    const less = given.split(',')[0];
    throw `Enter ${given.replaceAll(',', '')} without commas: some read ${given} as a little more than ${less}.`;
  }
  if (/^\d+,\d+$/.test(given)) throw `Enter ${given.replace(',', '.')} with a decimal point instead of the comma.`;
  const [, whole, part = ''] = /^([0-9]{0,60})(?:\.([0-9]{0,60}))?$/.exec(given) ?? [];
  if (whole === undefined || !(whole || part)) throw `Enter an amount in ${symbol}, such as 100 or 0.5.`;
  if (part.replace(/0+$/, '').length > decimals) {
    throw `${symbol} has ${decimals} decimals on this chain: enter at most ${decimals} digits after the point.`;
  }
  const amount = BigInt(whole + part.padEnd(decimals, '0').slice(0, decimals));
  const limits = `${separate(showAmount(min, decimals))} to ${separate(showAmount(max, decimals))} ${symbol}`;
  if (amount < BigInt(min)) throw `Below the minimum: a swap takes ${limits}.`;
  if (amount > BigInt(max)) throw `Above the maximum: a swap takes ${limits}.`;
  return amount;
}

function duration(seconds) {
  if (!(seconds > 0 && seconds < 1e7)) return '';
  if (seconds < 90) return `about ${Math.round(seconds)} s`;
  return seconds < 5400 ? `about ${Math.round(seconds / 60)} min` : `about ${Math.round(seconds / 3600)} h`;
}
