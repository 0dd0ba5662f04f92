package golden

import (
	"encoding/json"
	"strings"
	"testing"
)

// checkExamples makes sure that every answer has an example, and that the
// examples are answers on record. No golden has certain statuses, such as 429,
// nor the answers of /versions and /versions/mine, which tell of the other versions
// too, nor that of an instance which is about to end.
func (c Contract) checkExamples(t *testing.T, exchanges []exchange) {
	t.Helper()
	recorded := map[string]map[string]bool{} // by status: the bodies
	for _, e := range exchanges {
		head, body, _ := strings.Cut(e.answer, "\n\n")
		status, _, _ := strings.Cut(head, "\n")
		if recorded[status] == nil {
			recorded[status] = map[string]bool{}
		}
		var fields any
		if json.Unmarshal([]byte(body), &fields) == nil {
			recorded[status][printBody(t, fields)] = true
		}
	}
	for path, item := range c.Doc.Paths.Map() {
		for status, response := range item.Get.Responses.Map() {
			media := response.Value.Content.Get("application/json")
			if media == nil {
				continue
			}
			if len(media.Examples) == 0 {
				t.Errorf("%s: the answer %s has no example", path, status)
			}
			draining := strings.HasSuffix(path, "/swap/healthcheck") && status == "503"
			others := path == "/versions" || path == "/versions/mine" && status == "200"
			if others || draining || recorded[status] == nil {
				continue
			}
			for name, example := range media.Examples {
				body := example.Value.Value
				if fields, ok := body.(map[string]any); ok && fields["requestId"] != nil {
					fields["requestId"] = "(request ID)"
				}
				if text := MaskNote(printBody(t, body)); !recorded[status][text] {
					t.Errorf("%s: the example %s of the answer %s is in no golden: %s", path, name, status, text)
				}
			}
		}
	}
}

// printBody writes a body with its keys in a fixed order.
func printBody(t *testing.T, body any) string {
	t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
