package v3_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestReadmeShowsARealQuote holds the quote of the README to a golden, which
// replays the same request. Calldata is cut short there with an ellipsis.
func TestReadmeShowsARealQuote(t *testing.T) {
	read := func(path string) string {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	readme, golden := read("../README.md"), read("../testdata/v3/readme.http")
	request, answer, _ := strings.Cut(golden, "\n\n")
	if call := "curl 'http://localhost:8080" + strings.TrimPrefix(strings.TrimSpace(request), "GET ") + "'"; !strings.Contains(readme, call) {
		t.Errorf("the README does not ask %s", call)
	}
	_, rest, _ := strings.Cut(readme, "```json output\n")
	shown, _, _ := strings.Cut(rest, "```")
	var got, want any
	if err := json.Unmarshal([]byte(shown), &got); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(answer[strings.Index(answer, "{"):]), &want); err != nil {
		t.Fatal(err)
	}
	compareShown(t, "", got, want)
}

// compareShown compares JSON as it is shown with JSON as it is. A text that is
// shown with an ellipsis at its end is the beginning of the real one.
func compareShown(t *testing.T, at string, got, want any) {
	shown, _ := got.(map[string]any)
	real, _ := want.(map[string]any)
	for key := range shown {
		if _, there := real[key]; !there {
			t.Errorf("%s/%s is shown and not in the answer", at, key)
		}
	}
	for key := range real {
		compareShown(t, at+"/"+key, shown[key], real[key])
	}
	if real != nil {
		return
	}
	begin, cut := strings.CutSuffix(fmt.Sprint(got), "…")
	if text := fmt.Sprint(want); text != begin && (!cut || !strings.HasPrefix(text, begin)) {
		t.Errorf("%s: shown %v, answered %v", at, got, want)
	}
}
