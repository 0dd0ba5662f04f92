package main

import (
	"encoding/json"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/quotegate/quotegate/cmd/devnet/contracts"
	"github.com/quotegate/quotegate/gateway/selfcheck"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/testkit/node"
)

// baseChain is a real chain 8453 with the reference deployment on it, except that
// the router of USDC is a plain account.
func baseChain(t *testing.T) *node.Front {
	t.Helper()
	d := chain.Reference()
	return node.NewFront(t, node.NewEVM(t, 8453, func(operator common.Address) types.GenesisAlloc {
		return types.GenesisAlloc{
			router(t, 8453, "ETH"):        contracts.Pool(operator, contracts.Native, operator, common.Address{}),
			router(t, 8453, "USDC"):       {Balance: big.NewInt(1)},
			token(t, 8453, "USDC"):        contracts.Token(operator, "USDC", 6),
			d.Registry(8453).Address:      contracts.Registry(operator),
			d.Settlement.Receiver.Address: contracts.Receiver(operator, common.Address{1}, 6),
		}
	}))
}

// messengerChain is a real chain 10 with the issuer's messenger.
func messengerChain(t *testing.T) *node.Front {
	t.Helper()
	return node.NewFront(t, node.NewEVM(t, 10, func(operator common.Address) types.GenesisAlloc {
		return types.GenesisAlloc{
			router(t, 10, "USDC"): contracts.TokenMessenger(2, common.Address{1}, 6),
			token(t, 10, "USDC"):  contracts.Token(operator, "USDC", 6),
		}
	}))
}

func router(t *testing.T, id chain.ID, symbol string) common.Address {
	t.Helper()
	for _, row := range chain.Reference().Routers() {
		if row.ChainID == id && row.Token.Symbol == symbol {
			return row.Router.Address
		}
	}
	t.Fatalf("no router of %s on %s", symbol, id)
	return common.Address{}
}

func token(t *testing.T, id chain.ID, symbol string) common.Address {
	t.Helper()
	found, err := chain.FindToken(id, symbol)
	if err != nil {
		t.Fatal(err)
	}
	return found.Address.Address
}

// wantLines wants these lines in the table, whatever the spaces between words.
func wantLines(t *testing.T, table string, lines ...string) {
	t.Helper()
	squeezed := map[string]bool{}
	for line := range strings.Lines(table) {
		squeezed[strings.Join(strings.Fields(line), " ")] = true
	}
	for _, want := range lines {
		if !squeezed[want] {
			t.Errorf("the line %q is missing from:\n%s", want, table)
		}
	}
}

// wantNoSecret wants no part of the URL of a front in the text.
func wantNoSecret(t *testing.T, text string, fronts ...*node.Front) {
	t.Helper()
	for _, f := range fronts {
		for _, secret := range []string{node.Secret, strings.TrimPrefix(f.URL, "http://")} {
			if strings.Contains(text, secret) {
				t.Errorf("%q is told in:\n%s", secret, text)
			}
		}
	}
}

// TestCheckOfTheDeployment: an operator who states no times is told so, and one who states some is told how many are
// left. Pairs that lack a contract are named.
func TestCheckOfTheDeployment(t *testing.T) {
	pairs := len(chain.Pairs())
	direct := pairs - (len(chain.Networks()) - len(chain.PoolChains))
	const stated = `"seconds": [{"seconds": 13}],`
	const pool = `{"chainId": 4663, "token": "ETH", "router": "0xEB20851e5B4A40D53A450d4260eF834cd2da13DD"},`
	const unstated = `"reference"; seconds is not stated for %d of %d pairs, so that clients cannot tell how long these take; ` +
		"measure it from status"
	for _, tt := range []struct{ part, instead, want string }{
		{stated, stated, `"reference"`},
		{stated, ``, fmt.Sprintf(unstated, pairs, pairs)},
		{stated, `"seconds": [{"type": "CCTP_INBOUND", "seconds": 60}],`, fmt.Sprintf(unstated, direct, pairs)},
		{stated, `"seconds": [{"type": "CCTP_INBOUND", "seconds": 60}, {"type": "DIRECT", "seconds": 30}],`, `"reference"`},
		{pool, ``, fmt.Sprintf(`"reference"; it serves %d of %d pairs; for these it lacks a pool or the receiver: `+
			"ETH on 4663 to WETH on 369, WETH on 369 to ETH on 4663", pairs-2, pairs)},
	} {
		text := string(chain.ReferenceFile())
		if !strings.Contains(text, tt.part) {
			t.Fatalf("the reference deployment does not say %s", tt.part)
		}
		_, detail, err := testDeployment(&config{DeploymentFile: tempFile(t, strings.Replace(text, tt.part, tt.instead, 1))})
		if err != nil || detail != tt.want {
			t.Errorf("%s: got %v %q, want %q", tt.instead, err, detail, tt.want)
		}
	}
}

