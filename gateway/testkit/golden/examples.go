package golden

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// checkExamples makes sure that every answer has an example, and that the
// examples are answers on record. No golden has certain statuses, such as 429,
// nor the answers of /versions and /versions/mine, which tell of the other versions
// too or need a database, nor that of an instance which is about to end, nor the
// whole contract.
func (c Contract) checkExamples(t *testing.T, exchanges []exchange) {
	t.Helper()
	recorded := map[string][]map[string]any{} // by status: the bodies
	for _, e := range exchanges {
		head, body, _ := strings.Cut(e.answer, "\n\n")
		status, _, _ := strings.Cut(head, "\n")
		var fields map[string]any
		if json.Unmarshal([]byte(body), &fields) == nil {
			recorded[status] = append(recorded[status], fields)
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
			others := path == "/versions" || path == "/versions/mine" && (status == "200" || status == "503")
			contract := strings.HasSuffix(path, "/openapi.json") && status == "200"
			if others || draining || contract || recorded[status] == nil {
				continue
			}
			for name, example := range media.Examples {
				body := readExample(t, example.Value.Value)
				if !slices.ContainsFunc(recorded[status], func(r map[string]any) bool { return shows(body, r) }) {
					t.Errorf("%s: the example %s of the answer %s is in no golden: %v", path, name, status, body)
				}
			}
		}
	}
}

// readExample gives an example the form of a recorded body.
func readExample(t *testing.T, example any) (fields map[string]any) {
	t.Helper()
	text, err := json.Marshal(example)
	if err == nil {
		err = json.Unmarshal([]byte(MaskNote(string(text))), &fields)
	}
	if err != nil {
		t.Fatal(err)
	}
	if fields["requestId"] != nil {
		fields["requestId"] = "(request ID)"
	}
	return fields
}

// shows tells whether an example is a recorded body, of whose lists it may leave rows out.
func shows(example, recorded map[string]any) bool {
	for name, value := range example {
		rows, _ := value.([]any)
		all, isList := recorded[name].([]any)
		missing := func(row any) bool {
			return !slices.ContainsFunc(all, func(other any) bool { return reflect.DeepEqual(row, other) })
		}
		if isList && (len(rows) == 0 || slices.ContainsFunc(rows, missing)) {
			return false
		}
		if !isList && !reflect.DeepEqual(value, recorded[name]) {
			return false
		}
	}
	return len(example) == len(recorded)
}
