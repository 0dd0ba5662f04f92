// Package cli is what the command lines of this module have in common: how flags are
// read, how a program runs and ends, and what it tells about its build.
package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"

	"github.com/quotegate/quotegate/shared/buildinfo"
)

// Parse reads the arguments of a program that takes flags alone. If help is wanted, it
// prints what the program is for and all flags, and returns flag.ErrHelp.
func Parse(flags *flag.FlagSet, args []string, about string, stdout io.Writer) error {
	flags.SetOutput(io.Discard) // the error says what is wrong
	err := flags.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprintf(stdout, "Usage: %s [flags]\n\n%s\n\n", flags.Name(), about)
		flags.SetOutput(stdout)
		flags.PrintDefaults()
		return err
	case err != nil:
		return fmt.Errorf("%w: see %s -h", err, flags.Name())
	case flags.NArg() > 0:
		return fmt.Errorf("%q is not a flag: see %s -h", flags.Arg(0), flags.Name())
	}
	return nil
}

// Run is what main does once Parse has returned: it runs the program until that ends, or
// until a signal ends its context; a second signal ends the process. It returns the exit code: 0 if all went well or
// help was printed, 1 if run failed, 2 if the arguments are wrong. What went wrong is on stderr.
func Run(program string, parsed error, run func(context.Context) error, stderr io.Writer) int {
	switch {
	case errors.Is(parsed, flag.ErrHelp):
		return 0
	case parsed != nil:
		fmt.Fprintf(stderr, "%s: %v\n", program, parsed)
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	if err := run(ctx); err != nil {
		fmt.Fprintf(stderr, "%s: %v\n", program, err)
		return 1
	}
	return 0
}

// IsTerminal reports whether a person reads along. The null device counts too, like every character device: nobody
// reads there.
func IsTerminal(w io.Writer) bool {
	file, isFile := w.(*os.File)
	if !isFile {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// Version tells what a program was built from, by which Go and for what machine. Its
// last line but one tells two builds apart where Go was told to leave the commit out.
func Version(program string) string {
	return describe(program, buildinfo.Read(), fingerprint())
}

func describe(program string, facts buildinfo.Facts, hash string) string {
	changes := ""
	if facts.Modified == "true" {
		changes = ", with changes"
	}
	return strings.Join([]string{
		program + " " + buildinfo.Release + " (" + buildinfo.Released + ")",
		"module " + facts.Module + " " + facts.Version,
		"commit " + facts.Revision + changes,
		"build " + hash,
		fmt.Sprintf("%s %s/%s", runtime.Version(), runtime.GOOS, runtime.GOARCH),
	}, "\n")
}

// fingerprint is the beginning of the hash of this program.
func fingerprint() string {
	path, err := os.Executable()
	if err != nil {
		return "unknown"
	}
	program, err := os.ReadFile(path)
	if err != nil {
		return "unknown"
	}
	hash := sha256.Sum256(program)
	return hex.EncodeToString(hash[:8])
}
