package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/quotegate/quotegate/cmd/devnet/reference"
	"github.com/quotegate/quotegate/cmd/internal/swap"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/v3/client"
)

// status is what the gateway says became of a transaction. Its nodes may answer too late on a busy machine: then it is
// asked again.
func (w *world) status(t *testing.T, src chain.ID, tx common.Hash) (s client.Status) {
	t.Helper()
	query := url.Values{"srcChain": {src.String()}, "txHash": {tx.Hex()}}
	code, body := w.askStatus(t, query)
	for end := time.Now().Add(time.Minute); code == http.StatusServiceUnavailable && time.Now().Before(end); {
		time.Sleep(time.Second)
		code, body = w.askStatus(t, query)
	}
	err := json.Unmarshal(body, &s)
	if err != nil || code != http.StatusOK || string(s.TxHash) != tx.Hex() || s.SrcChain != src.String() {
		t.Fatalf("got %d %s (%v)", code, body, err)
	}
	return s
}

func (w *world) askStatus(t *testing.T, query url.Values) (code int, body []byte) {
	t.Helper()
	response, err := http.Get(w.gateway.URL + "/v3/swap/status?" + query.Encode())
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if body, err = io.ReadAll(response.Body); err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, body
}

// wantSettling wants the status of a swap that nobody has settled yet.
func (w *world) wantSettling(t *testing.T, s swap.Swap, receipt *types.Receipt) {
	t.Helper()
	got := w.status(t, s.Src, receipt.TxHash)
	equal(t, "state before the settlement", got.State, "SETTLING")
	equal(t, "final", got.Final, false)
	equal(t, "whether it is a burn", got.Burn != nil, s.Route == chain.CCTPInbound)
	equal(t, "whether there is a settlement", got.Settlement != nil, false)
}

// wantStatus wants the gateway to find what became of a settled swap. An answer from before the settlement may be kept
// for a block time.
func (w *world) wantStatus(t *testing.T, s swap.Swap, receipt *types.Receipt, payout *reference.Payout) {
	t.Helper()
	got := w.status(t, s.Src, receipt.TxHash)
	for got.State == "SETTLING" && t.Context().Err() == nil {
		time.Sleep(time.Duration(got.NextCheckSeconds) * time.Second)
		got = w.status(t, s.Src, receipt.TxHash)
	}
	equal(t, "state", got.State, "SETTLED")
	equal(t, "final", got.Final, true)
	if got.Swap == nil || got.Source == nil {
		t.Fatalf("it does not say what was swapped, or where: %+v", got)
	}
	equal(t, "destination", got.Swap.DstChain, s.Dst)
	equal(t, "destination token", got.Swap.DstToken, s.DstToken.Address)
	equal(t, "amount", got.Swap.Amount, s.Amount)
	equal(t, "block", got.Source.BlockNumber, receipt.BlockNumber)
	if s.Integrator != (common.Address{}) {
		equal(t, "integrator", got.Swap.IntegratorID, common.BytesToHash(s.Integrator[:]))
	}
	if got.Settlement == nil {
		t.Fatal("there is no settlement")
	}
	paid := payout.Receipt
	if payout.Mint != nil {
		paid = payout.Mint
	}
	equal(t, "transaction of the settlement", got.Settlement.TxHash, paid.TxHash)
	equal(t, "chain of the settlement", got.Settlement.ChainID, s.Dst.Network())
	equal(t, "amount of the settlement", got.Settlement.Amount, payout.Settlement.Amount)
	if s.Dst.Private() {
		note, err := reference.FindShielded(payout.Receipt)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "note", got.Settlement.Note, common.Hash(note.NPK))
		equal(t, "recipient", got.Swap.Recipient, common.Hash(note.NPK))
		equal(t, "type of the recipient", got.Swap.RecipientType, 2)
	} else {
		equal(t, "recipient", got.Swap.Recipient, s.Recipient)
	}
}

// firstOfKind tells whether a swap is the first that is seen of its kind: through pools, by a burn, onward to a chain
// without a pool, into and out of a privacy pool.
func (w *world) firstOfKind(s swap.Swap, payout chain.ID) bool {
	kind := struct {
		route        chain.Route
		in, out, far bool
	}{s.Route, s.Dst.Private(), s.Src.Private(), payout != s.Dst.Network()}
	_, seen := w.kinds.LoadOrStore(kind, true)
	return !seen
}
