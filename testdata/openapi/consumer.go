// The command asks for a quote and a status with the package that oapi-codegen makes of the contract of v3.
package main

import (
	"context"
	"fmt"
	"os"

	"consumer/v3"
)

func main() {
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(gateway string) error {
	client, err := v3.NewClientWithResponses(gateway)
	if err != nil {
		return err
	}
	include := v3.GetQuoteParamsIncludeDetails
	quote, err := client.GetQuoteWithResponse(context.Background(), &v3.GetQuoteParams{
		SrcChain: "1", SrcToken: "USDC", DstChain: "369", DstToken: "USDC", Amount: "100000000",
		Recipient: "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", Include: &include,
	})
	if err != nil {
		return err
	}
	if refused := quote.JSON400; refused != nil {
		return fmt.Errorf("%s: %s", refused.Code, refused.Error)
	}
	var route v3.RouteType = quote.JSON200.Route.Type
	fmt.Println(quote.JSON200.DestAmount, route == v3.DIRECT, quote.JSON200.Details.SendCalls.Calls[0].To)

	answer, err := client.GetStatusWithResponse(context.Background(), &v3.GetStatusParams{
		SrcChain: "1", TxHash: "0x1111111111111111111111111111111111111111111111111111111111111107",
	})
	if err != nil {
		return err
	}
	if refused := answer.JSON503; refused != nil && refused.Code == string(v3.KnownErrorCodeCHAINUNAVAILABLE) {
		fmt.Println(refused.Error) // a gateway without RPC endpoints
		return nil
	}
	if answer.JSON200 == nil {
		return fmt.Errorf("the status is answered %s", answer.Status())
	}
	return report(answer.JSON200)
}

func report(status *v3.Status) error {
	switch status.State {
	case v3.SwapStateSETTLED:
		settled, err := status.AsSettledSwap()
		if err != nil {
			return err
		}
		fmt.Println("received", settled.Settlement.Arrived)
	case v3.SwapStateFAILED, v3.SwapStateNOTASWAP:
		fmt.Println("nothing was swapped")
	case v3.SwapStateNOTFOUND, v3.SwapStatePENDING, v3.SwapStateSETTLING:
		fmt.Println("ask again in", status.NextCheckSeconds, "seconds")
	}
	return nil
}
