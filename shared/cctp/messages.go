package cctp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
)

// The service blocks a caller above 35 requests a second, fees included. Messages
// are asked for at most every messagePause. Who would have to wait for longer than
// messageWait is refused.
const (
	messagePause = 100 * time.Millisecond
	messageWait  = 2 * time.Second
	messageLimit = 256 << 10 // bytes of an answer
	mostMessages = 64        // of a transaction; later ones are not read
)

// Attestation is how far the issuer is with a burn.
type Attestation string

const (
	Unseen   Attestation = "unseen"   // the issuer has not seen the transaction yet
	Waiting  Attestation = "pending"  // it waits for confirmations, or for the reason it gives
	Complete Attestation = "complete" // it has signed; the message can be delivered
	Unknown  Attestation = "unknown"  // the issuer could not be asked, or its answer makes no sense
)

// Message is one burn of a transaction, as the issuer sees it.
type Message struct {
	State Attestation // Waiting or Complete
	// Delay is the issuer's word for why it waits, such as insufficient_fee;
	// empty if it gives none.
	Delay string
	// Message is what the issuer has signed. It may be empty while it waits.
	Message []byte
}

// delay is what a word of the issuer's may look like, to be repeated to clients.
var delay = regexp.MustCompile(`^[a-z][a-z_]{0,63}$`)

// Configured tells whether the issuer can be asked.
func (f *Fees) Configured() bool { return f.client != nil }

// Messages asks the issuer for the burns of a transaction on the chain of a
// domain, in the order of their logs. There are none, and no error, while it has
// not seen the transaction. The text of an error is fit for a client.
func (f *Fees) Messages(ctx context.Context, domain uint32, tx common.Hash) ([]Message, error) {
	if f.client == nil {
		return nil, &failure{reason: "no address of the issuer's service is configured"}
	}
	if err := f.client.await(ctx); err != nil {
		return nil, err
	}
	address := f.client.base.JoinPath(fmt.Sprintf("v2/messages/%d", domain))
	address.RawQuery = url.Values{"transactionHash": {tx.Hex()}}.Encode()
	body, err := f.client.get(ctx, address, messageLimit)
	if errors.Is(err, errNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return decodeMessages(body)
}

// await waits for the turn of a request for messages.
func (c *client) await(ctx context.Context) error {
	c.mu.Lock()
	now := time.Now()
	at := now
	if c.next.After(now) {
		at = c.next
	}
	wait := at.Sub(now)
	if wait > messageWait {
		c.mu.Unlock()
		return &failure{reason: "too many requests wait for the issuer's service"}
	}
	c.next = at.Add(messagePause)
	c.mu.Unlock()
	select {
	case <-time.After(wait):
		return nil
	case <-ctx.Done():
		return unanswered(ctx.Err())
	}
}

// decodeMessages reads an answer. A message counts as complete only if it is
// there together with an attestation.
func decodeMessages(body []byte) ([]Message, error) {
	var answer struct {
		Messages []struct {
			Message     string  `json:"message"`
			Attestation string  `json:"attestation"`
			Status      string  `json:"status"`
			DelayReason *string `json:"delayReason"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(body, &answer); err != nil || answer.Messages == nil {
		return nil, &failure{reason: "the answer is not the expected JSON", cause: err}
	}
	answer.Messages = answer.Messages[:min(len(answer.Messages), mostMessages)]
	messages := make([]Message, len(answer.Messages))
	for i, m := range answer.Messages {
		message, err := hexutil.Decode(m.Message)
		if err != nil && !errors.Is(err, hexutil.ErrEmptyString) {
			return nil, &failure{reason: "a message in the answer is not hexadecimal", cause: err}
		}
		signature, err := hexutil.Decode(m.Attestation)
		signed := err == nil && len(signature) > 0
		switch {
		case m.Status == "complete" && signed && len(message) > 0:
			messages[i] = Message{State: Complete, Message: message}
		case m.Status == "complete":
			return nil, &failure{reason: "a message in the answer is complete without being signed"}
		default:
			messages[i] = Message{State: Waiting, Message: message}
		}
		if messages[i].State == Waiting && m.DelayReason != nil && delay.MatchString(*m.DelayReason) {
			messages[i].Delay = *m.DelayReason
		}
	}
	return messages, nil
}
