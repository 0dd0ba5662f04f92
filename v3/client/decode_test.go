package client

import (
	"strings"
	"testing"
)

// TestDecodesExactly: what another program could read otherwise is refused, wherever it stands.
func TestDecodesExactly(t *testing.T) {
	truth := string(read(t, "v3", "pair-usdc-1-to-usdc-369").body)
	const evil = `"0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359"`
	tests := map[string]struct{ old, new, says string }{
		"the truth":                    {"{", "{", ""},
		"another case before":          {`{`, `{"TO": ` + evil + `,`, `"TO", which is written to`},
		"the same name before":         {`{`, `{"to": ` + evil + `,`, `"to" twice`},
		"another case only":            {`"to":`, `"To":`, `"To", which is written to`},
		"another case, deep":           {`"calldata":`, `"callData": ` + evil + `, "calldata":`, `which is written calldata`},
		"a letter that folds":          {`"spender":`, `"\u017fpender": ` + evil + `, "spender":`, `which is written spender`},
		"the same name, escaped":       {`"spender":`, `"\u0073pender": ` + evil + `, "spender":`, `"approval.spender" twice`},
		"a batch nobody asked for":     {`{`, `{"sendCalls": {"calls": []},`, `"sendCalls", which was not asked for`},
		"a transaction under any name": {`{`, `{"extra": [{"to": ` + evil + `}],`, `"extra", which was not asked for`},
		"an address under any name":    {`{`, `{"newRouter": ` + evil + `,`, `"newRouter", which was not asked for`},
		"a word that is new":           {`{`, `{"note": "new", "level": 3, "ready": true, "more": null,`, ""},
		"twice, though unknown":        {`{`, `{"note": "a", "Note": "b",`, `"Note" twice`},
		"something after it":           {``, `{} `, "after top-level value"},
	}
	for name, test := range tests {
		answer := strings.Replace(truth, test.old, test.new, 1)
		q := &Quote{}
		err := decodeExactly([]byte(answer), q)
		if test.says == "" && err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if test.says != "" && (err == nil || !strings.Contains(err.Error(), test.says)) {
			t.Errorf("%s: got %v, want %q", name, err, test.says)
		}
	}
	// Other answers may have more in them, but no name in two ways.
	for text, ok := range map[string]bool{
		`{"state": "SETTLED", "new": {"to": "0x1"}}`: true, `{"state": "SETTLED", "State": "FAILED"}`: false, `{"State": "SETTLED"}`: false,
	} {
		if err := decodeExactly([]byte(text), &Status{}); (err == nil) != ok {
			t.Errorf("%s: got %v", text, err)
		}
	}
}

// FuzzDecodesExactly: it ends, whatever is sent.
func FuzzDecodesExactly(f *testing.F) {
	f.Add([]byte(`{"to": "0x1", "fee": {"total": {"amount": "1"}}}`))
	f.Add([]byte(strings.Repeat("[", 20_000)))
	f.Fuzz(func(t *testing.T, data []byte) { _ = decodeExactly(data, &Quote{}) })
}
