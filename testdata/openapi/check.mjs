// Checks the contract files with the tools that wallet teams use: two linters,
// four generators, whose code compiles with programs that use it, and Prism as a proxy in front of a gateway and as a mock.
// `make contract` installs the tools and builds the gateway in .scratch/openapi.
// Exits 1 if any tool complains.
import { execFile, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { isDeepStrictEqual, promisify } from "node:util";

import { readGoldens } from "./goldens.mjs";

const versions = readdirSync(".").filter((folder) => existsSync(`${folder}/openapi.yaml`));
const scratch = ".scratch/openapi";
const out = `${scratch}/out`;
const tool = (name) => `${scratch}/node_modules/.bin/${name}`;
const contract = (version) => `./${out}/${version}.yaml`; // as it is served, whole
const generator = "github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2";
const KEY = `qg_${"B".repeat(43)}`; // that the gateway has given out

// The tools must not report to their makers, nor ask for a newer release.
const env = { ...process.env, REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true", DO_NOT_TRACK: "1" };

let complaints = 0;
function complain(text) {
  complaints++;
  console.error(`  ${text}`);
}

const run = (title, name, ...args) => runIn(".", title, tool(name), ...args);

async function runIn(cwd, title, command, ...args) {
  console.log(title);
  try {
    return (await promisify(execFile)(command, args, { cwd, env, maxBuffer: 1 << 26 })).stdout;
  } catch (e) {
    complain(`${e.message}\n${e.stdout ?? ""}${e.stderr ?? ""}`);
    return "";
  }
}

async function lint(version) {
  // The tree has no licence file, so the contract names none.
  const report = await run(`${version}: redocly lint`, "redocly", "lint", contract(version), "--skip-rule=info-license", "--format=json");
  for (const problem of report ? JSON.parse(report).problems : []) complain(`${problem.ruleId}: ${problem.message}`);
  await run(`${version}: spectral lint`, "spectral", "lint", contract(version), "--ruleset=testdata/openapi/spectral.yaml", "--fail-severity=hint");
}

async function generate(version) {
  const types = `${out}/${version}.ts`;
  await run(`${version}: openapi-typescript`, "openapi-typescript", contract(version), "--output", types);
  await run(`${version}: orval`, "orval", "--input", contract(version), "--output", `${out}/orval-${version}.ts`, "--client", "fetch");
  await run(`${version}: openapi-ts`, "openapi-ts", "--input", contract(version), "--output", `${out}/openapi-ts-${version}`, "--no-log-file");
  await run(`${version}: tsc`, "tsc", "--noEmit", "--strict", "--skipLibCheck", "--target", "es2022", "--module", "esnext", "--moduleResolution", "bundler",
    "--lib", "es2022,dom,dom.iterable", types, `${out}/orval-${version}.ts`, `${out}/openapi-ts-${version}/index.ts`,
    ...(version === "v3" ? [`${out}/consumer.ts`] : []));
}

// generateGo makes a package of each contract, compiles them, and runs a program that uses that of v3.
async function generateGo(gateway) {
  mkdirSync(`${out}/go`);
  copyFileSync("testdata/openapi/consumer.go", `${out}/go/main.go`);
  writeFileSync(`${out}/go/go.mod`, "module consumer\n\ngo 1.24\n\nrequire github.com/oapi-codegen/runtime v1.8.0\n");
  for (const version of versions) {
    mkdirSync(`${out}/go/${version}`);
    await runIn(".", `${version}: oapi-codegen`, "go", "run", generator, "-generate", "types,client", "-package", version,
      "-o", `${out}/go/${version}/api.go`, `${out}/${version}.json`);
  }
  await runIn(`${out}/go`, "go mod tidy", "go", "mod", "tidy");
  await runIn(`${out}/go`, "go vet", "go", "vet", "./...");
  await runIn(`${out}/go`, "go run", "go", "run", ".", gateway.base);
}

const children = [];

// serve starts a server on a free port and waits until it answers at path.
async function serve(path, start) {
  const [port, adminPort] = await Promise.all([freePort(), freePort()]);
  const { command, args, more } = start(port, adminPort);
  const child = spawn(command, args, { env: { ...env, ...more }, stdio: ["ignore", "pipe", "pipe"] });
  children.push(child);
  let log = "";
  child.stdout.on("data", (text) => (log += text));
  child.stderr.on("data", (text) => (log += text));
  const base = `http://127.0.0.1:${port}`;
  for (let tries = 0; tries < 300 && child.exitCode === null; tries++) {
    try {
      await (await fetch(base + path)).text();
      return { base, stop: () => child.kill() };
    } catch {
      await new Promise((resume) => setTimeout(resume, 100));
    }
  }
  throw new Error(`${command} ${args.join(" ")} does not answer:\n${log}`);
}

function freePort() {
  return new Promise((found) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => found(port));
    });
  });
}

