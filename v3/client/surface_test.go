package client_test

import (
	"os"
	"os/exec"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/quotegate/quotegate/v3/client"
	"github.com/quotegate/quotegate/v3/client/send"
)

// TestModules: whoever checks quotes builds no more than this. What talks to nodes is in send.
func TestModules(t *testing.T) {
	allowed := []string{
		"github.com/quotegate/quotegate", "github.com/ethereum/go-ethereum", "github.com/holiman/uint256", "golang.org/x/sys",
		"github.com/decred/dcrd/dcrec/secp256k1/v4", // of go-ethereum, where there is no C compiler
	}
	out, err := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	modules := strings.Fields(string(out))
	slices.Sort(modules)
	modules = slices.Compact(modules)
	if !slices.Contains(modules, "github.com/ethereum/go-ethereum") {
		t.Errorf("got %q", modules)
	}
	for _, module := range modules {
		if !slices.Contains(allowed, module) {
			t.Errorf("the client imports %s: every program that uses it would build it too", module)
		}
	}
}

// exported are the names that the table in docs/reference.md may begin with.
var exported = map[string]any{
	"New": client.New, "Verify": client.Verify, "Version": client.Version,
	"WithAPIKey": client.WithAPIKey, "WithTimeout": client.WithTimeout, "WithHTTP": client.WithHTTP, "WithPinned": client.WithPinned,
	"ParseAmount": client.ParseAmount, "FormatAmount": client.FormatAmount, "MaxAmount": client.MaxAmount,
	"Client": &client.Client{}, "Listing": &client.Listing{}, "Error": &client.Error{},
	"Request": &client.Request{}, "Checked": &client.Checked{},
	"EstimateRequest": &client.EstimateRequest{}, "Estimate": &client.Estimate{},
	"Sent": &client.Sent{}, "Status": &client.Status{},
	"send.New": send.New, "send.Key": send.Key, "send.MaxGas": send.MaxGas,
	"send.Sender": &send.Sender{}, "send.Swap": &send.Swap{}, "send.Error": &send.Error{},
}

// TestSideBySide: every Go name in the table of docs/reference.md exists.
func TestSideBySide(t *testing.T) {
	page, err := os.ReadFile("../../docs/reference.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## The clients side by side\n")
	section, _, _ = strings.Cut(section, "\n## ")
	names := 0
	for _, row := range regexp.MustCompile(`(?m)^\|[^|]*\|([^|]*)\|$`).FindAllStringSubmatch(section, -1) {
		for _, name := range regexp.MustCompile("`([^`]*)`").FindAllStringSubmatch(row[1], -1) {
			names++
			if !exists(name[1]) {
				t.Errorf("there is no %s", name[1])
			}
		}
	}
	if names < 50 || exists("Checked.Quote.Amount") || exists("send.Nothing") {
		t.Errorf("found %d names", names)
	}
}

// exists tells whether a name such as Checked.Quote is exported: a value, and then fields and methods.
func exists(name string) bool {
	root, path := name, []string(nil)
	for exported[root] == nil {
		dot := strings.LastIndex(root, ".")
		if dot < 0 {
			return false
		}
		path = append([]string{root[dot+1:]}, path...)
		root = root[:dot]
	}
	at := reflect.TypeOf(exported[root])
	for _, step := range path {
		if _, isMethod := at.MethodByName(step); isMethod {
			return true // nothing follows a method
		}
		if at.Kind() == reflect.Pointer {
			at = at.Elem()
		}
		if at.Kind() != reflect.Struct {
			return false
		}
		field, isField := at.FieldByName(step)
		if !isField || !field.IsExported() {
			return false
		}
		at = field.Type
	}
	return true
}
