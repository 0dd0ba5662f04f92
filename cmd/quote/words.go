package main

import (
	"fmt"

	"github.com/quotegate/quotegate/shared/chain"
)

// name is what people and machines call a chain.
func name(id chain.ID) string {
	network, _ := chain.FindNetwork(id)
	if id.Private() {
		return fmt.Sprintf("the privacy pool on %s (%s)", network.Name, id)
	}
	return fmt.Sprintf("%s (%s)", network.Name, id)
}
