package gateway_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// TestAVersionCanBeDeleted is the proof of the layout: without its folder, its
// goldens and its line in the mount list, a version is gone, and everything
// else builds and passes.
func TestAVersionCanBeDeleted(t *testing.T) {
	if os.Getenv("WITHOUT_VERSION") != "" {
		t.Skip("this is the copy from which a version was deleted")
	}
	for _, version := range []string{"v3legacy", "v1"} {
		t.Run(version, func(t *testing.T) {
			root := t.TempDir()
			for _, part := range []string{"go.mod", "go.sum", "gateway", "shared", "cmd", "testdata", "v1", "v3", "v3legacy"} {
				copyTree(t, filepath.Join("..", part), filepath.Join(root, part))
			}
			for _, gone := range []string{version, "testdata/" + version} {
				if err := os.RemoveAll(filepath.Join(root, gone)); err != nil {
					t.Fatal(err)
				}
			}
			mounts := filepath.Join(root, "gateway/mounts.go")
			source, err := os.ReadFile(mounts)
			if err != nil {
				t.Fatal(err)
			}
			lines := regexp.MustCompile(`(?m)^.*\b`+version+`(\.Module|").*\n`).FindAll(source, -1)
			if len(lines) != 2 {
				t.Fatalf("got %d lines about %s in the mount list, want its import and its mount: %q", len(lines), version, lines)
			}
			rest := regexp.MustCompile(`(?m)^.*\b`+version+`(\.Module|").*\n`).ReplaceAll(source, nil)
			if err := os.WriteFile(mounts, rest, 0o644); err != nil {
				t.Fatal(err)
			}
			run(t, root, "go", "vet", "./...")
			run(t, root, "go", "test", "./gateway", "./cmd/gateway", "./v3")
		})
	}
}

func copyTree(t *testing.T, from, to string) {
	t.Helper()
	info, err := os.Stat(from)
	if err != nil {
		t.Fatal(err)
	}
	if info.IsDir() {
		err = os.CopyFS(to, os.DirFS(from))
	} else {
		var data []byte
		if data, err = os.ReadFile(from); err == nil {
			err = os.WriteFile(to, data, 0o644)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

func run(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "WITHOUT_VERSION=1", "UPDATE_GOLDEN=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
}
