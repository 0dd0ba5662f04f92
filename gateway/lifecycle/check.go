package lifecycle

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/quotegate/quotegate/shared/words"
)

const checkUsage = "usage: gateway plan check FILE [-at TIME] [-json]"

// checked is what `gateway plan check -json` prints.
type checked struct {
	File     string           `json:"file"`
	Hash     string           `json:"hash,omitempty"`
	Valid    bool             `json:"valid"`
	Faults   []string         `json:"faults"` // of a plan that is not valid
	At       time.Time        `json:"at"`
	Warnings []string         `json:"warnings"` // about the file
	Versions []checkedVersion `json:"versions"` // of a valid plan
}

type checkedVersion struct {
	Version  string   `json:"version"`
	Stage    Stage    `json:"stage"` // as if its gate let go
	Changes  []Change `json:"changes"`
	Warnings []string `json:"warnings"`
}

// CheckCommand is `gateway plan check`: it reads the plan that args name and
// describes it, or returns all its faults.
func CheckCommand(args, versions []string, out io.Writer, now time.Time) error {
	flags := flag.NewFlagSet("gateway plan check", flag.ContinueOnError)
	moment := flags.String("at", words.Stamp(now.UTC()), "the time to describe, in RFC 3339")
	asJSON := flags.Bool("json", false, "print JSON")
	file, err := ParseFlags(flags, args, checkUsage)
	if errors.Is(err, flag.ErrHelp) {
		_, err := fmt.Fprintln(out, checkUsage)
		return err
	}
	if err != nil {
		return err
	}
	at, err := time.Parse(time.RFC3339, *moment)
	if err != nil {
		return fmt.Errorf("-at %q is not a time in RFC 3339, like 2027-01-12T14:05:00Z", *moment)
	}
	plan, text, err := read(file, versions)
	warnings := clockWarnings(file, now)
	if *asJSON {
		return printCheck(out, file, text, plan, at.UTC(), warnings, err)
	}
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(out, "%s is a valid plan.\n\n", file); err != nil {
		return err
	}
	for _, warning := range warnings {
		if _, err := fmt.Fprintf(out, "warning: %s\n\n", warning); err != nil {
			return err
		}
	}
	return Describe(plan, at, out)
}

func printCheck(out io.Writer, file, text string, plan *Plan, at time.Time, warnings []string, fault error) error {
	result := checked{File: file, Hash: hashOf(text), Valid: fault == nil, Faults: []string{}, At: at, Warnings: warnings, Versions: []checkedVersion{}}
	if fault != nil {
		result.Faults = strings.Split(strings.TrimPrefix(fault.Error(), file+":\n"), "\n")
		fault = fmt.Errorf("%s is not a valid plan", file)
	} else {
		for _, name := range plan.served {
			v := newVersion(name, plan.Versions[name])
			one := checkedVersion{Version: name, Stage: v.stage(at), Changes: append([]Change{}, v.changes()...), Warnings: []string{}}
			if v.schedule != nil {
				one.Warnings = append(one.Warnings, v.schedule.warnings(at)...)
			}
			result.Versions = append(result.Versions, one)
		}
	}
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return errors.Join(encoder.Encode(result), fault)
}

// clockWarnings tells of a file that was changed in the future.
func clockWarnings(file string, now time.Time) []string {
	info, err := os.Stat(file)
	if err != nil || info.ModTime().Sub(now) < time.Minute {
		return []string{}
	}
	return []string{fmt.Sprintf("the file was changed at %s, and the time here is %s: one of the clocks is wrong, and stages change by the clock of each gateway",
		words.Stamp(info.ModTime().UTC().Truncate(time.Second)), words.Stamp(now.UTC().Truncate(time.Second)))}
}

// ParseFlags reads the arguments of a command that takes one file. Flags may come
// before and after the file.
func ParseFlags(flags *flag.FlagSet, args []string, usage string) (file string, err error) {
	flags.SetOutput(io.Discard) // the error says what is wrong
	var files []string
	for {
		if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
			return "", err
		} else if err != nil {
			return "", fmt.Errorf("%w; %s", err, usage)
		}
		if flags.NArg() == 0 {
			break
		}
		files, args = append(files, flags.Arg(0)), slices.Clone(flags.Args()[1:])
	}
	if len(files) != 1 {
		return "", fmt.Errorf("one plan is needed, and %d were named; %s", len(files), usage)
	}
	return files[0], nil
}

// Read reads a plan from a file.
func Read(path string, versions []string) (*Plan, error) {
	plan, _, err := read(path, versions)
	return plan, err
}
