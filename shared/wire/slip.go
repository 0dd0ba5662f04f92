package wire

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// Params are the query parameters that every version knows.
var Params = append(slices.Clone(neededWithRecipient), "recipientType")

// The response headers that warn a client.
const (
	// QuoteWarning has one meaning: this quote must not be signed.
	QuoteWarning = "Quote-Warning"
	// RequestWarning tells of a likely mistake in the request.
	RequestWarning = "Request-Warning"
)

// maxSlips bounds how many warnings one answer carries.
const maxSlips = 3

// WarnOfSlips names in the header Request-Warning the parameters that are none of
// the known ones but differ from one only by case or by a slip: "integratorID" is
// ignored, and silently costs a partner its fee. So does an empty integratorId.
func WarnOfSlips(h http.Header, q *Query, known []string) {
	slips := 0
	for _, params := range [...][]param{q.inline[:q.used], q.overflow} {
		for i := range params {
			name := params[i].name
			if name == integratorParam && params[i].value == "" && slices.Contains(known, name) {
				h.Add(RequestWarning, "the parameter integratorId is empty and counts as not given: no integrator is paid")
			}
			if slips == maxSlips || slices.Contains(known, name) || !isWord(name) {
				continue
			}
			if meant := nearest(name, known); meant != "" {
				h.Add(RequestWarning, fmt.Sprintf("the parameter %s is unknown and was ignored; did you mean %s?", name, meant))
				slips++
			}
		}
	}
}

// isWord keeps out whatever is no slip of ours and might not suit a header.
func isWord(name string) bool {
	const longest = 20
	return name != "" && len(name) <= longest && !strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '_' && r != '-'
	})
}

// nearest gives the known name that is closest, empty if none is close: one letter
// away, or two in a name of eight letters or more.
func nearest(name string, known []string) (meant string) {
	const long = 8
	closest := 3
	for _, candidate := range known {
		d := Distance(strings.ToLower(name), strings.ToLower(candidate))
		if d < closest && (d < 2 || len(candidate) >= long) {
			closest, meant = d, candidate
		}
	}
	return meant
}

// Distance is how many letters must be added, removed or replaced to make one
// text of the other (Levenshtein). A byte counts as a letter.
func Distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
