package wallet_test

import (
	"encoding/json"
	"fmt"

	"github.com/quotegate/quotegate/cmd/internal/wallet"
	"github.com/quotegate/quotegate/shared/chain"
)

// answer is what a gateway quoted for one ETH on chain 1 to WETH on chain 369.
const answer = `{
	"to": "0xD98c74c52e2bb6641982271AE856fF685F8726AA",
	"srcToken": {"address": "0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE", "symbol": "ETH", "decimals": 18, "chainId": 1},
	"destToken": {"address": "0x02DcdD04e3F455D838cd1249292C58f3B79e3C3C", "symbol": "WETH", "decimals": 18, "chainId": 369},
	"srcAmount": "1000000000000000000",
	"destAmount": "997000000000000000",
	"fee": {
		"chainId": 369,
		"token": "destination",
		"protocol": {"percentage": 0.3, "amount": "3000000000000000"},
		"integrator": {"percentage": 0, "amount": "0"},
		"total": {"amount": "3000000000000000"}
	},
	"methodParameters": {
		"calldata": "0x095ff22d00000000000000000000000000000000000000000000000000000000000001710000000000000000000000000000000000000000000000000de0b6b3a764000000000000000000000000000000000000000000000000000000000000000000c0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000002dcdd04e3f455d838cd1249292c58f3b79e3c3c000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000145aaeb6053f3e94c9b9a09f33669435e7ef1beaed000000000000000000000000",
		"value": "0xde0b6b3a7640000"
	},
	"route": {"type": "DIRECT"}
}`

// A wallet holds an answer against the swap that was asked for. One that would
// pay somebody else is refused.
func ExampleCheck() {
	const somebodyElse = "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359"
	know := wallet.Knowledge{
		Deployment: chain.Reference(),
		Listing: wallet.Listing{Routers: []wallet.Router{{
			ChainID: 1, Symbol: "ETH",
			Token:  "0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE",
			Router: "0xD98c74c52e2bb6641982271AE856fF685F8726AA",
		}}},
	}
	quote := &wallet.Quote{Version: "v3"}
	if err := json.Unmarshal([]byte(answer), quote); err != nil {
		fmt.Println(err)
		return
	}
	for _, recipient := range []string{"0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", somebodyElse} {
		swap, err := wallet.NewSwap("ETH@1", "WETH@369", "1", recipient, "")
		if err != nil {
			fmt.Println(err)
			return
		}
		checked, err := wallet.Check(swap, quote, know)
		if err != nil {
			fmt.Println("do not sign:", err)
			continue
		}
		fmt.Println(wallet.FormatAmount(checked.Dest, 18), "WETH will arrive; send", wallet.FormatAmount(checked.Main.Value, 18), "ETH to", checked.Main.To)
	}
	// Output:
	// 0.997 WETH will arrive; send 1 ETH to 0xD98c74c52e2bb6641982271AE856fF685F8726AA
	// do not sign: calldata: not the call that was asked for: recipient is 0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed, want 0xfb6916095ca1df60bb79ce92ce3ea74c37c5d359
}
