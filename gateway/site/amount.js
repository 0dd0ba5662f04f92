// Amounts are integers in the smallest unit of a token; people write them with a decimal point.
function showAmount(amount, decimals) {
  if (!/^[0-9]{1,78}$/.test(String(amount)) || !Number.isInteger(decimals) || decimals < 0 || decimals > 36) return '?';
  const digits = String(amount).padStart(decimals + 1, '0');
  const whole = digits.slice(0, digits.length - decimals).replace(/^0+(?=.)/, '');
  const part = digits.slice(digits.length - decimals).replace(/0+$/, '');
  return part ? `${whole}.${part}` : whole;
}
const separate = (number) => number.replace(/^\d+/, (whole) => whole.replace(/\B(?=(\d{3})+$)/g, ','));

// Six digits that count, cut off and not rounded up, so that nobody is promised too much.
function brief(number) {
  const [whole, part = ''] = number.split('.');
  if (whole !== '0') return part.length > 6 - whole.length ? [whole, part.slice(0, Math.max(6 - whole.length, 0))] : [whole, part];
  return [whole, part.slice(0, /^0*/.exec(part)[0].length + 6)];
}
const inWords = (amount, { decimals, symbol }) => `${separate(showAmount(amount, decimals))} ${text(symbol, 20)}`;

// The same for the eye: what is cut off is one click away.
function money(amount, token) {
  const whole = showAmount(amount, token.decimals);
  const [units, part] = brief(whole);
  const few = part ? `${units}.${part}` : units;
  const symbol = ` ${text(token.symbol, 20)}`;
  if (few === whole) return separate(whole) + symbol;
  const digits = button('…', () => digits.parentNode.replaceWith(separate(whole)), { class: 'digits', 'aria-label': `All digits: ${separate(whole)}` });
  return [el('span', {}, separate(few), digits), symbol];
}

// Gives the amount, or throws a sentence for the person who typed it.
function parseAmount(typed, { symbol, decimals, min, max }) {
  const given = typed.trim();
  if (/^\d{1,3}(,\d{3})+(\.\d+)?$/.test(given)) throw `Write ${given.replaceAll(',', '')} without commas: elsewhere ${given} would mean a little more than ${given.split(',')[0]}.`;
  if (/^\d+,\d+$/.test(given)) throw `Write ${given.replace(',', '.')} with a decimal point instead of the comma.`;
  const [, whole, part = ''] = /^([0-9]{0,60})(?:\.([0-9]{0,60}))?$/.exec(given) ?? [];
  if (whole === undefined || !(whole || part)) throw `Write the amount in digits with a decimal point, such as 100 or 0.5, in ${symbol}.`;
  if (part.replace(/0+$/, '').length > decimals) throw `${symbol} has ${decimals} decimals here: write at most ${decimals} digits after the point.`;
  const amount = BigInt(whole + part.padEnd(decimals, '0').slice(0, decimals));
  const limits = `${separate(showAmount(min, decimals))} to ${separate(showAmount(max, decimals))} ${symbol}`;
  if (amount < BigInt(min)) throw `The amount is below the minimum: one transaction moves ${limits}.`;
  if (amount > BigInt(max)) throw `The amount is above the maximum: one transaction moves ${limits}.`;
  return amount;
}

function duration(seconds) {
  if (!(seconds > 0 && seconds < 1e7)) return '';
  if (seconds < 90) return `about ${Math.round(seconds)} seconds`;
  return seconds < 5400 ? `about ${Math.round(seconds / 60)} minutes` : `about ${Math.round(seconds / 3600)} hours`;
}
