package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fee"
)

// parts are the generated parts by name, each as its lines.
var parts = map[string]func() []string{
	"pairs":                     pairsTable,
	"finality":                  finalityTable,
	"tokens":                    tokenRows,
	"tokens as JavaScript":      tokenObject,
	"networks as JavaScript":    networkObject,
	"wrapped coins":             wrappedCoins,
	"wrapped coins, lower case": wrappedInLowerCase,
	"issuer fees":               issuerFees,
	"issuer fees as JavaScript": issuerFeeObject,
	"gas bounds":                gasBounds,
	"routing IDs":               routingIDs,
	"token symbols":             symbols,
	"number of networks":        func() []string { return count(len(chain.Networks())) },
	"number of IDs":             func() []string { return count(len(chain.IDs())) },
	"number of pairs":           func() []string { return count(len(chain.Pairs())) },
	"chains of the issuer":      func() []string { return sentence(issuerChains()) },
	"chains without fast burns": func() []string { return sentence(slowChains()) },
}

// issuerChains are the networks without a pool, where the issuer of USDC burns and mints it.
func issuerChains() []chain.ID {
	var ids []chain.ID
	for _, n := range chain.Networks() {
		if !slices.Contains(chain.PoolChains, n.ID) {
			ids = append(ids, n.ID)
		}
	}
	return ids
}

// slowChains are those of them without a fast transfer.
func slowChains() []chain.ID {
	return slices.DeleteFunc(issuerChains(), func(id chain.ID) bool {
		n, _ := chain.FindNetwork(id)
		return n.CCTP.FastFeeMilliBPS != 0
	})
}

func texts(ids []chain.ID) []string {
	slices.Sort(ids)
	all := make([]string, len(ids))
	for i, id := range ids {
		all[i] = id.String()
	}
	return all
}

// sentence is a list as it stands in a sentence: 1, 2 and 3.
func sentence(ids []chain.ID) []string {
	all := texts(ids)
	last := len(all) - 1
	return []string{strings.Join(all[:last], ", ") + " and " + all[last]}
}

func count(n int) []string { return []string{strconv.Itoa(n)} }

// routingIDs are those that requests may name, as values of a schema.
func routingIDs() []string {
	var lines []string
	for _, id := range chain.IDs() {
		lines = append(lines, fmt.Sprintf("- %q", id.String()))
	}
	return lines
}

// symbols are those of the tokens, as values of a schema.
func symbols() []string {
	var lines []string
	for _, symbol := range chain.Symbols {
		lines = append(lines, "- "+symbol)
	}
	return lines
}

// finalityTable says when a transaction counts as final.
func finalityTable() []string {
	lines := []string{"| chain | name | shortest block | confirmations |", "| --: | --- | --: | --: |"}
	for _, n := range chain.Networks() {
		lines = append(lines,
			fmt.Sprintf("| %s | %s | %g s | %d |", n.ID, n.Name, n.Block.Seconds(), n.Confirmations))
	}
	return lines
}

// tokensOf are the tokens of a symbol, by network.
func tokensOf(symbol string) []chain.Token {
	var found []chain.Token
	for _, n := range chain.Networks() {
		for _, t := range n.Tokens {
			if t.Symbol == symbol {
				found = append(found, t)
			}
		}
	}
	return found
}

func tokenRows() []string {
	var lines []string
	for _, symbol := range chain.Symbols {
		for _, t := range tokensOf(symbol) {
			lines = append(lines, fmt.Sprintf("known(%s, %q, %q, %d),", t.ChainID, t.Symbol, t.Address, t.Decimals))
		}
	}
	return lines
}

func tokenObject() []string {
	lines := []string{"const TOKENS = {"}
	for _, symbol := range chain.Symbols {
		var entries []string
		for _, t := range tokensOf(symbol) {
			address := strings.ToLower(t.Address.String()) // which takes less to transfer
			entries = append(entries, fmt.Sprintf("%s: ['%s', %d],", t.ChainID, address, t.Decimals))
		}
		lines = append(lines, "  "+symbol+": {")
		for pair := range slices.Chunk(entries, 2) {
			lines = append(lines, "    "+strings.Join(pair, " "))
		}
		lines = append(lines, "  },")
	}
	return append(lines, "};")
}