// writePlan retires the older versions one day, so that their answers carry the
// headers of a plan.
function writePlan() {
  const retire = (version) => ({
    deprecated: "2026-01-01T00:00:00Z", sunset: "2126-01-01T00:00:00Z", successor: "/v3/swap/quote", docs: `https://example.org/migrate-${version}`,
    brownouts: [{ from: "2125-01-01T00:00:00Z", to: "2125-01-01T00:15:00Z", share: 0.25 }],
  });
  const older = versions.filter((version) => version !== "v3");
  // A key that was given out, or the header would be ignored.
  writeFileSync(`${scratch}/clients.json`, JSON.stringify({ clients: [{ name: "Someone", keys: ["sha256:" + createHash("sha256").update(KEY).digest("hex")] }] }));
  writeFileSync(`${scratch}/plan.json`, JSON.stringify({ versions: Object.fromEntries(older.map((version) => [version, retire(version)])) }));
}

function startGateway(limit) {
  return serve("/versions", (port, adminPort) => ({
    command: `${scratch}/gateway`, args: [],
    more: {
      LISTEN_ADDR: `127.0.0.1:${port}`, ADMIN_ADDR: `127.0.0.1:${adminPort}`,
      RATE_LIMIT: String(limit), LIFECYCLE_FILE: `${scratch}/plan.json`, CLIENTS_FILE: `${scratch}/clients.json`, LOG_LEVEL: "warn",
    },
  }));
}

function startPrism(version, mode, ...upstream) {
  return serve("/", (port) => ({ command: tool("prism"), args: [mode, contract(version), ...upstream, "--port", String(port)] }));
}

// ask sends a request through the proxy, which reports where the request or the
// answer breaks the contract. A request that is refused may break it.
async function ask(prism, target, headers, want) {
  const answer = await fetch(prism.base + target, { headers });
  const body = await answer.text();
  const name = `${target.slice(0, 160)} ${JSON.stringify(headers)}`;
  if (answer.status !== want) complain(`${name}: got ${answer.status}, want ${want}: ${body.slice(0, 300)}`);
  for (const violation of JSON.parse(answer.headers.get("sl-violations") ?? "[]")) {
    if (answer.status === 200 || violation.location[0] !== "request") complain(`${name}: ${JSON.stringify(violation)}`);
  }
}

// proxy sends every request on record, and some for refusals that are not.
async function proxy(version, gateway, busy) {
  const goldens = readGoldens(version);
  console.log(`${version}: prism proxy, ${goldens.length} requests`);
  const prism = await startPrism(version, "proxy", gateway.base);
  for (const { target, headers, status, body } of goldens) {
    // This gateway has no RPC endpoint, so it can verify no integrator, and look no transaction up.
    const unverified = body?.fee?.integrator?.id || body?.code?.startsWith("INTEGRATOR_");
    const unasked = body?.state || body?.code === "STATUS_UNAVAILABLE";
    await ask(prism, target, headers, unverified || unasked ? 503 : status);
  }
  if (version === "v3") {
    await ask(prism, "/versions", {}, 200);
    await ask(prism, "/versions/mine", { "API-Key": KEY }, 200);
    await ask(prism, "/versions/mine", {}, 401);
  }
  const quote = goldens.find((g) => g.status === 200 && g.target.includes("/quote?"));
  for (const stage of ["retired", "brownout"]) await ask(prism, quote.target, { "API-Rehearse": stage }, 410);
  prism.stop();

  const limited = await startPrism(version, "proxy", busy.base);
  await fetch(busy.base + quote.target); // the one request a minute it allows
  await ask(limited, quote.target, {}, 429);
  limited.stop();
}

