package status

import (
	"os"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/shared/chain"
)

// editDeployment is the reference deployment with texts replaced: old, new, old,
// new and so on.
func editDeployment(t testing.TB, edit ...string) *chain.Deployment {
	t.Helper()
	data, err := os.ReadFile("../chain/reference.json")
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	for i := 0; i < len(edit); i += 2 {
		if !strings.Contains(text, edit[i]) {
			t.Fatalf("the reference deployment has no %s", edit[i])
		}
		text = strings.Replace(text, edit[i], edit[i+1], 1)
	}
	d, err := chain.ParseDeployment([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// manyAt is a contract of somebody else: it passes its input on to a pool seventeen times, each time with a part of the
// value.
var manyAt = common.HexToAddress("0x8888888888888888888888888888888888888888")

func repeater(pool common.Address, times byte) []byte {
	// calldatacopy(0, 0, calldatasize); then call(gas, pool, callvalue/times, 0, calldatasize, 0, 0)
	call := "60006000366000" + "60" + common.Bytes2Hex([]byte{times}) + "3404" + "73" + common.Bytes2Hex(pool[:]) + "5af1" + "50"
	return common.FromHex("3660006000" + "37" + strings.Repeat(call, int(times)) + "00")
}
