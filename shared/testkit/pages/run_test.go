package pages_test

import (
	"crypto/sha256"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	_ "modernc.org/sqlite" // the driver

	"github.com/quotegate/quotegate/shared/testkit/pages"
	"github.com/quotegate/quotegate/shared/testkit/ports"
)

// stages are the pages whose commands are run here, each with what it needs behind it.
var stages = map[string]func(*testing.T, []pages.Block){
	"README.md":         playReadme,
	"docs/integrate.md": playIntegrate,
	"docs/retire.md":    playRetire,

	"docs/operate/README.md":    playOperate,
	"docs/operate/instances.md": playInstances,
}

// TestPages does what the pages say, and wants what they show.
func TestPages(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED, NOT TESTED: it runs every command of the documentation; make test-all runs it")
	}
	for _, program := range []string{"curl", "jq", "make", "redis-server"} {
		if _, err := exec.LookPath(program); err != nil {
			lacking(t, program)
		}
	}
	for page, play := range stages {
		t.Run(page, func(t *testing.T) {
			t.Parallel()
			blocks, err := pages.Read(root, page)
			if err != nil {
				t.Fatal(err)
			}
			play(t, blocks)
		})
	}
}

// programs builds what the pages call by name, once, and gives their folder.
var programs = sync.OnceValues(func() (string, error) {
	bin, err := filepath.Abs(filepath.Join(root, ".scratch/pages"))
	if err != nil {
		return "", err
	}
	out, err := exec.Command("go", "build", "-ldflags=-w", "-o", bin+"/", "../../../cmd/gateway", "../../../cmd/quote", "../../../cmd/devnet").CombinedOutput()
	if err != nil {
		return "", &buildError{string(out), err}
	}
	return bin, nil
})

type buildError struct {
	printed string
	err     error
}

func (e *buildError) Error() string { return e.err.Error() + "\n" + e.printed }

// newShell is a shell whose gateways serve at addresses of their own, whatever the page says.
func newShell(t *testing.T) *pages.Shell {
	t.Helper()
	bin, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	absolute, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	shell := pages.Tree(t, absolute, bin)
	public, admin := ports.Free(t), ports.Free(t)
	shell.Env = append(shell.Env, "LISTEN_ADDR="+public, "ADMIN_ADDR="+admin)
	shell.Shown = []string{"localhost:8080", public, "127.0.0.1:8080", public, "127.0.0.1:9090", admin}
	return shell
}

// playReadme serves at two addresses, as the page shows it, but at the same time.
func playReadme(t *testing.T, blocks []pages.Block) {
	shell := newShell(t)
	second := ports.Free(t)
	shell.Shown = append(shell.Shown, "LISTEN_ADDR=:9000", "ADMIN_ADDR=off LISTEN_ADDR="+second)
	shell.Play(t, blocks)
	if printed, err := shell.Run(t.Context(), "curl -sf http://"+second+"/"); err != nil {
		t.Errorf("another port: %v\n%s", err, printed)
	}
}

const operatePlan = `{"versions": {"v1": {"deprecated": "2026-09-01T00:00:00Z", "sunset": "2999-03-01T00:00:00Z",
	"successor": "/v3/swap/quote", "docs": "https://example.org/migrate-v1"}}}`

// operateCalls are the calls that the manual shows the traces of.
const operateCalls = `set -e
quote='srcToken=USDC&dstToken=USDC&srcChain=1&dstChain=369'
to='recipient=0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'
for i in $(seq 12); do curl -A shopbot/1.0 "http://localhost:8080/v1/quote?$quote&amount=100000000" -o /dev/null; done
curl -A shopbot/1.0 -H 'API-Rehearse: retired' "http://localhost:8080/v1/quote?$quote&amount=100000000" -o /dev/null
for i in $(seq 5); do curl "http://localhost:8080/v3/swap/quote?$quote&$to&amount=100000000" -o /dev/null; done
for i in $(seq 6); do curl "http://localhost:8080/v3/swap/quote?$quote&$to&amount=1" -o /dev/null; done
for i in $(seq 2); do
	curl "http://localhost:8080/v3/swap/quote?$quote&$to&amount=100000000&integratorId=0x17E6000000000000000000000000000000000003" -o /dev/null
done
for i in $(seq 3); do curl http://localhost:8080/nowhere -o /dev/null; done`

