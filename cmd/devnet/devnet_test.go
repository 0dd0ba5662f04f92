package main

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/ethclient"

	"github.com/quotegate/quotegate/cmd/devnet/reference"
	"github.com/quotegate/quotegate/cmd/internal/swap"
	"github.com/quotegate/quotegate/shared/chain"
)

// TestMain lets the test binary be the devnet itself, so that signals and exit codes are real.
func TestMain(m *testing.M) {
	if os.Getenv("BE_THE_DEVNET") != "" {
		main()
		os.Exit(0)
	}
	// Swaps mostly wait for chains and for the gateway's next look at them, so more of them than there are cores run at once.
	flag.Parse()
	if err := flag.Set("test.parallel", "16"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// A process is a devnet under way, and what it prints.
type process struct {
	cmd   *exec.Cmd
	lines *bufio.Scanner
	said  strings.Builder
}

func startDevnet(t *testing.T, args ...string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(os.Args[0], append([]string{"-rpc-port", "0", "-listen", "127.0.0.1:0", "-page", "127.0.0.1:0"}, args...)...)}
	p.cmd.Env = append(os.Environ(), "BE_THE_DEVNET=1")
	p.cmd.Stderr = os.Stderr
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.cmd.Process.Kill() })
	p.lines = bufio.NewScanner(stdout)
	return p
}

// until reads on to a line with these words.
func (p *process) until(t *testing.T, words string) string {
	t.Helper()
	for p.lines.Scan() {
		fmt.Fprintln(&p.said, p.lines.Text())
		if strings.Contains(p.lines.Text(), words) {
			return p.lines.Text()
		}
	}
	t.Fatalf("it ended without saying %q:\n%s", words, p.said.String())
	return ""
}

// found is the first match of an expression in what was said.
func (p *process) found(t *testing.T, expression string) string {
	t.Helper()
	match := regexp.MustCompile(expression).FindStringSubmatch(p.said.String())
	if match == nil {
		t.Fatalf("there is no %s in:\n%s", expression, p.said.String())
	}
	return match[1]
}

// interrupt is Ctrl-C. It wants a clean end, and nothing left behind.
func (p *process) interrupt(t *testing.T) {
	t.Helper()
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	for p.lines.Scan() {
		fmt.Fprintln(&p.said, p.lines.Text())
	}
	if err := p.cmd.Wait(); err != nil {
		t.Fatalf("got %v after Ctrl-C, want exit code 0:\n%s", err, p.said.String())
	}
}

// TestDevnet runs the command as a person does: it demonstrates a swap, settles another one that a wallet makes, and
// takes everything with it when it is stopped.
func TestDevnet(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED, NOT TESTED: it builds a gateway and starts every chain; make test-all runs it")
	}
	p := startDevnet(t, "-from", "USDC@59144")
	p.until(t, "Ctrl-C stops everything")
	for _, words := range []string{
		"   SETTLED: paid out with 0x",
		" here, from the block of the swap to that of the payout.",
		"100 USDC on Linea to USDC on PulseChain",
		"The issuer attests the burn and takes 0.13 USDC",
		"recipient   got 99.45 USDC on PulseChain, as the quote said",
		"treasury    got 0.3 USDC on PulseChain, as the quote said",
		"integrator  got 0.25 USDC on PulseChain, as the quote said",
	} {
		if !strings.Contains(p.said.String(), words) {
			t.Errorf("it did not say %q:\n%s", words, p.said.String())
		}
	}
	gateway := dialGateway(t, p.found(t, `gateway +(http://\S+)`))
	node := p.found(t, `\n +369 +(http://\S+) PulseChain`)
	page := p.found(t, `page +(http://[^\s,]+)`)
	res, err := http.Get(page + "/devnet/wallet.js")
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Errorf("the page has no test wallet: %d", res.StatusCode)
	}
	if res, err = http.Get(gateway.URL + "/v3/swap/quote"); err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if got := res.Header.Get("RateLimit-Limit"); got != "30" {
		t.Errorf("the limit is %q, want the default", got)
	}
	swapOn(t, gateway, node)
	p.until(t, "Settled: ")
	if line := p.lines.Text(); !strings.Contains(line, "19.9 USDC to "+demoRecipient+" on chain 1; fees 0.1 USDC") {
		t.Errorf("got %s", line)
	}

	p.interrupt(t)
	for _, url := range []string{gateway.URL, node, page} {
		if res, err := http.Get(url); err == nil {
			_, _ = io.Copy(io.Discard, res.Body)
			res.Body.Close()
			t.Errorf("%s still answers after the devnet has ended", url)
		}
	}
}

