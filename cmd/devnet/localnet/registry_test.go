package localnet

import (
	"context"
	"reflect"
	"testing"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/ethclient/simulated"

	"github.com/quotegate/quotegate/testdata/contracts"
)

func TestRegistryFromGenesis(t *testing.T) {
	at := common.HexToAddress("0x1000")
	wallet := common.HexToAddress("0xabcd00000000000000000000000000000000ef01")
	chain := simulated.NewBackend(types.GenesisAlloc{
		at: contracts.Registry(common.HexToAddress("0x01"), contracts.Integrator{Wallet: wallet, FeeBPS: 25, Active: true}),
	})
	defer chain.Close()
	input, err := contracts.RegistryABI.Pack("getIntegrator", contracts.IntegratorID(wallet))
	if err != nil {
		t.Fatal(err)
	}
	output, err := chain.Client().CallContract(context.Background(), ethereum.CallMsg{To: &at, Data: input}, nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := contracts.RegistryABI.Unpack("getIntegrator", output)
	if err != nil {
		t.Fatal(err)
	}
	if want := []any{wallet, uint16(25), true}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
