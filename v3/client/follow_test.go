package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/v3/client/internal/known"
)

var sentTx = common.HexToHash("0x8a17a5b4c2d3e6f708192a3b4c5d6e7f8091a2b3c4d5e6f708192a3b4c5d6e7f")

// A scripted gateway gives one answer after the other about a transaction; the last one again and again.
type scripted []string

// An answer is a status, or a refusal such as "429 Retry-After: 7", or "gone", which is no answer.
func (answers scripted) serve(t *testing.T) *Client {
	t.Helper()
	var asked atomic.Int64 // a connection that breaks does not order its handler before the next
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if got := r.URL.Query().Get("txHash"); r.URL.Path != "/v3/swap/status" || got != sentTx.Hex() {
			t.Errorf("asked for %s", r.URL)
		}
		answer := answers[min(int(asked.Add(1)), len(answers))-1]
		if answer == "gone" {
			panic(http.ErrAbortHandler)
		}
		if strings.HasPrefix(answer, "{") {
			_, _ = io.WriteString(w, answer)
			return
		}
		var status int
		if _, err := fmt.Sscan(answer, &status); err != nil {
			t.Error(err)
		}
		if _, seconds, ok := strings.Cut(answer, "Retry-After: "); ok {
			w.Header().Set("Retry-After", seconds)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, `{"error":"Not now","code":"SOME_CODE","requestId":"7"}`)
	}))
	t.Cleanup(server.Close)
	return newClient(t, server.URL)
}

var dstChains = regexp.MustCompile(`"dstChain":"(\d+)"`)

// stateOf is an answer about the transaction, with more fields, and with those that its state needs.
func stateOf(state string, final bool, more string) string {
	if state != NotFound && state != Pending {
		more += `,"source":{"blockNumber":12,"confirmations":9,"timestamp":"2026-11-15T12:00:00Z"}`
	}
	if state == Settled && !strings.Contains(more, `"settlement"`) {
		network := uint64(369)
		if found := dstChains.FindStringSubmatch(more); found != nil {
			id, _ := strconv.ParseUint(found[1], 10, 64)
			network = known.Network(id)
		}
		more += fmt.Sprintf(`,"settlement":{"chainId":%d,"amount":"1","arrived":"1"}`, network)
	}
	return fmt.Sprintf(`{"state":%q,"final":%v,"srcChain":"1","txHash":%q,"nextCheckSeconds":4%s}`, state, final, sentTx, more)
}

// swapFields is what the gateway says was swapped.
func swapFields(t *testing.T, q *Checked) string {
	t.Helper()
	swap := q.inStatus()
	return fmt.Sprintf(`,"swap":{"dstChain":"%d","dstToken":%q,"recipient":%q,"recipientType":%d,"amount":%q}`,
		q.Pair.DstChain, q.Pair.DstToken.Address, swap.Recipient, swap.RecipientType, q.Request.Amount.String())
}

// follow follows the transaction, and gives up after so many pauses. It tells what changed, the last status, and the error.
func follow(t *testing.T, c *Client, sent Sent, pauses int) (last *Status, told []string, waits []time.Duration, err error) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	tell := func(what string) {
		if len(told) == 0 || told[len(told)-1] != what {
			told = append(told, what)
		}
	}
	sent.OnRetry = func(err error, _ time.Duration) { tell("no answer for now: " + err.Error()) }
	pause := func(ctx context.Context, d time.Duration) error {
		waits = append(waits, d)
		if len(waits) >= pauses {
			cancel(errors.New("the time is up"))
		}
		return context.Cause(ctx)
	}
	for status, err := range c.follow(ctx, sent, pause) {
		if err != nil {
			return last, told, waits, err
		}
		last = status
		tell(status.String())
	}
	return last, told, waits, nil
}

const settledTx = "0x1111111111111111111111111111111111111111111111111111111111111111"

