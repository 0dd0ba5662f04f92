package jsonfile_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quotegate/quotegate/shared/jsonfile"
)

type file struct {
	Name string            `json:"name"`
	Rows []row             `json:"rows"`
	Map  map[string]*row   `json:"map"`
	Tags map[string]string `json:"tags,omitempty"`
	Size uint8             `json:"size"`
	Text *string           `json:"text"`
	At   time.Time         `json:"at"`
	On   bool              `json:"on"`
}

type row struct {
	ID int `json:"id"`
}

func TestDecodeReportsEveryProblem(t *testing.T) {
	const text = `{
  "name": 5, "nmae": 1,
  "rows": [{"id": 1}, {"id": "2",
    "di": {"x": [1]}}, {"id": 3.5}, 7],
	"map": {"ä": {"id": 3}, "ä": {"id": -4, "z": 0}}, "tags": ["k"],
  "size": 300, "text": 1, "at": "today", "on": 1
}`
	want := []string{
		"line 2, column 11: name: got number, want string",
		"line 2, column 14: nmae: unknown field",
		"line 3, column 30: rows[1].id: got string, want whole number",
		"line 4, column 5: rows[1].di: unknown field",
		"line 4, column 31: rows[2].id: got number 3.5, want whole number",
		"line 4, column 37: rows[3]: got number, want object",
		"line 5, column 26: map.ä: given twice",
		"line 5, column 42: map.ä.z: unknown field",
		"line 5, column 60: tags: got array, want object",
		"line 6, column 11: size: got number 300, want whole number from 0 to 255",
		"line 6, column 24: text: got number, want string",
		"line 6, column 33: at: \"today\" is not a time in RFC 3339; write it like 2027-03-01T00:00:00Z",
		"line 6, column 48: on: got number, want bool",
	}
	var got file
	err := jsonfile.Decode([]byte(text), &got).Err()
	if err == nil {
		t.Fatal("got no error")
	}
	if lines := strings.Split(err.Error(), "\n"); !slices.Equal(lines, want) {
		t.Errorf("got\n%s\nwant\n%s", err, strings.Join(want, "\n"))
	}
	if len(got.Rows) != 4 || got.Rows[0].ID != 1 {
		t.Errorf("got rows %+v: what is right is missing", got.Rows)
	}
}

// TestAddedProblems come with the line of their place. A file that cannot be read to its end has one problem, whatever
// its reader misses in it.
func TestAddedProblems(t *testing.T) {
	for text, want := range map[string]string{
		"{\n\"rows\": [{},\n{\"id\": 5}]}": "line 3, column 8: rows[1].id: is odd\nname: missing",
		"{\"rows\": [7]}":                  "line 1, column 11: rows[0]: got number, want object\nrows[1].id: is odd\nname: missing",
		"{\"name\": \"n\"":                 "not valid JSON: line 1, column 12: unexpected end of JSON input",
		"":                                 "not valid JSON: line 1, column 1: unexpected end of JSON input",
		"{\"name\": \"äö\" \"rows\": []}":  "not valid JSON: line 1, column 15: invalid character '\"' after object key:value pair",
		"{\"name\": \"n\"}\n{}":            "not valid JSON: line 2, column 1: invalid character '{' after top-level value",
		"[]":                               "line 1, column 1: the file must be one object",
		" null":                            "line 1, column 2: the file must be one object",
		"\"name\"":                         "line 1, column 1: the file must be one object",
	} {
		var got file
		problems := jsonfile.Decode([]byte(text), &got)
		problems.Add("rows[1].id", "is odd")
		problems.Add("name", "missing")
		if err := problems.Err(); err == nil || err.Error() != want {
			t.Errorf("%q: got\n%v\nwant\n%s", text, err, want)
		}
	}
}

// TestNull is as if a field was not there, and no element.
func TestNull(t *testing.T) {
	got := file{Size: 7}
	fields := `{"name": null, "rows": null, "map": {"a": null}, "tags": null, "size": null, "text": null, "at": null}`
	if err := jsonfile.Decode([]byte(fields), &got).Err(); err != nil || got.Size != 7 || got.Map["a"] != nil {
		t.Errorf("got %+v, %v", got, err)
	}
	const text = `{"rows": [{"id": 1}, null], "tags": {"a": "b", "c":
		null}}`
	want := "line 1, column 22: rows[1]: got null, want object; write one, or remove this entry\n" +
		"line 2, column 3: tags.c: got null, want string; write one, or remove this entry"
	if err := jsonfile.Decode([]byte(text), &got).Err(); err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
	var texts struct {
		At      []time.Time `json:"at"`
		Lengths []length    `json:"lengths"`
	}
	err := jsonfile.Decode([]byte(`{"at": [null], "lengths": [null]}`), &texts).Err()
	if err == nil || strings.Count(err.Error(), "got null") != 2 {
		t.Errorf("got %v, want two problems", err)
	}
}

// TestKeysWithoutAField: a field that is not read has no name that a key could match.
func TestKeysWithoutAField(t *testing.T) {
	var got struct {
		Name    string         `json:"name"`
		Tags    map[string]int `json:"tags"`
		Skipped []string       `json:"-"`
		hidden  []string
	}
	err := jsonfile.Decode([]byte(`{"": [], "-": [], "hidden": [], "tags": {"": 3}}`), &got).Err()
	want := "line 1, column 2: \"\": unknown field\n" +
		"line 1, column 10: -: unknown field\nline 1, column 19: hidden: unknown field"
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
	if got.Tags[""] != 3 || got.Skipped != nil || got.hidden != nil {
		t.Errorf("got %+v", got)
	}
}

// length is that of its JSON, which must not be empty.
type length int

func (n *length) UnmarshalJSON(text []byte) error {
	*n = length(len(text))
	if *n == 2 {
		return errors.New("is empty")
	}
	return nil
}

// TestJSONThatDecodesItself is passed on as it is, of whatever kind it is.
func TestJSONThatDecodesItself(t *testing.T) {
	var got struct {
		Lengths []length  `json:"lengths"`
		At      time.Time `json:"at"`
	}
	err := jsonfile.Decode([]byte(`{"lengths": [{"a": [{}]}, [1], 17777, {}], "at": []}`), &got).Err()
	const want = "line 1, column 39: lengths[3]: is empty\nline 1, column 50: at: got array, want string"
	if err == nil || err.Error() != want || !slices.Equal(got.Lengths, []length{11, 3, 5, 0}) {
		t.Errorf("got %v and %v", got, err)
	}
}

func TestDecodeSaysThatThereAreMoreProblems(t *testing.T) {
	var got file
	err := jsonfile.Decode([]byte(`{"rows": [1e999`+strings.Repeat(`, 7`, 200)+`]}`), &got).Err()
	if err == nil {
		t.Fatal("got no error")
	}
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != 101 || lines[0] != "line 1, column 11: rows[0]: got number, want object" || lines[100] != "and more" {
		t.Errorf("got %d lines, from %q to %q", len(lines), lines[0], lines[len(lines)-1])
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"name":"n","rows":[{"id":1}],"map":{"a":{"id":3}}}`))
	f.Add([]byte(`{"a":{"b":[[],{}]}}`))
	f.Add([]byte(`null`))
	f.Add([]byte(`{"name":"n","":[]}`))
	f.Add([]byte(`{"at":{},"size":-1,"text":null,"tags":{"a":null}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var got file
		err := jsonfile.Decode(data, &got).Err() // must not panic
		if err == nil && json.Unmarshal(data, new(file)) != nil {
			t.Errorf("%q: got no error", data)
		}
	})
}