// TestCheckOfChains asks real chains, of which one is right and one is wrong.
func TestCheckOfChains(t *testing.T) {
	t.Parallel()
	good, bad, other := messengerChain(t), baseChain(t), messengerChain(t)
	check := func(args []string, env environment) (string, error) {
		t.Helper()
		out, err := runCommand(t, env, append([]string{"check"}, args...)...)
		wantNoSecret(t, out+fmt.Sprint(err), good, bad, other)
		return out, err
	}
	messenger := router(t, 10, "USDC").Hex()
	const notice = "so that its word alone makes an answer final; name a second one, of another provider"

	out, err := check(nil, environment{"DEPLOYMENT_FILE": "reference", "RPC_URLS_10": good.SecretURL()})
	if err != nil {
		t.Errorf("got %v where all is right", err)
	}
	untested := strings.Count(out, "\nnot tested ")
	if least := 28 + 3*len(chain.Networks()); untested < least {
		t.Errorf("got %d lines about what is not tested, want %d or more", untested, least)
	}
	wantLines(t, out,
		"ok configuration", `ok deployment "reference"`, "ok chain 10, endpoint 1", "ok chain 10, messenger "+messenger,
		"not tested chain 137, messenger "+router(t, 137, "USDC").Hex()+" no endpoint for chain 137",
		"not tested Redis REDIS_URL is not set", fmt.Sprintf("5 ok, 0 failed, %d not tested", untested),
		"not tested chain 137, status of swaps no endpoint for chain 137: nobody can tell what became of a swap from or to it",
		"notice: there is only one endpoint for chain 10, "+notice)

	wrong := environment{
		"RPC_URLS_10": good.SecretURL() + "," + other.SecretURL(), "RPC_URLS_8453": bad.SecretURL(),
		"RPC_URLS_137": other.SecretURL(),
	}
	out, err = check(nil, wrong)
	if fmt.Sprint(err) != "failed tests: 2" {
		t.Errorf("got %v", err)
	}
	wantLines(t, out,
		"ok chain 10, endpoint 2", "ok chain 8453, endpoint 1", "failed chain 137, endpoint 1 it serves chain 10",
		"not tested chain 137, messenger "+router(t, 137, "USDC").Hex()+" no endpoint of chain 137 works",
		"failed chain 8453, router of USDC "+router(t, 8453, "USDC").Hex()+" there is no contract at this address",
		"ok chain 8453, router of ETH "+router(t, 8453, "ETH").Hex(),
		"notice: there is only one endpoint for chain 137, 8453, "+notice)

	out, err = check([]string{"-json"}, wrong)
	var answer struct {
		OK      bool
		Results []selfcheck.Result
		Notices []string
	}
	if json.Unmarshal([]byte(out), &answer) != nil || err == nil || answer.OK || len(answer.Results) != 97 || len(answer.Notices) != 1 {
		t.Errorf("got %v, ok %t and %d results:\n%s", err, answer.OK, len(answer.Results), out)
	}
	wantContains(t, out, `"what": "endpoint",
      "chainId": 137,
      "outcome": "failed",
      "detail": "it serves chain 10"`)
}

func TestCheckOfTheConfiguration(t *testing.T) {
	out, err := runCommand(t, environment{"LISTEN_ADDR": "8080", "RPC_URLS_1": "ftp://node.example/key-hunter2"}, "check")
	if err == nil {
		t.Error("got no error")
	}
	wantLines(t, out, `failed configuration the configuration is wrong: LISTEN_ADDR: "8080" is not an address such as :8080 or 127.0.0.1:8080; RPC_URLS_1: entry 1 does not begin with http:// or https://`,
		"0 ok, 1 failed, 0 not tested")
	if strings.Contains(out, "hunter2") {
		t.Errorf("a secret is told in %s", out)
	}
}

// Files that cannot be read are failures, and what does not need them is tested.
func TestCheckOfFiles(t *testing.T) {
	file := tempFile(t, `{"extra": 1}`)
	front := messengerChain(t)
	out, err := runCommand(t, environment{"DEPLOYMENT_FILE": file, "LIFECYCLE_FILE": file, "CLIENTS_FILE": file, "USAGE_DB": file, "ISSUER_FEE_URL": "http://127.0.0.1:1", "RPC_URLS_10": front.SecretURL()}, "check")
	if err == nil || !strings.Contains(err.Error(), "4") {
		t.Errorf("got %v, want four failures", err)
	}
	wantLines(t, out, "ok configuration", "ok chain 10, endpoint 1",
		"failed usage database "+file+" is not a SQLite database, and is left as it is; name another file",
		"not tested issuer's fees the deployment, which names the settlement chain, cannot be read")
	wantContains(t, out, "name: missing", "extra: unknown field")
	if got := strings.Count(out, "\n"); got != 11 {
		t.Errorf("got %d lines, want one for each of eight tests and three at the end:\n%s", got, out)
	}
}

