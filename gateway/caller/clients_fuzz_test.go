package caller_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quotegate/quotegate/gateway/caller"
)

func FuzzClientsFile(f *testing.F) {
	_, hash := caller.NewKey()
	f.Add([]byte(`{"clients": [{"name": "Acme", "match": ["` + wallet + `", "203.0.113.0/24", "agent:curl"], "keys": ["` + hash + `"], "perMinute": 5}]}`))
	f.Add([]byte(`{"clients": [{"name": "a", "match": ["::/1"]}, {"name": "b", "match": ["2001:db8::/32", "origin:https://a.example"]}]}`))
	f.Add([]byte(`{"clients": [null, 1, {"name": 7, "keys": [null]}]}`))
	file := filepath.Join(f.TempDir(), "clients.json")
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		clients, err := caller.NewClients(file, quiet)
		if err != nil {
			if bytes.Contains(data, []byte(hash)) && strings.Contains(err.Error(), hash[7:]) {
				t.Errorf("a hash is in the error: %v", err)
			}
			return
		}
		for _, c := range clients.All() {
			if got, ok := clients.Find(c.Name); !ok || got.Name != c.Name || caller.CheckName(c.Name) != nil {
				t.Errorf("%q is not found, or not a name", c.Name)
			}
			if c.PerMinute < 0 || c.PerMinute > caller.MaxPerMinute {
				t.Errorf("got a limit of %d", c.PerMinute)
			}
			for _, p := range c.Match {
				if _, err := caller.ParsePattern(p.String()); err != nil {
					t.Errorf("%v is not a pattern: %v", p, err)
				}
			}
		}
	})
}

func FuzzKeyHeader(f *testing.F) {
	key, hash := caller.NewKey()
	clients := read(f, `{"clients": [{"name": "Acme", "keys": ["`+hash+`"]}]}`)
	f.Add(key)
	f.Add("")
	f.Add(strings.Repeat("A", 46))
	f.Fuzz(func(t *testing.T, sent string) {
		c := caller.Caller{}
		if got := clients.Recognise(&c, http.Header{"Api-Key": {sent}}); got != (sent == key) || got != c.Proven() {
			t.Errorf("%q: got %v", sent, got)
		}
	})
}

// BenchmarkRecognise is what known clients add to a request.
func BenchmarkRecognise(b *testing.B) {
	key, hash := caller.NewKey()
	var rows []string
	for i := range 9_999 {
		rows = append(rows, fmt.Sprintf(`{"name": "client %d", "match": ["0x%040x", "origin:https://a%d.example", "10.%d.%d.0/24", "agent:agent%d"]}`, i, i+1, i, i>>8, i&255, i))
	}
	rows = append(rows, `{"name": "Acme", "keys": ["`+hash+`"]}`)
	all := `{"clients": [` + strings.Join(rows, ",") + `]}`
	for name, tt := range map[string]struct {
		file    string
		headers []string
	}{
		"no file":                 {`{"clients": []}`, []string{"Origin", "https://app.example", "User-Agent", "Mozilla/5.0"}},
		"10000 clients, unknown":  {all, []string{"Origin", "https://app.example", "User-Agent", "Mozilla/5.0"}},
		"10000 clients, by agent": {all, []string{"User-Agent", "agent77/5.0"}},
		"10000 clients, by key":   {all, []string{"API-Key", key}},
	} {
		b.Run(name, func(b *testing.B) {
			clients := read(b, tt.file)
			r := request(tt.headers...)
			c := caller.From(r, netip.MustParseAddr("203.0.113.7"), partner)
			b.ReportAllocs()
			for b.Loop() {
				clients.Recognise(&c, r.Header)
			}
		})
	}
}

// BenchmarkReadClients reads a file with as many clients as there may be.
func BenchmarkReadClients(b *testing.B) {
	var rows []string
	for i := range 10_000 {
		_, hash := caller.NewKey()
		rows = append(rows, fmt.Sprintf(`{"name": "client %d", "contact": "someone@client%d.example", "match": ["0x%040x"], "keys": [%q]}`, i, i, i+1, hash))
	}
	file := write(b, "", `{"clients": [`+strings.Join(rows, ",\n")+`]}`)
	for b.Loop() {
		if _, err := caller.NewClients(file, quiet); err != nil {
			b.Fatal(err)
		}
	}
}
