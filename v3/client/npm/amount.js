// Compiled from src/amount.js.
const MAX_DIGITS = 78;
function checkDecimals(decimals) {
	if (!Number.isInteger(decimals) || decimals < 0 || decimals > 255) {
		throw new TypeError(`${decimals} is not a number of decimals`);
	}
}
function amountOf(name, amount) {
	const isDigits = typeof amount === 'string' && /^[0-9]+$/.test(amount) && amount.length <= MAX_DIGITS;
	const isNatural = typeof amount === 'bigint' && amount >= 0n;
	if (!isDigits && !isNatural)
		throw new TypeError(`${name} is not an amount in digits or a bigint`);
	return BigInt(amount);
}
export function parseAmount(text, decimals) {
	checkDecimals(decimals);
	const parts = typeof text === 'string' && text.length <= MAX_DIGITS && /^([0-9]+)(?:\.([0-9]+))?$/.exec(text);
	if (!parts)
		throw new TypeError(`${JSON.stringify(String(text).slice(0, 100))} is not an amount such as 100 or 0.5`);
	const [, whole, fraction = ''] = parts;
	const needed = fraction.replace(/0+$/, '');
	if (needed.length > decimals) {
		throw new RangeError(`${text} has more decimals than the token, which has ${decimals}`);
	}
	return BigInt((whole) + needed.padEnd(decimals, '0'));
}
export function formatAmount(amount, decimals) {
	checkDecimals(decimals);
	const digits = String(amountOf('amount', amount)).padStart(decimals + 1, '0');
	const point = digits.length - decimals;
	const fraction = digits.slice(point).replace(/0+$/, '');
	return digits.slice(0, point) + (fraction && `.${fraction}`);
}
export function maxAmount(holding) {
	const { balance, native, gas, max, ...others } = holding;
	const [unknown] = Object.keys(others);
	if (unknown)
		throw new TypeError(`maxAmount has no ${unknown}; it has balance, native, gas, max`);
	let most = amountOf('balance', balance);
	if (native)
		most -= amountOf('gas', gas);
	if (most < 0n)
		most = 0n;
	const limit = max === undefined ? most : amountOf('max', max);
	return limit < most ? limit : most;
}
