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
	{"rate limiting", fail(429), "status 429: backing off for 5m0s"},
	{"rate limiting for longer", fail(429, "Retry-After: 420"), "status 429: backing off for 7m0s"},
	{"rate limiting for ever", fail(429, "Retry-After: 99999999999999999999"), "status 429: backing off for 1h0m0s"},
	{"broken", fail(500), "status 500"},
	{"not there", fail(404), "status 404"},
	{"redirecting", fail(302, "Location: /v2/burn/USDC/fees/elsewhere"), "status 302"},
	{"redirecting to nowhere", fail(302, "Location: http://%zz"), "unreachable"},
	{"accepting", fail(202), "status 202"},
	{"no rate", say("<html>"), "the answer is not the expected JSON"},
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
	for start := time.Now(); time.Since(start) < 62*time.Minute; time.Sleep(10 * time.Second) {
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

// TestLongestAnswer is as long as an answer may be.
func TestLongestAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const answer = `[{"finalityThreshold":1000,"minimumFee":1.3}]`
		f, _ := startService(t, say(answer+strings.Repeat(" ", 65536-len(answer)))).fees(t)
		wantRate(t, f, linea, "1.3")
		wantOrigin(t, f, linea, cctp.Live, "")
	})
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
