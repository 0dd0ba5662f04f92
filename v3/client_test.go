package v3_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/quotegate/quotegate/gateway/testkit/golden"
	"github.com/quotegate/quotegate/shared/testkit/npm"
	"github.com/quotegate/quotegate/shared/web"
)

// TestClient uses the client as its users do: packed by npm, in Node, compiled, bundled, and in Hermes.
func TestClient(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED, NOT TESTED: it uses npm; make test-all runs it")
	}
	folder := npm.Consumer(t)
	for _, test := range []struct {
		name string
		run  func(*testing.T, string)
	}{
		{"package", clientPackage}, {"published", clientPublished}, {"behaviour", clientBehaviour}, {"types", clientTypes},
		{"compiles", clientCompiles}, {"bundles", clientBundles}, {"phones", clientOnPhones},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, folder) })
	}
}

// clientPackage: the package has what it needs, and nothing else.
func clientPackage(t *testing.T, folder string) {
	var got []string
	entries, err := os.ReadDir(filepath.Join(folder, "node_modules/@quotegate/client"))
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		got = append(got, entry.Name())
	}
	if want := []string{
		"README.md", "amount.d.ts", "amount.js", "index.d.ts", "index.js", "package.json", "send.d.ts", "send.js",
		"verify.d.ts", "verify.js", "wait.js",
	}; !slices.Equal(got, want) {
		t.Errorf("npm packs %v, want %v", got, want)
	}
	for _, name := range []string{"amount.js", "index.js", "send.js", "verify.js", "wait.js"} {
		source := string(readFile(t, "client/"+name))
		for _, word := range []string{"eval", "new Function", "require(", "process.", "window", "document"} {
			if strings.Contains(source, word) {
				t.Errorf("%s has %q", name, word)
			}
		}
	}
	if strings.Contains(string(readFile(t, "client/package.json")), "ependencies") {
		t.Error("the package has dependencies")
	}
}

// clientPublished: the package is what registries and compilers expect. Its sizes are those that its README states.
func clientPublished(t *testing.T, folder string) {
	const packed = "node_modules/@quotegate/client"
	if out, err := npm.Run(t, folder, "node_modules/.bin/publint", "--strict", packed); err != nil || !strings.Contains(out, "All good") {
		t.Errorf("publint: %v\n%s", err, out)
	}
	if out, err := npm.Run(t, folder, "node_modules/.bin/attw", "--pack", packed, "--profile", "esm-only", "--no-color", "--no-emoji"); err != nil {
		t.Errorf("attw: %v\n%s", err, out)
	}
	readme := string(readFile(t, "client/README.md"))
	for name, entry := range map[string]string{
		"@quotegate/client": "index.js", "@quotegate/client/verify": "verify.js", "@quotegate/client/send": "send.js",
		"@quotegate/client/amount": "amount.js",
	} {
		size := zippedSize(t, folder, packed+"/"+entry)
		if want := fmt.Sprintf("| `%s` | %.1f KB |", name, float64(size)/1000); !strings.Contains(readme, want) {
			t.Errorf("the README of the package does not say %s", want)
		}
	}
}

