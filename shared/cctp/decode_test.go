package cctp

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// TestDecode: what the issuer answers is a rate, or a failure whose text repeats nothing of it.
func TestDecode(t *testing.T) {
	const (
		noJSON   = "the answer is not the expected JSON"
		noRow    = "no row for threshold 1000 or 2000"
		noNumber = "the fee is not a decimal number such as 1.3"
		tooHigh  = "the fee is above 100 basis points"
		noFast   = "no fee for threshold 1000, though this source charges for fast transfers"
	)
	charge := func(fee string) string {
		return `[{"finalityThreshold":1000,"minimumFee":` + fee + `}]`
	}
	two := func(fast, final string) string {
		return `[{"finalityThreshold":1000,"minimumFee":` + fast + `},{"finalityThreshold":2000,"minimumFee":` + final + `}]`
	}
	for name, test := range map[string]struct{ body, fast, slow string }{ // for sources with fast transfers and without
		"as documented":     {two("1.3", "0"), "1.3", "1.3"},
		"the other order":   {`[{"finalityThreshold":2000,"minimumFee":0},{"finalityThreshold":1000,"minimumFee":1.3}]`, "1.3", "1.3"},
		"strings":           {`[{"finalityThreshold":"2000","minimumFee":"0"},{"finalityThreshold":"1000","minimumFee":"1.3"}]`, "1.3", "1.3"},
		"more fields":       {`[{"forwardFee":{"low":1},"finalityThreshold":1000,"minimumFee":1.3}]`, "1.3", "1.3"},
		"no row for 2000":   {charge("1.3"), "1.3", "1.3"},
		"higher at 2000":    {two("9", "10"), "10", "10"},
		"another threshold": {`[{"finalityThreshold":3000,"minimumFee":"soon"},{"finalityThreshold":{}},{"finalityThreshold":1000,"minimumFee":1.3}]`, "1.3", "1.3"},
		"rounds up":         {charge("1.3" + strings.Repeat("0", 47) + "4"), "1.300000001", "1.300000001"},
		"the highest":       {charge("100"), "100", "100"},
		"twice":             {`[{"finalityThreshold":1000,"minimumFee":1.4},{"finalityThreshold":1000,"minimumFee":0}]`, "1.4", "1.4"},

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
		"good and negative": {`[{"finalityThreshold":1000,"minimumFee":1},{"finalityThreshold":1000,"minimumFee":-1}]`, noNumber, noNumber},
		"just too high":     {charge("100.0000000000000000001"), tooHigh, tooHigh},
		"too high at 2000":  {two("1", "101"), tooHigh, tooHigh},
		"far too high":      {charge("1e400"), tooHigh, tooHigh},
		"60000 digits":      {charge("1." + strings.Repeat("3", 60_000)), noNumber, noNumber},
	} {
		for fast, want := range map[bool]string{true: test.fast, false: test.slow} {
			rate, err := decode([]byte(test.body), fast)
			got := rate.String()
			if err != nil {
				got = err.Error()
			}
			if got != want || err != nil && rate != (Rate{}) {
				t.Errorf("%s, fast transfers %v: got %q, want %q", name, fast, got, want)
			}
		}
	}
}

// FuzzDecode makes sure that an answer is either a rate that one of its rows
// states, or a failure whose text repeats nothing of it.
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
		f.Add([]byte(body), false)
		f.Add([]byte(body), true)
	}
	f.Fuzz(func(t *testing.T, body []byte, fast bool) {
		rate, err := decode(body, fast)
		if err != nil {
			known := []string{
				"the answer is not the expected JSON", "no row for threshold 1000 or 2000",
				"no fee for threshold 1000, though this source charges for fast transfers",
				"the fee is not a decimal number such as 1.3", "the fee is above 100 basis points",
			}
			if rate != (Rate{}) || !slices.Contains(known, err.Error()) {
				t.Fatalf("got %s and %v, want a failure", rate, err)
			}
			return
		}
		if rate.nano > highest.nano || fast && rate.nano == 0 {
			t.Fatalf("got %s bps, though fast is %v", rate, fast)
		}
		var rows []map[string]json.RawMessage
		if err := json.Unmarshal(body, &rows); err != nil {
			t.Fatalf("got %s for what is no array of objects: %v", rate, err)
		}
		for _, row := range rows {
			for _, fee := range row {
				if got, err := ParseRate(strings.Trim(string(fee), `"`)); err == nil && got == rate {
					return
				}
				var text string
				if json.Unmarshal(fee, &text) == nil {
					if got, err := ParseRate(text); err == nil && got == rate {
						return
					}
				}
			}
		}
		t.Fatalf("got %s, which no row states", rate)
	})
}
