// Runs v3/client/npm/verify.js on the cases in input.json and prints what came of it as JSON. v3/verify_test.go puts both beside
// it, and judges the results.
import { readFileSync } from 'node:fs';
import { decode, pairs, verify as check } from './verify.mjs';

const input = JSON.parse(readFileSync('input.json', 'utf8'));
const listing = { routers: input.listing.data, settlement: input.listing.settlement, now: new Date(input.now) };
/** What is known, as the routers and as the listing of pairs say it. */
const learned = { listing: input.pairs, now: new Date(input.now) };

/** Checks against the routers and against the listing of pairs: both must say the same. */
function verify(request, quote, [routers, rows] = [listing, learned]) {
  const report = check(request, quote, routers);
  const other = check(request, quote, rows);
  if (JSON.stringify(other) !== JSON.stringify(report)) report.problems.push(`With the pairs it says ${other.ok}: ${other.problems}`);
  return { ...report, ok: report.ok && other.ok };
}
const byName = new Map(input.quotes.map((quote) => [quote.name, quote]));

/** The place that a part of a path names: a name, a number, the first row with some values, or a new row at either end. */
function placeIn(node, part) {
  if (part === '+') return node.length;
  if (part === '^') return node.unshift(undefined) && 0;
  if (!part.includes('=')) return part;
  const wanted = part.split(',').map((field) => field.split('='));
  const place = node.findIndex((row) => wanted.every(([name, value]) => String(row[name]) === value));
  if (place < 0) throw new Error(`there is no row with ${part}`);
  return place;
}

/** Does one edit of an alteration to a decoded JSON value. The Go client does the same. */
function edit(root, { path, set, add, copy, drop, at, bytes }) {
  const find = (keys) => keys.reduce((node, key) => node[placeIn(node, key)], root);
  const keys = path.split('.');
  const part = keys.pop();
  const node = find(keys);
  const last = placeIn(node, part);
  if (drop) Array.isArray(node) ? node.splice(Number(last), 1) : delete node[last];
  else if (copy) node[last] = structuredClone(find(copy.split('.')));
  else if (add) node[last] += add;
  else if (bytes) node[last] = node[last].slice(0, 2 + 2 * at) + bytes + node[last].slice(2 + 2 * at + bytes.length);
  else Object.defineProperty(node, last, { value: set, writable: true, enumerable: true, configurable: true }); // __proto__ too
}

/** Checks against an altered listing. testdata/verify/listings.json says what the fields mean. */
function runListing({ of, base, listing: edits, quote: changes = [], ask = {} }) {
  const { request, quote } = byName.get(base);
  const altered = structuredClone(of === 'pairs' ? input.pairs : input.listing);
  for (const change of edits) edit(altered, change);
  let answer = structuredClone(quote);
  for (const change of changes) {
    if (change.path) edit(answer, change);
    else answer = JSON.parse(JSON.stringify(answer).replaceAll(change.replace, change.with));
  }
  const routers = { routers: altered.data, settlement: altered.settlement };
  const known = of === 'pairs' ? [{ listing: altered }] : [routers, { listing: input.pairs, ...routers }];
  return { reports: known.map((each) => check({ ...request, ...ask }, answer, each)), calls: check(request, quote, learned).calls };
}

function runAlteration({ base, of, edit: change }) {
  const { request, quote } = structuredClone(byName.get(base));
  const { data, settlement } = of === 'listing' ? alteredListing(change) : input.listing;
  if (of === 'quote') edit(quote, change);
  return check(request, quote, { routers: data, settlement });
}

function alteredListing(change) {
  const altered = structuredClone(input.listing);
  edit(altered, change);
  return altered;
}

/** Every place in a JSON value: its path, its holder and its key. */
function places(node, path = '') {
  if (typeof node !== 'object' || node === null) return [];
  return Object.keys(node).flatMap((key) =>
    [{ path: path ? `${path}.${key}` : key, holder: node, key }, ...places(node[key], path ? `${path}.${key}` : key)]);
}

/** What of a quote may be anything, since nobody can check it. There may be no details. Times only need to be times. */
const FREE = new RegExp('^details$|^details\\.(arrival\\.seconds|arrival\\.deductions\\.\\d\\.by|validUntil|issuerFee\\.(percentage|origin)|' +
  'integrator\\.(registry|checkedAt)|checks\\.\\w+\\.actual|checks\\.(native|checkedAt)|validForSeconds|simulation|simulationReason|reason)(\\.|$)');

/** Other values than the true one, of the same form: other digits, one at a time; of addresses and longer ones, one in each byte. */
function lies(value) {
  if (typeof value === 'number') return [Number('1' + value), 7];
  if (typeof value === 'boolean') return [!value];
  if (typeof value !== 'string') return [];
  const all = [value + '0'];
  for (let i = value.startsWith('0x') ? 3 : 0; i < value.length; i += value.length > 40 ? 2 : 1) {
    all.push(value.slice(0, i) + (value[i] === '1' ? '2' : '1') + value.slice(i + 1));
  }
  return all;
}

