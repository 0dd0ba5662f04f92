package main

import (
	"fmt"
	"math/big"

	"github.com/quotegate/quotegate/cmd/internal/wallet"
	"github.com/quotegate/quotegate/shared/chain"
)

// money is an amount of a token as people write it.
func money(amount *big.Int, token chain.Token) string {
	return wallet.FormatAmount(amount, token.Decimals) + " " + token.Symbol
}

// name is what people and machines call a chain.
func name(id chain.ID) string {
	network, _ := chain.FindNetwork(id)
	if id.Private() {
		return fmt.Sprintf("the privacy pool on %s (%s)", network.Name, id)
	}
	return fmt.Sprintf("%s (%s)", network.Name, id)
}
