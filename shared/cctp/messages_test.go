package cctp

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ethereum/go-ethereum/common"
)

var burnTx = common.HexToHash("0xB0B")

const (
	waiting  = `{"message":"0x","attestation":"PENDING","status":"pending_confirmations","delayReason":null}`
	complete = `{"message":"0x0102","attestation":"0x03","status":"complete","delayReason":"insufficient_fee"}`
)

// issuer serves fees, and responds to requests for messages as the test says.
func issuerOf(t *testing.T, messages http.HandlerFunc) (*Issuer, *service) {
	s := startService(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/hidden/v2/messages/") {
			messages(w, r)
			return
		}
		charge("7")(w, r)
	})
	f, _ := s.issuer(t)
	return f, s
}

func TestMessages(t *testing.T) {
	list := func(messages ...string) string { return `{"messages":[` + strings.Join(messages, ",") + `]}` }
	delayed := strings.Replace(waiting, "null", `"insufficient_fee"`, 1)
	unknown := `{"message":"0x01","attestation":"PENDING","status":"under_review","delayReason":"<b>"}`
	for name, test := range map[string]struct {
		body string
		want []Message
	}{
		"none":        {list(), nil},
		"pending":     {list(waiting), []Message{{State: Waiting}}},
		"null":        {list(strings.Replace(waiting, `"0x"`, "null", 1)), []Message{{State: Waiting}}},
		"delayed":     {list(delayed), []Message{{State: Waiting, Delay: "insufficient_fee"}}},
		"complete":    {list(complete), []Message{{State: Complete, Message: []byte{1, 2}}}},
		"a new state": {list(unknown), []Message{{State: Waiting, Message: []byte{1}}}},
		"two":         {list(complete, waiting), []Message{{State: Complete, Message: []byte{1, 2}}, {State: Waiting}}},
		"many":        {list(slices.Repeat([]string{waiting}, 99)...), slices.Repeat([]Message{{State: Waiting}}, 64)},
	} {
		got, err := decodeMessages([]byte(test.body))
		isSame := func(a, b Message) bool {
			return a.State == b.State && a.Delay == b.Delay && bytes.Equal(a.Message, b.Message)
		}
		if err != nil || !slices.EqualFunc(got, test.want, isSame) {
			t.Errorf("%s: got %+v, %v, want %+v", name, got, err, test.want)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		f, s := issuerOf(t, say(list(complete)))
		got, err := f.Messages(t.Context(), 2, burnTx)
		if err != nil || len(got) != 1 || !f.Configured() {
			t.Errorf("got %+v, %v", got, err)
		}
		paths, _ := s.seen()
		if want := "GET /hidden/v2/messages/2?transactionHash=" + burnTx.Hex(); !slices.Contains(paths, want) {
			t.Errorf("asked for %q, want %q", paths, want)
		}
	})
	f := newIssuer(t, "", io.Discard, nil)
	_, err := f.Messages(t.Context(), 2, burnTx)
	if err == nil || err.Error() != "the issuer's service is not configured" || f.Configured() {
		t.Errorf("got %v", err)
	}
}

