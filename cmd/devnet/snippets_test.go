package main

import (
	"context"
	"fmt"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/testkit/npm"
	"github.com/quotegate/quotegate/shared/testkit/pages"
	"github.com/quotegate/quotegate/v3/client"
)

// A snippet is code as it is printed somewhere. It swaps 100 of a token, or half a coin.
type snippet struct {
	name, source string
	token        chain.Token
}

// smartAccount is the recipient in the recipe for smart accounts. A contract on one chain takes its place.
const smartAccount = "0x5AFE0000000000000000000000000000000000A1"

// docSnippets are those of the documentation.
func (w *world) docSnippets(t *testing.T) (all []snippet) {
	t.Helper()
	smart := w.newContract(t, 1)
	usdc := pairOf(t, "USDC@1", "USDC@369").SrcToken
	for document, least := range map[string]int{"README.md": 1, "docs/integrate.md": 6, "v3/client/npm/README.md": 4} {
		found, err := pages.Find("../..", document, "ts")
		if err != nil {
			t.Fatal(err)
		}
		if len(found) < least {
			t.Errorf("%s has %d snippets", document, len(found))
		}
		for i, block := range found {
			all = append(all, snippet{
				name:   fmt.Sprintf("%s %d", document, i+1),
				source: strings.ReplaceAll(block.Text, smartAccount, smart),
				token:  usdc,
			})
		}
	}
	return all
}

// runSnippets wants all to compile strictly and to do what they say, at the same time: each has a wallet of its own.
func (w *world) runSnippets(t *testing.T, all []snippet) {
	folder := npm.Consumer(t)
	var files []string
	for i, one := range all {
		file := fmt.Sprintf("snippet-%d.ts", i)
		if err := os.WriteFile(filepath.Join(folder, file), []byte(one.source), 0o600); err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	must := func(t *testing.T, command ...string) {
		t.Helper()
		if out, err := npm.Run(t, folder, append(command, files...)...); err != nil {
			t.Fatalf("%s: %v, of %v\n%s", command[0], err, all, out)
		}
	}
	// A bundle is read in a tenth of the time of all the modules of a wallet library.
	must(t, "node_modules/.bin/esbuild", "--bundle", "--platform=node", "--format=esm", "--outdir=.",
		"--out-extension:.js=.mjs", "--log-level=error")
	t.Run("types", func(t *testing.T) {
		t.Parallel()
		compile(t, folder, files...)
	})
	for i, one := range all {
		t.Run(one.name, func(t *testing.T) {
			t.Parallel()
			w.runSnippet(t, folder, strings.Replace(files[i], ".ts", ".mjs", 1), one)
		})
	}
}

// compile wants files to compile strictly.
func compile(t *testing.T, folder string, files ...string) {
	t.Helper()
	out, err := npm.Run(t, folder, append([]string{
		"node_modules/.bin/tsc", "--noEmit", "--strict", "--exactOptionalPropertyTypes", "--noUncheckedIndexedAccess",
		"--skipLibCheck", "--target", "es2022", "--lib", "es2022,dom", "--module", "esnext",
		"--moduleResolution", "bundler", "--jsx", "react-jsx",
	}, files...)...)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

var (
	sentLine    = regexp.MustCompile(`SENT \d+ 0x\w+ (0x\w+)`)
	settledLine = regexp.MustCompile(`(0x\w{64}) SETTLED`)
)

// newTab makes a wallet with an account of its own, and gives what runs a snippet with it.
func (w *world) newTab(t *testing.T, folder, file string, s snippet) func(env ...string) (string, error) {
	t.Helper()
	wallet, err := filepath.Abs("../../testdata/client/wallet.mjs")
	if err != nil {
		t.Fatal(err)
	}
	account := w.newAccount(t, s.token, parseAmount(t, "100", s.token))
	// The wallet starts on chain 56, where it could pay too.
	w.send(t, 56, client.Call{To: account.Address, Value: big.NewInt(1e18)})
	page := startPage(t, w.url, w.net)
	return func(env ...string) (string, error) {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		cmd := exec.CommandContext(ctx, "node", "--import", wallet, file)
		cmd.Dir = folder
		cmd.Env = slices.Concat(os.Environ(), env, []string{
			"GATEWAY=" + w.url,
			"DEVNET=" + page,
			"ACCOUNT=" + account.Address.Hex(),
			"PRIVATE_KEY=" + hexutil.Encode(crypto.FromECDSA(account.Key)),
		})
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
}

// runSnippet wants a snippet to do what it says, and to send nothing with a wallet on another chain.
func (w *world) runSnippet(t *testing.T, folder, file string, s snippet) {
	if strings.Contains(s.source, "localStorage") {
		w.runStored(t, folder, file, s)
		return
	}
	run := w.newTab(t, folder, file, s)
	hash := sentLine
	switch {
	case strings.Contains(s.source, "privateKeyToAccount"):
		hash = settledLine // it has no wallet that says what is sent
	case strings.Contains(s.source, "ethereum"):
		if out, err := run("STUBBORN=1"); err == nil || sentLine.MatchString(out) {
			t.Errorf("a wallet on another chain sends: %v\n%s", err, out)
		}
	case printedLine.MatchString(s.source):
		wantPrinted(t, s.source, run)
		return
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
	if payout := w.wantPayout(t, last); payout.Settlement.Amount.Sign() <= 0 {
		t.Errorf("the operator paid %s", payout.Settlement.Amount)
	}
}
