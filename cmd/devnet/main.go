// Command devnet x
package main

import (
	"github.com/quotegate/quotegate/cmd/devnet/reference"
	"github.com/quotegate/quotegate/shared/chain"
)

func gatewayEnv(net *reference.Net, listen string) []string {
	env := []string{"LISTEN_ADDR=" + listen, "ADMIN_ADDR=127.0.0.1:0", "RATE_LIMIT=0"}
	for _, id := range chain.PoolChains {
		env = append(env, "RPC_URLS_"+id.String()+"="+net.Chain(id).URL())
	}
	return env
}

func main() {}