// An invalid response is an error with a text for clients, which contains neither the service's
// address nor anything that it sent. A transaction that the issuer has not seen is no error.
func TestMessagesFail(t *testing.T) {
	const unsigned = "complete without being signed"
	one := func(old, with string) http.HandlerFunc {
		return say(`{"messages":[` + strings.Replace(complete, old, with, 1) + `]}`)
	}
	for name, test := range map[string]struct {
		answer http.HandlerFunc
		says   string
	}{
		"not seen":              {fail(404), ""},
		"internal error":        {fail(500), "status 500"},
		"redirect":              {fail(302, "Location: /elsewhere"), "status 302"},
		"no JSON":               {say("oops"), "not the expected JSON"},
		"another document":      {say(`[]`), "not the expected JSON"},
		"no messages":           {say(`{"error":"oops"}`), "not the expected JSON"},
		"no hexadecimal":        {one("0x0102", "oops"), "not hexadecimal"},
		"complete but unsigned": {one("0x03", "PENDING"), unsigned},
		"complete but empty":    {one("0x0102", "0x"), unsigned},
		"complete but blank":    {one("0x03", "0x"), unsigned},
		"too long":              {say(`{"messages":[` + strings.Repeat(" ", answerLimit) + "]}"), "not the expected JSON"},
		"drops":                 {drop, "connection failed"},
		"hangs":                 {hang, "timed out"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, _ := issuerOf(t, test.answer)
				got, err := f.Messages(t.Context(), 2, burnTx)
				if test.says == "" && (err != nil || len(got) != 0) {
					t.Errorf("got %+v, %v, want nothing", got, err)
				}
				if test.says == "" {
					return
				}
				if err == nil || !strings.Contains(err.Error(), test.says) ||
					strings.Contains(err.Error(), "hidden") || strings.Contains(err.Error(), "oops") {
					t.Errorf("got %v, want it to say %q and no more", err, test.says)
				}
			})
		})
	}
}

// While the service blocks us, no request is sent, neither for messages nor for fees.
func TestMessagesBlocked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, s := issuerOf(t, fail(429, "Retry-After: 420"))
		before := len(s.requests())
		for range 3 {
			_, err := f.Messages(t.Context(), 2, burnTx)
			if err == nil || BlockedFor(err) != 7*time.Minute {
				t.Errorf("got %v, for %v", err, BlockedFor(err))
			}
		}
		time.Sleep(7*time.Minute - time.Second)
		if got := len(s.requests()) - before; got != 1 {
			t.Errorf("the service was asked %d times while it blocks us", got-1)
		}
		if got := BlockedFor(errNotFound); got != 0 {
			t.Errorf("another failure blocks us for %v", got)
		}
	})
}

// Concurrent requests are paced, and those that would wait too long are refused at once. A
// request whose caller gives up stops waiting.
func TestMessagesPace(t *testing.T) {
	for name, test := range map[string]struct {
		giveUp                    time.Duration // after so long
		answered, gaveUp, refused int
	}{
		"in line":       {time.Minute, 51, 0, 99},
		"callers leave": {time.Second - time.Millisecond, 10, 41, 99},
	} {
		synctest.Test(t, func(t *testing.T) {
			f, _ := issuerOf(t, say(`{"messages":[]}`))
			ctx, giveUp := context.WithCancel(t.Context())
			answers := make(chan string, 150)
			for range cap(answers) {
				go func() {
					_, err := f.Messages(ctx, 2, burnTx)
					if err == nil {
						answers <- "answered"
						return
					}
					answers <- err.Error()
				}()
			}
			time.Sleep(test.giveUp)
			giveUp()
			got := make(map[string]int)
			for range cap(answers) {
				got[<-answers]++
			}
			const late = "too many requests are queued for the issuer's service"
			if got[late] == 100 { // the last time comes when the longest wait ends, so that either may win
				got[late]--
				got["answered"]++
			}
			if got["answered"] != test.answered || got["canceled by the caller"] != test.gaveUp || got[late] != test.refused {
				t.Errorf("%s: got %v, want %+v", name, got, test)
			}
		})
	}
}

// Whatever the service sends, a complete message has content, and a delay is a code.
func FuzzDecodeMessages(f *testing.F) {
	f.Add([]byte(`{"messages":[` + complete + "," + waiting + `]}`))
	f.Add([]byte(`{"messages":null}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		messages, err := decodeMessages(body)
		if err != nil && messages != nil || len(messages) > mostMessages {
			t.Errorf("got %d messages and %v", len(messages), err)
		}
		for _, m := range messages {
			if m.State == Complete && len(m.Message) == 0 || m.Delay != "" && !delay.MatchString(m.Delay) {
				t.Errorf("got %+v", m)
			}
		}
	})
}
