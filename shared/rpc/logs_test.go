package rpc

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/testdata/node"
)

// Providers refuse a range of logs with whatever status and code they like. A quota, or
// logs that are not there, are something else.
func TestLogsRefusals(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		status int
		body   string
		want   Reason
	}{
		"Alchemy":             {400, `{"code":-32600,"message":"You can make eth_getLogs requests with up to a 500 block range. Based on your parameters, this block range should work: [0x1a30dfd, 0x1a30ff0]"}`, TooWide},
		"Alchemy, size":       {200, `{"code":-32602,"message":"Log response size exceeded. You can make eth_getLogs requests with up to a 2K block range and no limit on the response size"}`, TooWide},
		"QuickNode":           {413, `{"code":-32614,"message":"eth_getLogs is limited to a 10,000 range"}`, TooWide},
		"Infura, results":     {200, `{"code":-32005,"message":"query returned more than 10000 results. Try with this block range [0xBDE5F8, 0x102DBCC]."}`, TooWide},
		"Infura, range":       {200, `{"code":-32602,"message":"range 1000000 exceeds limit of 10000"}`, TooWide},
		"Infura, duration":    {200, `{"code":-32005,"message":"query timeout exceeded"}`, TooWide},
		"Erigon":              {200, `{"code":-32602,"message":"query block range exceeds server limit, narrow your filter: 5"}`, TooWide},
		"Morph":               {200, `{"code":-32000,"message":"block range is larger than max block range, block range = 5120, max block range = 5000"}`, TooWide},
		"dRPC":                {200, `{"code":35,"message":"ranges over 10000 blocks are not supported on freetier"}`, TooWide},
		"forbidden":           {403, ``, TooWide},
		"unavailable, range":  {503, `{"code":-32000,"message":"block range too large"}`, TooWide},
		"no words":            {200, `{"code":-32000,"message":"no"}`, TooWide},
		"down":                {503, ``, Refused},
		"bad gateway":         {502, ``, Refused},
		"no key":              {401, ``, Refused},
		"quota":               {200, `{"code":-32005,"message":"limit exceeded"}`, Limited},
		"quota, Infura":       {200, `{"code":-32005,"message":"daily request count exceeded, request rate limited"}`, Limited},
		"quota, QuickNode":    {200, `{"code":-32007,"message":"15/second request limit reached - reduce calls per second or upgrade your account at quicknode.com"}`, Limited},
		"quota by status":     {429, `{"code":429,"message":"Your app has exceeded its compute units per second capacity."}`, Limited},
		"pruned":              {200, `{"code":4444,"message":"pruned history unavailable"}`, Declined},
		"not available":       {200, `{"code":-32000,"message":"logs are not available for this block range"}`, Declined},
		"no such method":      {200, `{"code":-32601,"message":"the method eth_getLogs does not exist/is not available"}`, Declined},
		"a node that is late": {200, `{"code":-32602,"message":"block range extends beyond current head block"}`, Declined},
	} {
		t.Run(name, func(t *testing.T) {
			front := node.NewFront(t, simple)
			front.Instead(getLogs, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(test.status)
				if test.body != "" {
					node.Says(`{"jsonrpc":"2.0","id":1,"error":`+test.body+`}`)(w, r)
				}
			})
			g := newRig(t, front)
			var logs []Log
			err := g.track(ReadLogs(nil, nil, 1, 2, &logs))
			if f := classify(err); f.Reason != test.want {
				t.Errorf("got %v, want %s", err, test.want)
			}
			if got := g.Health(369, Tracking).Resting; (got == 1) != test.want.RestsEndpoint() {
				t.Errorf("%d endpoints rest for %s", got, test.want)
			}
		})
	}
}

// Any topic is null: an empty list matches nothing in some nodes.
func TestAnyTopicIsNull(t *testing.T) {
	read := ReadLogs([]common.Address{{1}}, [][]common.Hash{{{2}}, nil, {}, {{3}}}, 1, 2, new([]Log))
	text, err := json.Marshal(read.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	var filter struct{ Topics []json.RawMessage }
	if err := json.Unmarshal(text, &filter); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{`["` + common.Hash{2}.Hex() + `"]`, "null", "null", `["` + common.Hash{3}.Hex() + `"]`} {
		if got := string(filter.Topics[i]); got != want {
			t.Errorf("topic %d is %s, want %s", i, got, want)
		}
	}
}

func TestHidesLogs(t *testing.T) {
	for text, want := range map[string]bool{
		`{"logs":[],"logsBloom":"0x0000"}`:   false,
		`{"logs":[],"logsBloom":"0x0010"}`:   true,
		`{"logs":[],"logsBloom":"0x"}`:       false,
		`{"logs":[],"logsBloom":null}`:       false,
		`{"logs":[],"logsBloom":7}`:          false,
		`{"logs":[]}`:                        false,
		`{"logs":[{}],"logsBloom":"0x0010"}`: false,
	} {
		var r Receipt
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			t.Fatal(err)
		}
		if got := r.HidesLogs(); got != want {
			t.Errorf("%s: got %v, want %v", text, got, want)
		}
	}
}
