package v3

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/quotegate/quotegate/shared/chain"
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
	_, rest, _ := strings.Cut(readme, "```json\n")
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

// TestGuideListsThePairs holds the table of pairs in docs/integrate.md to the
// listing that is served. UPDATE_GOLDEN=1 writes it.
func TestGuideListsThePairs(t *testing.T) {
	const path, start, end = "../docs/integrate.md", "<!-- pairs -->\n", "<!-- /pairs -->\n"
	guide, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(guide), start)
	got, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("the guide has no table between %q and %q", start, end)
	}
	want := pairsTable(mapPairs(chain.Reference(), true).Pairs)
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(path, []byte(before+start+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got != want {
		t.Errorf("the guide lists other pairs.\ngot:\n%s\nwant:\n%s", got, want)
	}
}

// pairsTable puts the pairs that differ only in their chains into one row, if
// each of its source chains reaches each of its destinations.
func pairsTable(pairs []pairBody) string {
	type kind struct{ src, dst, route, fee string }
	var kinds []kind
	reached := map[kind]map[chain.ID][]chain.ID{} // by source chain
	for _, p := range pairs {
		k := kind{p.SrcToken, p.DstToken, p.Type, p.ProtocolFee.String()}
		if reached[k] == nil {
			reached[k] = map[chain.ID][]chain.ID{}
			kinds = append(kinds, k)
		}
		reached[k][p.SrcChain] = append(reached[k][p.SrcChain], p.DstChain)
	}
	var table strings.Builder
	table.WriteString("| from | on | to | on | route | fee |\n| --- | --- | --- | --- | --- | --: |\n")
	for _, k := range kinds {
		sources := map[string][]chain.ID{} // by the destinations they reach
		for src, dsts := range reached[k] {
			text := list(dsts)
			sources[text] = append(sources[text], src)
		}
		var rows []string
		for dsts, srcs := range sources {
			rows = append(rows, fmt.Sprintf("| %s | %s | %s | %s | %s | %s %% |\n", k.src, list(srcs), k.dst, dsts, k.route, k.fee))
		}
		slices.SortFunc(rows, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
		table.WriteString(strings.Join(rows, ""))
	}
	return table.String()
}

func list(ids []chain.ID) string {
	slices.Sort(ids)
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = id.String()
	}
	return strings.Join(texts, ", ")
}