// zippedSize is what an app transfers for an entry and what it imports: bundled, minified, compressed.
func zippedSize(t *testing.T, folder, entry string) int {
	t.Helper()
	out, err := npm.Run(t, folder, "node_modules/.bin/esbuild", entry, "--bundle", "--minify", "--format=esm", "--log-level=error")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var zipped bytes.Buffer
	z, err := gzip.NewWriterLevel(&zipped, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := z.Write([]byte(out)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return zipped.Len()
}

// clientBehaviour runs the tests in JavaScript, in every release of Node that is supported.
func clientBehaviour(t *testing.T, folder string) {
	writeFile(t, folder, "client.test.mjs", readFile(t, "../testdata/client/client.test.mjs"))
	writeFile(t, folder, "send.test.mjs", readFile(t, "../testdata/client/send.test.mjs"))
	writeFile(t, folder, "amount.test.mjs", readFile(t, "../testdata/client/amount.test.mjs"))
	testdata := filepath.Join(npm.Root(t), "testdata")
	for release, node := range map[string]string{
		"v20.": "node", "v22.": "node_modules/node-22/bin/node", "v24.": "node_modules/node-24/bin/node",
	} {
		t.Run("Node "+release, func(t *testing.T) {
			if release != "v20." && (runtime.GOOS != "linux" || runtime.GOARCH != "amd64") {
				t.Skip("SKIPPED, NOT TESTED: this machine cannot run the Node that npm has")
			}
			if out, err := npm.Run(t, folder, node, "--version"); err != nil || release != "v20." && !strings.HasPrefix(out, release) {
				t.Fatalf("got %v %s, want %s", err, out, release)
			}
			cmd := exec.CommandContext(t.Context(), node, "--test", "client.test.mjs", "send.test.mjs", "amount.test.mjs")
			cmd.Dir = folder
			cmd.Env = append(os.Environ(), "GOLDENS="+testdata+"/v3", "AMOUNTS="+testdata+"/client/amounts.json")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// clientOnPhones compiles the client with the compiler of React Native, as it is: nothing has to be lowered for it.
func clientOnPhones(t *testing.T, folder string) {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("SKIPPED, NOT TESTED: this machine cannot run the compiler that npm has")
	}
	for _, entry := range []string{"@quotegate/client", "@quotegate/client/verify", "@quotegate/client/send", "@quotegate/client/amount"} {
		name := strings.ReplaceAll(entry, "/", "-") + ".phone.js"
		writeFile(t, folder, "phone.js", []byte("import * as all from '"+entry+"'; globalThis.all = all;"))
		bundle := []string{"node_modules/.bin/esbuild", "phone.js", "--bundle", "--target=esnext", "--format=iife", "--outfile=" + name, "--log-level=error"}
		if out, err := npm.Run(t, folder, bundle...); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		compile := []string{"node_modules/hermes-compiler/hermesc/linux64-bin/hermesc", "-O", "-emit-binary", "-out", name + ".hbc", name}
		if out, err := npm.Run(t, folder, compile...); err != nil {
			t.Errorf("%s: hermesc: %v\n%s", entry, err, out)
		}
	}
}

// clientTypes holds the types to the contract file, as it is served.
func clientTypes(t *testing.T, folder string) {
	writeFile(t, folder, "types.mjs", readFile(t, "../testdata/client/types.mjs"))
	w := httptest.NewRecorder()
	golden.Gateway(t).ServeHTTP(w, httptest.NewRequest("GET", web.ContractPath("v3"), nil))
	writeFile(t, folder, "openapi.yaml", w.Body.Bytes())
	out, err := npm.Run(t, folder, "node", "types.mjs", filepath.Join(npm.Root(t), "v3/client/index.d.ts"), "openapi.yaml")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for line := range strings.Lines(out) {
		if line = strings.TrimSpace(line); line != "" {
			t.Error(line)
		}
	}
}

// clientCompiles compiles a consumer as strictly as the compiler can. Its lines that must not compile are marked. The
// snippets of the documentation are compiled as bundlers do, in cmd/devnet.
func clientCompiles(t *testing.T, folder string) {
	writeFile(t, folder, "consumer.ts", readFile(t, "../testdata/client/consumer.ts"))
	out, err := npm.Run(t, folder, "node_modules/.bin/tsc", "--noEmit", "--strict", "--exactOptionalPropertyTypes",
		"--noUncheckedIndexedAccess", "--noPropertyAccessFromIndexSignature", "--target", "es2022", "--lib", "es2022,dom",
		"--module", "nodenext", "--moduleResolution", "nodenext", "consumer.ts")
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// clientBundles bundles the client with what apps use, and runs each bundle: it checks a quote, and refuses an altered one.
func clientBundles(t *testing.T, folder string) {
	entry := `import { createClient, QuoteError, verify, version } from '@quotegate/client';
		import { send, SendError } from '@quotegate/client/send';
		const { listing, request, quote } = globalThis.input;
		const report = verify(request, quote, { listing });
		const altered = verify(request, { ...quote, to: listing.settlement.receiver }, { listing });
		const client = createClient({ gateway: 'http://x', fetch: () => { throw new Error('offline'); } });
		const error = new QuoteError('m', { code: 'INTERNAL', status: 500 });
		globalThis.output = [version, report.ok, report.calls.length, altered.ok, altered.calls.length, typeof client.follow, error.code, error instanceof QuoteError,
			typeof send, new SendError('EXPIRED', 'm', { sent: 'NOTHING' }) instanceof SendError].join(' ');`
	request, quote := readExchange(t, "../testdata/v3/details.http")
	_, listing := readExchange(t, "../testdata/v3/pairs.http")
	delete(request, "include")
	input := "globalThis.input = {request: " + marshal(t, request) + ", quote: " + string(quote) + ", listing: " + string(listing) + "};\n"
	writeFile(t, folder, "entry.js", []byte(entry))
	writeFile(t, folder, "webpack.config.js", []byte(`export default { mode: 'production', entry: './entry.js', output: { path: process.cwd(), filename: 'webpack.out.js' }, target: 'web' };`))
	writeFile(t, folder, "vite.config.js", []byte(`export default { logLevel: 'error', build: { lib: { entry: './entry.js', formats: ['iife'], name: 'x', fileName: () => 'vite.out.js' }, outDir: '.', emptyOutDir: false, copyPublicDir: false } };`))
	writeFile(t, folder, "webpack.mjs", []byte(`import webpack from 'webpack'; import config from './webpack.config.js';
		webpack(config, (error, stats) => { if (error || stats.hasErrors()) { console.error(String(error ?? stats)); process.exit(1); } });`))
	// Phones compile everything down to what Hermes has of the language: functions for classes, loops for generators.
	writeFile(t, folder, "hermes.mjs", []byte(`import { buildSync } from 'esbuild'; import ts from 'typescript'; import { writeFileSync } from 'node:fs';
		const { outputFiles } = buildSync({ entryPoints: ['entry.js'], bundle: true, format: 'iife', target: 'es2020', write: false });
		const { outputText } = ts.transpileModule(outputFiles[0].text, { compilerOptions: { target: 'es5', downlevelIteration: true } });
		writeFileSync('hermes.out.js', outputText);`))
	for _, bundler := range []struct {
		name    string
		command []string
	}{
		{"esbuild", []string{"node_modules/.bin/esbuild", "entry.js", "--bundle", "--minify", "--format=iife", "--outfile=esbuild.out.js", "--log-level=error"}},
		{"vite", []string{"node_modules/.bin/vite", "build"}},
		{"webpack", []string{"node", "webpack.mjs"}},
		{"hermes", []string{"node", "hermes.mjs"}},
	} {
		t.Run(bundler.name, func(t *testing.T) {
			t.Parallel()
			if out, err := npm.Run(t, folder, bundler.command...); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			run := []string{"node"}
			if bundler.name == "hermes" {
				if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
					t.Skip("SKIPPED, NOT TESTED: this machine cannot run the Hermes that npm has")
				}
				run = []string{"node_modules/hermes-engine-cli/linux64-bin/hermes"}
			}
			program := input + string(readFile(t, filepath.Join(folder, bundler.name+".out.js"))) + "\n(typeof print === 'function' ? print : console.log)(globalThis.output);"
			writeFile(t, folder, bundler.name+".run.cjs", []byte(program))
			out, err := npm.Run(t, folder, append(run, bundler.name+".run.cjs")...)
			if want := "1.0.0 true 2 false 0 function INTERNAL true function true"; err != nil || strings.TrimSpace(out) != want {
				t.Errorf("got %.500s (%v), want %s", out, err, want)
			}
		})
	}
}
