package cctp_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/shared/cctp"
	"github.com/quotegate/quotegate/shared/chain"
)

var burnTx = common.HexToHash("0xB0B")

// issuer is the service behind an address with a secret in it. It gives the fees
// of all sources, and answers questions for messages as the test says.
func issuer(t *testing.T, messages http.HandlerFunc) *cctp.Fees {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /s3cret/v2/burn/", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `[{"finalityThreshold":1000,"minimumFee":1}]`)
	})
	mux.HandleFunc("GET /s3cret/v2/messages/{domain}", messages)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	fees, err := cctp.New(cctp.Config{FeeURL: server.URL + "/s3cret"}, chain.Reference().Settlement, slog.New(slog.DiscardHandler), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(fees.Close)
	return fees
}

func says(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}
}

func TestMessages(t *testing.T) {
	t.Parallel()
	signed := `"attestation":"0x` + strings.Repeat("ab", 65) + `"`
	const waiting = `{"message":"0x","attestation":"PENDING","status":"pending_confirmations"}`
	for name, test := range map[string]struct {
		body string
		want []cctp.Message
	}{
		"none":     {`{"messages":[]}`, nil},
		"pending":  {`{"messages":[{"message":"0x","eventNonce":"0x1","attestation":"PENDING","status":"pending_confirmations","cctpVersion":2,"delayReason":null}]}`, []cctp.Message{{State: cctp.Waiting}}},
		"null":     {`{"messages":[{"message":null,"attestation":"PENDING","status":"pending_confirmations","decodedMessage":null}]}`, []cctp.Message{{State: cctp.Waiting}}},
		"delayed":  {`{"messages":[{"message":"0x","attestation":"PENDING","status":"pending_confirmations","delayReason":"insufficient_fee"}]}`, []cctp.Message{{State: cctp.Waiting, Delay: "insufficient_fee"}}},
		"complete": {`{"messages":[{"message":"0x0102",` + signed + `,"status":"complete","delayReason":"insufficient_fee"}]}`, []cctp.Message{{State: cctp.Complete, Message: []byte{1, 2}}}},
		"a new state": {`{"messages":[{"message":"0x01","attestation":"PENDING","status":"under_review","delayReason":"<b>"}]}`,
			[]cctp.Message{{State: cctp.Waiting, Message: []byte{1}}}},
		"as many as are read": {`{"messages":[` + strings.Repeat(waiting+",", 99) + waiting + `]}`, slices.Repeat([]cctp.Message{{State: cctp.Waiting}}, 64)},
		"two": {`{"messages":[{"message":"0x01",` + signed + `,"status":"complete"},{"message":"0x","attestation":"PENDING","status":"pending_confirmations"}]}`,
			[]cctp.Message{{State: cctp.Complete, Message: []byte{1}}, {State: cctp.Waiting}}},
	} {
		t.Run(name, func(t *testing.T) {
			fees := issuer(t, func(w http.ResponseWriter, r *http.Request) {
				if r.PathValue("domain") != "2" || r.URL.Query().Get("transactionHash") != burnTx.Hex() {
					t.Errorf("asked for %s", r.URL)
				}
				fmt.Fprint(w, test.body)
			})
			got, err := fees.Messages(t.Context(), 2, burnTx)
			if err != nil || len(got) != len(test.want) {
				t.Fatalf("got %+v, %v, want %+v", got, err, test.want)
			}
			for i, m := range got {
				if w := test.want[i]; m.State != w.State || m.Delay != w.Delay || !bytes.Equal(m.Message, w.Message) {
					t.Errorf("got %+v, want %+v", m, w)
				}
			}
		})
	}
}

