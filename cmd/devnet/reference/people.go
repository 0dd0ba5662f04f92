package reference

import (
	"crypto/ecdsa"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/quotegate/quotegate/cmd/devnet/contracts"
)

// An Account can sign. Its key is made from a published phrase, so whatever it holds on a real chain belongs to anyone.
type Account struct {
	Key     *ecdsa.PrivateKey
	Address common.Address
}

func account(name string) Account {
	key, err := crypto.ToECDSA(crypto.Keccak256([]byte("reference deployment: " + name)))
	if err != nil {
		panic("the key of the " + name + ": " + err.Error())
	}
	return Account{key, crypto.PubkeyToAddress(key.PublicKey)}
}

// Those who sign. All of them have coins for gas on every chain.
var (
	User     = account("user")     // swaps; has every token there is
	Operator = account("operator") // settles; issues every token
	Attester = account("attester") // the issuer of USDC: signs burns, and delivers them to chains that have no receiver
)

// Those who are only paid.
var (
	Treasury        = common.HexToAddress("0x7EA5000000000000000000000000000000000001") // the protocol's fees
	RailgunTreasury = common.HexToAddress("0x7EA5000000000000000000000000000000000002") // RAILGUN's shielding fees
)

// Integrator is registered and active on every chain that has a registry.
var Integrator = contracts.Integrator{
	Wallet: common.HexToAddress("0x17E6000000000000000000000000000000000003"),
	FeeBPS: 25,
	Active: true,
}

// Inactive is registered on every chain that has a registry, and not active on any.
var Inactive = contracts.Integrator{
	Wallet: common.HexToAddress("0x17E6000000000000000000000000000000000004"),
	FeeBPS: 25,
}

// A private recipient to shield to, and the key that opens what it is sent.
const PrivateRecipient = "0zk1qyxurtdvcjqmruwenw2m3gsa8zpmagjk7l2rr54f72rzxzzq4hqn9rv7j6fe3z53la0e0u4w4enlgfrctv75s" +
	"860w8vyalll36xdq7w39djr40dhrdafqpdmhpa"

var PrivateViewingKey = [32]byte(common.FromHex("0x1ca1e63cc45ca8fd705fd7438b6a8869b9aaa7b2e333756f2768482f6b90ea10"))
