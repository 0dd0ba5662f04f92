package quote_test

import (
	"strings"
	"testing"

	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/quote"
)

func TestRecipientTypes(t *testing.T) {
	const (
		account = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
		zero    = "0x0000000000000000000000000000000000000000"
	)
	tests := []struct {
		name, kind, text string
		says             string // what Parse refuses it with, empty if it does not
		reason           fault.Reason
	}{
		{"an account", "0", account, "", ""},
		{"a 0zk address", "2", private, "", ""},
		{"a 0zk address by any type", "0", private, "", ""},
		{"an account as private", "2", account, "must be a raw 0zk… address", fault.PublicOnPrivate},
		{"zero", "0", zero, "", ""},
		{"zero as private", "2", zero, "must be a raw 0zk… address", fault.PublicOnPrivate},
		{"a wrong checksum", "0", strings.Replace(account, "A", "a", 1), "checksum", fault.Checksum},
		{"a wrong checksum as private", "2", strings.Replace(account, "A", "a", 1), "checksum", fault.Checksum},
		{"a name", "0", "vitalik.eth", "names are not resolved", fault.Name},
		{"a space before a 0zk address", "0", " " + private, "leading or trailing space", fault.Malformed},
		{"a space after an address", "0", account + " ", "leading or trailing space", fault.Malformed},
		{"a 0zk address mistyped", "2", private[:50] + "q" + private[51:], "checksum", fault.Checksum},
		{"no address", "0", "alice", "is not an EVM address", fault.Malformed},
		{"a 0zk address cut off", "2", private[:100], "Invalid 0zk address", fault.Malformed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			kind, err := quote.ParseRecipientType(tt.kind)
			if err != nil {
				t.Fatal(err)
			}
			r, err := kind.Parse(tt.text)
			if tt.says == "" && (err != nil || r.Zero() != (tt.text == zero) || (r.Private != nil) != (tt.text == private)) {
				t.Errorf("got %+v and %v", r, err)
			}
			if e := fault.From(err); tt.says != "" && (e.Code != fault.InvalidRecipient || e.Reason != tt.reason || !strings.Contains(e.Message, tt.says)) {
				t.Errorf("got %v for %s, want %s saying %q", err, e.Reason, tt.reason, tt.says)
			}
		})
	}
	for _, text := range []string{"", "1", "3", "02", "+0", "evm"} {
		if _, err := quote.ParseRecipientType(text); fault.From(err).Code != fault.InvalidParameter {
			t.Errorf("type %q: got %v, want %s", text, err, fault.InvalidParameter)
		}
	}
}