// swapOn swaps 20 USDC on the hub to Ethereum as a wallet does that knows only two addresses.
func swapOn(t *testing.T, gateway gatewayAt, node string) {
	t.Helper()
	s, err := swap.NewSwap("USDC@369", "USDC@1", "20", demoRecipient, "")
	if err != nil {
		t.Fatal(err)
	}
	checked, err := swap.Ask(t.Context(), gateway.Client, s, swap.Knowledge{Deployment: chain.Reference()})
	if err != nil {
		t.Fatal(err)
	}
	connection, err := ethclient.DialContext(t.Context(), node)
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	if _, err := swap.Execute(t.Context(), connection, reference.User.Key, checked, nil); err != nil {
		t.Fatal(err)
	}
}

func TestOptions(t *testing.T) {
	for name, args := range map[string][]string{
		"unknown flag": {"-nonsense"},
		"argument":     {"up"},
		"no port":      {"-rpc-port", "x"},
		"no such pair": {"-to", "USDC@10"},
		"no chain":     {"-to", "USDC"},
		"no amount":    {"-amount", "much"},
		"no such time": {"-settle-after", "soon"},
		"time below 0": {"-settle-after", "-1s"},
		"no blocks":    {"-confirmations", "0"},
		"a virtual ID": {"-failing-chain", "69696969"},
		"unknown ID":   {"-failing-chain", "2"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := parseOptions(args, io.Discard, io.Discard); err == nil || errors.Is(err, flag.ErrHelp) {
				t.Errorf("got %v, want it refused with a word", err)
			}
		})
	}
	if o, err := parseOptions(nil, io.Discard, io.Discard); err != nil || o.listen != "127.0.0.1:8080" || o.rpcPort != 18600 || o.demo == nil {
		t.Errorf("got %+v and %v without any flag", o, err)
	}
	var help bytes.Buffer
	if _, err := parseOptions([]string{"-from", "-h"}, &help, io.Discard); !errors.Is(err, flag.ErrHelp) ||
		!strings.Contains(help.String(), "\n  -failing-chain chain\n") {
		t.Errorf("asked for help: got %v and\n%s", err, &help)
	}
	bad := []string{"-settle-after", "30s", "-confirmations", "3", "-failing-chain", "10"}
	unhappy, err := parseOptions(bad, io.Discard, io.Discard)
	if err != nil || unhappy.settleAfter != 30*time.Second || unhappy.confirmations != 3 || unhappy.failing != 10 {
		t.Errorf("got %+v and %v of unhappy days", unhappy, err)
	}
	dir := t.TempDir()
	env, err := unhappy.unhappyEnv(dir)
	if err != nil || !slices.Equal(env, []string{"RPC_URLS_10=http://127.0.0.1:1", "DEPLOYMENT_FILE=" + filepath.Join(dir, "deployment.json")}) {
		t.Errorf("got %q and %v", env, err)
	}
	if d, err := chain.ReadDeployment(filepath.Join(dir, "deployment.json")); err != nil || d.Name != "devnet" || d.Confirmations(369) != 3 || d.Confirmations(98866) != 3 || d.Contact == "" {
		t.Errorf("got %+v and %v", d, err)
	}
	if o, err := parseOptions([]string{"-amount", ""}, io.Discard, io.Discard); err != nil || o.demo != nil {
		t.Errorf("got %+v and %v without a demonstration", o, err)
	}
}
