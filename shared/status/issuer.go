package status

import (
	"context"

	"github.com/quotegate/quotegate/shared/calldata"
	"github.com/quotegate/quotegate/shared/cctp"
)

// issued is what the issuer says of the burns of a transaction.
type issued struct {
	messages []cctp.Message
	decoded  []*calldata.Message // nil where there is no burn to read
	used     []bool              // whether a swap has been matched with it
	err      error
}

// attested finds the issuer's view of a burn, and the attested message if there is
// one. A message is matched with one burn only.
func (l *lookup) attested(ctx context.Context, tx key, burn *Burn, matches func(*calldata.Message) bool) *calldata.Message {
	i := l.askIssuer(ctx, tx, burn.Domain)
	if i.err != nil {
		burn.State, burn.Reason = cctp.Unknown, "The issuer's view is unknown: "+i.err.Error()
		return nil
	}
	burn.State = cctp.Unseen
	for n, m := range i.messages {
		if d := i.decoded[n]; d != nil && m.State == cctp.Complete && !i.used[n] && matches(d) {
			i.used[n] = true
			burn.State, burn.Nonce = cctp.Complete, d.Nonce
			return d
		}
	}
	for n, m := range i.messages {
		// A message that waits may have no content to match.
		if d := i.decoded[n]; m.State == cctp.Waiting && !i.used[n] && (d == nil || matches(d)) {
			i.used[n] = true
			burn.State, burn.Reason = cctp.Waiting, m.Delay
			return nil
		}
	}
	return nil
}

// askIssuer asks once for each transaction.
func (l *lookup) askIssuer(ctx context.Context, tx key, domain uint32) *issued {
	if i := l.messages[tx]; i != nil {
		return i
	}
	i := &issued{}
	i.messages, i.err = l.issuer.Messages(ctx, domain, tx.hash)
	i.decoded, i.used = make([]*calldata.Message, len(i.messages)), make([]bool, len(i.messages))
	for n, m := range i.messages {
		if d, err := calldata.DecodeMessage(m.Message); err == nil {
			i.decoded[n] = d
		}
	}
	if l.messages == nil {
		l.messages = make(map[key]*issued)
	}
	l.messages[tx] = i
	return i
}
