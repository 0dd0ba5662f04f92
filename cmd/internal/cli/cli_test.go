package cli

import (
	"context"
	"errors"
	"flag"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/quotegate/quotegate/shared/buildinfo"
)

func TestParse(t *testing.T) {
	for _, tt := range []struct{ args, err, out string }{
		{"-n 3", "", ""},
		{"", "", ""},
		{"-n 3 --help", "flag: help requested",
			"Usage: soak [flags]\n\nDoes it.\n\n  -n int\n    \thow often (default 1)\n"},
		{"-n x", `invalid value "x" for flag -n: parse error: see soak -h`, ""},
		{"-x", "flag provided but not defined: -x: see soak -h", ""},
		{"now", `"now" is not a flag: see soak -h`, ""},
	} {
		flags := flag.NewFlagSet("soak", flag.ContinueOnError)
		flags.Int("n", 1, "how often")
		var out strings.Builder
		err := Parse(flags, strings.Fields(tt.args), "Does it.", &out)
		said := ""
		if err != nil {
			said = err.Error()
		}
		if said != tt.err || out.String() != tt.out || errors.Is(err, flag.ErrHelp) != (tt.out != "") {
			t.Errorf("%q: got %v and %q", tt.args, err, out.String())
		}
	}
}

// TestRun gives the exit code. A signal ends the context of the program, and not the process.
func TestRun(t *testing.T) {
	wrong := errors.New("it is wrong")
	for name, tt := range map[string]struct {
		parsed, failure error
		code            int
		said            string
	}{
		"all went well": {nil, nil, 0, ""},
		"it failed":     {nil, wrong, 1, "soak: it is wrong\n"},
		"help":          {flag.ErrHelp, wrong, 0, ""},
		"wrong flag":    {wrong, nil, 2, "soak: it is wrong\n"},
	} {
		var stderr strings.Builder
		code := Run("soak", tt.parsed, func(ctx context.Context) error {
			if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
				return err
			}
			<-ctx.Done()
			return tt.failure
		}, &stderr)
		if code != tt.code || stderr.String() != tt.said {
			t.Errorf("%s: got %d, %q", name, code, stderr.String())
		}
	}
}

// TestSecondSignal ends a program that does not end by itself.
func TestSecondSignal(t *testing.T) {
	if os.Getenv("HANGS") != "" {
		os.Exit(Run("soak", nil, func(ctx context.Context) error {
			for ctx.Err() == nil {
				if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
					return err
				}
			}
			for until := time.Now().Add(time.Minute); time.Now().Before(until); time.Sleep(10 * time.Millisecond) {
				_ = syscall.Kill(os.Getpid(), syscall.SIGTERM)
			}
			return errors.New("it outlives every signal")
		}, os.Stderr))
	}
	cmd := exec.Command(os.Args[0], "-test.run", "^TestSecondSignal$")
	cmd.Env = append(os.Environ(), "HANGS=1")
	said, err := cmd.CombinedOutput()
	if how := cmd.ProcessState.Sys().(syscall.WaitStatus); how.Signal() != syscall.SIGTERM {
		t.Errorf("got %v, want that the signal ends it: %s", err, said)
	}
}

func TestVersion(t *testing.T) {
	machine := runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH
	const release = buildinfo.Release + " (" + buildinfo.Released + ")"
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	hash, err := exec.Command("sha256sum", program).Output()
	if err != nil {
		t.Fatal(err)
	}
	got := Version("quote")
	if !strings.HasPrefix(got, "quote "+release+"\nmodule github.com/quotegate/quotegate ") ||
		!strings.Contains(got, "\nbuild "+string(hash[:16])+"\n") || !strings.HasSuffix(got, machine) {
		t.Errorf("got %s", got)
	}
	info := &debug.BuildInfo{
		Main:     debug.Module{Path: "example.org/m", Version: "v1.2.3"},
		Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.modified", Value: "true"}},
	}
	want := "gateway " + release + "\nmodule example.org/m v1.2.3\ncommit abc, with changes\nbuild 12ab\n" + machine
	if got := describe("gateway", buildinfo.Of(info), "12ab"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
