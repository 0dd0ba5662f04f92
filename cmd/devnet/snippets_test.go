package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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

// snippets compiles and runs every snippet of the documentation and of the page, with a wallet on these chains.
func (w *world) snippets(t *testing.T) {
	folder := npm.Consumer(t)
	proxy, told := w.servePage(t)
	all := w.pageSnippets(t, proxy)
	for document, least := range map[string]int{"README.md": 1, "docs/integrate.md": 3, "v3/client/README.md": 4} {
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
	compileSnippets(t, folder, all)
	for i, one := range all {
		t.Run(one.name, func(t *testing.T) {
			runSnippet(t, folder, snippetFile(i)+".mjs", one.source, w.gateway.URL, proxy, told)
		})
	}
}

func snippetFile(number int) string { return fmt.Sprintf("snippet-%d", number) }

// compileSnippets wants them to compile strictly, all at once, and makes what Node runs of each.
func compileSnippets(t *testing.T, folder string, all []snippet) {
	t.Helper()
	check := []string{
		"node_modules/.bin/tsc", "--noEmit", "--strict", "--exactOptionalPropertyTypes", "--noUncheckedIndexedAccess", "--skipLibCheck",
		"--target", "es2022", "--lib", "es2022,dom", "--module", "esnext", "--moduleResolution", "bundler",
	}
	translate := []string{"node_modules/.bin/esbuild", "--outdir=.", "--out-extension:.js=.mjs", "--log-level=error"}
	for i, one := range all {
		file := snippetFile(i) + ".ts"
		if err := os.WriteFile(filepath.Join(folder, file), []byte(one.source), 0o600); err != nil {
			t.Fatal(err)
		}
		check, translate = append(check, file), append(translate, file)
	}
	if out, err := npm.Run(t, folder, check...); err != nil {
		t.Errorf("they do not compile, of %v: %v\n%s", all, err, out)
	}
	if out, err := npm.Run(t, folder, translate...); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// servePage puts the proxy with the test wallet in front of the gateway, and an operator behind it.
func (w *world) servePage(t *testing.T) (*pageProxy, *reports) {
	t.Helper()
	told := &reports{}
	stopped, err := w.net.Operate(t.Context(), told.add)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stopped)
	proxy, err := servePage("", w.gateway.URL, w.net)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := proxy.close(); err != nil {
			t.Error(err)
		}
	})
	return proxy, told
}

var (
	sentLine    = regexp.MustCompile(`SENT (\d+) (0x\w+) (0x\w+)`)
	settledLine = regexp.MustCompile(`(0x\w{64}) SETTLED`)
)

// runSnippet wants a snippet to do what it says, and to send nothing with a wallet on another chain.
func runSnippet(t *testing.T, folder, file, source, gateway string, proxy *pageProxy, told *reports) {
	t.Helper()
	wallet, err := filepath.Abs("../../testdata/client/wallet.mjs")
	if err != nil {
		t.Fatal(err)
	}
	run := func(more ...string) (string, error) {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, "node", "--import", wallet, file)
		cmd.Dir = folder
		cmd.Env = append(append(os.Environ(), "GATEWAY="+gateway, "DEVNET="+proxy.address,
			"ACCOUNT="+reference.User.Address.Hex(), "PRIVATE_KEY="+hexutil.Encode(crypto.FromECDSA(reference.User.Key))), more...)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	signsItself := strings.Contains(source, "privateKeyToAccount")
	if !strings.Contains(source, "ethereum") && !signsItself {
		if out, err := run(); err != nil || !strings.Contains(out, "99700000 arrive. To sign:") {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	if !signsItself {
		if out, err := run("STUBBORN=1"); err == nil || sentLine.MatchString(out) {
			t.Errorf("a wallet on another chain sends: %v\n%s", err, out)
		}
	}
	out, err := run()
	if err != nil || !strings.Contains(out, "SETTLED") {
		t.Fatalf("%v\n%s", err, out)
	}
	sent := sentLine.FindAllStringSubmatch(out, -1)
	if signsItself {
		sent = settledLine.FindAllStringSubmatch(out, -1)
	}
	if len(sent) == 0 {
		t.Fatalf("it sent nothing:\n%s", out)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	report, err := told.wait(ctx, common.HexToHash(sent[len(sent)-1][len(sent[0])-1]))
	if err != nil || report.Err != nil || report.Payout.Settlement.Amount.Sign() <= 0 {
		t.Errorf("the operator paid nothing: %v, %+v", err, report)
	}
}
