package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf16"

	"github.com/quotegate/quotegate/cmd/internal/cli"
	"github.com/quotegate/quotegate/shared/chain"
)

// name is what people and machines call a chain.
func name(id chain.ID) string {
	network, _ := chain.FindNetwork(id)
	if id.Private() {
		return fmt.Sprintf("the privacy pool on %s (%s)", network.Name, id)
	}
	return fmt.Sprintf("%s (%s)", network.Name, id)
}

// tellVersion prints what this program was built from.
func tellVersion(_ context.Context, _ *options, stdout, _ io.Writer) error {
	_, err := fmt.Fprintln(stdout, cli.Version("quote"))
	return err
}

// plain prints what a terminal would obey, or what reorders text, as the escape that JSON has for it. A gateway's texts
// are anybody's.
type plain struct{ io.Writer }

func (p plain) Write(text []byte) (int, error) {
	var b strings.Builder
	for _, r := range string(text) {
		switch {
		case r == '\n' || r == '\t' || unicode.IsPrint(r):
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, "\\u%04x\\u%04x", high, low)
		default:
			fmt.Fprintf(&b, "\\u%04x", r)
		}
	}
	if _, err := io.WriteString(p.Writer, b.String()); err != nil {
		return 0, err
	}
	return len(text), nil
}
