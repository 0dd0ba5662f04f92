// Package npm gives tests the JavaScript packages that users of the client have: a compiler, bundlers, a wallet
// library.
//
// What it promises: packages are installed once a version of the lockfile in testdata/client, into .scratch/client,
// also if several tests ask at the same time. None of their scripts runs. Without npm, or where it cannot install, a
// test is skipped with a notice, or fails if CI is set.
package npm

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Root is the folder of the repository.
func Root(t testing.TB) string {
	t.Helper()
	folder, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for folder != "/" {
		if _, err := os.Stat(filepath.Join(folder, "go.mod")); err == nil {
			return folder
		}
		folder = filepath.Dir(folder)
	}
	t.Fatal("there is no go.mod above this test")
	return ""
}

// Packages installs the packages, and gives their node_modules folder.
func Packages(t testing.TB) string {
	t.Helper()
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			lacking(t, "there is no "+program+" on this machine")
		}
	}
	root := Root(t)
	target := filepath.Join(root, ".scratch/client")
	if err := os.MkdirAll(target, 0o755); err != nil {
		t.Fatal(err)
	}
	lock, err := os.OpenFile(filepath.Join(target, "lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	wanted, err := os.ReadFile(filepath.Join(root, "testdata/client/package-lock.json"))
	if err != nil {
		t.Fatal(err)
	}
	modules, mark := filepath.Join(target, "node_modules"), filepath.Join(target, "installed.json")
	if installed, err := os.ReadFile(mark); err == nil && string(installed) == string(wanted) {
		return modules
	}
	if err := os.Remove(mark); err != nil && !os.IsNotExist(err) { // npm deletes what is there first
		t.Fatal(err)
	}
	if out, err := Run(t, root, ".ci/npm", "client"); err != nil {
		lacking(t, "npm cannot install the packages of testdata/client: "+out)
	}
	if err := os.WriteFile(mark, wanted, 0o644); err != nil {
		t.Fatal(err)
	}
	return modules
}

// Consumer makes a folder of a project that uses the client, as npm packs it, beside all other packages.
func Consumer(t testing.TB) string {
	t.Helper()
	modules, folder := Packages(t), t.TempDir()
	theirs := filepath.Join(folder, "node_modules")
	if err := os.MkdirAll(filepath.Join(theirs, "@quotegate/client"), 0o755); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(modules)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if err := os.Symlink(filepath.Join(modules, entry.Name()), filepath.Join(theirs, entry.Name())); err != nil {
			t.Fatal(err)
		}
	}
	out, err := Run(t, folder, "npm", "pack", "--silent", filepath.Join(Root(t), "v3/client/npm"))
	if err != nil {
		t.Fatalf("npm pack: %v\n%s", err, out)
	}
	packed := strings.Fields(out)
	out, err = Run(t, folder, "tar", "-xzf", packed[len(packed)-1],
		"--strip-components=1", "-C", "node_modules/@quotegate/client")
	if err != nil {
		t.Fatalf("tar: %v\n%s", err, out)
	}
	consumer := []byte(`{"name": "consumer", "private": true, "type": "module"}`)
	if err := os.WriteFile(filepath.Join(folder, "package.json"), consumer, 0o600); err != nil {
		t.Fatal(err)
	}
	return folder
}

// Run runs a program in a folder and gives what it printed.
func Run(t testing.TB, folder string, command ...string) (string, error) {
	cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
	cmd.Dir = folder
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func lacking(t testing.TB, what string) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatal(what + ", and in CI the client must be tested with the tools of its users")
	}
	t.Skip("SKIPPED, NOT TESTED: " + what)
}