func TestFollow(t *testing.T) {
	q := checkedQuote(t, "direct")
	swap := swapFields(t, q)
	settled := `,"settlement":{"chainId":369,"txHash":"` + settledTx + `","amount":"` + q.Dest.String() + `","arrived":"1"}`
	const paid = "SETTLED: paid out with " + settledTx + " on chain 369"
	tests := map[string]struct {
		answers scripted
		state   string // at the end; empty for an error
		says    string // the error
		told    []string
		waits   []time.Duration // in seconds
	}{
		"to the end": {
			scripted{
				stateOf(NotFound, false, ""), stateOf(Pending, false, ""), stateOf(Pending, false, `,"source":{"blockNumber":12,"confirmations":1,"timestamp":"2026-11-15T12:00:00Z"}`+swap),
				stateOf(Pending, false, `,"source":{"blockNumber":12,"confirmations":2,"timestamp":"2026-11-15T12:00:00Z"}`+swap), stateOf(Settling, false, swap),
				stateOf(Settled, false, swap+settled), stateOf(Settled, true, swap+settled),
			}, Settled, "",
			[]string{
				"NOT_FOUND: no node of the gateway knows the transaction yet", "PENDING: not in a block yet",
				"PENDING: in block 12, waiting for confirmations", "SETTLING: paid for, not paid out yet",
				paid + "; not final yet", paid,
			},
			[]time.Duration{4, 4, 4, 4, 4, 4},
		},
		"a burn": {
			scripted{
				stateOf(Settling, false, swap+`,"burn":{"domain":0,"attested":false,"attestationState":"pending_confirmations"}`),
				stateOf(Settling, false, swap+`,"burn":{"domain":0,"attested":false,"attestationState":"pending_confirmations","reason":"insufficient_fee"}`),
				stateOf(Settling, false, swap+`,"burn":{"domain":0,"nonce":"`+settledTx+`","attested":true,"attestationState":"complete"}`),
				stateOf(Settled, true, swap),
			}, Settled, "",
			[]string{
				`SETTLING: paid for, not paid out yet; the issuer has not attested the burn: "pending_confirmations"`,
				`SETTLING: paid for, not paid out yet; the issuer has not attested the burn: "pending_confirmations"; reason: "insufficient_fee"`,
				"SETTLING: paid for, not paid out yet; the issuer has attested the burn", "SETTLED: paid out",
			},
			[]time.Duration{4, 4, 4},
		},
		"reverted": {
			scripted{stateOf(Failed, false, ""), stateOf(Failed, true, `,"reason":"allowance too low\u001b[2J"`)}, Failed, "",
			[]string{
				"FAILED: the transaction reverted, and swapped nothing; not final yet",
				`FAILED: the transaction reverted, and swapped nothing; reason: "allowance too low�[2J"`,
			},
			[]time.Duration{4},
		},
		"no swap":                 {scripted{stateOf(NotASwap, true, "")}, NotASwap, "", []string{"NOT_A_SWAP: the transaction swapped nothing through the contracts of this gateway"}, nil},
		"cannot be settled":       {scripted{stateOf(Settling, false, swap+`,"reason":"no pool pays it"`)}, "", "the time is up", []string{`SETTLING: paid for, not paid out yet; reason: "no pool pays it"`}, []time.Duration{4, 4, 4, 4, 4, 4, 4, 4}},
		"stuck":                   {scripted{stateOf(Pending, false, "")}, "", "the time is up", []string{"PENDING: not in a block yet"}, []time.Duration{4, 4, 4, 4, 4, 4, 4, 4}},
		"settled, and not final":  {scripted{stateOf(Settled, false, swap)}, "", "the time is up", []string{"SETTLED: paid out; not final yet"}, []time.Duration{4, 4, 4, 4, 4, 4, 4, 4}},
		"a reorganisation":        {scripted{stateOf(Settled, false, swap), stateOf(Settling, false, swap)}, "", "the time is up", []string{"SETTLED: paid out; not final yet", "SETTLING: paid for, not paid out yet"}, []time.Duration{4, 4, 4, 4, 4, 4, 4, 4}},
		"impatient and patient":   {scripted{strings.Replace(stateOf(Pending, false, ""), "Seconds\":4", "Seconds\":0", 1), strings.Replace(stateOf(Pending, false, ""), "Seconds\":4", "Seconds\":100000", 1), stateOf(Settled, true, swap)}, Settled, "", []string{"PENDING: not in a block yet", "SETTLED: paid out"}, []time.Duration{1, 3600}},
		"too many requests":       {scripted{"429 Retry-After: 7", "429 Retry-After: 60000", "429", stateOf(Settled, true, swap)}, Settled, "", []string{`no answer for now: the gateway refused: "Not now" ("SOME_CODE", request "7")`, "SETTLED: paid out"}, []time.Duration{7, 3600, 8}},
		"503 and 500":             {scripted{"503 Retry-After: 3", "500", stateOf(Settled, true, swap)}, Settled, "", []string{`no answer for now: the gateway refused: "Not now" ("SOME_CODE", request "7")`, "SETTLED: paid out"}, []time.Duration{3, 4}},
		"no status at all":        {scripted{"501"}, "", `the gateway refused: "Not now"`, nil, nil},
		"no such route":           {scripted{"404"}, "", `the gateway refused: "Not now"`, nil, nil},
		"another transaction":     {scripted{strings.Replace(stateOf(Settled, true, swap), sentTx.Hex(), settledTx, 1)}, "", "it is about transaction " + settledTx, nil, nil},
		"another chain":           {scripted{strings.Replace(stateOf(Settled, true, swap), `"srcChain":"1"`, `"srcChain":"56"`, 1)}, "", `it is about a transaction on chain "56", not 1`, nil, nil},
		"another recipient":       {scripted{stateOf(Settled, true, strings.Replace(swap, q.Request.Recipient, "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359", 1))}, "", `swap.recipient: got "0xfb69`, nil, nil},
		"another amount":          {scripted{stateOf(Settled, true, strings.Replace(swap, q.Request.Amount.String(), "1", 1))}, "", `swap.amount: got "1", want "123456789"`, nil, nil},
		"another token":           {scripted{stateOf(Settled, true, strings.Replace(swap, q.Pair.DstToken.Address.Hex(), "0x02DcdD04e3F455D838cd1249292C58f3B79e3C3C", 1))}, "", `swap.dstToken: got "0x`, nil, nil},
		"another destination":     {scripted{stateOf(Settled, true, strings.Replace(swap, `"dstChain":"369"`, `"dstChain":"56"`, 1))}, "", `swap.dstChain: got "56", want "369"`, nil, nil},
		"another kind":            {scripted{stateOf(Settled, true, strings.Replace(swap, `"recipientType":0`, `"recipientType":2`, 1))}, "", `swap.recipientType: got 2, want 0`, nil, nil},
		"an integrator":           {scripted{stateOf(Settled, true, strings.Replace(swap, `"swap":{`, `"swap":{"integratorId":"`+settledTx+`",`, 1))}, "", `swap.integratorId: got "0x1111`, nil, nil},
		"settled, nobody knows":   {scripted{stateOf(Settled, true, "")}, "", "it is SETTLED, but does not say what was swapped", nil, nil},
		"a state that is none":    {scripted{stateOf("REFUNDED", true, swap)}, "", `its state "REFUNDED" is unknown`, nil, nil},
		"gone, and there again":   {scripted{"gone", "gone", stateOf(Settled, true, swap)}, Settled, "", nil, []time.Duration{2, 4}},
		"numbers that are none":   {scripted{stateOf(Pending, false, `,"source":{"blockNumber":"\u001b[2J","confirmations":1,"timestamp":"2026-11-15T12:00:00Z"}`)}, "", "source.blockNumber of type uint64", nil, nil},
		"another service's words": {scripted{`{"message":"hello"}`}, "", "it is missing", nil, nil},
		"paid before it was sent": {scripted{stateOf(NotFound, false, `,"settlement":{"chainId":369,"amount":"1","arrived":"1"}`)}, "", "has a settlement if and only if it is SETTLED", nil, nil},
		"paid elsewhere":          {scripted{stateOf(Settled, true, swap+`,"settlement":{"chainId":56,"amount":"1","arrived":"1"}`)}, "", `settlement.chainId: got 56, want 369`, nil, nil},
		"final too early":         {scripted{stateOf(Settling, true, swap)}, "", "it is SETTLING, which cannot be final", nil, nil},
		"final and short":         {scripted{stateOf(Settled, true, swap+`,"settlement":{"chainId":369,"amount":"1","arrived":"1","short":{"swapped":"2","paid":"1"}}`)}, "", "it is final, but was not paid in full", nil, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			status, told, waits, err := follow(t, test.answers.serve(t), Sent{Hash: sentTx, Quote: q}, 8)
			if test.state == "" {
				wantError(t, err, test.says)
			} else if err != nil || status.State != test.state {
				t.Errorf("got %v and %v, want %s", status, err, test.state)
			}
			if test.told != nil && !slices.Equal(told, test.told) {
				t.Errorf("told %q\nwant %q", told, test.told)
			}
			for i := range test.waits {
				test.waits[i] *= time.Second
			}
			if !slices.Equal(waits, test.waits) {
				t.Errorf("waited %v, want %v", waits, test.waits)
			}
		})
	}
}

