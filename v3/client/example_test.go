package client_test

import (
	"context"
	"fmt"
	"math/big"
	"net/http/httptest"

	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/gateway/testkit/golden"
	"github.com/quotegate/quotegate/v3/client"
)

// A bot asks for a quote, gets the calls to sign, and follows what it sent.
func Example() {
	server := startGateway()
	defer server.Close()
	ctx := context.Background()

	c, err := client.New(server.URL)
	if err != nil {
		fmt.Println(err)
		return
	}
	checked, err := c.Quote(ctx, client.Request{
		SrcChain: 1, SrcToken: "USDC", DstChain: 369, DstToken: "USDC",
		Amount:    big.NewInt(100_000_000),
		Recipient: "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
	})
	if err != nil {
		fmt.Println("do not sign:", err)
		return
	}
	token := checked.Pair.DstToken
	fmt.Println(client.FormatAmount(checked.Arrives, token.Decimals), token.Symbol, "will arrive")
	for _, call := range checked.Calls {
		fmt.Printf("send %d bytes to %s on chain %d\n", len(call.Data), call.To, call.ChainID)
	}
	for _, what := range checked.Unchecked {
		fmt.Println("not checked:", what)
	}

	sent := client.Sent{
		Hash:  common.HexToHash("0x1111111111111111111111111111111111111111111111111111111111111107"),
		Quote: checked,
	}
	for status, err := range c.Follow(ctx, sent) {
		if err != nil {
			fmt.Println("not known, so do not send it again:", err)
			return
		}
		fmt.Println(status)
	}
	// Output:
	// 99.7 USDC will arrive
	// send 68 bytes to 0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48 on chain 1
	// send 260 bytes to 0x2AD529b5B3443Dd5a054790E84A9aB76A2cD229d on chain 1
	// not checked: what arrives: the contracts enforce no minimum, and the fees in force when the swap settles count
	// not checked: when it arrives: the contracts enforce no deadline
	// not checked: that it arrives: the contracts give no refund, so it rests on the operator
	// not checked: how long it takes: 13 seconds is what it usually took
	// SETTLED: paid out with 0x2222222222222222222222222222222222222222222222222222222222222222 on chain 369
}

// A reviewed listing is pinned, and the gateway's own does not count.
func ExampleWithPinned() {
	server := startGateway()
	defer server.Close()
	ctx := context.Background()

	// Read a listing once, review it, and keep it with your own code.
	first, err := client.New(server.URL)
	if err != nil {
		fmt.Println(err)
		return
	}
	reviewed, err := first.Pairs(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}

	c, err := client.New(server.URL, client.WithPinned(client.Pinned{Listing: reviewed}))
	if err != nil {
		fmt.Println(err)
		return
	}
	checked, err := c.Quote(ctx, client.Request{
		SrcChain: 1, SrcToken: "ETH", DstChain: 369, DstToken: "WETH",
		Amount: big.NewInt(1e18), Recipient: "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
	})
	if err != nil {
		fmt.Println("do not sign:", err)
		return
	}
	fmt.Println(checked.Main.Value, "wei to", checked.Main.To)
	// Output: 1000000000000000000 wei to 0xD98c74c52e2bb6641982271AE856fF685F8726AA
}

// What is to be typed in: the amount that pays out 100 USDC, without a request for each key.
func ExampleListing_Estimate() {
	server := startGateway()
	defer server.Close()
	c, err := client.New(server.URL)
	if err != nil {
		fmt.Println(err)
		return
	}
	listing, err := c.Pairs(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	estimate, err := listing.Estimate(client.EstimateRequest{
		SrcChain: 1, SrcToken: "USDC", DstChain: 369, DstToken: "USDC",
		Dest: big.NewInt(100_000_000), IntegratorBPS: 25, // 0.25 %
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(client.FormatAmount(estimate.Amount, estimate.Pair.SrcToken.Decimals), "to send")
	fmt.Println(client.FormatAmount(estimate.Dest, estimate.Pair.DstToken.Decimals), "is paid out")
	// Output:
	// 100.553041 to send
	// 100 is paid out
}

// startGateway runs a real gateway, as an operator would mount it, on the loopback.
func startGateway() *httptest.Server {
	gateway, err := golden.New(context.Background(), nil)
	if err != nil {
		panic(err)
	}
	return httptest.NewServer(gateway)
}
