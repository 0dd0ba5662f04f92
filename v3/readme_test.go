package v3

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/quotegate/quotegate/shared/chain"
)

// TestReadmeListsThePairs holds the table of pairs in the README to the listing
// that is served. UPDATE_GOLDEN=1 writes it.
func TestReadmeListsThePairs(t *testing.T) {
	const path, start, end = "../README.md", "<!-- pairs -->\n", "<!-- /pairs -->\n"
	readme, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(readme), start)
	got, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("the README has no table between %q and %q", start, end)
	}
	want := pairsTable(mapPairs(chain.Reference()).Pairs)
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(path, []byte(before+start+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got != want {
		t.Errorf("the README lists other pairs.\ngot:\n%s\nwant:\n%s", got, want)
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