// TestFollowEverySignedSwap wants what was signed to be recognised, whatever it is, and nobody else's note for one's own.
func TestFollowEverySignedSwap(t *testing.T) {
	for _, name := range []string{"burn", "shield", "native", "unshield", "outbound-cctp"} {
		t.Run(name, func(t *testing.T) {
			q := checkedQuote(t, name)
			answer := strings.Replace(stateOf(Settled, true, swapFields(t, q)), `"srcChain":"1"`, fmt.Sprintf(`"srcChain":"%d"`, q.Pair.SrcToken.ChainID), 1)
			status, _, waits, err := follow(t, scripted{answer}.serve(t), Sent{Hash: sentTx, Quote: q}, 1)
			if err != nil || status.State != Settled || waits != nil {
				t.Errorf("got %v and %v, and waited %v", status, err, waits)
			}
		})
	}
	mine, other := checkedQuote(t, "shield"), checkedQuote(t, "shield")
	_, _, _, err := follow(t, scripted{stateOf(Settled, true, swapFields(t, other))}.serve(t), Sent{Hash: sentTx, Quote: mine}, 1)
	wantError(t, err, `swap.recipient: got "0x`)
}

// TestSentOn: the chain is that of the quote or the one that is given, and both must be the same network.
func TestSentOn(t *testing.T) {
	q, private := checkedQuote(t, "details"), checkedQuote(t, "details-unshield")
	for _, test := range []struct {
		sent Sent
		want uint64 // 0 if it is refused
	}{
		{Sent{}, 0},
		{Sent{SrcChain: 10}, 10},
		{Sent{SrcChain: known.PrivacyBNB}, 56},
		{Sent{Quote: q}, 1},
		{Sent{Quote: q, SrcChain: 1}, 1},
		{Sent{Quote: q, SrcChain: 56}, 0},
		{Sent{Quote: private, SrcChain: known.PrivacyEthereum}, 1},
		{Sent{Quote: private, SrcChain: known.PrivacyBNB}, 0},
	} {
		got, err := test.sent.network()
		if got != test.want || (err != nil) != (test.want == 0) {
			t.Errorf("%d and quote %v: got %d, %v", test.sent.SrcChain, test.sent.Quote != nil, got, err)
		}
		if err != nil {
			_, err = newClient(t, "https://gateway.example").Status(t.Context(), test.sent)
			wantCode(t, err, InvalidRequest)
		}
	}
}