// A file of endpoints that cannot be read is one failure, and the rest is tested.
func TestCheckOfTheEndpointsFile(t *testing.T) {
	out, err := runCommand(t, environment{"RPC_FILE": "/does/not/exist"}, "check")
	if err == nil || err.Error() != "failed tests: 1" {
		t.Errorf("got %v, want one failure", err)
	}
	wantLines(t, out, "failed RPC endpoints RPC_FILE: open /does/not/exist: no such file or directory",
		"not tested issuer's fees ISSUER_FEE_URL is not set", "not tested usage database USAGE_DB is not set")
}

// TestCheckOfServices tests what the service depends on beside chains.
func TestCheckOfServices(t *testing.T) {
	issuer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/fees/7/6") { // chain 137
			http.Error(w, node.Secret, http.StatusInternalServerError)
			return
		}
		fmt.Fprint(w, `[{"finalityThreshold":1000,"minimumFee":1.3}]`)
	}))
	defer issuer.Close()
	dir := t.TempDir()
	out, err := runCommand(t, environment{
		"ISSUER_FEE_URL": strings.Replace(issuer.URL, "http://", "http://"+node.Secret+"@", 1),
		"REDIS_URL":      "redis://:" + node.Secret + "@127.0.0.1:1/0",
		"USAGE_DB":       "postgres://gate:" + node.Secret + "@127.0.0.1:1/usage",
	}, "check")
	if err == nil || !strings.Contains(err.Error(), "3") {
		t.Errorf("got %v, want three failures", err)
	}
	wantLines(t, out, "ok chain 10, issuer's fee 1.3 basis points", "failed chain 137, issuer's fee status 500",
		"failed Redis it does not answer within a second, refuses us, or cannot be written to", "failed usage database PostgreSQL: connection refused")
	if got := strings.Count(out, "1.3 basis points"); got != 15 {
		t.Errorf("got %d fees, want 15:\n%s", got, out)
	}
	if strings.Contains(out, node.Secret) || strings.Contains(out, "127.0.0.1") {
		t.Errorf("a URL is told in:\n%s", out)
	}

	out, err = runCommand(t, environment{"REDIS_URL": startRedis(t, dir), "USAGE_DB": filepath.Join(dir, "usage.db")}, "check")
	if err != nil {
		t.Errorf("got %v", err)
	}
	wantLines(t, out, "ok Redis", "ok usage database the file does not exist yet; the service will make it, and counts begin then")

	out, err = runCommand(t, environment{"REDIS_URL": "redis://127.0.0.1:1", "RATE_LIMIT": "0"}, "check")
	if err != nil {
		t.Errorf("got %v", err)
	}
	wantLines(t, out, "not tested Redis RATE_LIMIT is 0, so that nothing is counted")
}

// startRedis runs a Redis on a socket until the test ends.
func startRedis(t *testing.T, dir string) (url string) {
	t.Helper()
	binary, err := exec.LookPath("redis-server")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("there is no redis-server on this machine")
		}
		t.Skip("SKIPPED, NOT TESTED: there is no redis-server on this machine")
	}
	socket := filepath.Join(dir, "redis.sock")
	server := exec.Command(binary, "--port", "0", "--unixsocket", socket, "--save", "", "--dir", dir)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	eventually(t, "Redis answers", func() bool {
		conn, err := net.Dial("unix", socket)
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
	return "unix://" + socket
}

// TestServiceChecksItself wants a wrong router in the health answer and in the
// metrics of a service that quotes all the same.
func TestServiceChecksItself(t *testing.T) {
	t.Parallel()
	bad, good := baseChain(t), messengerChain(t)
	base, admin, stop := start(t, map[string]string{"RPC_URLS_8453": bad.SecretURL(), "RPC_URLS_10": good.SecretURL()})
	want := `"problems":["Chain 8453, router of USDC ` + router(t, 8453, "USDC").Hex() + `: there is no contract at this address"]`
	eventually(t, "the problem, and no other, is in the health answer", func() bool {
		status, body := get(t, base+"/v3/swap/healthcheck")
		if status != http.StatusOK || !strings.Contains(body, `"status":"ok"`) {
			t.Fatalf("got %d %s", status, body)
		}
		wantNoSecret(t, body, bad, good)
		return strings.Contains(body, want)
	})
	_, metrics := get(t, admin+"/metrics")
	wantContains(t, metrics, `quotegate_check_failures{chain="8453",what="router"} 1`+"\n",
		`quotegate_check_failures{chain="8453",what="endpoint"} 0`+"\n",
		`quotegate_check_failures{chain="10",what="messenger"} 0`+"\n",
		`quotegate_check_failures{chain="1",what="router"} 0`+"\n")
	if status, body := get(t, base+quotePath); status != http.StatusOK {
		t.Errorf("a quote got %d %s", status, body)
	}
	if err := stop(); err != nil {
		t.Errorf("stopping: %v", err)
	}
}