// playOperate plays the manual beside a gateway that has been called.
func playOperate(t *testing.T, blocks []pages.Block) {
	shell := newShell(t)
	shell.Shown = append(shell.Shown, "/etc/quotegate", shell.Dir)
	playFiles(t, shell, blocks)
	writeFiles(t, shell.Dir, map[string]string{"plan.json": operatePlan, "quotegate.service": unitHere(t)})
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Log("NOT TESTED: the unit; there is no systemd-analyze on this machine")
		shell.Shown = append(shell.Shown, "systemd-analyze", "true")
	}
	shell.Env = append(shell.Env, "DEPLOYMENT_FILE=reference", "LIFECYCLE_FILE=plan.json", "CLIENTS_FILE=clients.json", "USAGE_DB=usage.db",
		"RPC_URLS_369=http://127.0.0.1:1", "RATE_LIMIT=1000")
	shell.Serve(t, "gateway 2>&1 | tee gateway.log", `"msg":"serving"`)
	if out, err := shell.Run(t.Context(), operateCalls); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	settle(t, shell, `curl -s '127.0.0.1:9090/admin/usage?version=v1' | jq -c '.clients[0].findings[0].calls'`, "12\n")
	shell.Play(t, blocks)
}

// unitHere is the unit of systemd with the binary where it is.
func unitHere(t *testing.T) string {
	t.Helper()
	unit, err := os.ReadFile(filepath.Join(root, "docs/operate/quotegate.service"))
	if err != nil {
		t.Fatal(err)
	}
	bin, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(unit), "/usr/local/bin/quotegate", filepath.Join(bin, "gateway"))
}

// playFiles writes the files of a page before anything is run.
func playFiles(t *testing.T, shell *pages.Shell, blocks []pages.Block) {
	t.Helper()
	for _, b := range blocks {
		if b.Mark == "file" {
			shell.Play(t, []pages.Block{b})
		}
	}
}

func writeFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

const retireClients = `{"clients": [
	{"name": "Acme Wallet", "contact": "dev@acme.example", "match": ["agent:acmewallet"]},
	{"name": "Shop", "contact": "https://shop.example/contact", "match": ["agent:shopbot"], "keys": ["sha256:%x"]}]}`

const retireKey = "qg_3nT0VdTdJdYwq0n1mX1k3JgYv2X9kq3mU2o0c5m8q1A"

// retireCalls are the calls that the page on retirement shows the counts of.
const retireCalls = `set -e
quote='srcToken=USDC&dstToken=USDC&srcChain=1&dstChain=369&amount=100000000'
to='recipient=0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'
for i in $(seq 40); do curl -A acmewallet/2.1 "http://localhost:8080/v1/quote?$quote&$to" -o /dev/null; done
for i in $(seq 12); do curl -A shopbot/1.0 "http://localhost:8080/v1/quote?$quote" -o /dev/null; done
for i in $(seq 4); do
	curl -A okhttp/4.9 "http://localhost:8080/v1/quote?$quote&$to&integratorId=0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed" -o /dev/null
done`

// playRetire plays the page beside a gateway with its plan, whose windows and sunset are
// always ahead. What it shows of a release comes last: then the same database looks 40
// days older, and the sunset was an hour ago.
func playRetire(t *testing.T, blocks []pages.Block) {
	shell := newShell(t)
	addresses := shell.Shown
	shell.Shown = append(slices.Clone(addresses), "2027-", "2999-")
	playFiles(t, shell, blocks)
	writeFiles(t, shell.Dir, map[string]string{
		"clients.json": fmt.Sprintf(retireClients, sha256.Sum256([]byte(retireKey))), "key.txt": retireKey,
	})
	shell.Env = append(shell.Env, "DEPLOYMENT_FILE=reference", "LIFECYCLE_FILE=plan.json",
		"CLIENTS_FILE=clients.json", "USAGE_DB=usage.db", "RATE_LIMIT=1000")
	gateway := shell.Serve(t, "gateway", `"msg":"serving"`)
	if out, err := shell.Run(t.Context(), retireCalls); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	v1 := `curl -s 127.0.0.1:9090/admin/lifecycle | jq -r '.versions[] | select(.version == "v1") | `
	settle(t, shell, v1+`.gate.calls'`, "56\n")
	before, after := blocksBelow(t, blocks, "docs/retire.md", "### Retired stays retired")
	shell.Play(t, before)

	gateway.End(syscall.SIGTERM)
	looksOlder(t, filepath.Join(shell.Dir, "usage.db"), 100)
	sunset := time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)
	shell.Shown = append(slices.Clone(addresses), "2027-03-01T00:00:00Z", sunset)
	writeFiles(t, shell.Dir, map[string]string{"plan.json": fmt.Sprintf(releasePlan, sunset)})
	shell.Serve(t, "gateway", `"msg":"serving"`)
	settle(t, shell, v1+`.stage'`, "retired\n")
	shell.Play(t, after)
}

