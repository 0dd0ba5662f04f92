package wire

import (
	"strconv"

	"github.com/quotegate/quotegate/shared/calldata"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/fee"
	"github.com/quotegate/quotegate/shared/quote"
	"github.com/quotegate/quotegate/shared/web"
)

// DecodeSwap reads what every version asks for: tokens, amount and chains.
// parseChain decides which chains the version knows.
func DecodeSwap(q *web.Query, parseChain func(string) (chain.ID, error)) quote.Request {
	return quote.Request{
		SrcToken: web.Required(q, "srcToken", web.Text),
		DstToken: web.Required(q, "dstToken", web.Text),
		Amount:   web.Required(q, "amount", fee.ParseAmount),
		SrcChain: web.Required(q, "srcChain", parseChain),
		DstChain: web.Required(q, "dstChain", parseChain),
	}
}

// DecodeRecipient reads a recipient that must be there and must not be zero.
func DecodeRecipient(q *web.Query) quote.Recipient {
	kind := web.Optional(q, "recipientType", parseRecipientType)
	return web.Required(q, "recipient", func(text string) (quote.Recipient, error) {
		r, err := parseRecipient(kind, text)
		if err == nil && r.Zero() {
			err = fault.New(fault.InvalidRecipient, "The recipient is the zero address: what is sent there is lost")
		}
		return r, err
	})
}

// DecodeOptionalRecipient reads a recipient that may be left out, as the zero
// address then.
func DecodeOptionalRecipient(q *web.Query) quote.Recipient {
	kind := web.Optional(q, "recipientType", parseRecipientType)
	return web.Optional(q, "recipient", func(text string) (quote.Recipient, error) { return parseRecipient(kind, text) })
}

// parseRecipient holds a recipient to the recipientType. A 0zk address is a
// private recipient whatever the type.
func parseRecipient(kind int, text string) (quote.Recipient, error) {
	r, err := quote.ParseRecipient(text)
	if err == nil && kind == calldata.RecipientPrivate && r.Private == nil {
		err = fault.New(fault.InvalidRecipient, "A recipient of type 2 must be a raw 0zk… address; an EVM address is type 0")
	}
	return r, err
}

func parseRecipientType(text string) (int, error) {
	for _, kind := range []int{calldata.RecipientEVM, calldata.RecipientPrivate} {
		if text == strconv.Itoa(kind) {
			return kind, nil
		}
	}
	return 0, fault.New(fault.InvalidParameter, "The recipientType must be 0, for an EVM address, or 2, for a 0zk… address")
}
