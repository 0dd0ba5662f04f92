package gateway_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"

	"github.com/quotegate/quotegate/gateway"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/web"
)

// contract is what a version promises, as it serves it.
func contract(t *testing.T, h http.Handler, m web.Module) (*openapi3.T, routers.Router) {
	t.Helper()
	status, body := get(t, h, "/"+m.Name+"/openapi.yaml")
	if status != http.StatusOK {
		t.Fatalf("%s: its contract is answered %d", m.Name, status)
	}
	doc, err := openapi3.NewLoader().LoadFromData(body)
	if err != nil {
		t.Fatalf("%s: %v", m.Name, err)
	}
	if err := doc.Validate(t.Context()); err != nil {
		t.Fatalf("%s: %v", m.Name, err)
	}
	router, err := gorillamux.NewRouter(doc)
	if err != nil {
		t.Fatalf("%s: %v", m.Name, err)
	}
	return doc, router
}

// TestGoldensKeepTheContract validates every golden, request and answer,
// against the contract file of its version.
func TestGoldensKeepTheContract(t *testing.T) {
	gw := newGateway(t)
	contracts := map[string]routers.Router{}
	for _, m := range modules() {
		_, contracts[m.Name] = contract(t, gw, m)
	}
	for _, g := range goldens(t) {
		t.Run(g.name(), func(t *testing.T) {
			w := httptest.NewRecorder()
			gw.ServeHTTP(w, g.newRequest(t))

			req := g.newRequest(t)
			if g.version == "v3legacy" && req.URL.Path == "/v3/swap/quote" {
				req.URL.Path = "/v3legacy/swap/quote" // the contract names the path of its own
			}
			route, params, err := contracts[g.version].FindRoute(req)
			if err != nil {
				if w.Code < 400 && req.Method == http.MethodGet {
					t.Fatalf("answered %d, but the contract has no such route: %v", w.Code, err)
				}
				return
			}
			input := &openapi3filter.RequestValidationInput{Request: req, PathParams: params, Route: route}
			if err := openapi3filter.ValidateRequest(t.Context(), input); w.Code == http.StatusOK && err != nil && !looserThanTheContract(g) {
				t.Errorf("the request was answered but breaks the contract: %v", err)
			}
			response := &openapi3filter.ResponseValidationInput{
				RequestValidationInput: input,
				Status:                 w.Code,
				Header:                 w.Result().Header,
				Body:                   io.NopCloser(bytes.NewReader(w.Body.Bytes())),
				Options:                &openapi3filter.Options{IncludeResponseStatus: true},
			}
			if err := openapi3filter.ValidateResponse(t.Context(), response); err != nil {
				t.Errorf("the answer breaks the contract: %v", err)
			}
		})
	}
}

// TestVersionsKeepTheContract validates the document of all versions, with a
// plan in force and without one.
func TestVersionsKeepTheContract(t *testing.T) {
	for name, cfg := range map[string]gateway.Config{"no plan": {}, "a plan": {LifecycleFile: writePlan(t, old(t).Name)}} {
		t.Run(name, func(t *testing.T) {
			gw := mount(t, setup{Config: cfg})
			_, router := contract(t, gw, modules()[0])
			r := httptest.NewRequest("GET", "/versions", nil)
			route, params, err := router.FindRoute(r)
			if err != nil {
				t.Fatal(err)
			}
			w := httptest.NewRecorder()
			gw.ServeHTTP(w, r)
			if err := openapi3filter.ValidateResponse(t.Context(), &openapi3filter.ResponseValidationInput{
				RequestValidationInput: &openapi3filter.RequestValidationInput{Request: r, PathParams: params, Route: route},
				Status:                 w.Code,
				Header:                 w.Result().Header,
				Body:                   io.NopCloser(bytes.NewReader(w.Body.Bytes())),
				Options:                &openapi3filter.Options{IncludeResponseStatus: true},
			}); err != nil {
				t.Error(err)
			}
		})
	}
}

// looserThanTheContract names requests that are understood although the
// contract does not offer them: parameters that belong to another version.
func looserThanTheContract(g golden) bool { return strings.HasSuffix(g.name(), "/integrator-ignored") }

// TestContractsListEveryCode makes sure that a client generated from the
// contract knows every code it can meet.
func TestContractsListEveryCode(t *testing.T) {
	gw := newGateway(t)
	integrators := []fault.Code{fault.InvalidIntegrator, fault.IntegratorUnregistered, fault.IntegratorInactive, fault.IntegratorUnverified}
	for _, m := range modules() {
		doc, _ := contract(t, gw, m)
		listed := doc.Components.Schemas["ErrorCode"].Value.Enum
		for _, code := range fault.Codes() {
			if m.Name != "v3" && slices.Contains(integrators, code) {
				continue // these versions have no integrators
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
	}
}
