package api

import (
	"strings"
	"testing"
)

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
	got := compose("v9", own)
	for what, want := range map[string]string{
		"a part in its place":             "\n  /v9/openapi.yaml:\n",
		"what the part refers to":         "\n    MethodNotAllowed:\n",
		"and what that refers to":         "\n    ErrorCode:\n",
		"the version's own":               "\n    Internal:\n      description: Ours.\n",
		"what only that refers to":        "\n    Details:\n",
		"each section once, in its order": "\ncomponents:\n  parameters:\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%s: got no %q", what, want)
		}
	}
	for what, unwanted := range map[string]string{
		"a part that stays a comment": "# part",
		"no version":                  "{version}",
		"what nobody refers to":       "\n    Status:\n",
	} {
		if strings.Contains(got, unwanted) {
			t.Errorf("%s: got %q", what, unwanted)
		}
	}
	_, responses, _ := strings.Cut(got, "\n  responses:\n")
	responses, _, _ = strings.Cut(responses, "\n  schemas:\n")
	if strings.Count(responses, "    Internal:\n") != 1 {
		t.Error("what the version defines is not there once")
	}
	for _, wrong := range []string{"# part: none\n", "a: \"#/components/schemas/None\"\ncomponents:\n  schemas:\n"} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%q: what is not there is left out", wrong)
				}
			}()
			compose("v9", wrong)
		}()
	}
}
