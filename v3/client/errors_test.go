package client

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// TestAlternatives reads them as the gateway writes them.
func TestAlternatives(t *testing.T) {
	data, err := os.ReadFile(goldens + "v3/error-pair-same-chain.http")
	if err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(string(data), "\n{")
	c := newClient(t, (&fakeGateway{}).serve(t, says(400, "{"+body)))
	_, err = c.Quote(t.Context(), read(t, "v3", "pair-usdc-1-to-usdc-369").request)
	want := []Alternative{{"369", "USDC"}, {"69696969", "USDC"}, {"96969696", "USDC"}}
	if got := wantCode(t, err, UnsupportedPair).Alternatives; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
