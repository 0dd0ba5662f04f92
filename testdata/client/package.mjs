// Checks the npm package as its users get it: what registries want, types, sizes, bundles, and Hermes. Everything runs
// in one process, since starting the tools costs more than what they do here. v3/client_test.go runs it in the folder of
// a project that has the package, with contract.yaml and input.json, and prints a JSON object: { sizes, problems }.
import { checkPackage, Package } from '@arethetypeswrong/core';
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { createContext, runInContext } from 'node:vm';
import { gzipSync } from 'node:zlib';
import { buildSync } from 'esbuild';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import ts from 'typescript';
import { build as buildWithVite } from 'vite';
import { parse } from 'yaml';
import { compareTypes } from './types.mjs';

const PACKED = 'node_modules/@quotegate/client';
const manifest = JSON.parse(readFileSync(`${PACKED}/package.json`, 'utf8'));
const ENTRIES = Object.fromEntries(Object.entries(manifest.exports)
  .filter(([, target]) => target.default)
  .map(([name, target]) => [name.replace('.', '@quotegate/client'), target.default.slice(2)]));
const problems = [];
const sizes = {};

/** Bundles with esbuild, and gives the text. */
function bundle(entry, options = {}) {
  const { outputFiles } = buildSync({ entryPoints: [entry], bundle: true, format: 'iife', write: false, logLevel: 'silent', ...options });
  return outputFiles[0].text;
}

/** The registry's rules. */
async function checkManifest() {
  const { messages, pkg } = await publint({ pkgDir: resolve(PACKED), strict: true });
  for (const message of messages) problems.push(`publint: ${formatMessage(message, pkg, { color: false })}`);
}

/**
 * Whether every way of resolving modules finds the types that belong to the code. That CommonJS gets a module is meant:
 * the package has no other form, and Node can require it.
 */
async function checkResolution() {
  const files = readdirSync(PACKED).map((name) => [`/${PACKED}/${name}`, readFileSync(`${PACKED}/${name}`, 'utf8')]);
  const packed = new Package(Object.fromEntries(files), manifest.name, manifest.version);
  const { problems: found, entrypoints } = await checkPackage(packed);
  for (const problem of found) {
    if (problem.kind !== 'CJSResolvesToESM') problems.push(`attw: ${JSON.stringify(problem)}`);
  }
  const seen = Object.keys(entrypoints).length;
  const want = Object.keys(manifest.exports).length;
  if (seen !== want) problems.push(`attw: checked ${seen} entries, want ${want}`);
}

/** The package's types and a consumer as strict as the compiler can be; then the types and the contract. */
function checkTypes() {
  const types = `${PACKED}/index.d.ts`;
  const declarations = readdirSync(PACKED).filter((name) => name.endsWith('.d.ts')).map((name) => `${PACKED}/${name}`);
  const program = ts.createProgram(['consumer.ts', ...declarations], {
    noEmit: true, strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, noPropertyAccessFromIndexSignature: true,
    target: ts.ScriptTarget.ES2022, lib: ['lib.es2022.d.ts', 'lib.dom.d.ts'], types: [],
    module: ts.ModuleKind.NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext,
  });
  const ours = program.getSourceFiles().filter(({ fileName }) => fileName.endsWith('consumer.ts') || fileName.includes('@quotegate/client'));
  if (ours.length !== declarations.length + 1) problems.push(`the compiler read ${ours.map(({ fileName }) => fileName)}, want a consumer and all declarations`);
  const found = [...program.getOptionsDiagnostics(), ...program.getGlobalDiagnostics()];
  for (const file of ours) found.push(...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file));
  for (const { file, start, messageText } of found) {
    const line = file ? file.getLineAndCharacterOfPosition(start).line + 1 : 0;
    problems.push(`tsc: ${file?.fileName}:${line}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`);
  }
  problems.push(...compareTypes(program, types, parse(readFileSync('contract.yaml', 'utf8'))));
}

/** The entries for viem, with everything that its users have. */
function checkViemTypes() {
  const program = ts.createProgram(['viem.consumer.ts'], {
    noEmit: true, strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, noPropertyAccessFromIndexSignature: true,
    target: ts.ScriptTarget.ES2022, lib: ['lib.es2022.d.ts', 'lib.dom.d.ts'], types: [],
    module: ts.ModuleKind.NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext,
  });
  const ours = program.getSourceFiles().filter(({ fileName }) => /viem\.consumer\.ts$|@quotegate\/client\/(viem|abi)\.d\.ts$/.test(fileName));
  if (ours.length !== 3) problems.push(`the compiler read ${ours.map(({ fileName }) => fileName)}, want a consumer and two entries`);
  const found = ours.flatMap((file) => [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)]);
  const host = { getCanonicalFileName: (name) => name, getCurrentDirectory: () => resolve('.'), getNewLine: () => '\n' };
  problems.push(...found.map((each) => ts.formatDiagnostic(each, host)));
}

