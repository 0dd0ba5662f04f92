package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"unsafe"
)

// terminal gives both ends of a new one: what a program writes to its end, a person reads from the screen.
func terminal(t *testing.T) (screen, program *os.File) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { screen.Close() })
	var number, locked int32
	ioctl(t, screen, syscall.TIOCGPTN, &number)
	ioctl(t, screen, syscall.TIOCSPTLCK, &locked)
	program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return screen, program
}

// ioctl makes a request to the terminal, which reads or writes the number.
func ioctl(t *testing.T, screen *os.File, request uintptr, number *int32) {
	t.Helper()
	_, _, code := syscall.Syscall(syscall.SYS_IOCTL, screen.Fd(), request, uintptr(unsafe.Pointer(number)))
	if code != 0 {
		t.Fatal(code)
	}
}

// onScreen runs the gateway on a terminal, with this environment and no other, and gives what it prints until it ends.
// A line that matches the pattern makes it end; without a pattern it ends by itself.
func onScreen(t *testing.T, until string, env []string, args ...string) string {
	t.Helper()
	screen, program := terminal(t)
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append([]string{"BE_THE_GATEWAY=1"}, env...)
	cmd.Stdout = program
	cmd.Stderr = program
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	program.Close()
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // it may have ended
	var said strings.Builder
	for lines := bufio.NewScanner(screen); lines.Scan(); {
		said.WriteString(lines.Text() + "\n")
		if until != "" && regexp.MustCompile(until).MatchString(lines.Text()) {
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			until = ""
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%q ended with %v:\n%s", args, err, said.String())
	}
	return said.String()
}

// TestServingOnATerminal: a person gets text and the address to open, and LOG_FORMAT always wins.
func TestServingOnATerminal(t *testing.T) {
	const opens = `^open http://127\.0\.0\.1:\d+/$`
	for _, tt := range []struct {
		format       string
		until, never string
	}{
		{"", opens, `^{`},
		{"text", opens, `^{`},
		{"json", `^{.*"msg":"serving"`, `^(open|time=)`},
	} {
		env := []string{"LISTEN_ADDR=127.0.0.1:0", "ADMIN_ADDR=off", "LOG_FORMAT=" + tt.format}
		said := onScreen(t, tt.until, env)
		if regexp.MustCompile("(?m)"+tt.never).MatchString(said) || !regexp.MustCompile("(?m)"+tt.until).MatchString(said) {
			t.Errorf("LOG_FORMAT=%s: got\n%s", tt.format, said)
		}
	}
}

// TestCheckOnATerminal has colors, unless NO_COLOR is set.
func TestCheckOnATerminal(t *testing.T) {
	plain, err := runCommand(t, environment{}, "check")
	if err != nil {
		t.Fatal(err)
	}
	for _, env := range []string{"NO_COLOR=", "NO_COLOR=1"} {
		said := onScreen(t, "", []string{env}, "check")
		codes := regexp.MustCompile(`\x1b\[\d+m`)
		colored := strings.HasPrefix(said, "\x1b[32mok\x1b[0m ") && strings.Contains(said, "\x1b[90mnot tested\x1b[0m ")
		if colored != (env == "NO_COLOR=") || colored != codes.MatchString(said) || codes.ReplaceAllString(said, "") != plain {
			t.Errorf("%s: got\n%q\nwithout a terminal it is\n%q", env, said, plain)
		}
	}
}
