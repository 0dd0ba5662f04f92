package wallet

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// An alteration changes one thing in a quote or in the router listing. verify.js has to refuse the same ones: see
// testdata/verify/run.mjs, which does the same edits.
type alteration struct {
	Name, Of, Base string
	Edit           edit
	Go             string // what the refusal must say
}

// An edit changes the value at a path such as data.2.router. Only one of the ways to change it is given.
type edit struct {
	Path  string
	Set   any
	Add   string // to the end of a text
	Copy  string // the path of a value to put there
	Drop  bool
	At    int    // the first byte of a text in hexadecimal that is overwritten
	Bytes string // with these
}

// dropped is a value that is taken out.
type dropped struct{}

// change replaces the value at a path of a decoded JSON value by what do makes of it. A list may grow by one.
func change(node any, path []string, do func(old any) any) any {
	if len(path) == 0 {
		return do(node)
	}
	switch node := node.(type) {
	case map[string]any:
		node[path[0]] = change(node[path[0]], path[1:], do)
		if node[path[0]] == any(dropped{}) {
			delete(node, path[0])
		}
		return node
	case []any:
		i, err := strconv.Atoi(path[0])
		if err != nil || i > len(node) {
			panic(path[0] + " is not in the list")
		}
		if i == len(node) {
			node = append(node, nil)
		}
		if node[i] = change(node[i], path[1:], do); node[i] == any(dropped{}) {
			node = slices.Delete(node, i, i+1)
		}
		return node
	}
	panic(path[0] + " is in nothing")
}

// apply does an edit to a JSON text.
func (e edit) apply(t *testing.T, body []byte) []byte {
	t.Helper()
	root := decode(t, body)
	var copied any
	if e.Copy != "" {
		change(root, strings.Split(e.Copy, "."), func(value any) any { copied = value; return value })
	}
	root = change(root, strings.Split(e.Path, "."), func(old any) any {
		switch {
		case e.Drop:
			return dropped{}
		case e.Copy != "":
			return copied
		case e.Add != "":
			return old.(string) + e.Add
		case e.Bytes != "":
			text, at := old.(string), 2+2*e.At
			return text[:at] + e.Bytes + text[at+len(e.Bytes):]
		}
		return e.Set
	})
	body, err := json.Marshal(root)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// TestAlterations wants every alteration to be refused, and the refusal to say what is wrong.
func TestAlterations(t *testing.T) {
	data, err := os.ReadFile(goldens + "verify/alterations.json")
	if err != nil {
		t.Fatal(err)
	}
	var alterations []alteration
	if err := json.Unmarshal(data, &alterations); err != nil {
		t.Fatal(err)
	}
	if len(alterations) < 20 {
		t.Errorf("only %d alterations", len(alterations))
	}
	for _, a := range alterations {
		t.Run(a.Name, func(t *testing.T) {
			g := read(t, "v3", a.Base)
			k := knowledge(t, g.swap)
			if _, err := Check(g.swap, quote(t, g.version, g.body), k); err != nil {
				t.Fatalf("the truth is refused: %v", err)
			}
			if a.Of == "listing" {
				k.Listing = Listing{}
				if err := json.Unmarshal(a.Edit.apply(t, listing(t)), &k.Listing); err != nil {
					t.Fatal(err)
				}
			} else {
				g.body = a.Edit.apply(t, g.body)
			}
			_, err := Check(g.swap, quote(t, g.version, g.body), k)
			if err == nil || a.Go == "" || !strings.Contains(err.Error(), a.Go) {
				t.Errorf("got %v, want it to say %q", err, a.Go)
			}
		})
	}
}

// listing is the router listing as the gateway gives it.
func listing(t *testing.T) []byte {
	t.Helper()
	data, err := os.ReadFile(goldens + "v3/routers.http")
	if err != nil {
		t.Fatal(err)
	}
	return data[bytes.IndexByte(data, '{'):]
}