/** What an app transfers for an entry and what it imports at once: bundled, minified, compressed. */
function measure() {
  for (const [name, file] of Object.entries(ENTRIES)) {
    const { outputFiles } = buildSync({
      entryPoints: { entry: `${PACKED}/${file}` }, outdir: '.', write: false, logLevel: 'silent',
      bundle: true, splitting: true, minify: true, format: 'esm',
    });
    const entry = outputFiles.find(({ path }) => path.endsWith('/entry.js'));
    const chunks = outputFiles.filter(({ path }) => entry.text.includes(`from"./${basename(path)}"`));
    sizes[name] = gzipSync([entry, ...chunks].map(({ text }) => text).join(''), { level: 9 }).length;
  }
}

const APP = `import { createClient, QuoteError, verify, version } from '@quotegate/client';
  import { send, SendError } from '@quotegate/client/send';
  import { estimate } from '@quotegate/client/estimate';
  const { listing, request, quote } = globalThis.input;
  const pairOf = ({ srcToken, dstToken, srcChain, dstChain }) => ({ srcToken, dstToken, srcChain, dstChain });
  const report = verify(request, quote, { listing });
  const altered = verify(request, { ...quote, to: listing.settlement.receiver }, { listing });
  const client = createClient({ gateway: 'http://x', fetch: () => { throw new Error('offline'); } });
  const error = new QuoteError('m', { code: 'INTERNAL', status: 500 });
  globalThis.output = [version, report.ok, report.calls.length, altered.ok, altered.calls.length, typeof client.follow,
    error.code, error instanceof QuoteError, typeof send, estimate(listing, { ...pairOf(request), amount: quote.srcAmount }).destAmount === quote.destAmount, new SendError('EXPIRED', 'm', { sent: 'NOTHING' }) instanceof SendError].join(' ');`;
const INPUT = `globalThis.input = ${readFileSync('input.json', 'utf8')};\n`;
const WANT = '1.0.0 true 2 false 0 function INTERNAL true function true true';

/** An app that checks a quote, and refuses an altered one. It has what browsers have, and nothing of Node. */
async function runBundles() {
  writeFileSync('app.js', APP);
  const { output } = (await buildWithVite({
    logLevel: 'silent', configFile: false,
    build: { write: false, lib: { entry: './app.js', formats: ['iife'], name: 'app' } },
  }))[0];
  for (const [bundler, code] of [['esbuild', bundle('app.js', { minify: true })], ['vite', output[0].code]]) {
    const browser = createContext({ URL, URLSearchParams, AbortController, AbortSignal, setTimeout, clearTimeout, TextDecoder });
    const got = runInContext(`${INPUT}${code}\nglobalThis.output`, browser);
    if (got !== WANT) problems.push(`${bundler}: got ${got}, want ${WANT}`);
  }
}

/** Phones: Hermes compiles each entry as it is, and runs the app, compiled down to what its interpreter knows. */
function runInHermes() {
  for (const name of Object.keys(ENTRIES)) {
    writeFileSync('phone.in.js', `import * as all from '${name}'; globalThis.all = all;`);
    writeFileSync('phone.js', bundle('phone.in.js', { target: 'esnext' }));
    execFileSync('node_modules/hermes-compiler/hermesc/linux64-bin/hermesc', ['-O', '-emit-binary', '-out', 'phone.hbc', 'phone.js'], { stdio: 'pipe' });
  }
  const app = bundle('app.js', { target: 'es2020' });
  const { outputText } = ts.transpileModule(app, { compilerOptions: { target: 'es5', downlevelIteration: true } });
  writeFileSync('hermes.js', `${INPUT}${outputText}\nprint(globalThis.output);`);
  const got = String(execFileSync('node_modules/hermes-engine-cli/linux64-bin/hermes', ['hermes.js'], { stdio: 'pipe' })).trim();
  if (got !== WANT) problems.push(`Hermes: got ${got}, want ${WANT}`);
}

await checkManifest();
await checkResolution();
checkTypes();
checkViemTypes();
measure();
await runBundles();
if (process.platform === 'linux' && process.arch === 'x64') runInHermes(); // npm has it for no other machine
console.log(JSON.stringify({ sizes, problems }));
