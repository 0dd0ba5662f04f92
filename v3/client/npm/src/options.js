// Options that a caller gives. Other files of this package use it; it is no entry of the package.

/**
 * Refuses a misspelt option, which would otherwise be ignored, and options that contradict each other.
 * @param {object} given
 * @param {string[]} names
 * @param {string} what has the options
 * @param {string[][]} either of which one at most may be given
 */
export function readOptions(given, names, what, either = []) {
  const unknown = Object.keys(given).find((name) => !names.includes(name));
  if (unknown !== undefined) throw new TypeError(`${what} has no option ${unknown}; it has ${names.join(', ')}`);
  const isGiven = (/** @type {string} */ name) => ![undefined, false].includes(Reflect.get(given, name));
  const several = either.find((group) => group.filter(isGiven).length > 1);
  if (several) throw new TypeError(`${what} takes one of ${several.join(', ')}`);
}