// networkObject has the name of each network, and the name and the symbol of its coin.
func networkObject() []string {
	lines := []string{"const NETWORKS = {"}
	for _, n := range chain.Networks() {
		lines = append(lines, fmt.Sprintf("  %s: ['%s', '%s', '%s'],", n.ID, n.Name, n.CoinName, n.Coin))
	}
	return append(lines, "};")
}

// wrappedOnce are the networks with a wrapped coin that is none of the tokens. Of those with the same one, it is the
// first.
func wrappedOnce() (networks []chain.Network) {
	for _, n := range chain.Networks() {
		isSame := func(other chain.Network) bool { return other.Wrapped.Address == n.Wrapped.Address }
		if n.Wrapped.Symbol != "" && !slices.ContainsFunc(networks, isSame) {
			networks = append(networks, n)
		}
	}
	return networks
}

func wrappedCoins() (lines []string) {
	for _, n := range wrappedOnce() {
		lines = append(lines, fmt.Sprintf("common.HexToAddress(%q): \"%s on chain %s\",",
			n.Wrapped.Address, n.Wrapped.Symbol, n.ID))
	}
	return lines
}

func wrappedInLowerCase() (lines []string) {
	var addresses []string
	for _, n := range wrappedOnce() {
		addresses = append(addresses, "'"+strings.ToLower(n.Wrapped.Address.String())+"',")
	}
	for pair := range slices.Chunk(addresses, 2) {
		lines = append(lines, strings.Join(pair, " "))
	}
	return lines
}

// issuerFees are the fees of fast burns by source chain, in thousandths of a basis point.
func issuerFees() []string {
	var fees []string
	for _, n := range chain.Networks() {
		if n.CCTP != nil && n.CCTP.FastFeeMilliBPS > 0 {
			fees = append(fees, fmt.Sprintf("%s: %d,", n.ID, n.CCTP.FastFeeMilliBPS))
		}
	}
	return inRows(fees)
}

// inRows puts five entries into each line.
func inRows(entries []string) (lines []string) {
	for some := range slices.Chunk(entries, 5) {
		lines = append(lines, strings.Join(some, " "))
	}
	return lines
}

func issuerFeeObject() []string {
	lines := []string{"const FAST_FEES = {"}
	for _, line := range issuerFees() {
		lines = append(lines, "  "+line)
	}
	return append(lines, "};")
}

// gasBounds are what the gas of one transaction may cost, by chain, in coins.
func gasBounds() []string {
	var bounds []string
	for _, n := range chain.Networks() {
		bounds = append(bounds, fmt.Sprintf("%s: %q,", n.ID, n.MostGas))
	}
	return inRows(bounds)
}

// pairsTable puts the pairs that differ only in their chains into one row, if each of its source chains reaches each of
// its destinations.
func pairsTable() []string {
	type kind struct{ src, dst, route, fee string }
	type source struct {
		kind
		on chain.ID
	}
	reached := map[source][]chain.ID{}
	for _, p := range chain.Pairs() {
		percent := string(fee.Protocol(p.Src, p.Dst).AppendPercent(nil))
		from := source{kind{p.SrcToken.Symbol, p.DstToken.Symbol, p.Route.String(), percent}, p.Src}
		reached[from] = append(reached[from], p.Dst)
	}
	type row struct {
		kind
		to string
	}
	sources := map[row][]chain.ID{}
	for from, dsts := range reached {
		r := row{from.kind, strings.Join(texts(dsts), ", ")}
		sources[r] = append(sources[r], from.on)
	}
	var lines []string
	for r, srcs := range sources {
		on := strings.Join(texts(srcs), ", ")
		lines = append(lines, fmt.Sprintf("| %s | %s | %s | %s | %s | %s %% |", r.src, on, r.dst, r.to, r.route, r.fee))
	}
	slices.Sort(lines)
	return append([]string{"| from | on | to | on | route | fee |", "| --- | --- | --- | --- | --- | --: |"}, lines...)
}
