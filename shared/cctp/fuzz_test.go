package cctp

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

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
			var reason *failure
			if !errors.As(err, &reason) || rate != (Rate{}) {
				t.Fatalf("got %s and %v, want a failure", rate, err)
			}
			for _, known := range []string{"the answer is not the expected JSON", "no row for threshold 1000", "the fee is "} {
				if strings.HasPrefix(reason.reason, known) && len(reason.reason) < 90 {
					return
				}
			}
			t.Fatalf("got the reason %q", reason.reason)
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

// Whatever the service answers, a complete message is one with content, and a
// delay is a word.
func FuzzDecodeMessages(f *testing.F) {
	f.Add([]byte(`{"messages":[{"message":"0x01","attestation":"0x02","status":"complete","delayReason":null}]}`))
	f.Add([]byte(`{"messages":[{"message":null,"attestation":"PENDING","status":"pending_confirmations","delayReason":"insufficient_fee"}]}`))
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
