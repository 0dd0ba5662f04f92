package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/ethereum/go-ethereum/ethclient"

	"github.com/quotegate/quotegate/cmd/devnet/reference"
	"github.com/quotegate/quotegate/cmd/internal/swap"
)

// scratch is a folder for what all tests use.
var scratch string

// TestMain lets the test binary be the devnet itself, so that signals and exit codes are real.
func TestMain(m *testing.M) {
	if gateway := os.Getenv("BE_THE_DEVNET_OF"); gateway != "" {
		os.Exit(start(os.Args[1:], gateway))
	}
	flag.Parse()
	// Tests mostly wait for chains, so more of them run at once than there are cores.
	if err := flag.Set("test.parallel", "32"); err != nil {
		panic(err)
	}
	var err error
	if scratch, err = os.MkdirTemp("", "devnet-test"); err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(scratch) // at worst it is left behind
	os.Exit(code)
}

// TestDevnet runs the command as a person does: it demonstrates a swap, settles another one that a wallet makes, and
// takes everything with it when it is stopped.
func TestDevnet(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED, NOT TESTED: it builds a gateway and starts every chain; make test-all runs it")
	}
	t.Parallel()
	gateway, err := buildGateway()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0],
		"-rpc-port", "0", "-listen", "127.0.0.1:0", "-page", "127.0.0.1:0", "-from", "USDC@59144")
	cmd.Env = append(os.Environ(), "BE_THE_DEVNET_OF="+gateway)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // as a shell does for each command
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	lines := bufio.NewScanner(stdout)
	var said strings.Builder
	until := func(words string) {
		t.Helper()
		for lines.Scan() {
			fmt.Fprintln(&said, lines.Text())
			if strings.Contains(lines.Text(), words) {
				return
			}
		}
		t.Fatalf("it ended without saying %q:\n%s", words, &said)
	}
	until("Ctrl-C stops everything")
	for _, words := range []string{
		"   SETTLED: paid out with 0x",
		"recipient   got 99.45 USDC on PulseChain, as the quote said",
		"treasury    got 0.3 USDC on PulseChain, as the quote said",
		"integrator  got 0.25 USDC on PulseChain, as the quote said",
	} {
		if !strings.Contains(said.String(), words) {
			t.Errorf("it did not say %q:\n%s", words, &said)
		}
	}
	addresses := regexp.MustCompile(`(?m)^ +(gateway|page|369) +(http://[^\s,]+)`).FindAllStringSubmatch(said.String(), -1)
	if len(addresses) != 3 {
		t.Fatalf("got %q, want three addresses in:\n%s", addresses, &said)
	}
	at := map[string]string{}
	for _, match := range addresses {
		at[match[1]] = match[2]
	}
	if res := get(t, at["page"]+"/devnet/wallet.js"); res.StatusCode != http.StatusOK {
		t.Errorf("the page has no test wallet: %d", res.StatusCode)
	}
	if got := get(t, at["gateway"]+"/v3/swap/quote").Header.Get("RateLimit-Limit"); got != "30" {
		t.Errorf("the rate limit is %q, want the default", got)
	}
	swapOn(t, at["gateway"], at["369"])
	until("Settled: ")
	wantError(t, errors.New(lines.Text()), "19.9 USDC to "+demoRecipient+" on chain 1; fees 0.1 USDC, and 0 USDC")

	if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGINT); err != nil { // as a terminal does
		t.Fatal(err)
	}
	until("Stopping.")
	if err := cmd.Wait(); err != nil {
		t.Fatalf("got %v after Ctrl-C, want exit code 0:\n%s", err, &said)
	}
	for name, address := range at {
		if res, err := http.Get(address); err == nil {
			res.Body.Close()
			t.Errorf("%s still answers after the devnet has ended", name)
		}
	}
}

func get(t *testing.T, url string) *http.Response {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	return res
}

// swapOn swaps 20 USDC on the hub to Ethereum as a wallet does that knows only two addresses.
func swapOn(t *testing.T, gateway, node string) {
	t.Helper()
	s, err := swap.NewSwap("USDC@369", "USDC@1", "20", demoRecipient)
	if err != nil {
		t.Fatal(err)
	}
	checked, err := swap.Ask(t.Context(), dial(t, gateway), s, nil)
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

// TestStoppedWhileItStarts wants no error of a devnet that is stopped while it builds the gateway or starts chains.
func TestStoppedWhileItStarts(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, gateway := range []string{"", "built before"} {
		var said bytes.Buffer
		if err := run(ctx, options{gateway: gateway}, &said); err != nil {
			t.Errorf("got %v after\n%s", err, &said)
		}
	}
}

func TestOptions(t *testing.T) {
	parse := func(args ...string) (options, error) { return parseOptions(args, io.Discard, io.Discard) }
	for name, args := range map[string][]string{
		"unknown flag": {"-nonsense"},
		"argument":     {"up"},
		"no such pair": {"-to", "USDC@10"},
		"no chain":     {"-to", "USDC"},
		"no amount":    {"-amount", "much"},
	} {
		if _, err := parse(args...); err == nil || errors.Is(err, flag.ErrHelp) {
			t.Errorf("%s: got %v, want it refused with a word", name, err)
		}
	}
	if o, err := parse(); err != nil || o.listen != "127.0.0.1:8080" || o.rpcPort != 18600 || o.demo == nil {
		t.Errorf("got %+v and %v without any flag", o, err)
	}
	if o, err := parse("-amount", ""); err != nil || o.demo != nil {
		t.Errorf("got %+v and %v without a demonstration", o, err)
	}
}
