package wire

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

func TestWarnOfSlips(t *testing.T) {
	known := append(slices.Clone(Params), "integratorId", "include", "from")
	for query, want := range map[string][]string{
		"srcToken=1&dstToken=2&amount=3&srcChain=4&dstChain=5&recipient=6&recipientType=0&integratorId=8": nil,
		"integratorID=1":                  {"integratorID integratorId"},
		"integrator_id=1":                 {"integrator_id integratorId"},
		"recipent=1":                      {"recipent recipient"},
		"scrToken=1":                      {"scrToken srcToken"},
		"AMOUNT=1&amount=2":               {"AMOUNT amount"},
		"slippage=1&referrer=x":           nil,
		"foo=1&for=2&farm=3":              nil, // two letters of four
		"amuont=1&inklude=2":              {"inklude include"},
		"fro=1&srcTkn=1":                  {"fro from", "srcTkn srcToken"},
		"srcChain=1&recipent=1":           {"recipent recipient"}, // after one that is right
		"recpnt=1":                        nil,                    // three letters away
		"amountz=1&amountZ=1":             {"amountZ amount", "amountz amount"},
		"amount-=1&amount_=1&amount1=1":   {"amount- amount", "amount_ amount"},
		"amoun%0At=1":                     nil, // could not stand in a header
		strings.Repeat("amountt=1&", 100): {"amountt amount"},
		"am=1&amountd=1&amountc=1&amountb=1&amounta=1":    {"amounta amount", "amountb amount", "amountc amount"},
		"integratorId" + strings.Repeat("x", 5000) + "=1": nil,
	} {
		q := ParseQuery(query)
		h := http.Header{}
		WarnTypos(h, q, known)
		var sentences []string
		for _, w := range want {
			name, meant, _ := strings.Cut(w, " ")
			sentences = append(sentences, "the parameter "+name+" is unknown and was ignored; did you mean "+meant+"?")
		}
		if got := h.Values(RequestWarning); !slices.Equal(got, sentences) {
			t.Errorf("%.60s: got %q, want %q", query, got, sentences)
		}
	}
}

// TestSlipsAreWords: no name at all and names of more than 20 letters are no slips,
// whatever a version calls its parameters.
func TestSlipsAreWords(t *testing.T) {
	for name, warned := range map[string]bool{
		"": false, "y": true,
		"theRecipientOfAToken": false, "theRecipientOfAToket": true, "theRecipientOfATokenn": false,
	} {
		q, h := ParseQuery(name+"=1"), http.Header{}
		WarnTypos(h, q, []string{"x", "theRecipientOfAToken"})
		if got := h.Values(RequestWarning); len(got) != 0 != warned {
			t.Errorf("%q: got %q, want a warning: %t", name, got, warned)
		}
	}
}

// TestEmptyIntegrator: it silently costs a partner its fee.
func TestEmptyIntegrator(t *testing.T) {
	for query, want := range map[string]int{"integratorId=": 1, "integratorId": 1, "integratorId=0x1": 0, "amount=": 0, "": 0} {
		for _, knows := range []bool{true, false} {
			q, h, known := ParseQuery(query), http.Header{}, Params
			if knows {
				known = append(slices.Clone(Params), "integratorId")
			} else {
				want = 0 // a version without integrators pays none anyway
			}
			WarnTypos(h, q, known)
			if got := h.Values(RequestWarning); len(got) != want || len(h.Values(QuoteWarning)) != 0 {
				t.Errorf("%q: got %q, want %d warnings", query, got, want)
			}
		}
	}
}

// manyNames is a query string of so many different names, all as long as a parameter of ours and none like it.
func manyNames(n int) string {
	var query strings.Builder
	for i := range n {
		fmt.Fprintf(&query, "x%cyxyxyx%c=&", 'a'+i%26, 'a'+i/26)
	}
	return query.String()
}

// TestManyNamesAreNotCompared: a long URL of names like ours would cost milliseconds.
func TestManyNamesAreNotCompared(t *testing.T) {
	const slip, empty = "recipent=1&", "integratorId=&"
	known := append(slices.Clone(Params), "integratorId")
	for names, want := range map[int]int{maxNames - 2: 2, maxNames - 1: 1, 300: 1} {
		h := http.Header{}
		WarnTypos(h, ParseQuery(manyNames(names)+slip+empty), known)
		if got := h.Values(RequestWarning); len(got) != want || !strings.Contains(got[0], "integratorId is empty") {
			t.Errorf("%d names beside a slip and an empty integratorId: got %q, want %d warnings", names, got, want)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"kitten", "sitting", 3}, {"amount", "amount", 0}, {"amuont", "amount", 2}, {"recipient", "recipent", 1}} {
		if got := EditDistance(tt.a, tt.b); got != tt.want {
			t.Errorf("%q and %q: got %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
}
