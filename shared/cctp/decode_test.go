package cctp

import (
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/quotegate/quotegate/shared/fee"
)

// TestDecode: a response is a rate, or an error that repeats none of the response.
func TestDecode(t *testing.T) {
	const (
		noJSON   = "the answer is not the expected JSON"
		noRow    = "no row for threshold 1000 or 2000"
		noNumber = "the fee is not a decimal number such as 1.3"
		tooHigh  = "the fee is above 100 basis points"
		noFast   = "no fee for threshold 1000, though this source charges for fast transfers"
		tooLow   = "the fee for threshold 1000 is below a quarter of the built-in rate"
		tiny     = "the fee is not 0, but below a billionth of a basis point"
		keyTwice = "a key appears twice in an object of the answer"
		rowTwice = "a threshold appears twice in the answer"
	)
	charge := func(fee string) string {
		return `[{"finalityThreshold":1000,"minimumFee":` + fee + `}]`
	}
	two := func(fast, final string) string {
		return `[{"finalityThreshold":1000,"minimumFee":` + fast + `},{"finalityThreshold":2000,"minimumFee":` + final + `}]`
	}
	// The results for a source with fast transfers, at 1.3 basis points, and for one without.
	for name, test := range map[string]struct{ body, fast, slow string }{
		"as documented":     {two("1.3", "0"), "1.3", "1.3"},
		"the other order":   {`[{"finalityThreshold":2000,"minimumFee":0},{"finalityThreshold":1000,"minimumFee":1.3}]`, "1.3", "1.3"},
		"strings":           {`[{"finalityThreshold":"2000","minimumFee":"0"},{"finalityThreshold":"1000","minimumFee":"1.3"}]`, "1.3", "1.3"},
		"more fields":       {`[{"forwardFee":{"low":1},"finalityThreshold":1000,"minimumFee":1.3}]`, "1.3", "1.3"},
		"no row for 2000":   {charge("1.3"), "1.3", "1.3"},
		"higher at 2000":    {two("9", "10"), "10", "10"},
		"another threshold": {`[{"finalityThreshold":3000,"minimumFee":"soon"},{"finalityThreshold":{}},{"finalityThreshold":1000,"minimumFee":1.3}]`, "1.3", "1.3"},
		"rounds up":         {charge("1.3" + strings.Repeat("0", 47) + "4"), "1.300000001", "1.300000001"},
		"the highest":       {charge("100"), "100", "100"},
		"a little lower":    {charge("1.0"), "1", "1"},
		"a quarter":         {charge("0.325"), "0.325", "0.325"},
		"keys in capitals":  {`[{"FINALITYTHRESHOLD":1000,"MinimumFee":1.3}]`, "1.3", "1.3"},
		"keys of two rows":  {`[{"low":1,"finalityThreshold":1000,"minimumFee":1.3},{"low":1}]`, "1.3", "1.3"},
		"keys of two depths": {`[{"fee":{"fee":[{"fee":1},{"fee":1}]},"finalityThreshold":1000,"minimumFee":1.3}]`,
			"1.3", "1.3"},
		"a text like a key": {`[{"note":"minimumFee","finalityThreshold":1000,"minimumFee":1.3,"more":["a","a"]}]`, "1.3", "1.3"},

		"below a quarter":           {charge("0.324999999"), tooLow, "0.324999999"},
		"percent":                   {charge("0.013"), tooLow, "0.013"},
		"as little as possible":     {charge("0.000000001"), tooLow, "0.000000001"},
		"next to nothing":           {charge("1e-999"), noNumber, noNumber},
		"less than that":            {charge("1e-50"), tiny, tiny},
		"low, and high at 2000":     {two("0.1", "10"), tooLow, "10"},
		"a threshold twice":         {`[{"finalityThreshold":1000,"minimumFee":1.4},{"finalityThreshold":1000,"minimumFee":0}]`, rowTwice, rowTwice},
		"once as a string":          {`[{"finalityThreshold":1000,"minimumFee":1.3},{"finalityThreshold":"1000","minimumFee":1.3}]`, rowTwice, rowTwice},
		"another threshold twice":   {charge("1.3")[:44] + `,{"finalityThreshold":3000},{"finalityThreshold":3000}]`, rowTwice, rowTwice},
		"a key twice":               {`[{"finalityThreshold":1000,"minimumFee":1.3,"minimumFee":1.3}]`, keyTwice, keyTwice},
		"a key in other letters":    {`[{"finalityThreshold":1000,"minimumFee":1.3,"MinimumFee":0.000001}]`, keyTwice, keyTwice},
		"three times":               {`[{"minimumfee":9,"finalityThreshold":1000,"minimumFee":1.3,"MINIMUMFEE":1e-9}]`, keyTwice, keyTwice},
		"a letter that folds":       {`[{"finalityThreshold":1000,"finalityThre\u017fhold":2000,"minimumFee":1.3}]`, keyTwice, keyTwice},
		"an unknown key twice":      {`[{"finalityThreshold":1000,"minimumFee":1.3,"a":1,"A":2}]`, keyTwice, keyTwice},
		"a key twice, further down": {`[{"finalityThreshold":1000,"minimumFee":1.3,"f":[{"low":1,"low":2}]}]`, keyTwice, keyTwice},
		"after an object":           {`[{"f":{"g":{}},"finalityThreshold":1000,"minimumFee":1.3,"F":1}]`, keyTwice, keyTwice},

		"free at 1000":             {two("0", "1"), noFast, "1"},
		"free as a string":         {charge(`"0.0"`), noFast, "0"},
		"no row for 1000":          {`[{"finalityThreshold":2000,"minimumFee":1}]`, noFast, "1"},
		"no row for 1000, strings": {`[{"finalityThreshold":"2000","minimumFee":"1"}]`, noFast, "1"},

		"empty":          {"", noJSON, noJSON},
		"half an answer": {`[{"finalityThreshold":1000,"minimumFee":1.3`, noJSON, noJSON},
		"two answers":    {charge("1.3") + "[]", noJSON, noJSON},
		"an object":      {`{"finalityThreshold":1000,"minimumFee":1.3}`, noJSON, noJSON},
		"numbers":        {`[1000, 1.3]`, noJSON, noJSON},
		"deeply nested":  {strings.Repeat("[", 60_000), noJSON, noJSON},
		"null":           {"null", noRow, noRow},
		"no rows":        {"[]", noRow, noRow},
		"no known row":   {`[{"finalityThreshold":3000,"minimumFee":1.3},null,{},{"minimumFee":1}]`, noRow, noRow},

		"no fee":            {`[{"finalityThreshold":1000}]`, noNumber, noNumber},
		"null fee":          {charge("null"), noNumber, noNumber},
		"not a number":      {charge(`"NaN"`), noNumber, noNumber},
		"a list of fees":    {charge("[1.3]"), noNumber, noNumber},
		"in words at 2000":  {two("1", `"none"`), noNumber, noNumber},
		"negative":          {charge("-1"), noNumber, noNumber},
		"a negative string": {charge(`"-0.5"`), noNumber, noNumber},
		"negative at 2000":  {two("1", "-1"), noNumber, noNumber},
		"just too high":     {charge("100.0000000000000000001"), tooHigh, tooHigh},
		"too high at 2000":  {two("1", "101"), tooHigh, tooHigh},
		"far too high":      {charge("1e40"), tooHigh, tooHigh},
		"60000 digits":      {charge("1." + strings.Repeat("3", 60_000)), noNumber, noNumber},
	} {
		for builtIn, want := range map[fee.Rate]string{fee.FromMilliBPS(1300): test.fast, {}: test.slow} {
			rate, err := decode([]byte(test.body), builtIn)
			got := rate.String()
			if err != nil {
				got = err.Error()
			}
			if got != want || err != nil && rate != (fee.Rate{}) {
				t.Errorf("%s, built-in rate %s: got %q, want %q", name, builtIn, got, want)
			}
		}
	}
}

