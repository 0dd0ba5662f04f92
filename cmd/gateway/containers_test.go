package main

import (
	"fmt"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/oasdiff/yaml"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/testkit/pages"
)

// TestNginxOfCompose: below its first lines, docs/operate/nginx.conf is the block of the page on instances, at other
// addresses. With UPDATE_GOLDEN=1 it is written.
func TestNginxOfCompose(t *testing.T) {
	const file = "../../docs/operate/nginx.conf"
	blocks, err := pages.Find("../..", "docs/operate/instances.md", "nginx")
	if err != nil {
		t.Fatal(err)
	}
	block := strings.NewReplacer("127.0.0.1:8081", "172.30.8.11:8080", "127.0.0.1:8082", "172.30.8.12:8080",
		"/var/log/nginx/gateway.log", "/dev/stdout", "/var/log/nginx/gateway-error.log", "/dev/stderr").Replace(blocks[0].Text)
	const mark = "make generate copies it.\n"
	got := readText(t, file)
	head, _, _ := strings.Cut(got, mark)
	want := head + mark + block + "}\n"
	switch {
	case got == want:
	case os.Getenv("UPDATE_GOLDEN") == "":
		t.Errorf("%s is not made of the block of docs/operate/instances.md: run make generate", file)
	default:
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// pod is what docs/operate/kubernetes.yaml says of the gateway.
type pod struct {
	GracePeriod int64 `json:"terminationGracePeriodSeconds"`
	Security    struct {
		User int `json:"runAsUser"`
	} `json:"securityContext"`
	Containers []struct {
		Ports []struct {
			Name   string `json:"name"`
			Number int    `json:"containerPort"`
		} `json:"ports"`
		Env       []struct{ Name, Value string } `json:"env"`
		Liveness  probe                          `json:"livenessProbe"`
		Readiness probe                          `json:"readinessProbe"`
		Lifecycle *struct{}                      `json:"lifecycle"`
		Resources struct {
			Limits struct{ Memory string } `json:"limits"`
		} `json:"resources"`
		Mounts []mountedFolder `json:"volumeMounts"`
	} `json:"containers"`
}

type mountedFolder struct{ MountPath, SubPath string }

type probe struct {
	Get struct{ Path, Port string } `json:"httpGet"`
}

// readPod reads the manifest, whose first document is the StatefulSet.
func readPod(t *testing.T) pod {
	t.Helper()
	first, _, _ := strings.Cut(readText(t, "../../docs/operate/kubernetes.yaml"), "\n---\n")
	var set struct {
		Kind string
		Spec struct{ Template struct{ Spec pod } }
	}
	if _, err := yaml.Unmarshal([]byte(first), &set, yaml.DecodeOpts{}); err != nil {
		t.Fatal(err)
	}
	p := set.Spec.Template.Spec
	if set.Kind != "StatefulSet" || len(p.Containers) != 1 {
		t.Fatalf("got a %s with %d containers", set.Kind, len(p.Containers))
	}
	return p
}

// TestKubernetesManifest holds the manifest and its page to the program: settings, ports, user, times and memory.
func TestKubernetesManifest(t *testing.T) {
	p := readPod(t)
	c := p.Containers[0]
	env := environment{}
	for _, v := range c.Env {
		env[v.Name] = v.Value
	}
	known := map[string]bool{"GOMEMLIMIT": true} // of Go
	for _, s := range settings(nil) {
		known[s.name] = true
		known[s.name+fileSuffix] = s.secret
	}
	for name, value := range env {
		if !known[name] {
			t.Errorf("%s is not a setting", name)
		}
		mounted := slices.ContainsFunc(c.Mounts, func(m mountedFolder) bool {
			return m.MountPath == path.Dir(value) && m.SubPath == "" // a subPath is never updated
		})
		if strings.HasSuffix(name, "_FILE") && !mounted {
			t.Errorf("%s is %s, where nothing is mounted", name, value)
		}
	}
	cfg, err := readConfig(t.Context(), environment{
		"ADMIN_ADDR": env["ADMIN_ADDR"], "ADMIN_TOKEN": strings.Repeat("x", 16), "DRAIN_DELAY": env["DRAIN_DELAY"],
		"TRUSTED_PROXIES": env["TRUSTED_PROXIES"], "ISSUER_FEE_URL": env["ISSUER_FEE_URL"],
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, port := range c.Ports {
		want := map[string]string{"http": cfg.ListenAddr, "admin": cfg.Admin.Addr}[port.Name]
		if want != ":"+strconv.Itoa(port.Number) {
			t.Errorf("the port %s is %d, and the program listens on %q", port.Name, port.Number, want)
		}
	}
	if line := fmt.Sprintf("\nUSER %d:", p.Security.User); !strings.Contains(readText(t, "Containerfile"), line) {
		t.Errorf("the image has another user than %d", p.Security.User)
	}
	if grace := time.Duration(p.GracePeriod) * time.Second; grace <= cfg.DrainDelay+drainTimeout+countsTimeout {
		t.Errorf("it is killed after %s, and may need %s", grace, cfg.DrainDelay+drainTimeout+countsTimeout)
	}
	if c.Lifecycle != nil {
		t.Error("it has a hook, for which the image has no program")
	}
	soft, err := strconv.Atoi(strings.TrimSuffix(env["GOMEMLIMIT"], "MiB"))
	hard, errHard := strconv.Atoi(strings.TrimSuffix(c.Resources.Limits.Memory, "Mi"))
	if err != nil || errHard != nil || soft*10 > hard*8 {
		t.Errorf("GOMEMLIMIT is %s of %s", env["GOMEMLIMIT"], c.Resources.Limits.Memory)
	}
	page := strings.Join(strings.Fields(readText(t, "../../docs/operate/containers.md")), " ")
	for _, fact := range []string{
		fmt.Sprintf("%g s for requests and %g s for counts", drainTimeout.Seconds(), countsTimeout.Seconds()),
		fmt.Sprintf("%d of %d MiB", soft, hard),
	} {
		if !strings.Contains(page, fact) {
			t.Errorf("docs/operate/containers.md does not say %q", fact)
		}
	}
}

// TestPod runs the gateway as the manifest does: probes reach it from elsewhere without a token, files that are
// swapped like those of a ConfigMap are read, and after SIGTERM it serves on for DRAIN_DELAY and ends with exit code 0.
func TestPod(t *testing.T) {
	t.Parallel()
	p := readPod(t).Containers[0]
	version, quotes := oldest(t)
	_, printed := makeKey(t, "Acme", "")
	config, secrets := t.TempDir(), t.TempDir()
	files := map[string]string{
		"deployment.json": string(chain.ReferenceAs("production")), "clients.json": `{"clients": []}`,
		"plan.json": planOf(version, "2999-01-01T00:00:00Z", ""),
	}
	mount(t, config, files)
	mount(t, secrets, map[string]string{
		"admin_token": "a-token-of-some-length", "redis_url": "redis://127.0.0.1:1", "rpc.json": `{"endpoints": {}}`,
		"usage_db": filepath.Join(t.TempDir(), "usage.db"),
	})
	var env []string
	places := strings.NewReplacer(p.Mounts[0].MountPath, config, p.Mounts[1].MountPath, secrets)
	for _, v := range p.Env {
		env = append(env, v.Name+"="+places.Replace(v.Value))
	}
	i := process(t, append(env, "LISTEN_ADDR=:0", "ADMIN_ADDR=:0", "ISSUER_FEE_URL=", "DRAIN_DELAY=2s")...)
	probed := func(path string) int {
		t.Helper()
		r, err := http.NewRequest(http.MethodGet, i.admin+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = "10.244.1.7:9090"
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		return res.StatusCode
	}
	live, ready := p.Liveness.Get.Path, p.Readiness.Get.Path
	for path, want := range map[string]int{live: 200, ready: 200, "/metrics": 401} {
		if got := probed(path); got != want {
			t.Errorf("%s: got %d, want %d", path, got, want)
		}
	}

	status := func(path string) int {
		t.Helper()
		got, _, _ := getWith(t, i.base+path, "API-Key", "qg_unknown")
		return got
	}
	if got := [2]int{status(quotePath), status(quotes + quoteQuery)}; got != [2]int{200, 200} {
		t.Errorf("before the change: got %d", got)
	}
	files["clients.json"] = lastLine(printed)
	files["plan.json"] = planOf(version, "2021-01-01T00:00:00Z", `, "immediate": true`)
	mount(t, config, files)
	eventually(t, "clients and plan are read", func() bool {
		return status(quotePath) == http.StatusUnauthorized && status(quotes+quoteQuery) == http.StatusGone
	})

	i.signal(t, syscall.SIGTERM)
	eventually(t, "it is no longer ready", func() bool { return probed(ready) == http.StatusServiceUnavailable })
	if got := [2]int{probed(live), status("/versions")}; got != [2]int{200, 200} {
		t.Errorf("while it drains: got %d", got)
	}
	if err := i.cmd.Wait(); err != nil {
		t.Errorf("it ended with %v, want exit code 0", err)
	}
}

// mount writes the files of a ConfigMap as Kubernetes does: each is a link through ..data, which one rename swaps.
func mount(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	version, err := os.MkdirTemp(dir, "..")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		writeFile(t, filepath.Join(version, name), text)
		err := os.Symlink(filepath.Join("..data", name), filepath.Join(dir, name))
		if err != nil && !os.IsExist(err) {
			t.Fatal(err)
		}
	}
	link := filepath.Join(dir, "..data")
	before, _ := os.Readlink(link) // the first time there is none
	if err := os.Symlink(filepath.Base(version), link+"_tmp"); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(link+"_tmp", link); err != nil {
		t.Fatal(err)
	}
	if before != "" {
		if err := os.RemoveAll(filepath.Join(dir, before)); err != nil {
			t.Fatal(err)
		}
	}
}
