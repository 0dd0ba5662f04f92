// Compiled from src/options.js.
export function readOptions(given, names, what, either = []) {
	const unknown = Object.keys(given).find((name) => !names.includes(name));
	if (unknown !== undefined)
		throw new TypeError(`${what} has no option ${unknown}; it has ${names.join(', ')}`);
	const isGiven = (name) => ![undefined, false].includes(Reflect.get(given, name));
	const several = either.find((group) => group.filter(isGiven).length > 1);
	if (several)
		throw new TypeError(`${what} takes one of ${several.join(', ')}`);
}
