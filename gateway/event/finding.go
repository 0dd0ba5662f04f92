package event

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/humanize"
)

// Finding says what the current version would answer to a request that an old
// version has answered. The zero Finding means that nothing was compared.
type Finding struct {
	Outcome Outcome    `json:"outcome"`
	Code    fault.Code `json:"code,omitempty"`  // Refused: the error's code
	Param   string     `json:"param,omitempty"` // Refused: the parameter at fault. DifferentMoney: the one that differs
	Calls   uint64     `json:"calls"`           // that it is about, once they are counted
}

// Outcome is the kind of a Finding.
type Outcome string

const (
	SameMoney      Outcome = "same"      // the same transaction and the same money, in a new format
	DifferentMoney Outcome = "different" // a different quote
	Refused        Outcome = "refused"   // an error
)

// gravities orders outcomes: the last is the worst.
var gravities = []Outcome{"", SameMoney, DifferentMoney, Refused}

// gravity is the place of an outcome: the greatest for the worst. One that only another
// release knows is shown first.
func (o Outcome) gravity() int {
	i := slices.Index(gravities, o)
	if i < 0 {
		return len(gravities)
	}
	return i
}

// Worse orders findings: the worst first, and then the most frequent.
func Worse(a, b Finding) int {
	return cmp.Or(
		cmp.Compare(b.Outcome.gravity(), a.Outcome.gravity()), cmp.Compare(b.Calls, a.Calls),
		cmp.Compare(a.Code, b.Code), cmp.Compare(a.Param, b.Param))
}

// Short is the finding in a few words, for a table.
func (f Finding) Short() string {
	short, _ := f.describe("", "")
	return short
}

// Sentence says what the finding means for the calls of one client.
func (f Finding) Sentence(version, successor string) string {
	_, would := f.describe(version, successor)
	return humanize.Count(f.Calls, "call", "calls") + " " + would + "."
}

// describe says in a few words and in a clause what calls would get from the successor.
func (f Finding) describe(version, successor string) (short, would string) {
	refused := "would be refused by " + successor
	switch {
	case f.Outcome == SameMoney:
		return "same amounts, new format",
			fmt.Sprintf("would get the same transaction and the same amounts from %s, in a new format", successor)
	case f.Outcome == DifferentMoney && f.Param != "":
		return "different amount: sends " + f.Param,
			fmt.Sprintf("would get a different amount from %s, because %s ignores %s and %[1]s does not",
				successor, version, f.Param)
	case f.Outcome == DifferentMoney:
		return "different amount", "would get a different amount from " + successor
	case f.Outcome != Refused:
		return fmt.Sprintf("unknown: %q", f.Outcome),
			fmt.Sprintf("have a finding of another release (%q), which this one does not know", f.Outcome)
	case f.Code == fault.MissingParameter && f.Param != "":
		return "refused: omits " + f.Param, fmt.Sprintf("%s, because %s is missing", refused, f.Param)
	case f.Param != "":
		return fmt.Sprintf("refused: %s, %s", f.Param, f.Code),
			fmt.Sprintf("%s, because of the value of %s (%s)", refused, f.Param, f.Code)
	}
	return strings.TrimSpace("refused: " + string(f.Code)), fmt.Sprintf("%s (%s)", refused, f.Code)
}