// What is no answer is an error with a text for clients, which tells nothing of
// the service's address and repeats nothing that it sent.
func TestMessagesFail(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		answer http.HandlerFunc
		says   string
	}{
		"internal error":        {says(500, "oops"), "status 500"},
		"bad request":           {says(400, "oops"), "status 400"},
		"redirect":              {http.RedirectHandler("/elsewhere", http.StatusFound).ServeHTTP, "status 302"},
		"no JSON":               {says(200, "oops"), "not the expected JSON"},
		"another document":      {says(200, `[]`), "not the expected JSON"},
		"no messages":           {says(200, `{"error":"oops"}`), "not the expected JSON"},
		"no hexadecimal":        {says(200, `{"messages":[{"message":"oops","attestation":"0x01","status":"complete"}]}`), "not hexadecimal"},
		"complete but unsigned": {says(200, `{"messages":[{"message":"0x01","attestation":"PENDING","status":"complete"}]}`), "complete without being signed"},
		"complete but empty":    {says(200, `{"messages":[{"message":"0x","attestation":"0x01","status":"complete"}]}`), "complete without being signed"},
		"complete but blank": {
			says(200, `{"messages":[{"message":"0x01","attestation":"0x","status":"complete"}]}`), "complete without being signed",
		},
		"too long": {says(200, `{"messages":[`+strings.Repeat(" ", 256<<10)), "larger than"},
		"drops":    {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "unreachable"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := issuer(t, test.answer).Messages(t.Context(), 2, burnTx)
			if err == nil || !strings.Contains(err.Error(), test.says) || strings.Contains(err.Error(), "s3cret") || strings.Contains(err.Error(), "oops") {
				t.Errorf("got %v, want it to say %q and no more", err, test.says)
			}
		})
	}
	fees, err := cctp.New(cctp.Config{}, chain.Reference().Settlement, slog.New(slog.DiscardHandler), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(fees.Close)
	if fees.Configured() || !issuer(t, says(404, "")).Configured() {
		t.Error("the issuer can be asked where its address is configured, and nowhere else")
	}
	if _, err := fees.Messages(t.Context(), 2, burnTx); err == nil || !strings.Contains(err.Error(), "the issuer's service is not configured") {
		t.Errorf("got %v", err)
	}
}

// A transaction that the issuer has not seen is no failure.
func TestMessagesUnseen(t *testing.T) {
	t.Parallel()
	got, err := issuer(t, says(404, `{"code":404,"error":"Message not found"}`)).Messages(t.Context(), 2, burnTx)
	if err != nil || len(got) != 0 {
		t.Errorf("got %+v, %v, want nothing", got, err)
	}
}

// Once the service blocks us, it is not asked again, for messages nor for fees.
func TestMessagesBlocked(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	fees := issuer(t, func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.WriteHeader(http.StatusTooManyRequests)
	})
	for range 3 {
		if _, err := fees.Messages(t.Context(), 2, burnTx); err == nil || !strings.Contains(err.Error(), "backing off") {
			t.Errorf("got %v", err)
		}
	}
	if asked.Load() != 1 {
		t.Errorf("the service was asked %d times while it blocks us", asked.Load())
	}
}

// Many questions at once wait for their turn, and the last are refused.
func TestMessagesPace(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	fees := issuer(t, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	errs := make(chan error, 150)
	for range cap(errs) {
		go func() {
			_, err := fees.Messages(ctx, 2, burnTx)
			errs <- err
		}()
	}
	refused := 0
	for range 20 { // others may have begun a moment later, and have had a turn
		if err := <-errs; err != nil && strings.Contains(err.Error(), "too many requests are queued") {
			refused++
		}
	}
	if refused < 20 {
		t.Errorf("%d of 20 questions were refused at once, want those without a turn in ten seconds", refused)
	}
	cancel()
	for range cap(errs) - 20 {
		if err := <-errs; err == nil || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	}
}

// Whoever gives up waits no longer for a slow service.
func TestMessagesGiveUp(t *testing.T) {
	t.Parallel()
	ctx, giveUp := context.WithCancel(t.Context())
	fees := issuer(t, func(_ http.ResponseWriter, r *http.Request) {
		giveUp()
		<-r.Context().Done()
	})
	if _, err := fees.Messages(ctx, 2, burnTx); err == nil || !strings.Contains(err.Error(), "unreachable") {
		t.Errorf("got %v", err)
	}
	if _, err := fees.Messages(ctx, 2, burnTx); err == nil {
		t.Error("who gave up before got an answer")
	}
}
