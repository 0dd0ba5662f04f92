package wire

import (
	"github.com/quotegate/quotegate/shared/chain"
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
	kind := web.Optional(q, "recipientType", quote.ParseRecipientType)
	return web.Required(q, "recipient", kind.Parse)
}

// DecodeOptionalRecipient reads a recipient that may be left out, as the zero
// address then.
func DecodeOptionalRecipient(q *web.Query) quote.Recipient {
	kind := web.Optional(q, "recipientType", quote.ParseRecipientType)
	return web.Optional(q, "recipient", kind.ParseOrZero)
}
