package main

import (
	"os"
	"path/filepath"
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
