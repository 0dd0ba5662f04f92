package cli

import (
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/quotegate/quotegate/shared/buildinfo"
)

func TestWantsHelp(t *testing.T) {
	for args, want := range map[string]bool{
		"": false, "plan check": false, "-hello": false, "help": false,
		"-h": true, "-help": true, "--help": true, "plan -h": true, "report -o -h": true, "x -- -h": false, "-h -- x": true,
	} {
		if got := WantsHelp(strings.Fields(args)); got != want {
			t.Errorf("%q: got %t, want %t", args, got, want)
		}
	}
}

func TestPrintFlags(t *testing.T) {
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	flags.Bool("json", false, "print JSON")
	flags.Duration("after", 0, "how `long` to wait")
	flags.Duration("for", time.Minute, strings.Repeat("word ", 40))
	flags.String("to", "a.txt", "the `FILE` to write")
	var out strings.Builder
	PrintFlags(&out, flags)
	want := `  -after long
        how long to wait
  -for duration
        word word word word word word word word word word word word word word word word word word
        word word word word word word word word word word word word word word word word word word
        word word word word (default 1m0s)
  -json
        print JSON
  -to FILE
        the FILE to write (default a.txt)
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

func TestParse(t *testing.T) {
	for _, tt := range []struct{ args, err, out string }{
		{"-n 3", "", ""},
		{"", "", ""},
		{"-n -h", "flag: help requested", "Usage: soak [flags]\n\nDoes it.\n\n  -n int\n        how often (default 1)\n"},
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

func TestRun(t *testing.T) {
	wrong := errors.New("it is wrong")
	for name, tt := range map[string]struct {
		parsed, failure error
		code            int
		said            string
		runs            bool
	}{
		"all went well": {nil, nil, 0, "", true},
		"it failed":     {nil, wrong, 1, "soak: it is wrong\n", true},
		"help":          {flag.ErrHelp, nil, 0, "", false},
		"wrong flag":    {wrong, nil, 2, "soak: it is wrong\n", false},
	} {
		ran := false
		var stderr strings.Builder
		code := Run("soak", tt.parsed, func(ctx context.Context) error {
			ran = true
			return errors.Join(ctx.Err(), tt.failure)
		}, &stderr)
		if code != tt.code || stderr.String() != tt.said || ran != tt.runs {
			t.Errorf("%s: got %d, %q, run %t", name, code, stderr.String(), ran)
		}
	}
}

// A signal ends the context of the program, and not the process.
func TestRunUntilASignal(t *testing.T) {
	var stderr strings.Builder
	code := Run("soak", nil, func(ctx context.Context) error {
		if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
			return err
		}
		<-ctx.Done()
		return nil
	}, &stderr)
	if code != 0 || stderr.String() != "" {
		t.Errorf("got %d, %q", code, stderr.String())
	}
}

func TestVersion(t *testing.T) {
	machine := runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH
	const release = buildinfo.Release + " (" + buildinfo.Released + ")"
	got := Version("quote")
	if !strings.HasPrefix(got, "quote "+release+"\n") || !strings.Contains(got, "\nmodule github.com/quotegate/quotegate ") ||
		!strings.Contains(got, "\nbuild "+fingerprint(os.Executable)+"\n") || !strings.HasSuffix(got, machine) {
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
	want = "gateway " + release + "\nmodule unknown unknown\ncommit unknown\nbuild unknown\n" + machine
	if got := describe("gateway", buildinfo.Of(&debug.BuildInfo{}), unknown); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// Two builds of the same commit have different fingerprints, and the same build one.
func TestFingerprint(t *testing.T) {
	program := func(content string) func() (string, error) {
		path := filepath.Join(t.TempDir(), "gateway")
		if err := os.WriteFile(path, []byte(content), 0o700); err != nil {
			t.Fatal(err)
		}
		return func() (string, error) { return path, nil }
	}
	one, again, other := fingerprint(program("one")), fingerprint(program("one")), fingerprint(program("other"))
	if one != again || one == other || len(one) != 16 || one != "7692c3ad3540bb80" { // sha256sum
		t.Errorf("got %s, %s and %s", one, again, other)
	}
	// What Go says of a build with -buildvcs=false: only the hash is of this build.
	bare := buildinfo.Of(&debug.BuildInfo{Main: debug.Module{Path: "example.org/m", Version: "(devel)"}})
	said, differs := describe("gateway", bare, one), describe("gateway", bare, other)
	if !strings.Contains(said, "\ncommit unknown\nbuild "+one+"\n") || said == differs {
		t.Errorf("got %s and %s", said, differs)
	}
	if got := fingerprint(func() (string, error) { return "", os.ErrNotExist }); got != unknown {
		t.Errorf("got %s of no program", got)
	}
	if got := fingerprint(os.Executable); got == unknown {
		t.Errorf("got %s of this program", got)
	}
}
