package main

import (
	"bufio"
	"bytes"
	"fmt"
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
)

const root = "../.."

// startMake runs make in a folder. It gives the process, and what it prints until it has ended.
func startMake(t *testing.T, folder string, args ...string) (cmd *exec.Cmd, output io.Reader) {
	t.Helper()
	cmd = exec.Command("make", args...)
	cmd.Dir = folder
	cmd.Env = slices.DeleteFunc(os.Environ(), func(variable string) bool { // of the make that runs this test
		return strings.HasPrefix(variable, "MAKE") || strings.HasPrefix(variable, "MFLAGS")
	})
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // as a shell does for each command
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout = write
	cmd.Stderr = write
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

// printed is all that make prints in the repository.
func printed(t *testing.T, args ...string) string {
	t.Helper()
	_, output := startMake(t, root, args...)
	said, err := io.ReadAll(output)
	if err != nil {
		t.Fatal(err)
	}
	return string(said)
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestMakeHelpListsEveryTarget: plain make prints the same, with what people do daily first.
func TestMakeHelpListsEveryTarget(t *testing.T) {
	said := printed(t, "help")
	if plain := printed(t); plain != said {
		t.Errorf("plain make prints\n%s\nwant\n%s", plain, said)
	}
	if !regexp.MustCompile(`\AEvery day\nmake run .*\nmake devnet .*\nmake test .*\n`).MatchString(said) {
		t.Errorf("what people do daily is not first:\n%s", said)
	}
	if long := regexp.MustCompile(`(?m)^.{101,}$`).FindString(said); long != "" {
		t.Errorf("a line has more than 100 columns: %s", long)
	}
	readme := readFile(t, root+"/README.md")
	for _, target := range []string{"run", "test"} {
		if !strings.Contains(readme, "\nmake "+target+"\n```") {
			t.Errorf("README.md does not have make %s in a block", target)
		}
	}
	targets := regexp.MustCompile(`(?m)^([a-z-]+):`).FindAllStringSubmatch(readFile(t, root+"/Makefile"), -1)
	if len(targets) < 25 {
		t.Errorf("found only %d targets in the Makefile", len(targets))
	}
	for _, target := range targets {
		if !regexp.MustCompile(`(?m)^make ` + target[1] + ` +[a-z]`).MatchString(said) {
			t.Errorf("make help does not tell what %s does:\n%s", target[1], said)
		}
	}
}

// TestLongTestsAreRun wants every package with a test that `make test` leaves out to be one whose tests `make rest`
// runs.
func TestLongTestsAreRun(t *testing.T) {
	patterns := regexp.MustCompile(`\./\S+`).FindAllString(printed(t, "--dry-run", "race", "long"), -1)
	isRun := func(folder string) bool {
		return slices.ContainsFunc(patterns, func(pattern string) bool {
			parent, all := strings.CutSuffix(pattern, "...")
			return pattern == "./"+folder || all && strings.HasPrefix("./"+folder+"/", parent)
		})
	}
	found := 0
	err := fs.WalkDir(os.DirFS(root), ".", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && path != "." && strings.HasPrefix(entry.Name(), ".") {
			return fs.SkipDir
		}
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		if strings.Contains(readFile(t, filepath.Join(root, path)), "if testing.Short()") {
			found++
			if !isRun(filepath.Dir(path)) {
				t.Errorf("%s has a long test, and its package is neither in raced nor in long of the Makefile", path)
			}
		}
		return nil
	})
	if err != nil || found < 10 {
		t.Errorf("got %v, and found %d files with long tests", err, found)
	}
}

// standIn takes the place of go: what it builds serves until Ctrl-C, then ends without an error, as the gateway and the
// devnet do.
const standIn = `#!/bin/sh
test "$1 $2 $3" = "build -o .scratch/" || exit 0
mkdir -p .scratch
program=.scratch/$(basename "$4")
printf '#!/bin/sh\ntrap "exit 0" INT\necho serving\nwhile :; do sleep 1; done\n' > "$program"
chmod +x "$program"
`

// TestCtrlCEndsMakeQuietly stops what make runs as a terminal does: the signal goes to every process of the command. The
// first build of each takes minutes, so make says what it does.
func TestCtrlCEndsMakeQuietly(t *testing.T) {
	folder := t.TempDir()
	makefile := readFile(t, root+"/Makefile")
	if err := os.WriteFile(filepath.Join(folder, "Makefile"), []byte(makefile), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "go"), []byte(standIn), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", folder+":"+os.Getenv("PATH"))
	const notice = "Building the %s (the first time takes a few minutes)…\n"
	for _, tt := range []struct{ target, builds string }{
		{"run", fmt.Sprintf(notice, "gateway")}, {"devnet", fmt.Sprintf(notice, "devnet")}, {"run", ""},
	} {
		target := tt.target
		cmd, output := startMake(t, folder, target)
		lines := bufio.NewReader(output)
		printed := ""
		for !strings.HasSuffix(printed, "serving\n") {
			line, err := lines.ReadString('\n')
			if err != nil {
				t.Fatalf("make %s says %q (%v)", target, printed, err)
			}
			printed += line
		}
		if printed != tt.builds+"serving\n" {
			t.Errorf("make %s says %q, want %q first", target, printed, tt.builds)
		}
		if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		var said bytes.Buffer
		if _, err := io.Copy(&said, lines); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // make itself ends by the signal
		// make itself may say that it has no child to wait for, if that ends at the same time.
		if strings.Contains(said.String(), "Error") || strings.Contains(said.String(), "Interrupt") {
			t.Errorf("make %s ends with an error:\n%s", target, &said)
		}
	}
}