/** Whether a changed call costs nobody anything: a note of the same length, or a burn's maxFee within 1.2 % and its rounding. */
function harmless({ request }, path, truth, lie) {
  if (path === 'details.arrival.unshieldAmount' && !/\D/.test(lie)) {
    return BigInt(lie) >= BigInt(request.amount) && BigInt(lie) * 100n <= BigInt(request.amount) * 101n;
  }
  if (path !== 'methodParameters.calldata' || lie.length !== truth.length) return false;
  const shields = request.recipient.startsWith('0zk');
  const [from, to] = shields ? [10 + 64 * 7, 10 + 64 * 7 + 320] : [10 + 64 * 5, 10 + 64 * 6];
  if (lie.slice(0, from) !== truth.slice(0, from) || lie.slice(to) !== truth.slice(to)) return false;
  return shields || (lie.startsWith('0x779b432d') && BigInt('0x' + lie.slice(from, to)) * 1000n <= BigInt(request.amount) * 12n + 3000n);
}

/** Adds a sentence to the problems of a report that does not name in unchecked what it cannot check. */
function wantNamed(report, quote) {
  for (const { path, holder, key } of places(quote)) {
    const [, name] = FREE.exec(path) ?? [];
    const said = report.unchecked.some((sentence) => sentence.includes(path.split('.')[1]) || (name && sentence.includes(name)));
    if (name && holder[key] !== undefined && !said) report.problems.push(`unchecked does not name ${path}`);
  }
  return report;
}

/** Alters every value of a quote, digit by digit, and lists the lies that pass: the routers and the pairs are asked in turn. */
function tellLies(base) {
  const { request, quote } = structuredClone(base);
  const both = smallKnown(base);
  const result = { told: 0, passed: [] };
  for (const { path, holder, key } of places(quote)) {
    const truth = holder[key];
    for (const lie of lies(truth)) {
      holder[key] = lie;
      if (check(request, quote, both[result.told++ % 2]).ok && !FREE.test(path) && !harmless(base, path, truth, lie)) result.passed.push(`${path}: ${lie}`);
    }
    Array.isArray(holder) ? (holder[key] = null) : delete holder[key];
    result.told++;
    if (verify(request, quote, both).ok && !FREE.test(path) && path !== 'details.checks') {
      result.passed.push(`${path} is left out`);
    }
    holder[key] = truth;
  }
  return result;
}

const refuse = () => { throw new Error('read'); };
const thrower = new Proxy({}, { get: refuse, ownKeys: refuse, getOwnPropertyDescriptor: refuse });
let deep = [];
for (let i = 0; i < 100_000; i++) deep = [deep];
const HOSTILE = [
  undefined, null, true, false, -1, 0.1, NaN, Infinity, 1e300, 10n, Symbol('s'), () => 1, '', '0x', '0X0', '-1', '1e5', ' 1',
  '\u0661', 'constructor', '__proto__', '9'.repeat(79), '0'.repeat(1_000_000), '0x' + 'f'.repeat(1_000_001), '0x095ff22d',
  '0x779b432d', '0x095ea7b3', '0x779b432d' + 'f'.repeat(64 * 20), [], [[]], {}, Object.create(null), { length: 3 },
  { length: -1 }, new Array(3), new Date(NaN), deep, thrower,
];

/** What is wrong with a report on a hostile value, or nothing. Only what throws when it is read may be unforeseen. */
function misreported(report, mayPass, value) {
  const { ok, problems, unchecked, checked, calls } = report;
  if (![problems, unchecked, checked, calls].every(Array.isArray) || ok !== (problems.length === 0)) return 'a malformed report';
  if (!ok && calls.length > 0) return 'calls in spite of problems';
  if (ok && !mayPass) return 'passes';
  if (JSON.stringify(report).length > 20_000) return 'a report without bounds';
  const unforeseen = problems.some((problem) => problem.includes('cannot be read'));
  return unforeseen && value !== thrower ? 'not foreseen' : undefined;
}

/** The rows of the listing that a quote needs, and a few others. */
function smallListing({ request }) {
  const { chains, tokens, pairs: rows, ...rest } = structuredClone(input.pairs);
  const ends = [request.srcChain, request.dstChain];
  const near = (row) => ends.includes(String(row.chainId));
  return { ...rest, chains: chains.filter(near), tokens: tokens.filter(near),
    pairs: rows.filter((row) => String(row.srcChain) === ends[0] && String(row.dstChain) === ends[1]) };
}