// shows tells whether an example is an answer on record, of whose lists it may leave rows out.
function shows(example, body) {
  const same = (name) => Array.isArray(body?.[name])
    ? example[name].every((row) => body[name].some((other) => isDeepStrictEqual(row, other)))
    : isDeepStrictEqual(example[name], body?.[name]);
  return Object.keys(example).every(same) && Object.keys(example).length === Object.keys(body ?? {}).length;
}

// mock compares what Prism makes of the contract with the answers on record.
async function mock(version) {
  console.log(`${version}: prism mock`);
  const prism = await startPrism(version, "mock");
  const goldens = readGoldens(version);
  const answered = goldens.filter((g) => g.status === 200);
  const recorded = (text) => answered.some((g) => shows(JSON.parse(text), g.body));
  const endpoints = new Map(answered.map((g) => [g.target.split("?")[0], { ...g, isExample: recorded }]));
  const file = readFileSync(contract(version), "utf8");
  endpoints.set(`/${version}/openapi.yaml`, { target: `/${version}/openapi.yaml`, headers: {}, isExample: (text) => file.startsWith(text) });
  endpoints.set(`/${version}/openapi.json`, { target: `/${version}/openapi.json`, headers: {}, isExample: (text) => JSON.parse(text).openapi === "3.1.0" });
  if (version === "v3") {
    endpoints.set("/v3/verify.js", { target: "/v3/verify.js", headers: {}, isExample: (text) => text.startsWith("import { verify }") });
    endpoints.set("/v3/client/index.js", { target: "/v3/client/index.js", headers: {}, isExample: (text) => text.startsWith("import { createClient }") });
    endpoints.set("/versions/mine", { target: "/versions/mine", headers: { "API-Key": KEY }, isExample: (text) => JSON.parse(text).client === "Harbour Wallet" });
    endpoints.set("/versions", { target: "/versions", headers: {}, isExample: (text) => JSON.parse(text).versions[0].name === "v3" });
  }
  for (const { target, headers, isExample } of endpoints.values()) {
    const answer = await fetch(prism.base + target, { headers });
    const text = await answer.text();
    if (answer.status !== 200 || !isExample(text)) complain(`${target}: the mock answers ${answer.status}, and not with an example: ${text.slice(0, 300)}`);
  }
  const quote = answered.find((g) => g.target.includes("/quote?"));
  const codes = { 400: "MISSING_PARAMETER", 401: "UNKNOWN_KEY", 405: "METHOD_NOT_ALLOWED", 410: "VERSION_RETIRED", 429: "RATE_LIMITED", 500: "INTERNAL" };
  codes[503] = version === "v3" ? "INTEGRATOR_UNVERIFIED" : "ISSUER_FEE_TOO_HIGH";
  for (const [status, code] of Object.entries(codes)) {
    const answer = await fetch(prism.base + quote.target, { headers: { ...quote.headers, Prefer: `code=${status}` } });
    const text = await answer.text();
    if (answer.status !== Number(status) || !text.includes(code)) complain(`the mock answers ${answer.status}, want ${status} ${code}: ${text.slice(0, 300)}`);
  }
  prism.stop();
}

try {
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out, { recursive: true });
  copyFileSync("testdata/openapi/consumer.ts", `${out}/consumer.ts`);
  writePlan();
  const gateway = await startGateway(0);
  for (const version of versions) {
    const served = await fetch(`${gateway.base}/${version}/openapi.yaml`);
    writeFileSync(contract(version), await served.text());
    const asJSON = await fetch(`${gateway.base}/${version}/openapi.json`);
    writeFileSync(`${out}/${version}.json`, await asJSON.text());
    await lint(version);
    await generate(version);
  }
  await generateGo(gateway);
  for (const version of versions) {
    const busy = await startGateway(1);
    await proxy(version, gateway, busy);
    busy.stop();
    await mock(version);
  }
} finally {
  for (const child of children) child.kill();
}
console.log(complaints === 0 ? "No complaints." : `${complaints} complaints.`);
process.exit(complaints === 0 ? 0 : 1);
