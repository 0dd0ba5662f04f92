package api

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fee"
	"github.com/quotegate/quotegate/shared/rpc"
)

// oneEach follows swaps with one endpoint of chain 1, and none of chain 56.
type oneEach struct{ Tracker }

func (oneEach) Untracked() []chain.ID      { return []chain.ID{56} }
func (oneEach) SingleEndpoint() []chain.ID { return []chain.ID{1} }

// The health check lists the chains whose only endpoint is trusted.
func TestHealthNamesSingleEndpoints(t *testing.T) {
	s := Service{
		Tracker:    oneEach{},
		Deployment: chain.Reference(),
		Registries: func() []rpc.Health { return nil },
		IssuerFees: func() []fee.IssuerFee { return nil },
		Problems:   func() []string { return nil },
	}
	w := httptest.NewRecorder()
	if err := s.Health(w, nil); err != nil {
		t.Fatal(err)
	}
	if got := w.Body.String(); !strings.Contains(got, `"untracked":[56],"singleEndpoint":[1]`) {
		t.Errorf("got %s", got)
	}
}
