// Gives the verdict of the client about each case of a file. v3/client/verdict_test.go writes the cases and compares
// the verdicts with those of the Go client.
import { createReadStream, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const [, , module, input, output] = process.argv;
const { createClient, shortOf } = await import(module);
Error.stackTraceLimit = 0; // most cases are refused, and nobody reads where
let truth; // the first line: the listing, and quotes by name
const parsed = {}; // those quotes
let current; // the case that the gateway answers

const json = (text) => JSON.parse(text);
// Most answers come without a stream: reading one takes as long as judging it.
const reply = ({ body, status = 200, headers = {} }) => (body.length > 100_000 || body.startsWith('\ufeff')
  ? new Response(body, { status, headers })
  : { status, headers: new Headers(headers), text: async () => body });
async function fetch(url) {
  const { kind, quote, body, status, headers } = current;
  const isListing = url.includes('/app/pairs');
  if (isListing) return reply({ body: kind === 'listing' ? body : truth.listing, headers: { 'Cache-Control': 'max-age=86400' } });
  return reply(kind === 'listing' || kind === 'routers' ? { body: truth.quotes[quote] } : { body, status, headers });
}
const newClient = (options) => createClient({ gateway: 'https://gateway.example', fetch, ...options });
const client = newClient(); // keeps the listing

const FIELDS = ['code', 'status', 'param', 'reason', 'minAmount', 'maxAmount', 'successor', 'until', 'alternatives', 'retryAfter'];
const callsOf = ({ calls, wrap = [] }) => [...calls, ...wrap];
const isPassing = async (asked) => {
  let passing = false;
  const stop = new AbortController();
  const onRetry = () => {
    passing = true;
    stop.abort();
  };
  try {
    await client.follow({ ...asked, signal: stop.signal, onRetry }).next();
  } catch { /* it says whether it retries */ }
  return passing;
};

// As Go says it: without a capital and a full stop.
const asInGo = (sentence) => sentence[0].toLowerCase() + sentence.slice(1).replace(/\.$/, '');

async function judge({ kind, request, quote, body, asked, since }) {
  let own = client;
  if (kind === 'listing') own = newClient();
  if (kind === 'routers') own = newClient({ pinned: json(body) });
  try {
    if (kind === 'status') {
      const signed = quote && (parsed[quote] ??= json(truth.quotes[quote]));
      const told = await own.status({ ...asked, quote: signed, ...(since && { since }) });
      return { ok: true, short: (signed && shortOf(told, signed)) ?? '' };
    }
    if (kind === 'error') return { ok: Boolean(await own.status(asked)) };
    const swap = await own.quote(request);
    const quoted = swap.unchecked.join(' ').match(/"[^"]*"/g)?.sort();
    return { ok: true, calls: callsOf(swap), warnings: swap.warnings.length ? swap.warnings.map(asInGo) : undefined, quoted };
  } catch (error) {
    if (kind !== 'error') return { ok: false, code: error.code ?? error.name, calls: error.result && callsOf(error.result) };
    const fields = Object.fromEntries(FIELDS.map((name) => [name, error[name]]));
    return { ok: false, ...fields, passing: await isPassing(asked) };
  }
}

const verdicts = [];
for await (const line of createInterface({ input: createReadStream(input), crlfDelay: Infinity })) {
  const value = json(line);
  if (truth === undefined) {
    truth = value;
    continue;
  }
  current = value;
  verdicts.push(await judge(value));
}
writeFileSync(output, JSON.stringify(verdicts));
