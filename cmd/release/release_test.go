package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quotegate/quotegate/testdata/pages"
	"github.com/quotegate/quotegate/testdata/ports"
)

// repository is a copy of the working tree, committed, with the changelog of a
// release.
func repository(t *testing.T) string {
	t.Helper()
	copied := t.TempDir()
	files := run(t, "../..", "git", "ls-files", "--cached", "--others", "--exclude-standard")
	for name := range strings.Lines(files) {
		name = strings.TrimSpace(name)
		body, err := os.ReadFile(filepath.Join("../..", name))
		if errors.Is(err, os.ErrNotExist) {
			continue // deleted, and not committed yet
		}
		if err != nil {
			t.Fatal(err)
		}
		if name == "docs/CHANGELOG.md" {
			body = bytes.Replace(body, []byte("\n## "), []byte("\n## 1.0.0\n\nA test.\n\n## "), 1)
		}
		to := filepath.Join(copied, name)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, body, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	run(t, copied, "git", "init", "--quiet")
	run(t, copied, "git", "add", "--all")
	run(t, copied, "git", "-c", "user.name=test", "-c", "user.email=test@example.org", "commit", "--quiet", "-m", "test: a release")
	return copied
}

func run(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	text, err := output(t.Context(), dir, nil, name, args...)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestRelease makes a release for this machine and looks at every file of it.
func TestRelease(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED, NOT TESTED: it links the programs twice; make test-all runs it")
	}
	host := runtime.GOOS + "/" + runtime.GOARCH
	r := release{root: repository(t), out: filepath.Join(t.TempDir(), "dist"), platforms: []string{host}, shareCache: true}
	if err := r.make(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := r.make(t.Context()); err == nil || !strings.Contains(err.Error(), "exists") {
		t.Errorf("a release over another: got %v", err)
	}
	t.Run("checksums", func(t *testing.T) { checkSums(t, r.out) })
	t.Run("programs", func(t *testing.T) { checkPrograms(t, &r) })
	t.Run("modules", func(t *testing.T) { checkModules(t, &r) })
	t.Run("image", func(t *testing.T) { checkImage(t, &r) })
	t.Run("page", func(t *testing.T) { checkPage(t, &r) })
	if err := os.WriteFile(filepath.Join(r.root, "README.md"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	r.out += "-changed"
	if err := r.make(t.Context()); err == nil || !strings.Contains(err.Error(), "README.md") {
		t.Errorf("a release with changes that are not committed: got %v", err)
	}
}

// checkPage: docs/release.md lists the files of the release, and its commands work with them.
func checkPage(t *testing.T, r *release) {
	text, err := os.ReadFile("../../docs/release.md")
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)`").FindAllStringSubmatch(string(text), -1) {
		name := strings.ReplaceAll(row[1], "VERSION", r.version)
		for _, platform := range r.platforms {
			listed = append(listed, strings.ReplaceAll(name, "OS_ARCH", strings.ReplaceAll(platform, "/", "_")))
		}
	}
	var made []string
	files, err := os.ReadDir(r.out)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		made = append(made, file.Name())
	}
	slices.Sort(listed)
	if listed = slices.Compact(listed); !slices.Equal(listed, made) {
		t.Errorf("the page lists %q, and the release has %q", listed, made)
	}
	if runtime.GOOS+"/"+runtime.GOARCH != "linux/amd64" {
		t.Skip("SKIPPED, NOT TESTED: the commands of the page are for Linux on amd64")
	}
	blocks, err := pages.Read("../..", "docs/release.md")
	if err != nil || len(blocks) < 5 {
		t.Fatalf("found %d blocks, %v", len(blocks), err)
	}
	storage := filepath.Join(t.TempDir(), "storage.conf")
	if err := os.WriteFile(storage, fmt.Appendf(nil, "[storage]\ndriver = \"vfs\"\ngraphroot = %q\nrunroot = %q\n",
		storage+".root", storage+".run"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, block := range blocks {
		if strings.Contains(block.Text, "buildah") && !canRunImages(t) {
			continue
		}
		commands := strings.ReplaceAll(block.Text, "1.0.0", r.version)
		env := []string{"CONTAINERS_STORAGE_CONF=" + storage}
		said, err := output(t.Context(), r.out, env, "sh", "-e", "-c", commands)
		if err != nil || said == "" {
			t.Errorf("%s: got %v and %q", block.Place(), err, said)
		}
		if strings.Contains(commands, "inspect") && !strings.Contains(said, "localhost/quotegate:"+r.version) {
			t.Errorf("%s: the image is not loaded under its name:\n%s", block.Place(), said)
		}
	}
}

// canRunImages tells whether buildah can be used. Where CI is set, it must.
func canRunImages(t *testing.T) bool {
	t.Helper()
	_, err := exec.LookPath("buildah")
	if err == nil && os.Getuid() == 0 {
		return true
	}
	if os.Getenv("CI") != "" {
		t.Fatal("buildah is missing, or this is not root")
	}
	return false
}

// checkSums: every file but the list itself is in it, with its own sum.
func checkSums(t *testing.T, dir string) {
	list, err := os.ReadFile(filepath.Join(dir, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(string(list), "\n"); got != len(files)-1 || got < 3 {
		t.Errorf("%d sums for %d files", got, len(files)-1)
	}
	for _, file := range files {
		body, err := os.ReadFile(filepath.Join(dir, file.Name()))
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(body)
		line := hex.EncodeToString(sum[:]) + "  " + file.Name() + "\n"
		if file.Name() != "SHA256SUMS" && !strings.Contains(string(list), line) {
			t.Errorf("%s is not listed with its sum", file.Name())
		}
	}
}

// unpack gives the regular files of an archive, and checks that nothing in it tells of this machine.
func unpack(t *testing.T, packed io.Reader) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	archive := tar.NewReader(packed)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if header.Uid != 0 || header.Uname != "" {
			t.Errorf("%s belongs to %d %q", header.Name, header.Uid, header.Uname)
		}
		if header.Typeflag == tar.TypeReg {
			if files[header.Name], err = io.ReadAll(archive); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// checkPrograms runs both programs out of the archive.
func checkPrograms(t *testing.T, r *release) {
	name := fmt.Sprintf("quotegate_%s_%s_%s", r.version, runtime.GOOS, runtime.GOARCH)
	zipped, err := os.Open(filepath.Join(r.out, name+".tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer zipped.Close()
	packed, err := gzip.NewReader(zipped)
	if err != nil {
		t.Fatal(err)
	}
	files := unpack(t, packed)
	for _, want := range []string{"README.md", "CHANGELOG.md", "SECURITY.md", "quotegate.service"} {
		if len(files[name+"/"+want]) == 0 {
			t.Errorf("the archive lacks %s", want)
		}
	}
	for _, program := range programs {
		path := filepath.Join(t.TempDir(), program)
		if err := os.WriteFile(path, files[name+"/"+program], 0o755); err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(files[name+"/"+program], []byte(r.root)) {
			t.Errorf("%s names the folder it was built in", program)
		}
		if out, err := exec.CommandContext(t.Context(), path, "-h").CombinedOutput(); len(out) == 0 {
			t.Errorf("%s -h: %v and no words", program, err)
		}
		info := run(t, ".", "go", "version", "-m", path)
		if !strings.Contains(info, "CGO_ENABLED=0") || !strings.Contains(info, "vcs.revision="+r.commit) || !strings.Contains(info, "vcs.modified=false") {
			t.Errorf("%s is not a static build of %s:\n%s", program, r.commit, info)
		}
	}
}

// checkModules: every module that a binary has is listed, with a licence and how to find it.
func checkModules(t *testing.T, r *release) {
	text, err := os.ReadFile(filepath.Join(r.out, "quotegate_"+r.version+".spdx.json"))
	if err != nil {
		t.Fatal(err)
	}
	var d spdxDocument
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	listed := map[string]spdxPackage{}
	for _, p := range d.Packages {
		listed[p.Name] = p
	}
	for name, licence := range map[string]string{
		"github.com/ethereum/go-ethereum": "LGPL-3.0-or-later", "github.com/go-chi/chi/v5": "MIT",
		"github.com/prometheus/client_golang": "Apache-2.0", "modernc.org/sqlite": "BSD-3-Clause",
	} {
		if p := listed[name]; p.LicenseDeclared != licence || len(p.References) != 1 || p.Version == "" {
			t.Errorf("%s is listed as %+v, want %s", name, p, licence)
		}
	}
	if len(d.Relationships) != len(d.Packages) {
		t.Errorf("%d relationships for %d packages", len(d.Relationships), len(d.Packages))
	}
}

// checkImage follows the digests from the index to the files, then runs the image
// where buildah is there, and asks it for a quote.
func checkImage(t *testing.T, r *release) {
	if runtime.GOOS != "linux" {
		t.Skip("SKIPPED, NOT TESTED: an image is for Linux")
	}
	path := filepath.Join(r.out, "quotegate_"+r.version+"_image.tar")
	packed, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	layout := unpack(t, packed)
	var root, platforms index
	var image manifest
	var config imageConfig
	read := func(body []byte, to any) {
		t.Helper()
		if err := json.Unmarshal(body, to); err != nil {
			t.Fatal(err)
		}
	}
	blob := func(d descriptor) []byte {
		t.Helper()
		body := layout["blobs/sha256/"+strings.TrimPrefix(d.Digest, "sha256:")]
		if digest(body) != d.Digest || len(body) != d.Size {
			t.Fatalf("the blob %s is not there as described", d.Digest)
		}
		return body
	}
	read(layout["index.json"], &root)
	read(blob(root.Manifests[0]), &platforms)
	read(blob(platforms.Manifests[0]), &image)
	read(blob(image.Config), &config)
	unzipped, err := gzip.NewReader(bytes.NewReader(blob(image.Layers[0])))
	if err != nil {
		t.Fatal(err)
	}
	layer, err := io.ReadAll(unzipped)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(config.Config.Healthcheck.Test, " "); got != "CMD /gateway health" {
		t.Errorf("the health check is %q", got)
	}
	if config.RootFS.DiffIDs[0] != digest(layer) || config.Config.User != nobody {
		t.Errorf("the image has %v as %s", config.RootFS, config.Config.User)
	}
	files := unpack(t, bytes.NewReader(layer))
	if len(files) != 2 || len(files["gateway"]) == 0 {
		t.Errorf("the image has %d files, want the gateway and the certificates", len(files))
	}
	checkCertificates(t, files["etc/ssl/certs/ca-certificates.crt"])
	runImage(t, path+":"+r.version)
}

// checkCertificates: they can be read, and none has ended.
func checkCertificates(t *testing.T, text []byte) {
	count := 0
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			break
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		if !certificate.IsCA {
			t.Errorf("%s is no authority", certificate.Subject)
		}
		count++
	}
	if count < 50 {
		t.Errorf("%d certificates are too few", count)
	}
}

// runImage starts the image as buildah does without a container's privileges, and
// asks for a quote and for its health.
func runImage(t *testing.T, image string) {
	if !canRunImages(t) {
		t.Skip("SKIPPED, NOT TESTED: install the package buildah and be root to run the image")
	}
	store := t.TempDir()
	buildah := func(args ...string) *exec.Cmd {
		fixed := []string{"--storage-driver=vfs", "--root", filepath.Join(store, "root"), "--runroot", filepath.Join(store, "run")}
		return exec.Command("buildah", append(fixed, args...)...)
	}
	out, err := buildah("from", "oci-archive:"+image).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	lines := strings.Fields(string(out))
	container := lines[len(lines)-1]
	t.Cleanup(func() { _ = buildah("rm", container).Run() })

	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	public, admin := ports.Free(t), ports.Free(t)
	inside := func(command ...string) *exec.Cmd {
		args := []string{"run", "--isolation=chroot", "-e", "LISTEN_ADDR=" + public, "-e", "ADMIN_ADDR=" + admin, container, "--"}
		return buildah(append(args, command...)...)
	}
	started := inside("/gateway")
	var log bytes.Buffer
	started.Stdout, started.Stderr = &log, &log
	if err := started.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- started.Wait() }()
	t.Cleanup(func() {
		_ = started.Process.Signal(os.Interrupt)
		<-ended
	})
	const query = "/v3/swap/quote?srcToken=USDC&dstToken=USDC&amount=100000000&srcChain=1&dstChain=369" +
		"&recipient=0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
	for {
		answer, err := http.Get("http://" + public + query)
		if err == nil {
			body, _ := io.ReadAll(answer.Body)
			answer.Body.Close()
			if answer.StatusCode != http.StatusOK || !strings.Contains(string(body), `"destAmount":"99700000"`) {
				t.Fatalf("got %d %s", answer.StatusCode, body)
			}
			break
		}
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("the image ended: %v\n%s", err, &log)
		case <-ctx.Done():
			t.Fatalf("the image does not answer: %v\n%s", err, &log)
		case <-time.After(100 * time.Millisecond):
		}
	}
	if out, err := inside("/gateway", "health").CombinedOutput(); err != nil {
		t.Errorf("gateway health in the image: %v\n%s", err, out)
	}
}

func TestLicences(t *testing.T) {
	for name, tt := range map[string]struct{ file, text, want string }{
		"MIT":          {"LICENSE", "Permission is hereby granted, free of charge, to any person obtaining\na copy of this software", "MIT"},
		"two clauses":  {"LICENSE.txt", "* Redistributions in binary form must reproduce the above\n  copyright notice", "BSD-2-Clause"},
		"lesser first": {"COPYING.LESSER", "GNU LESSER GENERAL PUBLIC LICENSE\n   Version 3, 29 June 2007", "LGPL-3.0-or-later"},
		"unknown":      {"LICENSE", "Do as you like.", ""},
		"none":         {"README", "MIT", ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, tt.file), []byte(tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := licenceOf(dir)
			if got != tt.want || (err == nil) != (tt.want != "") {
				t.Errorf("got %q and %v, want %q", got, err, tt.want)
			}
		})
	}
}

// TestPackIsReproducible: the same entries give the same bytes.
func TestPackIsReproducible(t *testing.T) {
	entries := []entry{{"a/b/c", 0o644, []byte("1")}, {"a/d", 0o755, []byte("2")}}
	first, err := pack(entries, time.Unix(1, 0))
	if err != nil {
		t.Fatal(err)
	}
	second, err := pack(entries, time.Unix(1, 0).UTC())
	if err != nil || !bytes.Equal(first, second) {
		t.Errorf("%v, or packed differently", err)
	}
}