func TestShort(t *testing.T) {
	q := checkedQuote(t, "direct")
	swap := new(StatusSwap)
	if err := json.Unmarshal([]byte(strings.TrimPrefix(swapFields(t, q), `,"swap":`)), swap); err != nil {
		t.Fatal(err)
	}
	paid := func(swap *StatusSwap, amount Amount) Progress {
		return Progress{State: Settled, Swap: swap, Settlement: &StatusSettlement{ChainID: 369, Amount: amount}}
	}
	for amount, want := range map[Amount]string{"123086419": "<nil>", "123086420": "<nil>", "123086418": "1", "0": "123086419"} {
		s := &Status{Progress: paid(swap, amount)}
		if got := fmt.Sprint(s.Short(q)); got != want {
			t.Errorf("%s: got %s, want %s", amount, got, want)
		}
	}
	first := paid(&StatusSwap{DstChain: "369"}, "1")
	several := &Status{Progress: first, Swaps: []Progress{first, paid(swap, "123086417")}}
	if got := fmt.Sprint(several.Short(q)); got != "2" {
		t.Errorf("got %s of several swaps, want 2", got)
	}
	if got := (&Status{Progress: Progress{State: Settling}}).Short(q); got != nil {
		t.Errorf("got %s of a swap that is not settled", got)
	}
}

