package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"

	"github.com/ethereum/go-ethereum/common"
)

// startNode serves JSON-RPC as a node of the hub on which every partner is
// registered.
func startNode() *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var call struct {
			ID     json.RawMessage
			Method string
			Params []json.RawMessage
		}
		if err := json.NewDecoder(r.Body).Decode(&call); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		result := "0x171" // eth_chainId
		if call.Method == "eth_call" {
			var to struct{ Data string }
			if len(call.Params) == 0 || json.Unmarshal(call.Params[0], &to) != nil || len(to.Data) != 2+8+64 {
				http.Error(w, "not a look-up of an integrator", http.StatusBadRequest)
				return
			}
			result = "0x" + to.Data[10:] + fmt.Sprintf("%064x%064x", partnerBPS, 1)
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":"%s"}`, call.ID, result)
	}))
}

func randomAddress(rng *rand.Rand) string {
	var a common.Address
	for i := range a {
		a[i] = byte(rng.Uint32())
	}
	return a.Hex()
}

func portOf(addr string) string {
	_, port, _ := net.SplitHostPort(addr) // of a listener
	return port
}
