package main

import (
	"encoding/json"
	"fmt"
	"html"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/quotegate/quotegate/cmd/devnet/contracts"
	"github.com/quotegate/quotegate/gateway/selfcheck"
	"github.com/quotegate/quotegate/gateway/testkit/golden"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/testkit/journal"
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

// wantNoSecret wants no URL of a node or a service in the text.
func wantNoSecret(t *testing.T, text string) {
	t.Helper()
	for _, secret := range []string{node.Secret, "127.0.0.1"} {
		if strings.Contains(text, secret) {
			t.Errorf("%q is told in:\n%s", secret, text)
		}
	}
}

// check runs `gateway check` and wants this many failures, and these lines in the table,
// whatever the spaces between words.
func check(t *testing.T, env environment, failures int, lines ...string) (out string) {
	t.Helper()
	out, err := runCommand(t, env, "check")
	want := "<nil>"
	if failures > 0 {
		want = fmt.Sprintf("failed tests: %d", failures)
	}
	if fmt.Sprint(err) != want {
		t.Errorf("got %v, want %s:\n%s", err, want, out)
	}
	squeezed := map[string]bool{}
	for line := range strings.Lines(out) {
		squeezed[strings.Join(strings.Fields(line), " ")] = true
	}
	for _, line := range lines {
		if !squeezed[line] {
			t.Errorf("the line %q is missing from:\n%s", line, out)
		}
	}
	return out
}

// Pairs that lack a contract are named.
func TestCheckOfTheDeployment(t *testing.T) {
	pairs := len(chain.Pairs())
	const pool = `{"chainId": 4663, "token": "ETH", "router": "0xEB20851e5B4A40D53A450d4260eF834cd2da13DD"},`
	for instead, want := range map[string]string{
		pool: `"reference"`,
		``: fmt.Sprintf(`"reference"; it serves %d of %d pairs; for these it lacks a pool or the receiver: `+
			"ETH on 4663 to WETH on 369, WETH on 369 to ETH on 4663", pairs-2, pairs),
	} {
		text := string(chain.ReferenceFile())
		wantContains(t, text, pool)
		d, err := chain.ReadDeployment(tempFile(t, strings.Replace(text, pool, instead, 1)))
		if err != nil || describe(d) != want {
			t.Errorf("%s: got %v %q, want %q", instead, err, describe(d), want)
		}
	}
}

// Two real chains are tested: one is right and one is wrong.
func TestCheckOfChains(t *testing.T) {
	good, bad, other := messengerChain(t), baseChain(t), messengerChain(t)
	const alone = " the only endpoint of this chain, so nothing confirms its answers; " +
		"add one of another provider"
	polygon := router(t, 137, "USDC").Hex()
	out := check(t, environment{"DEPLOYMENT_FILE": "reference", "RPC_URLS_10": good.SecretURL()}, 0,
		"ok configuration", `ok deployment "reference"; no quote may be signed: `+localOnly+
			"; set DEPLOYMENT_FILE to a file with your contracts, or run the devnet", "ok chain 10, endpoint 1"+alone,
		"ok chain 10, messenger "+router(t, 10, "USDC").Hex(),
		"not tested chain 137 RPC_URLS_137 is not set; 3 checks skipped",
		"not tested retirement plan LIFECYCLE_FILE is not set", "not tested known clients CLIENTS_FILE is not set",
		"not tested issuer's fees ISSUER_FEE_URL is not set", "not tested Redis REDIS_URL is not set",
		"not tested usage database USAGE_DB is not set")
	wantNoSecret(t, out)
	if strings.Contains(out, "chain 137,") {
		t.Errorf("a chain without an endpoint has more than one line:\n%s", out)
	}

	wrong := environment{
		"RPC_URLS_10":   good.SecretURL() + "," + good.URL + "/other",
		"RPC_URLS_8453": bad.SecretURL(),
		"RPC_URLS_137":  other.SecretURL(),
	}
	out = check(t, wrong, 2,
		"ok chain 10, endpoint 2", "ok chain 8453, endpoint 1"+alone, "failed chain 137, endpoint 1 it serves chain 10",
		"not tested chain 137, messenger "+polygon+" no endpoint of chain 137 works",
		"failed chain 8453, router of USDC "+router(t, 8453, "USDC").Hex()+" there is no contract at this address",
		"ok chain 8453, router of ETH "+router(t, 8453, "ETH").Hex(),
		"notice: chain 10: endpoints 1 and 2 are on one host. "+
			"Two endpoints confirm each other only if they are of two providers")
	wantNoSecret(t, out)

	printed, err := runCommand(t, wrong, "check", "-json")
	var answer struct {
		OK      bool
		Results []selfcheck.Result
		Notices []string
	}
	if json.Unmarshal([]byte(printed), &answer) != nil || err == nil || answer.OK || len(answer.Notices) != 1 ||
		!strings.HasSuffix(out, sumOf(answer.Results)) {
		t.Errorf("got %v, ok %t and %d results:\n%s\nthe table is\n%s", err, answer.OK, len(answer.Results), printed, out)
	}
	if order := regexp.MustCompile(`\A(failed .*\n){2}(ok .*\n)+(not tested .*\n)+notice: .*\n\n.*\n\z`); !order.MatchString(out) {
		t.Errorf("failures are not first, or the sum is not last:\n%s", out)
	}
}

// sumOf is the line at the end of the table of these results.
func sumOf(results []selfcheck.Result) string {
	sum, _ := tally(results)
	return "\n\n" + sum + "\n"
}

// What is valid but hardly meant is in the row of its file.
func TestCheckWarns(t *testing.T) {
	version, _ := oldest(t)
	plan := tempFile(t, planOf(version, "2100-01-01T00:00:00Z", `, "exempt": ["0.0.0.0/1", "128.0.0.0/1"]`))
	env := environment{"DEPLOYMENT_FILE": deploymentNamed(t, "mine"), "LIFECYCLE_FILE": plan}
	warnings := []string{"confirmations is 1 for chain 1, ", version + `: "exempt" has all of IPv4, so that no brownout`}
	wantContains(t, check(t, env, 0), warnings...)
	checked, err := runCommand(t, env, "plan", "check", plan)
	if err != nil {
		t.Fatal(err)
	}
	wantContains(t, checked, `warning: "exempt" has all of IPv4`)
	var log journal.Journal
	_, admin, stop := startLogging(t, env, &log)
	_, page := get(t, admin+"/health")
	page = html.UnescapeString(page)
	for _, warning := range warnings {
		wantContains(t, page, `<th scope="row">Warning</th><td>`+warning)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	wantContains(t, log.String(), `"level":"WARN","msg":"deployment: `+warnings[0],
		`"level":"WARN","msg":"lifecycle plan: \"exempt\" has all of IPv4`)
}

// A file that cannot be read and a host that cannot be reached are failures, and the rest is tested. No URL is printed.
func TestCheckOfServices(t *testing.T) {
	issuer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/fees/7/6") { // chain 137
			http.Error(w, node.Secret, http.StatusInternalServerError)
			return
		}
		fmt.Fprint(w, `[{"finalityThreshold":1000,"minimumFee":5}]`)
	}))
	defer issuer.Close()
	file := tempFile(t, `{"extra": 1}`)
	check(t, environment{"LISTEN_ADDR": "8080", "RPC_URLS_1": "ftp://node.example/key"}, 1,
		`failed configuration the configuration is wrong: LISTEN_ADDR: "8080" is not an address such as :8080 or `+
			`127.0.0.1:8080; RPC_URLS_1: entry 1 does not begin with http:// or https://`,
		"0 ok, 1 failed, 0 not tested")
	out := check(t, environment{
		"DEPLOYMENT_FILE": file, "LIFECYCLE_FILE": file, "CLIENTS_FILE": file, "USAGE_DB": file,
		"ISSUER_FEE_URL": issuer.URL, "RPC_FILE": "/does/not/exist",
	}, 4,
		"ok configuration",
		"failed usage database "+file+" is not a SQLite database, and is left as it is; name another file")
	wantContains(t, out, "name: missing", "extra: unknown field", "RPC_FILE: stat /does/not/exist: no such file")
	out = check(t, environment{
		"ISSUER_FEE_URL": strings.Replace(issuer.URL, "http://", "http://"+node.Secret+"@", 1),
		"REDIS_URL":      "redis://:" + node.Secret + "@127.0.0.1:1/0",
		"USAGE_DB":       "postgres://gate:" + node.Secret + "@127.0.0.1:1/usage",
	}, 3,
		"ok chain 10, issuer's fee 5 basis points", "failed chain 137, issuer's fee status 500",
		"failed Redis it does not answer within a second, refuses us, or cannot be written to",
		"failed usage database PostgreSQL: connection refused")
	wantNoSecret(t, out)
	check(t, environment{"REDIS_URL": "redis://127.0.0.1:1", "RATE_LIMIT": "0"}, 0,
		"not tested Redis RATE_LIMIT is 0, so that nothing is counted")
	check(t, environment{"USAGE_DB": filepath.Join(t.TempDir(), "usage.db")}, 0,
		"ok usage database the file does not exist yet; the service will make it, and counts begin then")
}

