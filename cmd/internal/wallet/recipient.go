package wallet

import (
	"errors"
	"fmt"
	"math/big"
	"slices"

	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/railgun"
)

// lowestAccount is the first address that can be somebody's: those below are precompiled contracts, of Ethereum or of a
// chain's own, or reserved for more of them.
var lowestAccount = big.NewInt(0x10000)

var dead = common.HexToAddress("0x000000000000000000000000000000000000dEaD")

// recipient gives the bytes that must name an EVM recipient, or nil for a private one. It refuses a recipient that no
// deployment can pay.
func (s Swap) recipient() ([]byte, error) {
	if s.Dst.Private() {
		address, err := railgun.ParseAddress(s.Recipient)
		if err != nil {
			return nil, err
		}
		return nil, address.PayableOn(uint64(s.Dst.Network()))
	}
	address, err := chain.ParseAddress(s.Recipient)
	switch {
	case err != nil:
		return nil, fmt.Errorf("the recipient %w", err)
	case address == (common.Address{}):
		return nil, errors.New("the recipient is the zero address: what is sent there is lost")
	case address == chain.Native.Address:
		return nil, errors.New("the recipient is the address that stands for a chain's own coin: what is sent there is lost")
	case address == dead:
		return nil, errors.New("the recipient is the address where people destroy money: what is sent there is lost")
	case address.Big().Cmp(lowestAccount) < 0:
		return nil, fmt.Errorf("the recipient %s is below 0x10000, where a chain keeps its built-in contracts: what is sent there is lost", address)
	}
	for _, id := range chain.IDs() {
		for _, t := range chain.Tokens(id) {
			if t.Address.Address == address {
				return nil, fmt.Errorf("the recipient is the contract of %s on chain %s: what is sent there is lost", t.Symbol, t.ChainID)
			}
		}
	}
	return address[:], nil
}

// CheckRecipient refuses a recipient that cannot own money, among them every contract of the deployment and of the
// listing, on whichever chain it is.
func (s Swap) CheckRecipient(d *chain.Deployment, l Listing) error {
	recipient, err := s.recipient()
	if err != nil || recipient == nil {
		return err
	}
	address := common.BytesToAddress(recipient)
	contracts := []common.Address{d.Settlement.Receiver.Address, common.HexToAddress(l.Settlement.Receiver)}
	for _, row := range d.Routers() {
		contracts = append(contracts, row.Router.Address)
	}
	for _, network := range chain.PoolChains {
		contracts = append(contracts, d.Registry(network).Address)
	}
	for _, row := range l.Routers {
		contracts = append(contracts, common.HexToAddress(row.Router))
	}
	if slices.Contains(contracts, address) {
		return fmt.Errorf("the recipient %s is a contract of the service: what is sent there is lost", address)
	}
	return nil
}
