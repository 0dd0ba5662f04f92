// Package cli is what the command lines of this module have in common: how help is
// asked for and printed, how a program runs and ends, and what it tells about its build.
//
// What it promises:
//   - Help counts wherever it is asked for, also where a flag waits for its value.
//   - No line of help is longer than 100 columns, as long as its words are not.
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
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/quotegate/quotegate/shared/buildinfo"
)

// Columns is how wide help may be.
const Columns = 100

// WantsHelp reports whether -h, -help or --help is among the arguments. After -- it is
// a word like any other.
func WantsHelp(args []string) bool {
	for _, arg := range args {
		switch arg {
		case "--":
			return false
		case "-h", "--h", "-help", "--help":
			return true
		}
	}
	return false
}

// wrap breaks a text into lines that leave room for an indent of so many columns.
func wrap(text string, indent int) (lines []string) {
	line := ""
	for _, word := range strings.Fields(text) {
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line+" "+word) > Columns-indent:
			lines = append(lines, line)
			line = word
		default:
			line += " " + word
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// PrintText writes paragraphs, which are apart by empty lines.
func PrintText(w io.Writer, text string) {
	for i, paragraph := range strings.Split(strings.Trim(text, "\n"), "\n\n") {
		if i > 0 {
			fmt.Fprintln(w)
		}
		for _, line := range wrap(paragraph, 0) {
			fmt.Fprintln(w, line)
		}
	}
}

// PrintFlags describes every flag, with its default if that says anything.
func PrintFlags(w io.Writer, flags *flag.FlagSet) {
	const indent = "        "
	flags.VisitAll(func(f *flag.Flag) {
		value, about := flag.UnquoteUsage(f)
		fmt.Fprintln(w, strings.TrimRight("  -"+f.Name+" "+value, " "))
		if !slices.Contains([]string{"", "0", "0s", "false"}, f.DefValue) {
			about += fmt.Sprintf(" (default %s)", f.DefValue)
		}
		for _, line := range wrap(about, len(indent)) {
			fmt.Fprintln(w, indent+line)
		}
	})
}

// Parse reads the arguments of a program that takes flags alone. If help is wanted, it
// prints what the program is for and all flags, and returns flag.ErrHelp.
func Parse(flags *flag.FlagSet, args []string, about string, stdout io.Writer) error {
	if WantsHelp(args) {
		fmt.Fprintf(stdout, "Usage: %s [flags]\n\n", flags.Name())
		PrintText(stdout, about)
		fmt.Fprintln(stdout)
		PrintFlags(stdout, flags)
		return flag.ErrHelp
	}
	flags.SetOutput(io.Discard) // the error says what is wrong
	if err := flags.Parse(args); err != nil {
		return fmt.Errorf("%w: see %s -h", err, flags.Name())
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("%q is not a flag: see %s -h", flags.Arg(0), flags.Name())
	}
	return nil
}

// Run is what main does once Parse has returned: it runs the program until that ends, or
// until a signal ends its context. It returns the exit code: 0 if all went well or help
// was printed, 1 if run failed, 2 if the arguments are wrong. What went wrong is on stderr.
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
	if err := run(ctx); err != nil {
		fmt.Fprintf(stderr, "%s: %v\n", program, err)
		return 1
	}
	return 0
}

// Version tells what a program was built from, by which Go and for what machine. Its
// last line but one tells two builds apart where Go was told to leave the commit out.
func Version(program string) string {
	return describe(program, buildinfo.Read(), fingerprint(os.Executable))
}

const unknown = "unknown"

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

// fingerprint is the beginning of the hash of a program.
func fingerprint(program func() (string, error)) string {
	path, err := program()
	if err != nil {
		return unknown
	}
	f, err := os.Open(path)
	if err != nil {
		return unknown
	}
	defer f.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, f); err != nil {
		return unknown
	}
	return hex.EncodeToString(hash.Sum(nil)[:8])
}
