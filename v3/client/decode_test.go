package client

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/quotegate/quotegate/shared/chain"
)

// TestDecodesExactly: an answer is read as JavaScript reads it.
func TestDecodesExactly(t *testing.T) {
	truth := string(read(t, "direct").body)
	const evil = `"0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359"`
	honest := &Quote{}
	if err := decodeBody([]byte(truth), honest); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct{ old, new, says string }{
		"another case beside it":     {`"to":`, `"TO": ` + evil + `, "to":`, ""},
		"the same name before it":    {`{`, `{"to": ` + evil + `,`, ""},
		"an object before it":        {`"fee":`, `"fee": {"token": "USDC", "amount": "1"}, "fee":`, ""},
		"a letter that folds":        {`"spender":`, `"\u017fpender": ` + evil + `, "spender":`, ""},
		"a number with an exponent":  {`"decimals": 6`, `"decimals": 60e-1`, ""},
		"a field that is not known":  {`{`, `{"extra": [{"to": ` + evil + `}],`, ""},
		"null":                       {`{`, `{"details": null,`, ""},
		"another case only":          {`"to":`, `"To":`, "to: it is missing"},
		"null for what must be":      {`"to":`, `"to": null, "To":`, "to: it is missing"},
		"a list":                     {`"to":`, `"to": [], "To":`, "Quote.to of type string"},
		"a number that is too large": {`"decimals": 6`, `"decimals": 256`, "srcToken.decimals of type uint8"},
		"a rate above 100":           {`"percentage": 0.3`, `"percentage": 100.5`, "is not a percentage"},
		"something after it":         {``, `{} `, "after top-level value"},
	} {
		q := &Quote{}
		err := decodeBody([]byte(strings.Replace(truth, test.old, test.new, 1)), q)
		switch {
		case test.says == "" && (err != nil || !reflect.DeepEqual(q, honest)):
			t.Errorf("%s: got %+v and %v", name, q, err)
		case test.says != "" && (err == nil || !strings.Contains(err.Error(), test.says)):
			t.Errorf("%s: got %v, want %q", name, err, test.says)
		}
	}
	if err := decodeBody([]byte("[null]"), &[]SendCall{}); err == nil {
		t.Error("null in a list is read as a call")
	}
}

// TestExplorers: an explorer is an https address that can be put before /tx/. A deployment states only such.
func TestExplorers(t *testing.T) {
	reference, err := os.ReadFile("../../shared/chain/reference.json")
	if err != nil {
		t.Fatal(err)
	}
	for explorer, want := range map[string]bool{
		`"https://example.org/` + strings.Repeat("a", 2028) + `"`: true, `"https://example.org/` + strings.Repeat("a", 2029) + `"`: false,
		`"https://etherscan.io"`: true, `"https://example.org:8443/eth"`: true, `null`: true,
		`"javascript:alert(1)"`: false, `"http://etherscan.io"`: false, `"https://etherscan.io/"`: false,
		`"https://etherscan.io?a"`: false, `"https://etherscan.io\n"`: false, `["https://etherscan.io"]`: false,
		`"https://"`: false, `"https://a@etherscan.io"`: false,
	} {
		err := decodeBody([]byte(`{"chainId": 1, "name": "Ethereum", "explorer": `+explorer+`}`), &Chain{})
		if (err == nil) != want {
			t.Errorf("%s: got %v", explorer, err)
		}
		if !strings.HasPrefix(explorer, `"`) {
			continue
		}
		file := strings.Replace(string(reference), `"registries"`, `"explorers": {"1": `+explorer+`}, "registries"`, 1)
		if _, err := chain.ParseDeployment([]byte(file)); (err == nil) != want {
			t.Errorf("%s in a deployment: got %v", explorer, err)
		}
	}
}

// nodes are the values of rpcUrls that a listing may have, and others.
var nodes = map[string]bool{
	`["https://rpc.example.org"]`: true, `["https://rpc.example.org/"]`: true, `["https://rpc.example.org:8545/eth/v1~a_b"]`: true,
	`["http://127.0.0.1:18600"]`: true, `["http://localhost:8545", "https://192.0.2.1"]`: true,
	`["https://` + strings.Repeat("a", 192) + `"]`: true, `["https://` + strings.Repeat("a", 193) + `"]`: false,
	`["http://rpc.example.org"]`: false, `["http://localhost.example.org"]`: false, `["http://127.0.0.1.example.org"]`: false,
	`["http://127.0.0.2"]`: false, `["http://127a0.0.1"]`: false, `["ws://localhost"]`: false, `["HTTPS://rpc.example.org"]`: false,
	`["javascript:alert(1)"]`: false, `["data:text/html,x"]`: false, `["https://"]`: false, `[""]`: false, `["/rpc"]`: false,
	`["https://a@rpc.example.org"]`: false, `["https://a:b@rpc.example.org"]`: false, `["http://localhost:8545@rpc.example.org"]`: false,
	`["https://rpc.example.org?key=a"]`: false, `["https://rpc.example.org/#a"]`: false, `["https://rpc.example.org:port"]`: false,
	`["https://rpc.example.org\n"]`: false, `["https://rpc.example.org\u0000"]`: false, `["https://rpc.\u202eexample.org"]`: false,
	`[" https://rpc.example.org"]`: false, `["https://rpc.example.org\\a"]`: false, `["https://ſrpc.example.org"]`: false,
	`"https://rpc.example.org"`: false, `[["https://rpc.example.org"]]`: false, `{"0": "https://rpc.example.org"}`: false,
	`[null]`: false, `[1]`: false, `["https://rpc.example.org", 1]`: false, `true`: false, `[{}]`: false,
}

// TestNodes: public nodes have addresses that a wallet may be given. A deployment states only such.
func TestNodes(t *testing.T) {
	reference := string(chain.ReferenceFile())
	for urls, want := range nodes {
		err := decodeBody([]byte(`{"chainId": 1, "name": "Ethereum", "rpcUrls": `+urls+`}`), &Chain{})
		if (err == nil) != want {
			t.Errorf("%s: got %v", urls, err)
		}
		file := strings.Replace(reference, `"registries"`, `"rpcUrls": {"1": `+urls+`}, "registries"`, 1)
		if _, err := chain.ParseDeployment([]byte(file)); (err == nil) != want {
			t.Errorf("%s in a deployment: got %v", urls, err)
		}
	}
}

// FuzzDecodesExactly: it ends, whatever is sent.
func FuzzDecodesExactly(f *testing.F) {
	f.Add([]byte(`{"to": "0x1", "fee": {"total": {"amount": "1"}}}`))
	f.Add([]byte(strings.Repeat("[", 20_000)))
	f.Fuzz(func(t *testing.T, data []byte) { _ = decodeBody(data, &Quote{}) })
}
