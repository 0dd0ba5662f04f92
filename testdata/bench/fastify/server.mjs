// The quote endpoint as a service of its own: validated queries, a limit per
// client behind a trusted proxy, an access log, and answers serialised from a
// schema. It leaves out what the gateway has beyond that: other versions,
// shielding, integrators, CORS, metrics.
//
// As it is usually written, it logs with Fastify's defaults, two lines a request,
// and encodes with encodeFunctionData. TUNED=true makes that one line and prepared
// encoders, which takes knowing both libraries well.
//
//   PORT=8080 node server.mjs <chains.json> <deployment.json>

import Fastify from 'fastify';
import rateLimit from '@fastify/rate-limit';
import { newQuoter } from './quote.mjs';

const [chainsFile, deploymentFile] = process.argv.slice(2);
const tuned = process.env.TUNED === 'true';
const quote = newQuoter(chainsFile, deploymentFile, tuned);

const object = (properties) => ({ type: 'object', properties, required: Object.keys(properties) });
const text = { type: 'string' };
const integer = { type: 'integer' };
const number = { type: 'number' };

const querystring = object(
  {
    srcToken: { type: 'string', minLength: 1, maxLength: 42 },
    dstToken: { type: 'string', minLength: 1, maxLength: 42 },
    amount: { type: 'string', pattern: '^[0-9]{1,78}$' },
    srcChain: { type: 'string', pattern: '^[1-9][0-9]{0,15}$' },
    dstChain: { type: 'string', pattern: '^[1-9][0-9]{0,15}$' },
    recipient: { type: 'string', minLength: 42, maxLength: 127 },
  },
);
const token = object({ address: text, symbol: text, decimals: integer, chainId: integer });
// Nothing is required: the serialiser would write optional fields after required ones, and not in this order.
const answer = {
  type: 'object',
  properties: {
    to: text,
    srcToken: token,
    destToken: token,
    srcAmount: text,
    destAmount: text,
    fee: object({
      chainId: integer,
      token: text,
      protocol: object({ percentage: number, amount: text }),
      integrator: object({ percentage: number, amount: text }),
      total: object({ amount: text }),
    }),
    approval: object({ token: text, spender: text, amount: text, calldata: text }),
    methodParameters: object({ calldata: text, value: text }),
    route: object({ type: text }),
  },
};
const problem = object({ error: text, code: text, requestId: text });

const app = Fastify({
  logger: { level: 'info' },
  disableRequestLogging: tuned,
  trustProxy: '127.0.0.1',
  requestIdHeader: false,
});

await app.register(rateLimit, { max: 1000, timeWindow: '1 minute', cache: 10_000 });

app.addHook('onRequest', async (request, reply) => {
  reply.header('x-request-id', request.id);
});

if (tuned) {
  app.addHook('onResponse', async (request, reply) => {
    request.log.info({ route: request.routeOptions.url, method: request.method, status: reply.statusCode, duration: reply.elapsedTime }, 'request');
  });
}

app.setErrorHandler((error, request, reply) => {
  const status = error.statusCode ?? 500;
  if (status >= 500) request.log.error(error);
  reply.status(status).send({
    error: status >= 500 ? 'Something went wrong on our side' : error.message,
    code: error.code ?? 'INTERNAL',
    requestId: request.id,
  });
});

app.get('/v3/swap/quote', { schema: { querystring, response: { 200: answer, '4xx': problem, '5xx': problem } } }, async (request) =>
  quote(request.query),
);
app.get('/v3/swap/healthcheck', { config: { rateLimit: false } }, async () => ({ status: 'ok' }));

await app.listen({ host: '127.0.0.1', port: Number(process.env.PORT) });
