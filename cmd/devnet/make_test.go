package main

import (
	"bytes"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/quotegate/quotegate/cmd/internal/child"
)

// startMake gives the process, and what it prints until it has ended.
func startMake(t *testing.T, args ...string) (cmd *exec.Cmd, output io.Reader) {
	t.Helper()
	root, err := child.Root()
	if err != nil {
		t.Fatal(err)
	}
	cmd = exec.Command("make", args...)
	cmd.Dir = root
	cmd.Env = slices.DeleteFunc(os.Environ(), func(variable string) bool { // of the make that runs this test
		return strings.HasPrefix(variable, "MAKE") || strings.HasPrefix(variable, "MFLAGS")
	})
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // as a shell does for each command
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = write, write
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	write.Close()
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
		read.Close()
	})
	return cmd, read
}

// TestMakeHelpListsEveryTarget: plain make prints it too, with what people do daily
// first.
func TestMakeHelpListsEveryTarget(t *testing.T) {
	help := func(args ...string) []byte {
		_, output := startMake(t, args...)
		said, err := io.ReadAll(output)
		if err != nil {
			t.Fatal(err)
		}
		return said
	}
	said := help("help")
	if plain := help(); !bytes.Equal(plain, said) {
		t.Errorf("plain make prints\n%s\nwant\n%s", plain, said)
	}
	if !regexp.MustCompile(`\AEvery day\nmake run .*\nmake devnet .*\nmake test .*\n`).Match(said) {
		t.Errorf("what people do daily is not first:\n%s", said)
	}
	for line := range bytes.Lines(said) {
		if len(line) > 101 {
			t.Errorf("a line has %d columns: %s", len(line)-1, line)
		}
	}
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, target := range []string{"run", "test"} {
		if !strings.Contains(string(readme), "\nmake "+target+"\n```") {
			t.Errorf("README.md does not have make %s in a block", target)
		}
	}
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	targets := regexp.MustCompile(`(?m)^([a-z-]+):`).FindAllSubmatch(makefile, -1)
	if len(targets) < 25 {
		t.Errorf("found only %d targets in the Makefile", len(targets))
	}
	for _, target := range targets {
		if !regexp.MustCompile(`(?m)^make ` + string(target[1]) + ` +[a-z]`).Match(said) {
			t.Errorf("make help does not tell what %s does:\n%s", target[1], said)
		}
	}
}

// TestLongTestsAreRun wants every package with a test that `make test` leaves out
// to be one whose tests `make rest` runs.
func TestLongTestsAreRun(t *testing.T) {
	root, err := child.Root()
	if err != nil {
		t.Fatal(err)
	}
	_, output := startMake(t, "--dry-run", "race", "long")
	commands, err := io.ReadAll(output)
	if err != nil {
		t.Fatal(err)
	}
	whole := regexp.MustCompile(`(?m)^go test -short .*$`).ReplaceAll(commands, nil)
	patterns := regexp.MustCompile(`\./\S+`).FindAllString(string(whole), -1)
	list := exec.Command("go", append([]string{"list", "-f", "{{.Dir}}"}, patterns...)...)
	list.Dir = root
	listed, err := list.Output()
	if err != nil {
		t.Fatalf("go list %s: %v", patterns, err)
	}
	run, found := strings.Fields(string(listed)), 0
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && strings.HasPrefix(entry.Name(), ".") {
			return fs.SkipDir
		}
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		if err == nil && bytes.Contains(source, []byte("if testing.Short()")) {
			found++
			if !slices.Contains(run, filepath.Dir(path)) {
				t.Errorf("%s has a long test, and its package is neither in raced nor in long of the Makefile", path)
			}
		}
		return err
	})
	if err != nil || found < 10 {
		t.Errorf("got %v, and found %d files with long tests", err, found)
	}
}

// TestCtrlCEndsMakeQuietly stops what make runs as a terminal does: the signal
// goes to every process of the command.
func TestCtrlCEndsMakeQuietly(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED, NOT TESTED: it builds a gateway and a devnet; make test-all runs it")
	}
	t.Setenv("LISTEN_ADDR", "127.0.0.1:0")
	t.Setenv("ADMIN_ADDR", "off")
	for target, ready := range map[string]string{"run": `"msg":"serving"`, "devnet": "Building the gateway"} {
		t.Run(target, func(t *testing.T) {
			cmd, output := startMake(t, target)
			var said bytes.Buffer
			timer := time.AfterFunc(5*time.Minute, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
			defer timer.Stop()
			part := make([]byte, 1<<10)
			for !strings.Contains(said.String(), ready) {
				n, err := output.Read(part)
				said.Write(part[:n])
				if err != nil {
					t.Fatalf("it ended without saying %s:\n%s", ready, &said)
				}
			}
			if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGINT); err != nil {
				t.Fatal(err)
			}
			if _, err := io.Copy(&said, output); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait() // make itself ends by the signal
			if strings.Contains(said.String(), "Error") || strings.Contains(said.String(), "***") {
				t.Errorf("it ends with an error:\n%s", &said)
			}
		})
	}
}
