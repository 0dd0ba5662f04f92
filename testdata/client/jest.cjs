// Loads the client as Jest does, without Jest, which needs 270 packages: what transformIgnorePatterns of the
// configuration lets through is transformed to CommonJS, and all else is loaded as it is. Run it with the configuration
// and the entries to load: node jest.cjs jest.config.cjs @quotegate/client.
const { readFileSync } = require('node:fs');
const Module = require('node:module');
const { resolve } = require('node:path');
const { transformSync } = require('esbuild');

const { transformIgnorePatterns } = require(resolve(process.argv[2]));
Module._extensions['.js'] = (module, file) => {
  const source = readFileSync(file, 'utf8');
  const isIgnored = transformIgnorePatterns.some((pattern) => new RegExp(pattern).test(file));
  module._compile(isIgnored ? source : transformSync(source, { format: 'cjs' }).code, file, 'commonjs');
};
for (const name of process.argv.slice(3)) {
  if (!Object.keys(require(name)).length) throw new Error(`${name} exports nothing`);
}
