package cctp_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quotegate/quotegate/shared/cctp"
	"github.com/quotegate/quotegate/shared/chain"
)

// outages are the ways in which the service can fail to give a rate, and what
// the operator reads.
var outages = []struct {
	name   string
	behave http.HandlerFunc
	reason string
}{
	{"down", nil, "unreachable"},
	{"hanging", hang, "no answer within 5s"},
	{"slower than the timeout", delay(6*time.Second, charge("77")), "no answer within 5s"},
	{"trickling", trickle, "no answer within 5s"},
	{"cut off", cut, "unreachable"},
	{"dropping the connection", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "unreachable"},
	{"rate limiting", fail(429), "status 429: staying away for 5m0s"},
	{"rate limiting for less than it does", fail(429, "Retry-After: 1"), "status 429: staying away for 5m0s"},
	{"rate limiting for longer", fail(429, "Retry-After: 420"), "status 429: staying away for 7m0s"},
	{"rate limiting until a date", fail(429, "Retry-After: Sat, 01 Jan 2050 00:00:00 GMT"), "status 429: staying away for 1h0m0s"},
	{"rate limiting since a date", fail(429, "Retry-After: Sat, 01 Jan 1994 00:00:00 GMT"), "status 429: staying away for 5m0s"},
	{"rate limiting for ever", fail(429, "Retry-After: 99999999999999999999"), "status 429: staying away for 1h0m0s"},
	{"rate limiting for nonsense", fail(429, "Retry-After: -3 apples"), "status 429: staying away for 5m0s"},
	{"broken", fail(500), "status 500"},
	{"not there", fail(404), "status 404"},
	{"redirecting", fail(302, "Location: /v2/burn/USDC/fees/elsewhere"), "status 302"},
	{"redirecting to nowhere", fail(302, "Location: http://%zz"), "unreachable"},
	{"accepting", fail(202), "status 202"},
	{"empty", say(""), "the answer is not the expected JSON"},
	{"HTML", say("<!DOCTYPE html><html><body>Please wait</body></html>"), "the answer is not the expected JSON"},
	{"half an answer", say(`[{"finalityThreshold":1000,"minimumFee":1.3`), "the answer is not the expected JSON"},
	{"two answers", say(`[{"finalityThreshold":1000,"minimumFee":1.3}][]`), "the answer is not the expected JSON"},
	{"an object", say(`{"finalityThreshold":1000,"minimumFee":1.3}`), "the answer is not the expected JSON"},
	{"numbers", say(`[1000, 1.3]`), "the answer is not the expected JSON"},
	{"deeply nested", say(strings.Repeat("[", 60_000)), "the answer is not the expected JSON"},
	{"null", say("null"), "no row for threshold 1000 or 2000"},
	{"no rows", say("[]"), "no row for threshold 1000 or 2000"},
	{"no row that counts", say(`[{"finalityThreshold":3000,"minimumFee":1.3},{"finalityThreshold":{},"minimumFee":1},null,{},{"minimumFee":1}]`), "no row for threshold 1000 or 2000"},
	{"no fee", say(`[{"finalityThreshold":1000}]`), "the fee is not a decimal number such as 1.3"},
	{"null fee", charge("null"), "the fee is not a decimal number such as 1.3"},
	{"a fee in words", charge(`"none"`), "the fee is not a decimal number such as 1.3"},
	{"not a number", charge(`"NaN"`), "the fee is not a decimal number such as 1.3"},
	{"infinite", charge(`"Infinity"`), "the fee is not a decimal number such as 1.3"},
	{"a list of fees", charge("[1.3]"), "the fee is not a decimal number such as 1.3"},
	{"negative", charge("-1"), "the fee is negative"},
	{"a negative string", charge(`"-0.5"`), "the fee is negative"},
	{"absurd", charge("101"), "the fee is above 100 basis points"},
	{"just absurd", charge("100.0000000000000000001"), "the fee is above 100 basis points"},
	{"absurdly large", charge("1e400"), "the fee is above 100 basis points"},
	{"a number of 50 digits", charge(strings.Repeat("7", 50)), "the fee is above 100 basis points"},
	{"a number of 60000 digits", charge("1." + strings.Repeat("3", 60_000)), "the fee is longer than 64 characters"},
	{"a negative fee at 2000", say(`[{"finalityThreshold":1000,"minimumFee":1},{"finalityThreshold":2000,"minimumFee":-1}]`), "the fee is negative"},
	{"an absurd fee at 2000", say(`[{"finalityThreshold":2000,"minimumFee":101},{"finalityThreshold":1000,"minimumFee":1}]`), "the fee is above 100 basis points"},
	{"a fee in words at 2000", say(`[{"finalityThreshold":1000,"minimumFee":1},{"finalityThreshold":2000,"minimumFee":"NaN"}]`), "the fee is not a decimal number such as 1.3"},
	{"one row good and one absurd", say(`[{"finalityThreshold":1000,"minimumFee":1},{"finalityThreshold":1000,"minimumFee":-1}]`), "the fee is negative"},
	{"nothing to pay", charge("0"), "the fee is 0, though this source charges for fast transfers"},
	{"nothing to pay as a string", charge(`"0.0"`), "the fee is 0, though this source charges for fast transfers"},
	{"nothing to pay at 1000", say(`[{"finalityThreshold":1000,"minimumFee":0},{"finalityThreshold":2000,"minimumFee":1}]`),
		"the fee is 0, though this source charges for fast transfers"},
	{"no row for 1000", say(`[{"finalityThreshold":2000,"minimumFee":1}]`),
		"no row for threshold 1000, though this source charges for fast transfers"},
	{"flooding", flood, "the answer is larger than 65536 bytes"},
	{"one byte too large", say(`[{"finalityThreshold":1000,"minimumFee":77}]` + strings.Repeat(" ", 65536+1-44)), "the answer is larger than 65536 bytes"},
}

