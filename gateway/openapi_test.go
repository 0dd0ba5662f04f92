package gateway_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/quotegate/quotegate/gateway"
	"github.com/quotegate/quotegate/gateway/testkit/golden"
	"github.com/quotegate/quotegate/shared/fault"
)

// TestVersionsKeepTheContract validates the document of all versions, with a
// plan in force and without one.
func TestVersionsKeepTheContract(t *testing.T) {
	for name, cfg := range map[string]gateway.Config{"no plan": {}, "a plan": {LifecycleFile: writePlan(t, old(t).Name)}} {
		t.Run(name, func(t *testing.T) {
			gw := mount(t, setup{Config: cfg})
			r := httptest.NewRequest("GET", "/versions", nil)
			w := httptest.NewRecorder()
			gw.ServeHTTP(w, r)
			golden.ReadContract(t, gw, gateway.Current).Check(t, r, w)
			if w.Code != http.StatusOK {
				t.Errorf("got %d", w.Code)
			}
		})
	}
}

// TestContractsListEveryCode makes sure that a client generated from the
// contract knows every code it can meet.
func TestContractsListEveryCode(t *testing.T) {
	gw := newGateway(t)
	ofIntegrators := []fault.Code{
		fault.InvalidIntegrator, fault.IntegratorUnregistered, fault.IntegratorInactive,
		fault.IntegratorFeeTooHigh, fault.IntegratorUnverified,
	}
	ofStatus := []fault.Code{fault.StatusUnavailable, fault.ChainUnavailable}
	for _, m := range modules() {
		contract := golden.ReadContract(t, gw, m.Name).Doc.Components
		schemas := contract.Schemas
		var without []fault.Code
		if contract.Parameters["Integrator"] == nil {
			without = append(without, ofIntegrators...)
		}
		if contract.Schemas["Status"] == nil {
			without = append(without, ofStatus...)
		}
		listed := schemas["KnownErrorCode"].Value.Enum
		for _, code := range fault.Codes() {
			if slices.Contains(without, code) {
				continue
			}
			if !slices.Contains(listed, any(string(code))) {
				t.Errorf("%s: the contract does not list %s", m.Name, code)
			}
		}
		for _, code := range listed {
			if !slices.Contains(fault.Codes(), fault.Code(code.(string))) {
				t.Errorf("%s: the contract lists %s, which does not exist", m.Name, code)
			}
		}
		reasons := []any{
			"ZERO", "CHECKSUM", "NAME", "CONTRACT", "TOKEN", "RESERVED", "PRIVATE_ON_PUBLIC", "PUBLIC_ON_PRIVATE", "MALFORMED",
		}
		if got := schemas["RecipientReason"].Value.Enum; !slices.Equal(got, reasons) {
			t.Errorf("%s: the contract lists the reasons %v, want %v", m.Name, got, reasons)
		}
	}
}
