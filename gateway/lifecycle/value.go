package lifecycle

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"
)

// value parses one value of a plan. If that fails, it reports the fault with its
// place and returns zero.
func value[V any](p *parser, at string, raw json.RawMessage, parse func(json.RawMessage) (V, error)) V {
	err := errors.New("missing")
	if present(raw) {
		var v V
		if v, err = parse(raw); err == nil {
			return v
		}
	}
	p.fault("%s: %w", at, err)
	return *new(V)
}

func present(raw json.RawMessage) bool { return raw != nil && string(raw) != "null" }

// quoted turns a parser of text into a parser of a JSON string.
func quoted[V any](parse func(string) (V, error)) func(json.RawMessage) (V, error) {
	return func(raw json.RawMessage) (V, error) {
		var text string
		if json.Unmarshal(raw, &text) != nil {
			return *new(V), errors.New("must be text in quotes")
		}
		return parse(text)
	}
}

// rfc3339 is stricter than time.Parse, which accepts "1:02:03" and a decimal
// comma.
var rfc3339 = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$`)

func parseTime(text string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil || !rfc3339.MatchString(text) {
		return t, fmt.Errorf("%.40q is not a time in RFC 3339; write it like 2027-03-01T00:00:00Z", text)
	}
	t = t.UTC()
	if t.Nanosecond() != 0 {
		return t, fmt.Errorf("%q has a fraction of a second, which the headers cannot carry", text)
	}
	if t.Year() < 1970 || t.Year() > 9999 {
		return t, fmt.Errorf("%q is outside the years 1970 to 9999", text)
	}
	return t, nil
}

func parseShare(raw json.RawMessage) (share float64, err error) {
	if json.Unmarshal(raw, &share) != nil || !(share > 0 && share <= 1) {
		return 0, fmt.Errorf("%.40s is not a number above 0 and at most 1", raw)
	}
	if math.Round(share*1000)/1000 != share {
		return 0, fmt.Errorf("%.40s has more than three decimals, which the header cannot carry", raw)
	}
	return share, nil
}

func parseBool(raw json.RawMessage) (b bool, err error) {
	if json.Unmarshal(raw, &b) != nil {
		return false, fmt.Errorf("%.40s is not true or false", raw)
	}
	return b, nil
}

func parseLimit(raw json.RawMessage) (n int, err error) {
	if json.Unmarshal(raw, &n) != nil || n < 0 {
		return 0, fmt.Errorf("%.40s is not a whole number of 0 or more", raw)
	}
	return n, nil
}

func parseDays(raw json.RawMessage) (n int, err error) {
	if json.Unmarshal(raw, &n) != nil || n < 1 || n > maxGateDays {
		return 0, fmt.Errorf("%.40s is not a number of days from 1 to %d", raw, maxGateDays)
	}
	return n, nil
}

// What is allowed between the angle brackets of a Link header.
var (
	plainPath = regexp.MustCompile(`^/[a-zA-Z0-9/._~-]*$`)
	plainURL  = regexp.MustCompile(`^(?i:https)://[a-zA-Z0-9:/?#\[\]@!$&'()*+,;=._~%-]+$`)
)

const maxLink = 1024

// successorOf reads the path that a version sends its clients to.
func (p *parser) successorOf(name string) func(string) (string, error) {
	return func(text string) (string, error) {
		switch {
		case len(text) > maxLink || path.Clean(text) != text || !plainPath.MatchString(text):
			return "", fmt.Errorf("%.80q is not a plain path on this host, like /v3/swap/quote", text)
		case slices.Contains(strings.Split(text, "/"), name):
			return "", fmt.Errorf("%q belongs to %s itself", text, name)
		case p.versionOf(text) == "":
			return "", fmt.Errorf("%q leads to no version this gateway serves, which are %s", text, strings.Join(p.served, ", "))
		}
		return text, nil
	}
}

// parseDocs reads the address of a migration page.
func parseDocs(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || u.User != nil || len(text) > maxLink || !plainURL.MatchString(text) {
		return "", fmt.Errorf("%.80q is not an https address, like https://example.org/migrate-v1", text)
	}
	return text, nil
}
