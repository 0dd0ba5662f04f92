// Compiles every contract beside this file into cmd/devnet/contracts/artifacts. It is run from a folder where package.json is installed
// (`make contracts` does both), and gives the same bytes for the same sources wherever it runs.

import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const solc = createRequire(join(process.cwd(), "package.json"))("solc");

const pinned = JSON.parse(readFileSync(join(here, "package.json"))).devDependencies.solc;
const version = solc.version().replace(".Emscripten.clang", "");
if (version.split("+")[0] !== pinned) {
  throw new Error(`this folder has solc ${version}; package.json pins ${pinned}`);
}

const sources = {};
for (const file of readdirSync(here).filter((name) => name.endsWith(".sol")).sort()) {
  sources[file] = { content: readFileSync(join(here, file), "utf8") };
}

const settings = {
  // Every network of the deployment, and every simulated chain, runs this one.
  evmVersion: "paris",
  optimizer: { enabled: true, runs: 200 },
  // The metadata trailer would make the code depend on comments.
  metadata: { appendCBOR: false, bytecodeHash: "none" },
  outputSelection: {
    "*": { "*": ["abi", "evm.bytecode.object", "evm.deployedBytecode.object", "storageLayout"], "": ["ast"] },
  },
};

const output = JSON.parse(solc.compile(JSON.stringify({ language: "Solidity", sources, settings })));
if (output.errors?.length) {
  throw new Error(output.errors.map((e) => e.formattedMessage).join("\n")); // warnings too
}

const sha256 = (file) => createHash("sha256").update(sources[file].content).digest("hex");

// The file and everything it imports, directly or not.
function reach(file, seen = new Set()) {
  if (seen.has(file)) return seen;
  seen.add(file);
  for (const node of output.sources[file].ast.nodes) {
    if (node.nodeType === "ImportDirective") reach(node.absolutePath, seen);
  }
  return seen;
}

const artifacts = join(here, "../../cmd/devnet/contracts/artifacts");
rmSync(artifacts, { recursive: true, force: true });
mkdirSync(artifacts);

for (const file of Object.keys(sources)) {
  for (const node of output.sources[file].ast.nodes) {
    if (node.contractKind !== "contract" || node.abstract) continue;
    const { abi, evm, storageLayout } = output.contracts[file][node.name];
    const artifact = {
      contract: node.name,
      solc: version,
      sources: Object.fromEntries([...reach(file)].sort().map((f) => [f, sha256(f)])),
      abi,
      storage: storageLayout.storage.map(({ label, slot, offset, type }) => ({
        label,
        slot: Number(slot),
        offset,
        size: Number(storageLayout.types[type].numberOfBytes),
        type: storageLayout.types[type].label,
      })),
      bytecode: "0x" + evm.bytecode.object,
      deployedBytecode: "0x" + evm.deployedBytecode.object,
    };
    writeFileSync(join(artifacts, `${node.name}.json`), JSON.stringify(artifact, null, 2) + "\n");
  }
}
