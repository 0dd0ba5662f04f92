package client

import (
	"errors"
	"reflect"
	"regexp"
	"strings"
	"time"

	"github.com/quotegate/quotegate/v3/client/internal/exact"
)

// answers reads what a gateway says.
var answers = exact.Decoder{
	Forms: map[reflect.Type]exact.Form{
		reflect.TypeFor[Amount]():     {Name: "an amount in digits", Matches: isAmount},
		reflect.TypeFor[Hash]():       {Name: "a hash", Matches: hashes.MatchString},
		reflect.TypeFor[Site]():       {Name: "an https address", Matches: sites.MatchString},
		reflect.TypeFor[Time]():       {Name: "a time", Matches: isTime},
		reflect.TypeFor[Percentage](): {Name: "a percentage", Number: isPercentage},
	},
	// These are shown to people and passed on to wallets.
	Closed: []reflect.Type{reflect.TypeFor[DecodedCall](), reflect.TypeFor[SendCalls](), reflect.TypeFor[SendCall]()},
}

// decodeBody reads an answer of at most maxAnswer bytes.
func decodeBody(body []byte, into any) error {
	if len(body) > maxAnswer {
		return errors.New("the response is too large")
	}
	return answers.Decode(body, into)
}

// lower gives hexadecimal digits in small letters, and other texts as they are.
func lower(text string) string {
	if strings.HasPrefix(text, "0x") {
		return strings.ToLower(text)
	}
	return text
}

// A Hash is 0x and 64 hexadecimal digits; empty if it is not there.
type Hash string

var hashes = regexp.MustCompile("^0x[0-9a-fA-F]{64}$")

// A Time is one as a gateway writes it, such as 2026-11-15T12:00:00Z; empty if it is not there.
type Time string

// At is the time; zero if it is not there.
func (t Time) At() time.Time {
	at, _ := time.Parse(time.RFC3339, string(t))
	return at
}

func isTime(text string) bool {
	at, err := time.Parse(time.RFC3339, text)
	return err == nil && at.UTC().Format("2006-01-02T15:04:05Z") == text
}
