package setting

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

type example struct {
	Count  int           `env:"COUNT, default=5" min:"2" max:"9"`
	Limit  int           `env:"LIMIT" min:"3" max:"9" or:"0 for no limit"`
	Delay  time.Duration `env:"DELAY" min:"1ms" max:"1m"`
	Wait   time.Duration `env:"WAIT" min:"5s"`
	Token  string        `env:"TOKEN" min:"4" chars:"printable" setting:"secret"`
	Prefix string        `env:"PREFIX" max:"3"`
	Free   int           `env:"FREE"`
	List   []string      `env:"LIST"`
}

var right = example{Count: 5, Limit: 3, Delay: time.Second, Wait: time.Hour, Token: "abcd", Prefix: "ab", Free: -1}

func TestCheck(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*example)
		want   string // no problem if empty
	}{
		"right":               {func(*example) {}, ""},
		"the least":           {func(e *example) { e.Count, e.Limit, e.Delay, e.Wait = 2, 3, time.Millisecond, 5*time.Second }, ""},
		"the most":            {func(e *example) { e.Count, e.Limit, e.Delay, e.Prefix = 9, 9, time.Minute, "abc" }, ""},
		"one below":           {func(e *example) { e.Count = 1 }, "COUNT: 1 is not between 2 and 9"},
		"one beyond":          {func(e *example) { e.Count = 10 }, "COUNT: 10 is not between 2 and 9"},
		"the other value":     {func(e *example) { e.Limit = 0 }, ""},
		"between the two":     {func(e *example) { e.Limit = 1 }, "LIMIT: 1 is not between 3 and 9, or 0 for no limit"},
		"no delay":            {func(e *example) { e.Delay = 0 }, "DELAY: 0s is not between 1ms and 1m"},
		"a little too long":   {func(e *example) { e.Delay = time.Minute + 1 }, "DELAY: 1m0.000000001s is not between 1ms and 1m"},
		"too short":           {func(e *example) { e.Wait = time.Second }, "WAIT: 1s is not at least 5s"},
		"a text that is none": {func(e *example) { e.Token, e.Prefix = "", "" }, ""},
		"a short secret":      {func(e *example) { e.Token = "abc" }, "TOKEN: must be at least 4 characters, all of them printable ASCII and none a space"},
		"a secret with ü":     {func(e *example) { e.Token = "abcdü" }, "TOKEN: must be at least 4 characters, all of them printable ASCII and none a space"},
		"a space":             {func(e *example) { e.Token = "abcd e" }, "TOKEN: must be at least 4 characters, all of them printable ASCII and none a space"},
		"a long text":         {func(e *example) { e.Prefix = "abcd" }, `PREFIX: "abcd" must be at most 3 characters`},
		"several":             {func(e *example) { e.Count, e.Wait = 0, 0 }, "COUNT: 0 is not between 2 and 9\nWAIT: 0s is not at least 5s"},
	} {
		e := right
		tt.change(&e)
		got := ""
		if err := Check(e); err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
}

func TestFieldsWithoutLimitsSayNothing(t *testing.T) {
	of := reflect.TypeFor[example]()
	for i := range of.NumField() {
		limited := !strings.Contains("FREE LIST", of.Field(i).Tag.Get("env"))
		if got := LimitsOf(of.Field(i)).String(); (got != "") != limited {
			t.Errorf("%s: got %q", of.Field(i).Name, got)
		}
	}
}
