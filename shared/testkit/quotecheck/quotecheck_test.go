package quotecheck_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net/url"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/quotegate/quotegate/shared/railgun"
	"github.com/quotegate/quotegate/shared/testkit/quotecheck"
	"github.com/quotegate/quotegate/v3/client"
)

const root = "../../.."

// readGolden gives the query and the answer of a golden. There is none if the version was deleted.
func readGolden(t *testing.T, path string) (url.Values, []byte) {
	t.Helper()
	text, err := os.ReadFile(root + "/testdata/" + path)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip(path, "is not there")
	}
	if err != nil {
		t.Fatal(err)
	}
	request, answer, _ := strings.Cut(string(text), "\n\n")
	_, query, _ := strings.Cut(request, "?")
	values, err := url.ParseQuery(query)
	if err != nil {
		t.Fatal(err)
	}
	_, indented, _ := strings.Cut(answer, "\n\n")
	var body bytes.Buffer
	if err := json.Compact(&body, []byte(indented)); err != nil {
		t.Fatal(err)
	}
	return values, body.Bytes()
}

// TestEveryChangeIsNoticed alters right answers of each version in every letter and digit, and what they were asked for.
func TestEveryChangeIsNoticed(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED, NOT TESTED: without -short it checks thousands of answers")
	}
	_, pairs := readGolden(t, "v3/pairs.http")
	listing, err := client.ParseListing(pairs)
	if err != nil {
		t.Fatal(err)
	}
	c, err := quotecheck.New(root, listing)
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range quotecheck.Versions {
		for _, kind := range []string{"burn", "shield"} {
			t.Run(version+"/"+kind, func(t *testing.T) {
				t.Parallel()
				query, body := readGolden(t, version+"/"+kind+".http")
				alter(t, c, version, query, append(body, '\n'))
			})
		}
	}
}

func alter(t *testing.T, c *quotecheck.Checker, version string, query url.Values, body []byte) {
	src, errSrc := strconv.ParseUint(query.Get("srcChain"), 10, 64)
	dst, errDst := strconv.ParseUint(query.Get("dstChain"), 10, 64)
	p, err := c.Listing.Find(src, query.Get("srcToken"), dst, query.Get("dstToken"))
	if err := errors.Join(errSrc, errDst, err); err != nil {
		t.Fatal(err)
	}
	amount, _ := new(big.Int).SetString(query.Get("amount"), 10)
	r := quotecheck.RequestFor(p, amount, query.Get("recipient"))
	other := r
	other.Recipient = "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359"
	if p.Shields {
		wallets := c.Wallets(p.DstToken.ChainID)
		other.Recipient = wallets[1]
		r.Recipient = wallets[0]
		body = withNote(t, body, r.Recipient)
	}
	noticed := func(what string, r client.Request, terms quotecheck.Terms, body []byte, want bool) {
		t.Helper()
		if _, err := c.Check(version, r, terms, body); (err != nil) != want {
			t.Errorf("%s, %s: got %v, want an error: %t", body, what, err, want)
		}
	}
	noticed("nothing", r, quotecheck.Terms{}, body, false)
	noticed("another recipient", other, quotecheck.Terms{}, body, true)
	noticed("another integrator's fee", r, quotecheck.Terms{IntegratorBPS: 1}, body, true)
	noticed("another issuer's fee", r, quotecheck.Terms{IssuerBPS: []*big.Rat{big.NewRat(99, 10)}}, body,
		p.Type == client.CCTPInbound)
	for _, written := range []string{p.To.Hex(), "5ff22d", "79b432d"} { // an address, or a selector
		capitals := bytes.ReplaceAll(body, []byte(written), bytes.ToUpper([]byte(written)))
		noticed(written+" in capitals", r, quotecheck.Terms{}, capitals, !bytes.Equal(capitals, body))
	}
	// Nobody but its sender can read the last two words of a shield note.
	noteEnd := bytes.Index(body, []byte(`","value":`))
	for at := range body {
		if p.Shields && at >= noteEnd-4*64 && at < noteEnd {
			continue
		}
		wrong := bytes.Clone(body)
		wrong[at] ^= 1
		noticed(fmt.Sprint("byte ", at), r, quotecheck.Terms{}, wrong, true)
	}
}

// withNote puts a note where a golden has none, since each is fresh.
func withNote(t *testing.T, body []byte, recipient string) []byte {
	t.Helper()
	owner, err := railgun.ParseAddress(recipient)
	if err != nil {
		t.Fatal(err)
	}
	note, err := railgun.NewNote(owner)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Replace(body, []byte("(note)"), []byte(hex.EncodeToString(note.Recipient())), 1)
}