// TestOutages starts in an outage, and has another once the service was well.
func TestOutages(t *testing.T) {
	for _, outage := range outages {
		t.Run(outage.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := startService(t, outage.behave)
				f, log := s.fees(t)
				time.Sleep(allTimeOut())
				wantRate(t, f, linea, "13")
				wantOrigin(t, f, linea, cctp.BuiltIn, outage.reason)

				s.become(charge("7"))
				untilLive(t, f, linea)
				wantRate(t, f, linea, "7")
				s.become(outage.behave)
				time.Sleep(5*time.Minute - state(t, f, linea).Age - time.Nanosecond)
				wantRate(t, f, linea, "7")
				wantOrigin(t, f, linea, cctp.Live, outage.reason)
				time.Sleep(time.Nanosecond)
				wantOrigin(t, f, linea, cctp.LastGood, outage.reason)
				time.Sleep(5 * time.Minute)
				wantRate(t, f, linea, "7")
				wantOrigin(t, f, linea, cctp.LastGood, outage.reason)

				s.become(charge("8"))
				untilLive(t, f, linea)
				wantRate(t, f, linea, "8")
				synctest.Wait() // the log comes after the rate
				if got := log.levels(linea); got != "WARN INFO WARN INFO" {
					t.Errorf("got %q in the log, want each outage to begin and end once:\n%s", got, log)
				}
			})
		})
	}
}

// untilLive waits for the longest block and a renewal, at most.
func untilLive(t *testing.T, f *cctp.Fees, source chain.ID) {
	t.Helper()
	for start := time.Now(); time.Since(start) < 62*time.Minute; time.Sleep(time.Second) {
		if state(t, f, source).Origin == cctp.Live {
			wantOrigin(t, f, source, cctp.Live, "")
			return
		}
	}
	t.Fatalf("chain %s did not become live again", source)
}

// TestAServiceThatDoesNotEvenRefuse drops what is sent to it, as a firewall
// does. No attempt to connect outlives the Fees, or the bubble says so.
func TestAServiceThatDoesNotEvenRefuse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startService(t, charge("7"))
		s.deaf = true
		start := time.Now()
		f, _ := s.fees(t)
		if waited := time.Since(start); waited != 5*time.Second {
			t.Errorf("waited %s, want five seconds", waited)
		}
		time.Sleep(allTimeOut())
		for _, source := range sources() {
			wantOrigin(t, f, source, cctp.BuiltIn, "no answer within 5s")
		}
	})
}

