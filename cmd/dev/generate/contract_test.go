package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestContractsAreUpToDate compares the contract files that are served with their sources.
func TestContractsAreUpToDate(t *testing.T) {
	sources, err := filepath.Glob(filepath.Join(root, contractSources))
	if err != nil || len(sources) == 0 {
		t.Fatalf("got %d sources, %v", len(sources), err)
	}
	for _, source := range sources {
		version := filepath.Base(filepath.Dir(source))
		files, err := contractFiles(root, version)
		if err != nil {
			t.Errorf("%s: %v", version, err)
		}
		for name, want := range files {
			got, err := os.ReadFile(filepath.Join(root, version, name))
			if err != nil {
				t.Error(err)
			}
			if string(got) != want {
				t.Errorf("%s/%s does not match its contract.yaml: edit that, and run make generate", version, name)
			}
		}
	}
}

// TestContractSuitsGenerators holds the contracts to the forms from which generators make types that say something:
// make contract runs them.
func TestContractSuitsGenerators(t *testing.T) {
	closed := []string{"RouteType", "SwapState", "CallStatus", "RecipientReason"}
	sources, err := filepath.Glob(filepath.Join(root, contractSources))
	if err != nil {
		t.Fatal(err)
	}
	for _, source := range sources {
		version := filepath.Base(filepath.Dir(source))
		files, err := contractFiles(root, version)
		if err != nil {
			t.Fatal(err)
		}
		var contract struct {
			Components struct{ Schemas, Parameters map[string]map[string]any }
		}
		if err := json.Unmarshal([]byte(files["openapi.json"]), &contract); err != nil {
			t.Fatal(err)
		}
		for name, schema := range contract.Components.Schemas {
			if contract.Components.Parameters[name] != nil {
				t.Errorf("%s: %s is a parameter and a schema: oapi-codegen makes a type of each", version, name)
			}
			if slices.Contains(closed, name) && (schema["enum"] == nil || schema["anyOf"] != nil) {
				t.Errorf("%s: %s is closed, so it must be a plain enum", version, name)
			}
			checkForms(t, version+": "+name, schema)
		}
	}
}

func checkForms(t *testing.T, path string, value any) {
	switch value := value.(type) {
	case map[string]any:
		if value["exclusiveMinimum"] != nil || value["exclusiveMaximum"] != nil {
			t.Errorf("%s: an exclusive bound is a number in OpenAPI 3.1, and a boolean in 3.0: use another", path)
		}
		if value["anyOf"] != nil && value["type"] != "string" {
			t.Errorf("%s: an open set needs type: string beside anyOf, or oapi-codegen makes a struct of it", path)
		}
		if value["oneOf"] != nil && value["discriminator"] == nil {
			t.Errorf("%s: a union needs a discriminator", path)
		}
		for name, inner := range value {
			checkForms(t, path+"."+name, inner)
		}
	case []any:
		for _, inner := range value {
			checkForms(t, path, inner)
		}
	}
}

func TestCompose(t *testing.T) {
	const own = `paths:
  # part: paths-service
components:
  responses:
    Internal:
      description: Ours.
  schemas:
    Mine: { $ref: "#/components/schemas/Quote" }
    Quote: { $ref: "#/components/schemas/Details" }
`
	shared := map[string]string{
		"paths-service": "  /v9/openapi.yaml:\n    $ref: \"#/components/responses/NotAllowed\"\n",
		"responses": "    Internal:\n      description: Shared.\n" +
			"    NotAllowed:\n      schema: { $ref: \"#/components/schemas/ErrorCode\" }\n",
		"schemas": "    Details:\n      type: object\n    ErrorCode:\n      type: string\n    Status:\n      type: string\n",
	}
	const want = `paths:
  /v9/openapi.yaml:
    $ref: "#/components/responses/NotAllowed"
components:
  responses:
    Internal:
      description: Ours.
    NotAllowed:
      schema: { $ref: "#/components/schemas/ErrorCode" }
  schemas:
    Details:
      type: object
    ErrorCode:
      type: string
    Mine: { $ref: "#/components/schemas/Quote" }
    Quote: { $ref: "#/components/schemas/Details" }
`
	if got, err := compose(own, shared); got != want || err != nil {
		t.Errorf("got %v\n%s\nwant\n%s", err, got, want)
	}
	for text, missing := range map[string]string{
		"# part: none\n": "none.yaml",
		"a: \"#/components/schemas/None\"\ncomponents:\n  schemas:\n": "schemas/None",
	} {
		if _, err := compose(text, shared); err == nil || !strings.Contains(err.Error(), missing) {
			t.Errorf("%q: got %v, want what is missing", text, err)
		}
	}
}
