package admin

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/quotegate/quotegate/gateway/event"
	"github.com/quotegate/quotegate/gateway/usage"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/words"
)

const day = 24 * time.Hour

// clean replaces what a reader cannot see, such as marks that turn the direction
// of text around.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' {
			return ' '
		}
		if !unicode.IsGraphic(r) {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

const (
	shortHead = 30
	shortTail = 12
)

// short leaves out the middle of a long text.
func short(text string) string {
	runes := []rune(clean(text))
	if len(runes) <= shortHead+shortTail+1 {
		return string(runes)
	}
	return string(runes[:shortHead]) + "…" + string(runes[len(runes)-shortTail:])
}

// finding is a finding in a few words, for a table.
func finding(f usage.FindingCount) string {
	switch {
	case f.Outcome == event.SameMoney:
		return "new shape only"
	case f.Outcome == event.DifferentMoney && f.Param != "":
		return "different money: sends " + f.Param
	case f.Outcome == event.DifferentMoney:
		return "different money"
	case f.Code == fault.MissingParameter && f.Param != "":
		return "refused: omits " + f.Param
	case f.Param != "":
		return fmt.Sprintf("refused: %s, %s", f.Param, f.Code)
	}
	return strings.TrimSpace("refused: " + string(f.Code))
}

// sentence says what a finding means for the calls of one client.
func sentence(f usage.FindingCount, version, successor string) string {
	calls := words.Count(f.Calls, "call", "calls")
	switch {
	case f.Outcome == event.SameMoney:
		return fmt.Sprintf("%s would get the same transaction and the same money from %s, in its new shape.", calls, successor)
	case f.Outcome == event.DifferentMoney && f.Param != "":
		return fmt.Sprintf("%s would get different money from %s, because %s ignores %s and %s does not.", calls, successor, version, f.Param, successor)
	case f.Outcome == event.DifferentMoney:
		return fmt.Sprintf("%s would get different money from %s.", calls, successor)
	case f.Code == fault.MissingParameter && f.Param != "":
		return fmt.Sprintf("%s would be refused by %s, because %s is missing.", calls, successor, f.Param)
	case f.Param != "":
		return fmt.Sprintf("%s would be refused by %s, because of the value of %s (%s).", calls, successor, f.Param, f.Code)
	}
	return fmt.Sprintf("%s would be refused by %s (%s).", calls, successor, f.Code)
}

// coord writes a coordinate of a picture in as few bytes as possible.
func coord(x float64) string {
	return strings.TrimSuffix(strconv.FormatFloat(x, 'f', 1, 64), ".0")
}
