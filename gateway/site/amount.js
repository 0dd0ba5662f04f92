// Amounts are integers in the smallest unit of a token; people write them with a decimal point.
function showAmount(amount, decimals) {
  if (!/^[0-9]{1,78}$/.test(String(amount)) || !Number.isInteger(decimals) || decimals < 0 || decimals > 36) return '?';
  const digits = String(amount).padStart(decimals + 1, '0');
  const whole = digits.slice(0, digits.length - decimals).replace(/^0+(?=.)/, '');
  const part = digits.slice(digits.length - decimals).replace(/0+$/, '');
  return part ? `${whole}.${part}` : whole;
}
const money = (amount, token) => `${showAmount(amount, token.decimals)} ${text(token.symbol, 20)}`;

// Gives the amount, or throws a sentence for the person who typed it.
function parseAmount(typed, { symbol, decimals, min, max }) {
  const [, whole, part = ''] = /^([0-9]{0,60})(?:\.([0-9]{0,60}))?$/.exec(typed.trim()) ?? [];
  if (whole === undefined || !(whole || part)) throw `Write the amount in digits with a decimal point, such as 100 or 0.5, in ${symbol}.`;
  if (part.replace(/0+$/, '').length > decimals) throw `${symbol} has ${decimals} decimals here: write at most ${decimals} digits after the point.`;
  const amount = BigInt(whole + part.padEnd(decimals, '0').slice(0, decimals));
  const limits = `${showAmount(min, decimals)} to ${showAmount(max, decimals)} ${symbol}`;
  if (amount < BigInt(min)) throw `The amount is below the minimum: one transaction moves ${limits}.`;
  if (amount > BigInt(max)) throw `The amount is above the maximum: one transaction moves ${limits}.`;
  return amount;
}

function duration(seconds) {
  if (!(seconds > 0 && seconds < 1e7)) return '';
  if (seconds < 90) return `about ${Math.round(seconds)} seconds`;
  return seconds < 5400 ? `about ${Math.round(seconds / 60)} minutes` : `about ${Math.round(seconds / 3600)} hours`;
}