/** The routers and the listing with a few rows, so that thousands of checks take seconds. */
function smallKnown(base) {
  const routers = listing.routers.filter((row) => String(row.chainId) === base.request.srcChain);
  return [{ ...listing, routers }, { ...learned, listing: smallListing(base) }];
}

/** Alters every value of the listing that a quote was checked against, and lists what changes the calls and passes. */
function lieInListing(base) {
  const truth = JSON.stringify(check(base.request, base.quote, learned).calls);
  const result = { told: 0, passed: [] };
  const altered = smallListing(base);
  for (const { path, holder, key } of places(altered)) {
    const value = holder[key];
    for (const lie of [...lies(value), undefined, null, 0, '', [], {}]) {
      holder[key] = lie;
      result.told++;
      const report = check(base.request, base.quote, { listing: altered });
      if (report.ok && JSON.stringify(report.calls) !== truth) result.passed.push(`${path}: ${String(lie)}`);
    }
    holder[key] = value;
  }
  return result;
}

/** Puts hostile values everywhere. Nothing may be thrown, and a quote may pass only with one where nobody can check. */
function meetHostility(base) {
  const result = { tried: 0, wrong: [] };
  const attempt = (what, mayPass, value, run) => {
    result.tried++;
    let wrong;
    try {
      wrong = misreported(run(), mayPass, value);
    } catch (error) {
      wrong = String(error);
    }
    if (wrong) result.wrong.push(`${what}: ${wrong}`);
  };
  HOSTILE.forEach((value, i) => {
    attempt(`hostile value ${i} as request`, false, value, () => verify(value, base.quote));
    attempt(`hostile value ${i} as quote`, false, value, () => verify(base.request, value));
    attempt(`hostile value ${i} as known`, false, value, () => check(base.request, base.quote, value));
    if (decode(value) !== null) result.wrong.push(`hostile value ${i} is decoded`);
    attempt(`hostile value ${i} as listing`, false, value, () => check(base.request, base.quote, { listing: value ?? null }));
    const small = smallListing(base);
    for (const { path, holder, key } of places(small)) {
      const truth = holder[key];
      holder[key] = value;
      attempt(`hostile value ${i} as listing.${path}`, true, value, () => check(base.request, base.quote, { listing: small }));
      holder[key] = truth;
    }
    const whole = structuredClone({ request: base.request, quote: base.quote, known: { ...listing, routers: listing.routers.slice(0, 6) } });
    for (const { path, holder, key } of places(whole)) {
      if (!path.includes('.')) continue;
      const truth = holder[key];
      holder[key] = value;
      attempt(`hostile value ${i} as ${path}`, mayPassAs(path, value, truth), value, () => check(whole.request, whole.quote, whole.known));
      holder[key] = truth;
    }
  });
  const { request, quote } = structuredClone(base);
  const calldata = base.quote.methodParameters.calldata;
  const both = smallKnown(base);
  for (let end = 0; end < calldata.length; end++) {
    const cut = calldata.slice(0, end);
    quote.methodParameters.calldata = cut;
    attempt(`${end} characters of calldata`, false, cut, () => verify(request, quote, both));
    if (decode(cut) !== null) result.wrong.push(`${end} characters of calldata are decoded`);
  }
  return result;
}

/** A row of another token, an optional parameter and the time may be anything. */
function mayPassAs(path, value, truth) {
  const [where, ...inner] = path.split('.');
  if (where !== 'quote' || Object.is(value, truth)) return true;
  const field = inner.join('.');
  if (field === 'details' || field === 'details.checks') return value === undefined || value === null;
  if (field === 'details.arrival.deductions') return Array.isArray(value) && value.length === 0 && truth.length === 0;
  return FREE.test(field);
}

process.stdout.write(JSON.stringify({
  pairs,
  quotes: Object.fromEntries(input.quotes.map(({ name, request, quote }) => [name, wantNamed(verify(request, quote), quote)])),
  alterations: Object.fromEntries(input.alterations.map((alteration) => [alteration.name, runAlteration(alteration)])),
  requests: Object.fromEntries(input.requests.map(({ name, base, change }) =>
    [name, verify({ ...byName.get(base).request, ...change }, byName.get(base).quote)])),
  listings: Object.fromEntries(input.listings.map((altered) => [altered.name, runListing(altered)])),
  decoded: input.calldata.map(decode),
  lies: Object.fromEntries(input.lies.map((name) => [name, tellLies(byName.get(name))])),
  listingLies: Object.fromEntries(input.listingLies.map((name) => [name, lieInListing(byName.get(name))])),
  others: input.others.map(({ known, request, quote }) => check(request, quote, known)),
  hostility: Object.fromEntries(input.hostile.map((name) => [name, meetHostility(byName.get(name))])),
}, (_, value) => (typeof value === 'bigint' ? String(value) : value)));