// notRate are the failures of fee.ParseRate.
var notRate = regexp.MustCompile(
	`^the fee is (above 100 basis points|not a decimal number such as 1\.3|not 0, but below a billionth of a basis point)$`)

// FuzzDecode: a response is a rate from one of its rows, or an error that repeats none of the
// response.
func FuzzDecode(f *testing.F) {
	for _, body := range []string{
		`[{"finalityThreshold":1000,"minimumFee":1.3},{"finalityThreshold":2000,"minimumFee":0}]`,
		`[{"finalityThreshold":"1000","minimumFee":"13e-1"}]`,
		`[{"finalityThreshold":1000,"minimumFee":-1}]`,
		`[{"finalityThreshold":1000,"minimumFee":101}]`,
		`[{"finalityThreshold":1000,"minimumFee":null},null,{}]`,
		`[{"finalityThreshold":1000,"minimumFee":1},{"finalityThreshold":1000,"minimumFee":2}]`,
		`[{"finalityThreshold":2000,"minimumFee":1}]`,
		`{}`, `[`, `null`, `[[]]`, `"1000"`, "<html>", "",
	} {
		f.Add([]byte(body), uint32(0))
		f.Add([]byte(body), uint32(1300))
	}
	f.Fuzz(func(t *testing.T, body []byte, milli uint32) {
		builtIn := fee.FromMilliBPS(milli)
		rate, err := decode(body, builtIn)
		if err != nil {
			known := []error{
				errNotJSON, errKeyTwice, errThresholdTwice, errNoRow, errNoFast, errTooLow,
			}
			isKnown := slices.ContainsFunc(known, func(e error) bool { return errors.Is(err, e) })
			if rate != (fee.Rate{}) || !isKnown && !notRate.MatchString(err.Error()) {
				t.Fatalf("got %s and %v, want a failure", rate, err)
			}
			return
		}
		if rate.Cmp(fee.HighestRate) > 0 || rate.BelowQuarterOf(builtIn) {
			t.Fatalf("got %s bps, though the built-in rate is %s", rate, builtIn)
		}
		var rows []map[string]json.RawMessage
		if err := json.Unmarshal(body, &rows); err != nil {
			t.Fatalf("got %s for what is no array of objects: %v", rate, err)
		}
		for _, row := range rows {
			for _, value := range row {
				if got, err := fee.ParseRate(strings.Trim(string(value), `"`)); err == nil && got == rate {
					return
				}
				var text string
				if json.Unmarshal(value, &text) == nil {
					if got, err := fee.ParseRate(text); err == nil && got == rate {
						return
					}
				}
			}
		}
		t.Fatalf("got %s, which no row states", rate)
	})
}
