package main

import (
	"bytes"
	"encoding/json"
	"errors"
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
	"time"

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

// TestCheckRemindsOfTimes: an operator who states no times is told so, and one who
// states some is told how many are left.
func TestCheckRemindsOfTimes(t *testing.T) {
	reference, err := os.ReadFile("../../shared/chain/reference.json")
	if err != nil {
		t.Fatal(err)
	}
	pairs := len(chain.Pairs())
	direct := pairs - (len(chain.Networks()) - len(chain.PoolChains))
	const stated = `"seconds": [{"seconds": 13}],`
	if !strings.Contains(string(reference), stated) {
		t.Fatalf("the reference deployment does not say %s", stated)
	}
	for rows, want := range map[string]string{
		``: fmt.Sprintf("seconds is not stated for %d of %d pairs", pairs, pairs),
		`"seconds": [{"type": "CCTP_INBOUND", "seconds": 60}],`:                                    fmt.Sprintf("seconds is not stated for %d of %d pairs", direct, pairs),
		`"seconds": [{"type": "CCTP_INBOUND", "seconds": 60}, {"type": "DIRECT", "seconds": 30}],`: "",
	} {
		file := filepath.Join(t.TempDir(), "deployment.json")
		if err := os.WriteFile(file, []byte(strings.Replace(string(reference), stated, rows, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		_, detail, err := testDeployment(&config{DeploymentFile: file})
		if err != nil || want == "" && strings.Contains(detail, "seconds") || !strings.Contains(detail, want) {
			t.Errorf("%s: got %v %q, want %q", rows, err, detail, want)
		}
	}
}

// TestCheckNamesWhatIsNotServed: pairs that lack a contract are named.
func TestCheckNamesWhatIsNotServed(t *testing.T) {
	reference, err := os.ReadFile("../../shared/chain/reference.json")
	if err != nil {
		t.Fatal(err)
	}
	_, detail, err := testDeployment(&config{DeploymentFile: "reference"})
	if err != nil || strings.Contains(detail, "serves") {
		t.Errorf("got %v %q for a deployment that serves everything", err, detail)
	}
	file := filepath.Join(t.TempDir(), "deployment.json")
	const pool = `{"chainId": 4663, "token": "ETH", "router": "0xEB20851e5B4A40D53A450d4260eF834cd2da13DD"},`
	writeFile(t, file, strings.Replace(string(reference), pool, "", 1))
	_, detail, err = testDeployment(&config{DeploymentFile: file})
	want := fmt.Sprintf(`"reference"; it serves %d of %d pairs; for these it lacks a pool or the receiver: `+
		"ETH on 4663 to WETH on 369, WETH on 369 to ETH on 4663", len(chain.Pairs())-2, len(chain.Pairs()))
	if err != nil || detail != want {
		t.Errorf("got %v %q, want %q", err, detail, want)
	}
}

// TestCheckProcess runs the command for real.
func TestCheckProcess(t *testing.T) {
	good, bad, other := messengerChain(t), baseChain(t), messengerChain(t)
	run := func(args []string, env ...string) (stdout, stderr string, code int) {
		t.Helper()
		cmd := exec.Command(os.Args[0], append([]string{"check"}, args...)...)
		var out, complaints bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &complaints
		cmd.Env = append(os.Environ(), append(env, "BE_THE_GATEWAY=1")...)
		err := cmd.Run()
		if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		wantNoSecret(t, out.String()+complaints.String(), good, bad, other)
		return out.String(), complaints.String(), cmd.ProcessState.ExitCode()
	}
	messenger := router(t, 10, "USDC").Hex()

	out, complaint, code := run(nil, "DEPLOYMENT_FILE=reference", "RPC_URLS_10="+good.SecretURL())
	if code != 0 || complaint != "" {
		t.Errorf("got exit code %d and %q where all is right", code, complaint)
	}
	untested := 28 + 3*len(chain.Networks()) // of a chain without a pool: its messenger, its USDC and the status of swaps
	wantLines(t, out,
		"ok configuration", `ok deployment "reference"`, "ok chain 10, endpoint 1", "ok chain 10, messenger "+messenger,
		"not tested chain 137, messenger "+router(t, 137, "USDC").Hex()+" no endpoint for chain 137",
		"not tested Redis REDIS_URL is not set", fmt.Sprintf("5 ok, 0 failed, %d not tested", untested),
		"not tested chain 137, status of swaps no endpoint for chain 137: nobody can tell what became of a swap from or to it",
		"notice: there is only one endpoint for chain 10, so that its word alone makes an answer final; name a second one, of another provider")

	wrong := []string{"RPC_URLS_10=" + good.SecretURL() + "," + other.SecretURL(), "RPC_URLS_8453=" + bad.SecretURL(), "RPC_URLS_137=" + other.SecretURL()}
	out, complaint, code = run(nil, wrong...)
	if code != 1 || complaint != "gateway: failed tests: 2\n" {
		t.Errorf("got exit code %d and %q", code, complaint)
	}
	wantLines(t, out,
		"ok chain 10, endpoint 2", "ok chain 8453, endpoint 1", "failed chain 137, endpoint 1 it serves chain 10",
		"not tested chain 137, messenger "+router(t, 137, "USDC").Hex()+" no endpoint of chain 137 works",
		"failed chain 8453, router of USDC "+router(t, 8453, "USDC").Hex()+" there is no contract at this address",
		"ok chain 8453, router of ETH "+router(t, 8453, "ETH").Hex(),
		"notice: there is only one endpoint for chain 137, 8453, so that its word alone makes an answer final; name a second one, of another provider")

	out, _, code = run([]string{"-json"}, wrong...)
	var answer struct {
		OK      bool
		Results []selfcheck.Result
		Notices []string
	}
	if err := json.Unmarshal([]byte(out), &answer); err != nil || code != 1 || answer.OK || len(answer.Results) != 97 || len(answer.Notices) != 1 {
		t.Errorf("got %v, exit code %d, ok %t and %d results:\n%s", err, code, answer.OK, len(answer.Results), out)
	}
	if want := `"what": "endpoint",
      "chainId": 137,
      "outcome": "failed",
      "detail": "it serves chain 10"`; !strings.Contains(out, want) {
		t.Errorf("got %s, want it to hold %s", out, want)
	}

	if out, complaint, code := run([]string{"everything"}); code != 2 || out != "" || !strings.Contains(complaint, "usage: gateway check [-json]") {
		t.Errorf("a wrong call: got exit code %d, %q and %q", code, out, complaint)
	}
	if out, _, code := run([]string{"-h"}); code != 0 || !strings.HasPrefix(out, "usage: gateway check [-json]\n") {
		t.Errorf("asked for help: got exit code %d and %q", code, out)
	}
}

// checkWith runs the command in this process.
func checkWith(t *testing.T, env map[string]string) (table string, err error) {
	t.Helper()
	var out bytes.Buffer
	err = checkService(t.Context(), invocation{env: env, stdout: &out})
	return out.String(), err
}

func TestCheckOfTheConfiguration(t *testing.T) {
	out, err := checkWith(t, map[string]string{"LISTEN_ADDR": "8080", "RPC_URLS_1": "ftp://node.example/key-hunter2"})
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
	file := filepath.Join(t.TempDir(), "file.json")
	if err := os.WriteFile(file, []byte(`{"extra": 1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	front := messengerChain(t)
	out, err := checkWith(t, map[string]string{"DEPLOYMENT_FILE": file, "LIFECYCLE_FILE": file, "CLIENTS_FILE": file, "USAGE_DB": file, "ISSUER_FEE_URL": "http://127.0.0.1:1", "RPC_URLS_10": front.SecretURL()})
	if err == nil || !strings.Contains(err.Error(), "4") {
		t.Errorf("got %v, want four failures", err)
	}
	wantLines(t, out, "ok configuration", "ok chain 10, endpoint 1",
		"failed usage database "+file+" is not a SQLite database, and is left as it is; name another file",
		"not tested issuer's fees the deployment, which names the settlement chain, cannot be read")
	for _, want := range []string{"name: missing", "extra: unknown field"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing from:\n%s", want, out)
		}
	}
	if got := strings.Count(out, "\n"); got != 11 {
		t.Errorf("got %d lines, want one for each of eight tests and three at the end:\n%s", got, out)
	}
}

// A file of endpoints that cannot be read is one failure, and the rest is tested.
func TestCheckOfTheEndpointsFile(t *testing.T) {
	out, err := checkWith(t, map[string]string{"RPC_FILE": "/does/not/exist"})
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
	out, err := checkWith(t, map[string]string{
		"ISSUER_FEE_URL": strings.Replace(issuer.URL, "http://", "http://"+node.Secret+"@", 1),
		"REDIS_URL":      "redis://:" + node.Secret + "@127.0.0.1:1/0",
		"USAGE_DB":       "postgres://gate:" + node.Secret + "@127.0.0.1:1/usage",
	})
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

	out, err = checkWith(t, map[string]string{"REDIS_URL": startRedis(t, dir), "USAGE_DB": filepath.Join(dir, "usage.db")})
	if err != nil {
		t.Errorf("got %v", err)
	}
	wantLines(t, out, "ok Redis", "ok usage database the file does not exist yet; the service will make it, and counts begin then")

	out, err = checkWith(t, map[string]string{"REDIS_URL": "redis://127.0.0.1:1", "RATE_LIMIT": "0"})
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
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		conn, err := net.Dial("unix", socket)
		if err == nil {
			conn.Close()
			return "unix://" + socket
		}
		if time.Now().After(deadline) {
			t.Fatalf("Redis does not start: %v", err)
		}
	}
}

// TestServiceChecksItself wants a wrong router in the health answer and in the
// metrics of a service that quotes all the same.
func TestServiceChecksItself(t *testing.T) {
	front := baseChain(t)
	base, admin, stop := start(t, map[string]string{"RPC_URLS_8453": front.SecretURL()})
	want := `"problems":["Chain 8453, router of USDC ` + router(t, 8453, "USDC").Hex() + `: there is no contract at this address"]`
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		status, body := get(t, base+"/v3/swap/healthcheck")
		if status != http.StatusOK || !strings.Contains(body, `"status":"ok"`) {
			t.Fatalf("got %d %s", status, body)
		}
		wantNoSecret(t, body, front)
		if strings.Contains(body, want) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("after a minute the health answer is %s, want it to hold %s", body, want)
		}
	}
	_, metrics := get(t, admin+"/metrics")
	for _, want := range []string{
		`quotegate_check_failures{chain="8453",what="router"} 1`,
		`quotegate_check_failures{chain="8453",what="endpoint"} 0`,
		`quotegate_check_failures{chain="1",what="router"} 0`,
	} {
		if !strings.Contains(metrics, want+"\n") {
			t.Errorf("%s is missing from the metrics", want)
		}
	}
	if status, body := get(t, base+quotePath); status != http.StatusOK {
		t.Errorf("a quote got %d %s", status, body)
	}
	if err := stop(); err != nil {
		t.Errorf("stopping: %v", err)
	}
}

// TestServiceFindsNothing wants a health answer without problems if all is right.
func TestServiceFindsNothing(t *testing.T) {
	front := messengerChain(t)
	base, admin, stop := start(t, map[string]string{"RPC_URLS_10": front.SecretURL()})
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		if _, metrics := get(t, admin+"/metrics"); strings.Contains(metrics, `quotegate_check_failures{chain="10",what="messenger"} 0`) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("nothing was tested within a minute")
		}
	}
	if _, body := get(t, base+"/v3/swap/healthcheck"); strings.Contains(body, "problems") {
		t.Errorf("got %s, want no problems", body)
	}
	if err := stop(); err != nil {
		t.Errorf("stopping: %v", err)
	}
}
