package golden

import (
	"bytes"
	"context"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
)

// Contract is the OpenAPI document of a version.
type Contract struct {
	Doc    *openapi3.T
	router routers.Router
}

// ReadContract reads the contract of a version as the gateway serves it. Clients
// have to expect fields and values that it does not list; the Contract read here
// refuses them, so that no addition goes unlisted.
func ReadContract(t *testing.T, h http.Handler, version string) Contract {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/"+version+"/openapi.yaml", nil))
	if w.Code != http.StatusOK {
		t.Fatalf("%s: its contract is answered %d", version, w.Code)
	}
	parsing.Lock()
	defer parsing.Unlock()
	text := w.Body.String()
	if parsed[text].Doc == nil {
		contract, err := parseContract(text)
		if err != nil {
			t.Fatalf("%s: %v", version, err)
		}
		parsed[text] = contract
	}
	return parsed[text]
}

// parsed are the contracts by their text: to parse one takes longer than most tests that need it.
var (
	parsing sync.Mutex
	parsed  = map[string]Contract{}
)

func parseContract(text string) (Contract, error) {
	for _, file := range []string{"application/yaml", "text/javascript"} {
		openapi3filter.RegisterBodyDecoder(file, openapi3filter.PlainBodyDecoder) // a file is a string to clients
	}
	doc, err := openapi3.NewLoader().LoadFromData([]byte(text))
	if err != nil {
		return Contract{}, err
	}
	closeSchemas(doc.Components.Schemas)
	if err := doc.Validate(context.Background()); err != nil {
		return Contract{}, err
	}
	router, err := gorillamux.NewRouter(doc)
	return Contract{doc, router}, err
}

// closeSchemas makes the schemas refuse fields and values that they do not list.
func closeSchemas(schemas openapi3.Schemas) {
	for _, ref := range schemas {
		s := ref.Value
		s.UnevaluatedProperties = openapi3.BoolSchema{}
		if listed, ok := s.Extensions["x-extensible-enum"].([]any); ok {
			s.Enum = listed
		}
		if len(s.AnyOf) == 2 && s.AnyOf[1].Value.Type.Is("string") && len(s.AnyOf[0].Value.Enum) > 0 {
			s.AnyOf = s.AnyOf[:1] // the known values beside any text
		}
		if len(s.OneOf) > 0 {
			distribute(s)
		}
		if len(s.Properties) > 0 {
			s.AdditionalProperties.Has = new(false)
		}
		closeSchemas(s.Properties)
		if s.Items != nil {
			closeSchemas(openapi3.Schemas{"items": s.Items})
		}
	}
}

// distribute gives every member of a union the properties beside the union, so that it can refuse all others.
func distribute(s *openapi3.Schema) {
	for i, ref := range s.OneOf {
		member := *ref.Value
		member.Properties = maps.Clone(s.Properties)
		maps.Copy(member.Properties, ref.Value.Properties)
		s.OneOf[i] = openapi3.NewSchemaRef(ref.Ref, &member)
		closeSchemas(openapi3.Schemas{ref.Ref: s.OneOf[i]})
	}
	s.Properties = openapi3.Schemas{}
}

// Check validates an answer, and its request if that was answered with 200. A
// path that the contract does not name must be refused.
func (c Contract) Check(t *testing.T, r *http.Request, w *httptest.ResponseRecorder) {
	t.Helper()
	route, params, err := c.router.FindRoute(r)
	if err != nil {
		if w.Code < 400 && r.Method == http.MethodGet {
			t.Errorf("answered %d, but the contract has no such route: %v", w.Code, err)
		}
		return
	}
	input := &openapi3filter.RequestValidationInput{
		Request: r, PathParams: params, Route: route,
		// No path needs a key.
		Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc},
	}
	if err := openapi3filter.ValidateRequest(t.Context(), input); w.Code == http.StatusOK && err != nil {
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
	if r.Method != http.MethodGet {
		return
	}
	listed := route.Operation.Responses.Status(w.Code).Value.Headers
	for name := range w.Result().Header {
		same := func(known string) bool { return strings.EqualFold(known, name) }
		if !ofHTTP(name) && !slices.ContainsFunc(slices.Collect(maps.Keys(listed)), same) {
			t.Errorf("the answer %d has the header %s, which the contract does not list", w.Code, name)
		}
	}
}

// ofHTTP tells whether a header is the same for every service: clients do not read it.
func ofHTTP(name string) bool {
	return strings.HasPrefix(name, "Access-Control-") || slices.Contains([]string{
		"Content-Type", "Content-Encoding", "Content-Length", "Date", "Vary", "X-Content-Type-Options",
	}, name)
}
