package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/quotegate/quotegate/cmd/devnet/reference"
	"github.com/quotegate/quotegate/shared/testkit/npm"
	"github.com/quotegate/quotegate/shared/testkit/pages"
)

// A snippet is code as it is printed somewhere.
type snippet struct{ name, source string }

// A snippetRun is what snippets run against: the gateway, the page with the test wallet, and the operator's reports.
type snippetRun struct {
	gateway string
	page    string
	paid    <-chan reference.Report
}

// all compiles and runs the snippets of the page and of the documentation, with a wallet on these chains.
func (r snippetRun) all(t *testing.T, all []snippet) {
	for document, least := range map[string]int{"README.md": 1, "docs/integrate.md": 3, "v3/client/npm/README.md": 4} {
		found, err := pages.Find("../..", document, "ts")
		if err != nil {
			t.Fatal(err)
		}
		if len(found) < least {
			t.Errorf("%s has %d snippets", document, len(found))
		}
		for i, block := range found {
			all = append(all, snippet{fmt.Sprintf("%s %d", document, i+1), block.Text})
		}
	}
	folder := npm.Consumer(t)
	compileSnippets(t, folder, all)
	for i, one := range all {
		t.Run(one.name, func(t *testing.T) { r.one(t, folder, snippetFile(i)+".mjs", one.source) })
	}
}

func snippetFile(number int) string { return fmt.Sprintf("snippet-%d", number) }

// compileSnippets wants them to compile strictly, all at once, and bundles each for Node: a bundle is read in a tenth
// of the time of all the modules of a wallet library.
func compileSnippets(t *testing.T, folder string, all []snippet) {
	t.Helper()
	check := []string{
		"node_modules/.bin/tsc", "--noEmit", "--strict", "--exactOptionalPropertyTypes", "--noUncheckedIndexedAccess",
		"--skipLibCheck", "--target", "es2022", "--lib", "es2022,dom", "--module", "esnext",
		"--moduleResolution", "bundler",
	}
	bundle := []string{
		"node_modules/.bin/esbuild", "--bundle", "--platform=node", "--format=esm", "--outdir=.",
		"--out-extension:.js=.mjs", "--log-level=error",
	}
	for i, one := range all {
		file := snippetFile(i) + ".ts"
		if err := os.WriteFile(filepath.Join(folder, file), []byte(one.source), 0o600); err != nil {
			t.Fatal(err)
		}
		check = append(check, file)
		bundle = append(bundle, file)
	}
	for _, command := range [][]string{check, bundle} {
		if out, err := npm.Run(t, folder, command...); err != nil {
			t.Fatalf("%s: %v, of %v\n%s", command[0], err, all, out)
		}
	}
}

var (
	sentLine    = regexp.MustCompile(`SENT \d+ 0x\w+ (0x\w+)`)
	settledLine = regexp.MustCompile(`(0x\w{64}) SETTLED`)
)

// one wants a snippet to do what it says, and to send nothing with a wallet on another chain.
func (r snippetRun) one(t *testing.T, folder, file, source string) {
	wallet, err := filepath.Abs("../../testdata/client/wallet.mjs")
	if err != nil {
		t.Fatal(err)
	}
	run := func(more ...string) (string, error) {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, "node", "--import", wallet, file)
		cmd.Dir = folder
		cmd.Env = slices.Concat(os.Environ(), more, []string{
			"GATEWAY=" + r.gateway,
			"DEVNET=" + r.page,
			"ACCOUNT=" + reference.User.Address.Hex(),
			"PRIVATE_KEY=" + hexutil.Encode(crypto.FromECDSA(reference.User.Key)),
		})
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	hash := sentLine
	switch {
	case strings.Contains(source, "privateKeyToAccount"):
		hash = settledLine // it has no wallet that says what is sent
	case strings.Contains(source, "ethereum"):
		if out, err := run("STUBBORN=1"); err == nil || sentLine.MatchString(out) {
			t.Errorf("a wallet on another chain sends: %v\n%s", err, out)
		}
	default:
		if out, err := run(); err != nil || !strings.Contains(out, "99700000 arrive. To sign:") {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	out, err := run()
	sent := hash.FindAllStringSubmatch(out, -1)
	if err != nil || len(sent) == 0 || !strings.Contains(out, "SETTLED") {
		t.Fatalf("%v\n%s", err, out)
	}
	last := common.HexToHash(sent[len(sent)-1][1])
	if payout := wantPayout(t, r.paid, last); payout.Settlement.Amount.Sign() <= 0 {
		t.Errorf("the operator paid %s", payout.Settlement.Amount)
	}
}
