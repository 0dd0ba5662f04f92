package limit

import (
	"strings"
	"testing"
)

func TestRepliesThatPass(t *testing.T) {
	for name, stream := range map[string]string{
		"nothing":        "",
		"simple":         "+OK\r\n-ERR no\r\n:-12\r\n",
		"strings":        "$5\r\nhello\r\n$0\r\n\r\n$-1\r\n$4\r\n\r\n*\r\r\n",
		"the script's":   "*3\r\n:1\r\n:0\r\n:60000000\r\n",
		"nested":         "*2\r\n*2\r\n:1\r\n$1\r\nx\r\n*0\r\n*-1\r\n-ERR the next reply\r\n",
		"many replies":   strings.Repeat("*3\r\n:1\r\n:0\r\n:60000000\r\n", maxReplyValues),
		"longest string": "$1048500\r\n" + strings.Repeat("x", 1048500) + "\r\n",
		"most values":    "*16383\r\n" + strings.Repeat(":1\r\n", 16383) + "+OK\r\n",
		"unfinished":     "*2\r\n$12\r\nhel",
	} {
		t.Run(name, func(t *testing.T) {
			var whole, bytewise replyScanner
			if !whole.scan([]byte(stream)) {
				t.Error("it is refused")
			}
			for i := range len(stream) {
				if !bytewise.scan([]byte(stream[i : i+1])) {
					t.Fatalf("it is refused at byte %d", i)
				}
			}
		})
	}
}

// What makes go-redis allocate without bound, or lose its place in the stream.
var badReplies = map[string]string{
	"array without end":        "*9223372036854775807\r\n",
	"array of a billion":       "*1000000000\r\n",
	"string without end":       "$9223372036854775807\r\n",
	"string of a gigabyte":     "$1000000000\r\nx",
	"too many values":          "*16384\r\n",
	"too many values in all":   "*2\r\n*10000\r\n" + strings.Repeat(":1\r\n", 10000) + "*10000\r\n",
	"arrays in arrays":         strings.Repeat("*2\r\n", 16384),
	"too many bytes":           "*2\r\n$1048570\r\n" + strings.Repeat("x", 1048570) + "\r\n$20\r\n",
	"negative array":           "*-2\r\n",
	"negative string":          "$-9\r\n",
	"length without digits":    "*\r\n",
	"length in words":          "$ten\r\n",
	"length without CR":        "*3\n",
	"longer length":            "*00000000000000000003\r\n",
	"line without end":         "+" + strings.Repeat("x", 1<<20),
	"number without end":       ":" + strings.Repeat("1", 1<<20),
	"error in an array":        "*3\r\n:1\r\n-ERR no\r\n",
	"map of RESP3":             "%1\r\n",
	"push of RESP3":            ">2\r\n",
	"another protocol":         "HTTP/1.1 400 Bad Request\r\n",
	"bytes":                    "\x00\x01\x02",
	"empty line":               "\r\n",
	"a reply, then a bad one":  "+OK\r\n*9223372036854775807\r\n",
	"overflow of 64 bits":      "*18446744073709551617\r\n",
	"overflow after two bytes": "$9223372036854775806\r\n",
}

func TestRepliesThatDoNotPass(t *testing.T) {
	for name, stream := range badReplies {
		t.Run(name, func(t *testing.T) {
			var whole, bytewise replyScanner
			if whole.scan([]byte(stream)) {
				t.Error("it passes as a whole")
			}
			if whole.scan([]byte("+OK\r\n")) {
				t.Error("the connection recovers")
			}
			passes := true
			for i := range len(stream) {
				passes = bytewise.scan([]byte(stream[i : i+1]))
			}
			if passes {
				t.Error("it passes byte by byte")
			}
		})
	}
}

// However the network cuts a stream, the same streams pass.
func FuzzReplies(f *testing.F) {
	for _, stream := range badReplies {
		f.Add([]byte(stream[:min(len(stream), 100)]))
	}
	f.Add([]byte("*2\r\n*2\r\n:1\r\n$1\r\nx\r\n*0\r\n*-1\r\n-ERR no\r\n"))
	f.Fuzz(func(t *testing.T, stream []byte) {
		var whole, bytewise replyScanner
		want, got := whole.scan(stream), true
		for i := range stream {
			got = bytewise.scan(stream[i : i+1])
		}
		if got != want {
			t.Errorf("as a whole %v, byte by byte %v", want, got)
		}
		if want && (whole.awaited < 0 || whole.values > maxReplyValues || whole.skip < 0) {
			t.Errorf("got %+v", whole)
		}
	})
}