// TestSeveralSwaps: a transaction may have other people's swaps beside the one that was signed, whose state counts.
func TestSeveralSwaps(t *testing.T) {
	q := checkedQuote(t, "direct")
	mine := strings.TrimPrefix(swapFields(t, q), ",")
	other := strings.Replace(mine, q.Request.Recipient, "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359", 1)
	const paid = `"settlement":{"chainId":369,"amount":"1","arrived":"1"}`
	answer := func(state, ofMine string, swap string) scripted {
		own := fmt.Sprintf(`{"state":%q,"final":%v,%s}`, ofMine, ofMine == Settled, swap)
		if ofMine == Settled {
			own = strings.TrimSuffix(own, "}") + "," + paid + "}"
		}
		first := fmt.Sprintf(`{"state":"SETTLED","final":true,%s,%s}`, other, paid)
		return scripted{stateOf(state, state == Settled, fmt.Sprintf(`,%s,%s,"swaps":[%s,%s]`, other, paid, first, own))}
	}
	sent := Sent{Hash: sentTx, Quote: q}
	if status, _, _, err := follow(t, answer(Settled, Settled, mine).serve(t), sent, 1); err != nil || status.State != Settled {
		t.Errorf("got %v and %v", status, err)
	}
	_, _, _, err := follow(t, answer(Settled, Settling, mine).serve(t), sent, 1)
	wantError(t, err, "it is SETTLED, but one of its swaps is SETTLING")
	_, _, _, err = follow(t, answer(Settled, Settled, other).serve(t), sent, 1)
	wantError(t, err, "none of its swaps is the one that was signed")
}

// TestLiesOnce: one lie among true answers is never given to the caller, who learns of it by its code.
func TestLiesOnce(t *testing.T) {
	q := checkedQuote(t, "direct")
	swap := swapFields(t, q)
	lie := strings.Replace(stateOf(Settled, true, swap), sentTx.Hex(), settledTx, 1)
	answers := scripted{stateOf(Settling, false, swap), lie, stateOf(Settling, false, swap)}
	last, told, _, err := follow(t, answers.serve(t), Sent{Hash: sentTx, Quote: q}, 8)
	if e := wantCode(t, err, Unverified); len(e.Problems) != 1 || last.State != Settling || len(told) != 1 {
		t.Errorf("got %q, %v and %v", told, last, err)
	}
	_, err = scripted{lie}.serve(t).Status(t.Context(), Sent{SrcChain: 1, Hash: sentTx})
	wantCode(t, err, Unverified)
	_, err = scripted{lie}.serve(t).Status(t.Context(), Sent{Hash: sentTx})
	wantCode(t, err, InvalidRequest)
}

// TestFollowReally waits for real, and stops when it is told to; also when its caller has seen enough.
func TestFollowReally(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := scripted{stateOf(Pending, false, "")}.serve(t)
	var got error
	for status, err := range c.Follow(ctx, Sent{SrcChain: 1, Hash: sentTx}) {
		if got = err; status != nil {
			cancel()
		}
	}
	if !errors.Is(got, context.Canceled) {
		t.Errorf("got %v, want that it was told to stop", got)
	}
	for range c.Follow(t.Context(), Sent{SrcChain: 1, Hash: sentTx}) {
		break
	}
}