// releasePlan is the plan of the page for one instance, without its windows.
const releasePlan = `{"versions": {"v1": {"deprecated": "2026-09-01T00:00:00Z", "sunset": %q,
	"successor": "/v3/swap/quote", "docs": "https://example.org/migrate-v1", "immediate": true,
	"gate": {"maxClients": 5, "maxCallsPerDay": 100, "days": 35, "instances": 1}}}}`

// blocksBelow takes the blocks below a heading, up to the next one, out of those of a page.
func blocksBelow(t *testing.T, blocks []pages.Block, page, heading string) (others, below []pages.Block) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	from := slices.Index(lines, heading)
	if from < 0 {
		t.Fatalf("%s has no %s", page, heading)
	}
	length := slices.IndexFunc(lines[from+1:], func(line string) bool { return strings.HasPrefix(line, "##") })
	for _, b := range blocks {
		if b.Line > from && b.Line <= from+1+length {
			below = append(below, b)
		} else {
			others = append(others, b)
		}
	}
	if len(below) == 0 {
		t.Errorf("%s shows nothing below %s", page, heading)
	}
	return others, below
}

// looksOlder makes a database of counts say that its instance has counted for so many
// days more.
func looksOlder(t *testing.T, file string, days int) {
	t.Helper()
	db, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, statement := range []string{
		"update quotegate_meta set value = cast(cast(value as integer) - ? as text) where name = 'since'",
		"update quotegate_instances set started = started - ?",
	} {
		if _, err := db.Exec(statement, days*86400); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// settle runs a command until it prints a text: counts are written every few seconds, or minutes on a busy machine.
func settle(t *testing.T, shell *pages.Shell, command, want string) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Minute); ; time.Sleep(200 * time.Millisecond) {
		got, err := shell.Run(t.Context(), command)
		if got == want {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: got %q, %v", command, got, err)
		}
	}
}

// playInstances plays the page with nginx, Redis and PostgreSQL, and kills Redis where the page says so.
func playInstances(t *testing.T, blocks []pages.Block) {
	shell := newShell(t)
	redis, front := ports.Free(t), ports.Free(t)
	instances := []string{ports.Free(t), ports.Free(t)}
	shell.Shown = []string{
		"rediss://quotegate:PASSWORD@redis.example:6379", "redis://" + redis,
		"postgres://quotegate:PASSWORD@db1.example,db2.example/quotegate?sslmode=verify-full", startPostgres(t),
		"/etc/quotegate", shell.Dir, "http://127.0.0.1:8080", "http://" + front, "127.0.0.1:8081", instances[0], "127.0.0.1:8082", instances[1],
		"127.0.0.1:9091", ports.Free(t), "127.0.0.1:9092", ports.Free(t),
		"for port in 8081 8082", "for port in " + port(instances[0]) + " " + port(instances[1]),
	}
	shell.Env = append(shell.Env, "PATH="+pathOf(shell.Env)+":/usr/sbin") // nginx is there
	writeFiles(t, shell.Dir, map[string]string{"plan.json": operatePlan, "clients.json": `{"clients": []}`})
	serveRedis := "redis-server --port " + port(redis) + " --save '' --appendonly no"
	server := shell.Serve(t, serveRedis, "Ready to accept connections")
	var before, after []pages.Block
	for _, b := range blocks {
		switch {
		case b.Lang == "nginx" && b.Mark == "test":
			startNginx(t, shell, b.Text, front)
		case strings.Contains(b.Text, "Redis (does not"):
			after = append(after, b)
		default:
			before = append(before, b)
		}
	}
	shell.Play(t, before)
	server.End(syscall.SIGKILL)
	ask := "curl -so /dev/null http://127.0.0.1:8081/v3/app/pairs; curl -so /dev/null 'http://127.0.0.1:8081/v3/swap/quote?srcToken=USDC'; "
	ask += "grep -o 'Redis does not respond\\|Redis responds again' one.log | tail -n 1"
	settle(t, shell, ask, "Redis does not respond\n")
	shell.Serve(t, serveRedis, "Ready to accept connections")
	settle(t, shell, ask, "Redis responds again\n")
	shell.Play(t, after)
}

func port(address string) string { return address[strings.LastIndex(address, ":")+1:] }

// pathOf is the last PATH of an environment, which is the one that counts.
func pathOf(env []string) (path string) {
	for _, variable := range env {
		if value, found := strings.CutPrefix(variable, "PATH="); found {
			path = value
		}
	}
	return path
}

