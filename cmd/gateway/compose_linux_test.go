package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/testkit/pages"
)

// TestCompose starts docs/operate/compose.yaml with the commands of docs/operate/containers.md, asks for quotes, and
// replaces a gateway while it asks.
//
// Real are the container engine with its networks, limits and read-only roots, Compose with its order of starts, the
// image of the gateway, and the programs nginx, Redis and PostgreSQL. The official images of these three are not: those
// here are made of the programs of this machine, so that no registry is needed.
func TestCompose(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED, NOT TESTED: it runs five containers; make test-all runs it")
	}
	t.Parallel()
	e := startEngine(t)
	folder := filepath.Join(e.dir, "quotegate")
	blocks, err := pages.Find("../..", "docs/operate/containers.md", "sh")
	if err != nil {
		t.Fatal(err)
	}
	files, err := pages.Find("../..", "docs/operate/README.md", "ini")
	if err != nil {
		t.Fatal(err)
	}
	moved := strings.NewReplacer("/etc/quotegate", folder)
	for name, text := range map[string]string{
		"quotegate/environment":     moved.Replace(files[0].Text),
		"quotegate/deployment.json": string(chain.ReferenceAs("production")),
		"docs/operate/compose.yaml": moved.Replace(readText(t, "../../docs/operate/compose.yaml")),
		"docs/operate/nginx.conf":   readText(t, "../../docs/operate/nginx.conf"),
		"cmd/gateway/Containerfile": readText(t, "Containerfile"),
	} {
		path := filepath.Join(e.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	program := filepath.Join(e.dir, "bin/gateway")
	sh(t, "../..", "go", "build", "-trimpath", "-ldflags=-w", "-o", program, "./cmd/gateway")
	for _, b := range blocks {
		if b.Value == t.Name() {
			e.run(t, moved.Replace(b.Text))
		}
	}

	const ask = "curl -sSi 'http://127.0.0.1:8080" + quotePath + "'"
	e.run(t, "until [ $(podman ps --format '{{.Status}}' | grep -cF '(healthy)') = 5 ]; do sleep 0.5; done")
	wantContains(t, e.run(t, ask), " 200 OK", `"destAmount":"99700000"`, "Ratelimit-Remaining: 29")
	another := e.run(t, "podman exec operate_nginx_1 "+ask)
	wantContains(t, another, "Ratelimit-Remaining: 29")
	// On a busy machine, the name of Redis may be known only after a gateway has started.
	for _, name := range []string{"operate_gateway1_1", "operate_gateway2_1"} {
		const shared = "'rate limit: (counting in Redis, shared by all instances|Redis responds again)'"
		e.run(t, "until podman logs "+name+" 2>&1 | grep -E "+shared+"; do "+ask+"; sleep 0.5; done")
	}

	t.Run("locked", func(t *testing.T) { wantLocked(t, e) })
	t.Run("admin", func(t *testing.T) {
		token := "-H \"Authorization: Bearer $(cat " + folder + "/secrets/admin_token)\""
		for _, addr := range []string{"172.30.9.11", "172.30.9.12"} {
			const both = "'instance gateway1 ('*'instance gateway2 ('" // it lists them by their hosts
			usage := "$(curl -sS " + token + " http://" + addr + ":9090/admin/usage)"
			e.run(t, "until [[ "+usage+" = *"+both+"* ]]; do sleep 0.2; done")
			e.run(t, "! podman exec operate_nginx_1 curl -sS -m 2 http://"+addr+":9090/livez")
		}
	})
	page := readText(t, "../../docs/operate/containers.md")
	t.Run("replaced", func(t *testing.T) {
		const replace = "docker compose up --build --detach --no-deps gateway1"
		wantContains(t, page, "`"+replace+"`")
		// This Compose takes the networks of podman for changed ones if it is to make them.
		made := regexp.MustCompile(`(?s)\nnetworks:\n.*?\nvolumes:`)
		const named = "\nnetworks:\n  front: {external: true, name: operate_front}\n" +
			"  back: {external: true, name: operate_back}\nvolumes:"
		path := filepath.Join(e.dir, "docs/operate/compose.yaml")
		writeFile(t, path, made.ReplaceAllString(readText(t, path), named))
		environment := filepath.Join(folder, "environment")
		writeFile(t, environment, readText(t, environment)+"LOG_LEVEL=debug\n")
		e.run(t, `while [ ! -e stopped ]; do
	curl -sS -o /dev/null -w '%{http_code}\n' http://127.0.0.1:8080/versions || true
	sleep 0.1
done >codes &
asking=$!
sleep 1
before=$(podman inspect -f '{{.Id}}' operate_gateway1_1)
(cd docs/operate && `+replace+`)
[ "$before" != "$(podman inspect -f '{{.Id}}' operate_gateway1_1)" ]
until podman ps --filter name=operate_gateway1_1 | grep -F '(healthy)'; do sleep 0.5; done
touch stopped
wait $asking`)
		codes := strings.Fields(readText(t, filepath.Join(e.dir, "codes")))
		failed := slices.DeleteFunc(slices.Clone(codes), func(code string) bool { return code == "200" })
		if len(failed) > 0 || len(codes) < 10 {
			t.Errorf("of %d requests, these failed: %q", len(codes), failed)
		}
	})
	t.Run("reloaded", func(t *testing.T) {
		const reload = "docker compose kill -s HUP gateway1 gateway2"
		wantContains(t, page, "`"+reload+"`")
		e.run(t, "cd docs/operate && "+reload+`
until podman logs operate_gateway2_1 2>&1 | grep -F '"deployment and endpoints are unchanged"'; do sleep 0.2; done`)
	})
}

// wantLocked looks at the processes of all containers as the kernel sees them.
func wantLocked(t *testing.T, e *engine) {
	t.Helper()
	const facts = `for name in $(podman ps --format '{{.Names}}'); do
	pid=$(podman inspect -f '{{.State.Pid}}' $name)
	echo $name $(sed -nE 's/^(Uid|CapBnd|NoNewPrivs):\s*(\S+).*/\2/p' /proc/$pid/status) \
		$(awk '$5 == "/" { print substr($6, 1, 2) }' /proc/$pid/mountinfo) \
		$(podman inspect -f '{{.HostConfig.Memory}} {{.HostConfig.NanoCpus}} {{.HostConfig.PidsLimit}}' $name)
done`
	type locked struct{ user, capabilities, noNewPrivileges, root string }
	const none = "0000000000000000"
	want := map[string]locked{
		"operate_nginx_1":    {"101", none, "1", "ro"},
		"operate_gateway1_1": {"65532", none, "1", "ro"},
		"operate_gateway2_1": {"65532", none, "1", "ro"},
		"operate_redis_1":    {"999", none, "1", "ro"},
		"operate_postgres_1": {"999", none, "1", "ro"},
	}
	lines := strings.Split(strings.TrimSpace(e.run(t, facts)), "\n")
	for _, line := range lines {
		f := strings.Fields(line)
		if len(f) != 8 {
			t.Fatalf("got %q", line)
		}
		// The kernel prints the user first, and privileges after capabilities.
		if got := (locked{f[1], f[2], f[3], f[4]}); got != want[f[0]] {
			t.Errorf("%s is locked as %+v, want %+v", f[0], got, want[f[0]])
		}
		for _, limit := range f[5:] {
			if n, err := strconv.Atoi(limit); err != nil || n <= 0 {
				t.Errorf("%s has the limits %q", f[0], f[5:])
			}
		}
	}
	ports := e.run(t, "podman ps --format '{{.Ports}}' | grep .")
	if len(lines) != 5 || ports != "0.0.0.0:8080->8080/tcp\n" {
		t.Errorf("%d containers run, and they publish %q", len(lines), ports)
	}
	listed := e.run(t, "podman export operate_gateway1_1 | tar -tvf - | awk '/^-/ && $3 > 0 { print $NF }'")
	if listed != "gateway\n" {
		t.Errorf("the image has the files %q, want the program alone", listed)
	}
}

// engine runs containers, with storage and namespaces of its own.
type engine struct {
	dir     string
	session *exec.Cmd
	env     []string
}

// run runs commands in bash beside the containers.
func (e *engine) run(t *testing.T, commands string) string {
	t.Helper()
	out, err := e.try(commands)
	if err != nil {
		t.Fatalf("%s: %v\n%s", commands, err, out)
	}
	return out
}

// try takes Docker's Compose for podman's, and the gateway is made already.
func (e *engine) try(commands string) (string, error) {
	const names = `docker() { shift; docker-compose "$@"; }; make() { :; }; cd "$DIR"; `
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	session := strconv.Itoa(e.session.Process.Pid)
	cmd := exec.CommandContext(ctx, "nsenter", "--target", session, "--net", "--mount", "--pid",
		"bash", "-euo", "pipefail", "-c", names+commands)
	cmd.Env = e.env
	var out, faults bytes.Buffer
	cmd.Stdout = &out
	cmd.Stderr = &faults
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	if err != nil {
		err = fmt.Errorf("%w\n%s", err, faults.String())
	}
	return out.String(), err
}

// engineConfig asks for limits that every machine grants, and for no systemd.
const engineConfig = `[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
tmp_dir = "%[1]s/tmp"
[network]
network_backend = "netavark"
network_config_dir = "%[1]s/networks"
[containers]
cgroupns = "host"
default_ulimits = ["nofile=16384:16384", "nproc=4096:4096"]
`

// startEngine skips the test where no container can run, and says so.
func startEngine(t *testing.T) *engine {
	t.Helper()
	wantEngine(t)
	dir := t.TempDir()
	env := append(os.Environ(), "DIR="+dir, "CONTAINERS_CONF="+dir+"/containers.conf",
		"CONTAINERS_STORAGE_CONF="+dir+"/storage.conf", "DOCKER_HOST=unix://"+dir+"/podman.sock", "DOCKER_BUILDKIT=0")
	e := &engine{dir: dir, session: exec.Command("../../testdata/compose/session"), env: env}
	writeFile(t, dir+"/containers.conf", fmt.Sprintf(engineConfig, dir))
	writeFile(t, dir+"/storage.conf", fmt.Sprintf("[storage]\ndriver = \"overlay\"\ngraphroot = %q\nrunroot = %q\n",
		dir+"/storage", dir+"/run"))
	var log bytes.Buffer
	input, err := e.session.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	e.session.Env = e.env
	e.session.Stdout = &log
	e.session.Stderr = &log
	e.session.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID,
	}
	const untested = "SKIPPED, NOT TESTED: docs/operate/compose.yaml, since this machine runs no container: "
	if err := e.session.Start(); err != nil {
		t.Skip(untested + err.Error())
	}
	t.Cleanup(func() {
		if t.Failed() {
			logs, _ := e.try("podman ps -a; for c in $(podman ps -aq); do podman logs --tail 5 $c 2>&1; done")
			t.Log(logs)
		}
		_, _ = e.try("podman rm --force --all --time 0")
		input.Close()
		_ = e.session.Wait()
		if t.Failed() {
			t.Log(log.String())
		}
	})
	images, err := filepath.Abs("../../testdata/compose/stand-ins")
	if err != nil {
		t.Fatal(err)
	}
	compose, err := filepath.Abs("../../docs/operate/compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if out, err := e.try("until [ -e podman.sock ]; do sleep 0.1; done"); err != nil {
		t.Skip(untested + out + err.Error())
	}
	e.run(t, "'"+images+"' '"+compose+"'")
	redis := regexp.MustCompile(`image: (\S+/redis\S+)`).FindStringSubmatch(readText(t, compose))
	out, err := e.try("podman run --rm --read-only --memory=50m " + redis[1] + " redis-server --version")
	if err != nil {
		t.Skip(untested + out + err.Error())
	}
	return e
}

// wantEngine skips the test where programs are missing.
func wantEngine(t *testing.T) {
	t.Helper()
	findNginx(t)
	var missing []string
	programs := []string{"podman", "runc", "docker-compose", "iptables", "ip", "redis-server", "curl", "openssl"}
	for _, program := range programs {
		if _, err := exec.LookPath(program); err != nil {
			missing = append(missing, program)
		}
	}
	places := []string{
		"/usr/lib/postgresql/*/bin/postgres", "/usr/lib*/podman/netavark", "/usr/lib*/podman/aardvark-dns",
	}
	for _, place := range places {
		if found, _ := filepath.Glob(place); len(found) == 0 {
			missing = append(missing, place)
		}
	}
	if os.Getuid() != 0 {
		missing = append(missing, "the user root")
	}
	if len(missing) == 0 {
		return
	}
	const notice = "docs/operate/compose.yaml needs, to be started, "
	if os.Getenv("CI") != "" {
		t.Fatal(notice + strings.Join(missing, ", ") + ": CI is set")
	}
	t.Skip("SKIPPED, NOT TESTED: " + notice + strings.Join(missing, ", "))
}
