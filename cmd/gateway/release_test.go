package main

import (
	"bytes"
	"crypto/x509"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quotegate/quotegate/shared/testkit/ports"
)

// Whoever has the commit and the Go of a release can build its programs again, wherever the checkout is. The Containerfile
// makes an image of them that quotes, and says that it is healthy.
func TestRelease(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the gateway in two clones, makes an image and runs it")
	}
	t.Parallel()
	var folders [2]string
	var programs [2]string
	for i, folder := range []string{"here", "somewhere/else"} {
		folders[i] = filepath.Join(t.TempDir(), folder)
		sh(t, ".", "git", "clone", "--quiet", "../..", folders[i])
		sh(t, folders[i], "go", "build", "-trimpath", "-buildvcs=true", "-ldflags=-s -w", "-o", "bin/gateway", "./cmd/gateway")
		programs[i] = readText(t, filepath.Join(folders[i], "bin/gateway"))
	}
	if programs[0] != programs[1] {
		t.Error("the programs of two clones differ")
	}
	if _, err := exec.LookPath("buildah"); err != nil || os.Getuid() != 0 {
		if os.Getenv("CI") != "" {
			t.Fatal("install the package buildah and be root: CI is set")
		}
		t.Skip("SKIPPED, NOT TESTED: install the package buildah and be root to run the image")
	}
	testImage(t, filepath.Join(folders[0], "bin"))
}

func sh(t *testing.T, folder, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "GOFLAGS=", "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// Where the system has no certificates, as in the image, the program trusts its own.
func TestCertificates(t *testing.T) {
	const nowhere = "/nowhere"
	if os.Getenv("SSL_CERT_DIR") != nowhere {
		cmd := exec.Command(os.Args[0], "-test.run=^TestCertificates$")
		cmd.Env = append(os.Environ(), "SSL_CERT_FILE="+nowhere, "SSL_CERT_DIR="+nowhere)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("without certificates of the system: %v\n%s", err, out)
		}
		return
	}
	pool, err := x509.SystemCertPool()
	if err != nil || pool.Equal(x509.NewCertPool()) {
		t.Errorf("got %v and no certificates", err)
	}
}

// testImage makes and runs an image of the program in a folder.
func testImage(t *testing.T, bin string) {
	t.Helper()
	folder := t.TempDir()
	storage := []string{"--storage-driver=vfs", "--root=" + filepath.Join(folder, "root"), "--runroot=" + filepath.Join(folder, "run")}
	buildah := func(args ...string) []string { return append(storage[:3:3], args...) }
	sh(t, ".", "buildah", buildah("bud", "--quiet", "--format=docker", "--isolation=chroot", "-f", "Containerfile",
		"-t", "quotegate", bin)...)
	if config := sh(t, ".", "buildah", buildah("inspect", "--type=image", "quotegate")...); !strings.Contains(config, `"/gateway"`) ||
		!strings.Contains(config, `"health"`) || !strings.Contains(config, `"65532:65532"`) {
		t.Errorf("want the program, its health check and its user in\n%s", config)
	}
	container := strings.TrimSpace(sh(t, ".", "buildah", buildah("from", "--quiet", "quotegate")...))
	t.Cleanup(func() { _ = exec.Command("buildah", buildah("rm", container)...).Run() })

	public, admin := ports.Free(t), ports.Free(t)
	inside := func(args ...string) []string {
		fixed := buildah("run", "--isolation=chroot", "-e", "LISTEN_ADDR="+public, "-e", "ADMIN_ADDR="+admin, container, "--")
		return append(fixed, args...)
	}
	started := exec.Command("buildah", inside("/gateway")...)
	var log bytes.Buffer
	started.Stdout, started.Stderr = &log, &log
	if err := started.Start(); err != nil {
		t.Fatal(err)
	}
	stop := func() string {
		_ = started.Process.Signal(os.Interrupt)
		_ = started.Wait()
		return log.String()
	}
	eventually(t, "the image serves", func() bool { return answers("http://"+public+"/versions") == nil })
	_, body := get(t, "http://"+public+quotePath)
	wantContains(t, body, `"destAmount":"99700000"`)
	if out, err := exec.Command("buildah", inside("/gateway", "health")...).CombinedOutput(); err != nil {
		t.Errorf("gateway health in the image: %v\n%s", err, out)
	}
	if log := stop(); t.Failed() {
		t.Log(log)
	}
}