// startNginx runs nginx with the configuration of the page, at the addresses of this run.
func startNginx(t *testing.T, shell *pages.Shell, site, front string) {
	t.Helper()
	dir := t.TempDir()
	site = strings.NewReplacer(shell.Shown...).Replace(site)
	site = strings.NewReplacer("listen 8080;", "listen "+front+";", "listen [::]:8080;", "", "/var/log/nginx/", dir+"/").Replace(site)
	config := fmt.Sprintf(`daemon off; pid %[1]s/pid; error_log stderr crit; events {}
http { access_log off; client_body_temp_path %[1]s/a; proxy_temp_path %[1]s/b; fastcgi_temp_path %[1]s/c;
uwsgi_temp_path %[1]s/d; scgi_temp_path %[1]s/e;
%[2]s}`, dir, site)
	if err := os.WriteFile(filepath.Join(dir, "nginx.conf"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	shell.Serve(t, "nginx -p "+dir+" -c "+dir+"/nginx.conf & until curl -so /dev/null http://"+front+"/; do sleep 0.1; done; echo nginx is up; wait", "nginx is up")
}

// startPostgres runs a PostgreSQL until the test ends, and gives its URL. It refuses to run as root.
func startPostgres(t *testing.T) (url string) {
	t.Helper()
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if len(found) == 0 {
		lacking(t, "PostgreSQL")
	}
	dir, err := os.MkdirTemp("", "pages-pg")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	as := ""
	if os.Geteuid() == 0 {
		as = "setpriv --reuid=nobody --regid=nogroup --clear-groups "
		if out, err := exec.Command("chown", "nobody:nogroup", dir).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	bin := filepath.Dir(slices.Max(found))
	shell := &pages.Shell{Dir: dir, Env: os.Environ()}
	if out, err := shell.Run(t.Context(), as+bin+"/initdb -D data -U postgres -A trust -E UTF8 --no-sync"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	shell.Serve(t, as+bin+"/postgres -D data -k "+dir+" -c listen_addresses= -c fsync=off", "ready to accept connections")
	return "postgres://postgres@/postgres?host=" + dir
}

// lacking skips a test for which a program is missing, or fails it in CI.
func lacking(t *testing.T, program string) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatalf("there is no %s on this machine, and the pages use it", program)
	}
	t.Skipf("SKIPPED, NOT TESTED: there is no %s on this machine", program)
}

// playIntegrate plays the page on the devnet that it shows, and so begins with that.
func playIntegrate(t *testing.T, blocks []pages.Block) {
	shell := newShell(t)
	shell.Shown = []string{"make devnet", "devnet -listen " + ports.Free(t) + " -page " + ports.Free(t) + " -rpc-port 0"}
	var shown string
	var rest []pages.Block
	for _, b := range blocks {
		if b.Mark == "serve" && strings.HasPrefix(b.Text, "$ make devnet\n") {
			shown = strings.TrimPrefix(b.Text, "$ make devnet\n")
			continue
		}
		rest = append(rest, b)
	}
	if shown == "" {
		t.Fatal("the page does not show make devnet")
	}
	devnet := shell.Serve(t, "make devnet", "Ctrl-C stops everything.")
	printed := devnet.Printed()
	if !pages.Match(shown, printed) {
		t.Errorf("the page shows another devnet:\n%s\n--- printed\n%s", shown, printed)
	}
	shell.Shown = devnetAddresses(t, shown, printed)
	gateway := value(t, `gateway +http://(\S+)`, printed)
	key := ports.Free(t)
	shell.Shown = append(shell.Shown, "localhost:8080", gateway, "localhost:8090", key,
		"./cmd/quote status ", "./cmd/quote status -gateway http://"+gateway+" ", "./cmd/quote ", "./cmd/quote -gateway http://"+gateway+" ")
	shell.Env = append(shell.Env, "GOFLAGS=-trimpath", "CGO_ENABLED=0")
	shell.Play(t, rest)
}

// devnetAddresses pairs what the page shows of the devnet with what this one has: nodes, and the hash of its swap.
func devnetAddresses(t *testing.T, shown, printed string) (pairs []string) {
	t.Helper()
	hash := `swap: sending (0x\w+)`
	pairs = append(pairs, value(t, hash, shown), value(t, hash, printed))
	node := regexp.MustCompile(`(?m)^ +(\d+) +http://(127\.0\.0\.1:\d+) `)
	ports := map[string]string{}
	for _, m := range node.FindAllStringSubmatch(printed, -1) {
		ports[m[1]] = m[2]
	}
	// The page names the nodes of two chains at their usual ports.
	return append(pairs, "127.0.0.1:18600", ports["1"], "127.0.0.1:18616", ports["42161"])
}

func value(t *testing.T, pattern, text string) string {
	t.Helper()
	m := regexp.MustCompile(pattern).FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("there is no %s in:\n%s", pattern, text)
	}
	return m[1]
}