// A clock that is ahead of all chains is blamed, once, and not only the chains.
func TestCheckOfTheClock(t *testing.T) {
	env := environment{}
	for chain, front := range map[string]*node.Front{"10": messengerChain(t), "8453": baseChain(t)} {
		at := time.Now().Add(-10*time.Minute - 30*time.Second).Unix()
		front.Instead("eth_getBlockByNumber", node.Results(fmt.Sprintf(`{"number":"0x1","timestamp":"0x%x"}`, at)))
		env["RPC_URLS_"+chain] = front.SecretURL()
	}
	const late = ", endpoint 1 its latest block is 10 minutes old, but this machine's clock seems 10 minutes ahead: " +
		"synchronise it by NTP"
	check(t, env, 2, "failed chain 10"+late, "failed chain 8453"+late, "notice: this machine's clock seems 10 minutes "+
		"ahead of the newest blocks of 2 of 2 chains: synchronise it by NTP")
}

// The instances that write to the database are listed by the IDs that they have in notes.
func TestCheckListsInstances(t *testing.T) {
	env := environment{"USAGE_DB": filepath.Join(t.TempDir(), "usage.db")}
	_, admin, stop := start(t, env)
	_, body := get(t, admin+"/livez")
	var answer struct{ Instance string }
	if err := json.Unmarshal([]byte(body), &answer); err != nil || answer.Instance == "" {
		t.Fatalf("got %s", body)
	}
	host, _ := os.Hostname()
	const lists = "notice: instances in the usage database: instance "
	wantContains(t, check(t, env, 0), lists+host+" ("+answer.Instance+"), wrote ", ", follows no plan\n")
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if out := check(t, env, 0); strings.Contains(out, "instances in the usage database") {
		t.Errorf("it stopped: got %s", out)
	}
}

