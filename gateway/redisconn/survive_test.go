package redisconn

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"strings"
	"testing"

	"github.com/quotegate/quotegate/shared/guard"
	"github.com/quotegate/quotegate/testdata/journal"
)

// said is a connection over which a server says something, in pieces.
type said struct {
	net.Conn
	text  string
	piece int
}

func (s *said) Read(p []byte) (int, error) {
	if s.text == "" {
		return 0, io.EOF
	}
	n := copy(p[:min(s.piece, len(p))], s.text)
	s.text = s.text[n:]
	return n, nil
}

func TestReplyConn(t *testing.T) {
	long := strings.Repeat("x", maxReplyText)
	for name, tt := range map[string]struct {
		text string
		ends bool
	}{
		"numbers":              {"*3\r\n:1\r\n:0\r\n:60000000\r\n+OK\r\n", false},
		"texts":                {"*2\r\n$3\r\n*99\r\n$0\r\n\r\n$-1\r\n*-1\r\n*0\r\n", false},
		"a text of numbers":    {"$22\r\n*9223372036854775807\r\n\r\n:1\r\n", false},
		"the longest text":     {"$1048576\r\n" + long + "\r\n:1\r\n", false},
		"all slots":            {"*16384\r\n" + strings.Repeat("*3\r\n:0\r\n:1\r\n*2\r\n$1\r\na\r\n:1\r\n", 16384), false},
		"RESP3":                {"%1\r\n+a\r\n~2\r\n:1\r\n#t\r\n,1.5\r\n_\r\n(12345678901234567890\r\n=7\r\ntxt:abc\r\n|1\r\n+a\r\n+b\r\n:1\r\n", false},
		"an error":             {"-LYING to you\r\n", false},
		"HTTP":                 {"HTTP/1.1 200 OK\r\n\r\n", false},
		"many items":           {"*9223372036854775807\r\n", true},
		"more than many":       {"*99999999999999999999999999999999\r\n", true},
		"pairs":                {"%1048576\r\n", true},
		"lists of lists":       {strings.Repeat("*65536\r\n", 8), true},
		"a long text":          {"$1048577\r\n", true},
		"a negative text":      {"$-7\r\n", true},
		"a negative list":      {"*-2\r\n", true},
		"no number":            {"*x\r\n", true},
		"a line without end":   {"+" + strings.Repeat("x", maxReplyLine), true},
		"after something good": {":1\r\n*9223372036854775807\r\n", true},
	} {
		for _, piece := range []int{1, 2, 7, 1 << 20} {
			conn := &replyConn{Conn: &said{text: tt.text, piece: piece}}
			got, err := io.ReadAll(conn)
			if ended := errors.Is(err, errReply); ended != tt.ends || !ended && string(got) != tt.text {
				t.Errorf("%s in pieces of %d: got %d bytes and %v", name, piece, len(got), err)
			}
		}
	}
}

// TestReplyConnReadsAnything: no bytes panic, and the same bytes have the same result
// in whatever pieces they come.
func TestReplyConnReadsAnything(t *testing.T) {
	const letters = "$*%~>|=!+-:0129\r\n\r\n\r\n"
	for seed := range uint64(2000) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var text strings.Builder
		for range 40 {
			text.WriteByte(letters[rng.IntN(len(letters))])
		}
		whole := &replyConn{}
		parts := &replyConn{}
		want := whole.follow([]byte(text.String()))
		var got error
		for i := 0; i < text.Len() && got == nil; i++ {
			got = parts.follow([]byte{text.String()[i]})
		}
		if got != want {
			t.Fatalf("%q: got %v in parts, %v as a whole", text.String(), got, want)
		}
	}
}

// TestPanicOfADialer: go-redis connects in goroutines of its own.
func TestPanicOfADialer(t *testing.T) {
	var j journal.Journal
	before := guard.Total()
	dial := guardDial(func(context.Context, string, string) (net.Conn, error) { panic("a bug") }, slog.New(slog.NewTextHandler(&j, nil)))
	if conn, err := dial(t.Context(), "tcp", "127.0.0.1:1"); conn != nil || err == nil || guard.Total() == before {
		t.Errorf("got %v, %v and %d panics", conn, err, guard.Total()-before)
	}
	if j.Count("connecting to Redis") == 0 {
		t.Errorf("the log is %s", j.String())
	}
}
