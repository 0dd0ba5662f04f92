package jsonfile_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quotegate/quotegate/shared/jsonfile"
)

type file struct {
	Name string            `json:"name"`
	Rows []row             `json:"rows"`
	Map  map[string]*row   `json:"map"`
	Tags map[string]string `json:"tags,omitempty"`
}

type row struct {
	ID int `json:"id"`
}

func TestDecode(t *testing.T) {
	var got file
	if err := jsonfile.Decode([]byte(`{"name":"n","rows":[{"id":1},{"id":2}],"map":{"a":{"id":3}}}`), &got); err != nil {
		t.Fatal(err)
	}
	if got.Name != "n" || len(got.Rows) != 2 || got.Map["a"].ID != 3 {
		t.Errorf("got %+v", got)
	}
}

func TestDecodeReportsEveryProblem(t *testing.T) {
	var got file
	err := jsonfile.Decode([]byte(`{"name":"n","nmae":1,"rows":[{"id":1},{"id":2,"di":{"x":[1]}}],"map":{"a":{"id":3},"a":{"id":4,"z":0}},"tags":{"k":7}}`), &got)
	if err == nil {
		t.Fatal("got no error")
	}
	for _, want := range []string{"nmae: unknown field", "rows[1].di: unknown field", "map.a: given twice", "map.a.z: unknown field", "cannot unmarshal number"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing from:\n%v", want, err)
		}
	}
}

func TestDecodeRefusesWhatIsNotOneValue(t *testing.T) {
	for name, data := range map[string]string{
		"empty":         ``,
		"cut off":       `{"name":`,
		"trailing":      `{"name":"n"} {}`,
		"text":          `name: n`,
		"field in case": `{"Name":"n"}`,
		"missing brace": `{"rows":[{"id":1}`,
		"array":         `[1]`,
		"endless depth": strings.Repeat("[", 100_000),
	} {
		t.Run(name, func(t *testing.T) {
			var got file
			if err := jsonfile.Decode([]byte(data), &got); err == nil {
				t.Errorf("accepted as %+v", got)
			}
		})
	}
}

func TestReadIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "big.json")
	if err := os.WriteFile(path, make([]byte, jsonfile.MaxSize+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := jsonfile.Read(path); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("got %v, want a refusal that names the size", err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"name":"n","rows":[{"id":1}],"map":{"a":{"id":3}}}`))
	f.Add([]byte(`{"a":{"b":[[],{}]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var got file
		_ = jsonfile.Decode(data, &got) // must not panic
	})
}