// A service that can quote reports a missing router in its health check, in the metrics, and in
// every version's quotes that need it. If the issuer's fee is above the cap, no version quotes,
// unless there is a built-in fee.
func TestServiceChecksItself(t *testing.T) {
	bad, good := baseChain(t), messengerChain(t)
	issuer := httptest.NewServer(node.Says(
		`[{"finalityThreshold":1000,"minimumFee":101},{"finalityThreshold":2000,"minimumFee":0}]`))
	defer issuer.Close()
	base, admin, _ := start(t, environment{
		"RPC_URLS_8453": bad.SecretURL(), "RPC_URLS_10": good.SecretURL(), "ISSUER_FEE_URL": issuer.URL, "RATE_LIMIT": "0",
		"DEPLOYMENT_FILE": deploymentNamed(t, "mine"),
	})
	missing := router(t, 8453, "USDC").Hex()
	problem := `"problems":["Chain 8453, router of USDC ` + missing + `: there is no contract at this address"]`
	eventually(t, "the problem, and no other, is in the health answer", func() bool {
		status, body := get(t, base+healthPath)
		if status != http.StatusOK || !strings.Contains(body, `"status":"ok"`) {
			t.Fatalf("got %d %s", status, body)
		}
		wantNoSecret(t, body)
		return strings.Contains(body, problem)
	})
	_, metrics := get(t, admin+"/metrics")
	for _, want := range []string{
		`chain="8453",what="router"} 1`, `chain="8453",what="endpoint"} 0`,
		`chain="10",what="messenger"} 0`, `chain="1",what="router"} 0`,
	} {
		wantContains(t, metrics, "quotegate_check_failures{"+want+"\n")
	}

	there, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(there)
	const usdc = "&srcToken=USDC&dstToken=USDC&recipient=0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed&amount=100000000"
	for _, m := range modules() {
		contract := golden.ReadContract(t, proxy, m.Name)
		for _, tt := range []struct {
			query, warning, says string
			status               int
		}{
			{"srcChain=369&dstChain=42161" + usdc, "This quote must not be signed: chain 8453 has no contract at " + missing, "", 200},
			{"srcChain=1&dstChain=369" + usdc, "", "", 200},
			{"srcChain=42161&dstChain=369" + usdc, "", "", 200},
			{"srcChain=137&dstChain=369" + usdc, "", "ISSUER_FEE_TOO_HIGH", 503},
		} {
			r := httptest.NewRequest("GET", m.Routes[0].Path+"?"+tt.query, nil)
			w := httptest.NewRecorder()
			proxy.ServeHTTP(w, r)
			contract.Check(t, r, w)
			if w.Code != tt.status || w.Header().Get("Quote-Warning") != tt.warning {
				t.Errorf("%s, %s: got %d, %q: %s", m.Name, tt.query, w.Code, w.Header().Get("Quote-Warning"), w.Body)
			}
			wantContains(t, w.Body.String(), tt.says)
		}
	}
}
