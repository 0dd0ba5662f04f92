// Gives the verdict of the client about each case of a file. v3/client/verdict_test.go writes the cases and compares
// the verdicts with those of the Go client.
import { createReadStream, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const [, , module, input, output] = process.argv;
const { createClient, shortOf } = await import(module);
let listing; // the first line

const reply = ({ body, status = 200, headers = {} }) => new Response(body, { status, headers });
const FIELDS = ['code', 'status', 'param', 'reason', 'minAmount', 'maxAmount', 'successor', 'until', 'alternatives', 'retryAfter'];
const callsOf = ({ calls, wrap = [] }) => [...calls, ...wrap];
const isPassing = async (client, asked) => {
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

async function judge({ kind, request, quote, body, asked, status, headers, since }) {
  const listed = { body: kind === 'listing' ? body : listing, headers: { 'Cache-Control': 'max-age=60' } };
  const answer = kind === 'listing' || kind === 'routers' ? { body: quote } : { body, status, headers };
  const fetch = async (url) => reply(url.includes('/app/pairs') ? listed : answer);
  const client = createClient({
    gateway: 'https://gateway.example', fetch, ...(kind === 'routers' && { pinned: JSON.parse(body) }),
  });
  const { simulate, ...rest } = request ?? {};
  try {
    if (kind === 'status') {
      const signed = quote && JSON.parse(quote);
      const told = await client.status({ ...asked, quote: signed, ...(since && { since }) });
      return { ok: true, short: (signed && shortOf(told, signed)) ?? '' };
    }
    if (kind === 'error') return { ok: Boolean(await client.status(asked)) };
    return { ok: true, calls: callsOf(await client.quote({ ...rest, ...(simulate && { simulate }) })) };
  } catch (error) {
    if (kind !== 'error') return { ok: false, code: error.code ?? error.name, calls: error.result && callsOf(error.result) };
    const fields = Object.fromEntries(FIELDS.map((name) => [name, error[name]]));
    return { ok: false, ...fields, passing: await isPassing(client, asked) };
  }
}

const verdicts = [];
for await (const line of createInterface({ input: createReadStream(input), crlfDelay: Infinity })) {
  if (listing === undefined) listing = JSON.parse(line);
  else verdicts.push(await judge(JSON.parse(line)));
}
writeFileSync(output, JSON.stringify(verdicts));
