// Compiles the client, v3/client/npm/src: checks its types as strictly as the compiler can, and writes what npm packs and
// the gateway serves, without comments, and the declarations of its entries. Run it in a folder whose node_modules has
// typescript and viem: node build.mjs SOURCE TARGET.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import ts from 'typescript';

const [source, target] = process.argv.slice(2).map((folder) => resolve(folder));
const OPTIONS = {
  allowJs: true, checkJs: true, strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true,
  noImplicitReturns: true, noUnusedLocals: true, skipLibCheck: true, types: [],
  target: ts.ScriptTarget.ES2022, lib: ['es2022', 'dom', 'dom.iterable', 'esnext.disposable'].map((name) => `lib.${name}.d.ts`),
  module: ts.ModuleKind.NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext, rootDir: source, outDir: target,
};
const files = readdirSync(source).filter((name) => name.endsWith('.js')).sort().map((name) => join(source, name));

/** Compiles, and gives what is written, by name. */
function compile(options) {
  const program = ts.createProgram(files, { ...OPTIONS, ...options });
  const written = new Map();
  const { diagnostics } = program.emit(undefined, (path, text) => written.set(basename(path), text));
  const problems = [...ts.getPreEmitDiagnostics(program), ...diagnostics];
  if (!problems.length) return written;
  console.error(ts.formatDiagnostics(problems, {
    getCanonicalFileName: (name) => name, getCurrentDirectory: () => source, getNewLine: () => '\n',
  }));
  return process.exit(1);
}

/** Leaves out what is marked @internal, which the compiler does for TypeScript only, and imports that served only that. */
function withoutInternal(name, text) {
  const file = ts.createSourceFile(name, text, ts.ScriptTarget.ES2022, true);
  const isInternal = (statement) => ts.getJSDocTags(statement).some(({ tagName }) => tagName.text === 'internal');
  const kept = file.statements.filter((statement) => !isInternal(statement)).map((statement) => statement.getFullText());
  const isUsed = (statement) => {
    const [, imported] = /^\s*import type \{ (\w+) \}/.exec(statement) ?? [];
    return !imported || kept.some((other) => other !== statement && new RegExp(`\\b${imported}\\b`).test(other));
  };
  return `${kept.filter(isUsed).join('').trim()}\n`;
}

const scripts = compile({ removeComments: true });
const declarations = compile({ declaration: true, emitDeclarationOnly: true });
mkdirSync(target, { recursive: true });
for (const [name, text] of scripts) {
  const isEmpty = text.trim() === 'export {};'; // of types, nothing is left
  if (isEmpty) continue;
  const indented = text.replace(/^( {4})+/gm, (spaces) => '\t'.repeat(spaces.length / 4)); // 1 % less to transfer
  writeFileSync(join(target, name), `// Compiled from src/${name}.\n${indented}`);
}
// The declarations of the entries, and those that they need.
const { exports } = JSON.parse(readFileSync(join(source, '../package.json'), 'utf8'));
const needed = new Set(Object.values(exports).flatMap(({ types }) => (types ? [basename(types)] : [])));
for (const name of needed) {
  const text = withoutInternal(name, declarations.get(name));
  writeFileSync(join(target, name), text);
  for (const [, other] of text.matchAll(/['"]\.\/([\w-]+)\.js['"]/g)) needed.add(`${other}.d.ts`);
}
