package client

import (
	"encoding/json"
	"os"
	"slices"
	"testing"
)

// TestRecheck: a quote passes again after JSON, and one that was altered does not.
func TestRecheck(t *testing.T) {
	for _, name := range []string{
		"details", "details-native", "details-burn", "details-partner", "details-shield", "details-unshield", "from-native",
		"simulation",
	} {
		checked := checkedQuote(t, name)
		data, err := json.Marshal(checked)
		if err != nil {
			t.Fatal(err)
		}
		copied := func() *Checked {
			q := &Checked{}
			if err := json.Unmarshal(data, q); err != nil {
				t.Fatal(err)
			}
			return q
		}
		if again, err := json.Marshal(copied()); err != nil || string(again) != string(data) {
			t.Errorf("%s: got %s and %v after JSON, want %s", name, again, err, data)
		}
		if err := copied().Recheck(listed(t)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		other := copied()
		other.Main.Data[len(other.Main.Data)-1] ^= 1
		wantCode(t, other.Recheck(listed(t)), Unverified)
		warned := copied()
		warned.Warning = "must not be signed"
		wantCode(t, warned.Recheck(listed(t)), Unverified)
		if checked.Pair.Shields {
			own, err := checked.WithNote(make([]byte, noteSize))
			if err != nil {
				t.Fatal(err)
			}
			if err := own.Recheck(listed(t)); err != nil {
				t.Errorf("%s: with a note of its own: %v", name, err)
			}
			own.Main.Data = slices.Clone(own.Main.Data)
			own.Main.Data[10] ^= 1
			wantCode(t, own.Recheck(listed(t)), Unverified)
		}
	}
}

// TestSufficient runs the cases of sufficient.json, which the JavaScript client runs too.
func TestSufficient(t *testing.T) {
	var cases []struct {
		Name    string
		Want    *bool
		Details *Details
	}
	data, err := os.ReadFile("../../testdata/client/sufficient.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	show := func(b *bool) string {
		text, _ := json.Marshal(b)
		return string(text)
	}
	for _, c := range cases {
		if got := c.Details.sufficient(); show(got) != show(c.Want) {
			t.Errorf("%s: got %s, want %s", c.Name, show(got), show(c.Want))
		}
	}
}