func TestAnswersInOtherWords(t *testing.T) {
	tests := []struct{ name, body, want string }{
		{"as documented", `[{"finalityThreshold":1000,"minimumFee":1.3},{"finalityThreshold":2000,"minimumFee":0}]`, "1.3"},
		{"the other order", `[{"finalityThreshold":2000,"minimumFee":0},{"finalityThreshold":1000,"minimumFee":1.3}]`, "1.3"},
		{"strings", `[{"finalityThreshold":"2000","minimumFee":"0"},{"finalityThreshold":"1000","minimumFee":"1.3"}]`, "1.3"},
		{"more fields", `[{"forwardFee":{"low":1,"med":2},"finalityThreshold":1000,"minimumFee":1.3}]`, "1.3"},
		{"no row for 2000", `[{"finalityThreshold":1000,"minimumFee":1.3}]`, "1.3"},
		{"the higher as a number, not as text", `[{"finalityThreshold":1000,"minimumFee":9},{"finalityThreshold":2000,"minimumFee":10}]`, "10"},
		{"nonsense in a row that does not matter", `[{"finalityThreshold":3000,"minimumFee":"soon"},{"finalityThreshold":{},"minimumFee":-1},{"finalityThreshold":1000,"minimumFee":1.3}]`, "1.3"},
		{"exponents", `[{"finalityThreshold":1000,"minimumFee":13e-1}]`, "1.3"},
		{"50 digits", `[{"finalityThreshold":1000,"minimumFee":1.3` + strings.Repeat("0", 48) + `}]`, "1.3"},
		{"50 digits that round up", `[{"finalityThreshold":1000,"minimumFee":1.3` + strings.Repeat("0", 47) + `4}]`, "1.300000001"},
		{"the most that is believed", `[{"finalityThreshold":1000,"minimumFee":100}]`, "100"},
		{"fast transfers twice", `[{"finalityThreshold":1000,"minimumFee":1.3},{"finalityThreshold":1000,"minimumFee":1.4},{"finalityThreshold":1000,"minimumFee":0}]`, "1.4"},
		{"as large as can be", `[{"finalityThreshold":1000,"minimumFee":1.3}]` + strings.Repeat(" ", 65536-45), "1.3"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, _ := startService(t, say(tt.body)).fees(t)
				wantRate(t, f, linea, tt.want)
				wantOrigin(t, f, linea, cctp.Live, "")
			})
		})
	}
}

// TestSourcesWithoutFastTransfers: there, the row for 1000 may be missing or 0. What
// is an answer for them is none for a source that charges for fast transfers.
func TestSourcesWithoutFastTransfers(t *testing.T) {
	tests := []struct{ name, body, want string }{
		{"nothing to pay at 1000", `[{"finalityThreshold":1000,"minimumFee":0},{"finalityThreshold":2000,"minimumFee":1}]`, "1"},
		{"nothing to pay at 1000, the other order", `[{"finalityThreshold":2000,"minimumFee":1},{"finalityThreshold":1000,"minimumFee":0}]`, "1"},
		{"no row for 1000", `[{"finalityThreshold":2000,"minimumFee":1}]`, "1"},
		{"no row for 1000, strings", `[{"finalityThreshold":"2000","minimumFee":"1"}]`, "1"},
		{"nothing to pay", `[{"finalityThreshold":1000,"minimumFee":0}]`, "0"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, _ := startService(t, say(tt.body)).fees(t)
				wantRate(t, f, polygon, tt.want)
				wantOrigin(t, f, polygon, cctp.Live, "")
				for source, builtIn := range map[chain.ID]string{linea: "13", optimism: "1.3"} {
					wantRate(t, f, source, builtIn)
					if got := state(t, f, source); got.Origin != cctp.BuiltIn || got.Err == nil {
						t.Errorf("chain %s: got %+v, want the table", source, got)
					}
				}
			})
		})
	}
}

// TestFeesThatAreTooHigh: a fee that is not believed leaves the last good rate or the
// table. If that is 0, the source is marked until the service tells a fee that is.
func TestFeesThatAreTooHigh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startService(t, charge("101"))
		f, _ := s.fees(t)
		for i, step := range []struct {
			behave         http.HandlerFunc
			polygon, linea string
			tooHigh        bool // for polygon; the table has a fee for linea
		}{
			{charge("101"), "0", "13", true},
			{fail(500), "0", "13", true},
			{charge("2"), "2", "2", false},
			{charge("101"), "2", "2", false},
			{charge("0"), "0", "2", false}, // none for linea, which charges
			{charge("101"), "0", "2", true},
			{charge("100"), "100", "100", false},
		} {
			s.become(step.behave)
			time.Sleep(time.Minute)
			synctest.Wait()
			wantRate(t, f, polygon, step.polygon)
			wantRate(t, f, linea, step.linea)
			if got := f.Of(polygon).TooHigh; got != step.tooHigh || f.Of(linea).TooHigh {
				t.Errorf("step %d: too high is %v, want %v, and never for linea", i+1, got, step.tooHigh)
			}
		}
	})
}
