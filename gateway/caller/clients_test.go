package caller_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/shared/integrator"
	"github.com/quotegate/quotegate/shared/testkit/journal"
)

var quiet = slog.New(slog.DiscardHandler)

// write puts a clients file at path, or at a new one if that is empty.
func write(t testing.TB, path, text string) string {
	t.Helper()
	if path == "" {
		path = filepath.Join(t.TempDir(), "clients.json")
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func read(t testing.TB, text string) *caller.Clients {
	t.Helper()
	clients, err := caller.NewClients(write(t, "", text), quiet)
	if err != nil {
		t.Fatal(err)
	}
	return clients
}

// name is the known client that a request is recognised as.
func name(c caller.Caller) string {
	if c.Known == nil {
		return ""
	}
	return c.Known.Name
}

func TestClientsAreRecognised(t *testing.T) {
	key, hash := caller.NewKey()
	_, other := caller.NewKey()
	clients := read(t, `{"clients": [
		{"name": "by key", "keys": ["`+other+`", "`+hash+`"], "perMinute": 120},
		{"name": "by integrator", "match": ["`+checksum+`"]},
		{"name": "by origin", "match": ["origin:https://App.example:443"]},
		{"name": "by network", "match": ["203.0.113.0/24", "2001:db8::/32"]},
		{"name": "by smaller network", "match": ["203.0.113.64/26", "2001:db8:1::/48"]},
		{"name": "by address", "match": ["203.0.113.77/32"]},
		{"name": "by agent", "match": ["agent:OkHttp"]}
	]}`)
	for title, tt := range map[string]struct {
		headers    []string
		addr       string
		integrator integrator.ID
		want       string
	}{
		"key before all":          {[]string{"API-Key", key, "Origin", "https://app.example"}, "203.0.113.77", partner, "by key"},
		"integrator":              {[]string{"Origin", "https://app.example"}, "203.0.113.77", partner, "by integrator"},
		"origin":                  {[]string{"Origin", "https://APP.example", "User-Agent", "okhttp/4"}, "203.0.113.77", noIntegrator, "by origin"},
		"another integrator":      {[]string{"Origin", "https://app.example"}, "", integrator.ID{31: 1}, "by origin"},
		"address":                 {[]string{"Origin", "https://other.example", "User-Agent", "okhttp/4"}, "203.0.113.77", noIntegrator, "by address"},
		"smaller network":         {nil, "203.0.113.78", noIntegrator, "by smaller network"},
		"network":                 {nil, "203.0.113.1", noIntegrator, "by network"},
		"IPv4-mapped":             {nil, "::ffff:203.0.113.1", noIntegrator, "by network"},
		"smaller network in IPv6": {nil, "2001:db8:1::5", noIntegrator, "by smaller network"},
		"network in IPv6":         {nil, "2001:db8:2::5", noIntegrator, "by network"},
		"agent":                   {[]string{"User-Agent", "OkHttp/4.12 (x)"}, "198.51.100.1", noIntegrator, "by agent"},
		"agent without address":   {[]string{"User-Agent", "okhttp"}, "", noIntegrator, "by agent"},
		"nobody":                  {[]string{"User-Agent", "okhttp3/4"}, "198.51.100.1", integrator.ID{31: 1}, ""},
		"nothing said":            {nil, "", noIntegrator, ""},
	} {
		t.Run(title, func(t *testing.T) {
			addr, _ := netip.ParseAddr(tt.addr)
			r := request(tt.headers...)
			c := caller.From(r, addr, tt.integrator)
			anonymous := c.Identity()
			if !clients.Recognise(&c, r.Header) {
				t.Error("its key is refused")
			}
			if name(c) != tt.want || c.Proven() != (tt.want == "by key") {
				t.Fatalf("got %q, proven %v, want %q", name(c), c.Proven(), tt.want)
			}
			want := caller.Identity{Kind: caller.Known, Text: tt.want}
			if tt.want == "" {
				want = anonymous
			}
			if got := c.Identity(); got != want || tt.want != "" && got.String() != "client "+tt.want {
				t.Errorf("got identity %q, want %q", got, want)
			}
			for _, known := range clients.All() {
				p, err := caller.ParsePattern("client:" + known.Name)
				if err != nil {
					t.Fatal(err)
				}
				if p.Matches(c) != (known.Name == tt.want) {
					t.Errorf("%s: matches %v", p, p.Matches(c))
				}
			}
		})
	}
}

func TestKeysThatAreRefused(t *testing.T) {
	key, hash := caller.NewKey()
	unknown, _ := caller.NewKey()
	second, secondHash := caller.NewKey()
	clients := read(t, `{"clients": [{"name": "Acme", "match": ["agent:acme"], "keys": ["`+hash+`", "`+secondHash+`"]}]}`)
	var one, other caller.Caller // each key of a client has a limit of its own
	if !clients.Recognise(&one, request("API-Key", key).Header) || !clients.Recognise(&other, request("API-Key", second).Header) ||
		one.Key == other.Key || !one.Proven() {
		t.Errorf("got %+v and %+v", one, other)
	}
	for title, sent := range map[string][]string{
		"unknown":        {unknown},
		"empty":          {""},
		"no value":       {},
		"cut off":        {key[:len(key)-1]},
		"too long":       {key + "A"},
		"another case":   {strings.ToUpper(key)},
		"the hash":       {hash},
		"twice":          {key, key},
		"two in one":     {key + ", " + key},
		"very long":      {strings.Repeat(key, 300)},
		"another scheme": {"Bearer " + key},
	} {
		r := request("User-Agent", "acme/1")
		r.Header["Api-Key"] = sent
		c := caller.From(r, netip.Addr{}, noIntegrator)
		if clients.Recognise(&c, r.Header) || c.Proven() {
			t.Errorf("%s: got %+v, want it refused", title, c)
		}
		if name(c) != "Acme" {
			t.Errorf("%s: got %q, want it known by its software still", title, name(c))
		}
	}
	var nobody *caller.Clients
	r := request("API-Key", key)
	c := caller.From(r, netip.Addr{}, noIntegrator)
	if !nobody.Recognise(&c, r.Header) || c.Proven() || c.Known != nil || len(nobody.All()) != 0 {
		t.Error("without a file the header means something")
	}
}

func TestNewKeysAreWellFormed(t *testing.T) {
	seen := map[string]bool{}
	for range 100 {
		key, hash := caller.NewKey()
		if len(key) != 46 || !strings.HasPrefix(key, "qg_") || strings.Trim(key[3:], "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			t.Errorf("got key %q", key)
		}
		if len(hash) != len("sha256:")+64 || seen[key] {
			t.Errorf("got hash %q, or a key twice", hash)
		}
		seen[key] = true
	}
}

func TestFindAndAll(t *testing.T) {
	_, hash := caller.NewKey()
	clients := read(t, `{"clients": [
		{"name": "Zeta", "contact": "ops@zeta.example", "notes": "größer als Alpha", "match": ["`+wallet+`", "agent:zeta"], "keys": ["`+hash+`"], "perMinute": 1000},
		{"name": "Alpha", "match": null, "perMinute": null}
	]}`)
	got, err := json.Marshal(clients.All())
	if err != nil {
		t.Fatal(err)
	}
	want := `[{"name":"Zeta","contact":"ops@zeta.example","notes":"größer als Alpha","match":["` + word + `","agent:zeta"],"keys":1,"perMinute":1000},{"name":"Alpha","match":[],"keys":0}]`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if text := fmt.Sprintf("%+v", clients.All()); strings.Contains(text, hash[7:20]) {
		t.Errorf("a hash is in %s", text)
	}
	if c, ok := clients.Find("Zeta"); !ok || c.Contact != "ops@zeta.example" {
		t.Errorf("got %+v, %v", c, ok)
	}
	if c, ok := clients.Find("zeta"); ok {
		t.Errorf("got %+v for another name", c)
	}
}

// TestClientsFileReportsEveryFault lists every fault of a file at once, each with its place, and
// never a key or a hash.
func TestClientsFileReportsEveryFault(t *testing.T) {
	key, hash := caller.NewKey()
	text := `{"clients": [
		{"name": "Acme", "match": ["` + wallet + `", "203.0.113.0/24"], "keys": ["` + hash + `"]},
		{"name": "Acme", "match": ["` + word + `", "agent:curl", "agent:CURL"], "keys": ["` + strings.ToUpper(hash[7:]) + `", "sha256:` + strings.ToUpper(hash[7:]) + `"]},
		{"name": "", "contact": "a\nb", "notes": "` + strings.Repeat("n", 2001) + `", "perMinute": 0},
		{"name": "` + strings.Repeat("x", 65) + `", "perMinute": 1001, "match": ["0.0.0.0/0", "client:Acme", "` + key + `", "partner", "agent:a b"]},
		{"name": "` + key + `", "keys": ["` + key + `", ""]},
		{"name": "tab\t", "match": ["client:", "client: x"]},
		{"name": " space"},
		{"name": "ünicode", "contact": 7, "key": [], "keys": "` + hash + `", "perMinute": 1.5}
	]}`
	_, err := caller.NewClients(write(t, "", text), quiet)
	if err == nil {
		t.Fatal("accepted")
	}
	got := err.Error()
	for _, want := range []string{
		"clients[1].name: the client \"Acme\" has the same",
		"clients[1].match[0]: the client \"Acme\" has the same",
		"clients[1].match[2]: the client \"Acme\" has the same",
		"clients[1].keys[0]: not the hash of a key",
		"clients[1].keys[1]: the client \"Acme\" has the same",
		"clients[2].name: missing",
		"clients[2].contact: must be one line",
		"clients[2].notes: must be one line of at most 2000",
		"clients[2].perMinute: 0 is not",
		"clients[3].name: \"xxx",
		"clients[3].perMinute: 1001 is not",
		"clients[3].match[0]: \"0.0.0.0/0\" is every address",
		"clients[3].match[1]: \"client:Acme\" names a client of this file",
		"clients[3].match[2]: this is a key",
		"clients[3].match[3]: \"partner\" is none of",
		"clients[3].match[4]: \"agent:a b\" is not a kind of software",
		"clients[4].name: a name must not begin with qg_",
		"clients[4].keys[0]: this is a key",
		"clients[4].keys[1]: not the hash of a key",
		"clients[5].name: \"tab\\t\" is not a name",
		"clients[5].match[0]: the name of the client: missing",
		"clients[5].match[1]: the name of the client: \" x\" is not a name",
		"clients[6].name: \" space\" is not a name",
		"clients[7].name: \"ünicode\" is not a name",
		"clients[7].contact: got number, want string",
		"clients[7].key: unknown field",
		"clients[7].keys: got string, want array",
		"clients[7].perMinute: got number 1.5, want whole number",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing from:\n%s", want, got)
		}
	}
	if lower := strings.ToLower(got); strings.Contains(got, key[5:]) || strings.Contains(lower, hash[10:40]) {
		t.Errorf("a key or its hash is in:\n%s", got)
	}
}

func TestBadClientsFilesAreRefused(t *testing.T) {
	many := strings.Repeat(`{"name":"x"},`, 10_001)
	for text, want := range map[string]string{
		"":                    "not valid JSON",
		"{":                   "not valid JSON",
		"{}":                  `clients: missing; write {"clients": []}`,
		`{"clients": null}`:   "clients: missing",
		`{"clients": {}}`:     "clients: got object, want array",
		`{"client": []}`:      "client: unknown field",
		`{"clients": [null]}`: "clients[0].name: missing",
		`{"clients": [1]}`:    "clients[0]: got number, want object",
		`{"clients": [` + many[:len(many)-1] + `]}`: "there are 10,001, and at most 10,000",
	} {
		_, err := caller.NewClients(write(t, "", text), quiet)
		if err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > 500 {
			t.Errorf("%.60s: got %.500v, want %q", text, err, want)
		}
	}
	if _, err := caller.NewClients(filepath.Join(t.TempDir(), "none.json"), quiet); err == nil {
		t.Error("a missing file is accepted")
	}
	if got := read(t, `{"clients": []}`).All(); len(got) != 0 {
		t.Errorf("got %v", got)
	}
}

// TestChangedClientsFileIsReadAgain changes the file under running Clients. The log says by name what
// changed, and nothing that is secret.
func TestChangedClientsFileIsReadAgain(t *testing.T) {
	key, hash := caller.NewKey()
	next, nextHash := caller.NewKey()
	file := write(t, "", `{"clients": [{"name": "Acme", "keys": ["`+hash+`"]}, {"name": "Old"}]}`)
	var j journal.Journal
	clients, err := caller.NewClients(file, slog.New(slog.NewJSONHandler(&j, nil)))
	if err != nil {
		t.Fatal(err)
	}
	knows := func(key string) bool {
		c := caller.Caller{}
		return clients.Recognise(&c, http.Header{"Api-Key": {key}}) && c.Proven()
	}
	wantLog := func(text string, n int) {
		t.Helper()
		if got := j.Count(text); got != n {
			t.Errorf("got %d lines with %s, want %d:\n%s", got, text, n, j.String())
		}
	}
	clients.Poll()
	wantLog(`"msg":"known clients","file":`, 1)
	wantLog("changed", 0)
	clients.Reload()
	wantLog("the clients file is valid and in use", 1)

	write(t, file, `{"clients": [{"name": "Acme", "keys": ["`+nextHash+`"]}, {"name": "New"}]}`)
	clients.Poll()
	if knows(key) || !knows(next) {
		t.Error("the key is not replaced")
	}
	wantLog(`"clients":2,"added":["New"],"removed":["Old"],"changed":["Acme"]`, 1)
	if clients.Refused() {
		t.Error("a good file counts as refused")
	}

	write(t, file, `{"clients": [{"name": "Acme", "keys": ["`+key+`"]}, {"name": ""}]}`)
	clients.Poll()
	clients.Poll()
	wantLog("clients file refused; the last valid one stays in use", 1)
	if !clients.Refused() {
		t.Error("nobody would hear that the file is refused")
	}
	wantLog("clients[0].keys[0]: this is a key", 1)
	wantLog("clients[1].name: missing", 1)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	clients.Poll()
	wantLog("the clients file is gone", 1)
	if !knows(next) || len(clients.All()) != 2 {
		t.Error("the last good file does not count any more")
	}

	write(t, file, `{"clients": []}`)
	clients.Reload()
	if knows(next) || len(clients.All()) != 0 {
		t.Error("the clients are still known")
	}
	for _, secret := range []string{key[3:20], next[3:20], hash[7:30], nextHash[7:30]} {
		wantLog(secret, 0)
	}
}

// What the operator wrote down about a client is found under every name that a call of
// it can have been recorded by.
func TestRecordedNamesAreFound(t *testing.T) {
	clients := read(t, `{"clients": [
		{"name": "Harbour", "match": ["`+checksum+`", "origin:https://harbour.example", "agent:harbour"], "notified": "2026-12-01",
		 "moved": {"on": "2027-01-05", "why": "they wrote so"}},
		{"name": "Quiet", "match": ["203.0.113.0/24"]}
	]}`)
	for recorded, want := range map[string]string{
		"client Harbour": "Harbour", "integrator " + partner.String(): "Harbour", "origin https://harbour.example": "Harbour", "agent harbour #5f1c": "Harbour",
		"client Quiet": "Quiet", "client Gone": "", "agent harbour-2 #5f1c": "", "network #5f1c": "", "": "", "integrator 0x": "",
	} {
		got, known := clients.FindRecorded(recorded)
		if got.Name != want || known != (want != "") {
			t.Errorf("%q: got %q, %v, want %q", recorded, got.Name, known, want)
		}
	}
	harbour, _ := clients.Find("Harbour")
	if harbour.Notified.String() != "2026-12-01" || harbour.Moved.Why != "they wrote so" {
		t.Errorf("got %+v, want what the file has", harbour)
	}
	for at, want := range map[string]bool{"2027-01-05T23:59:59Z": true, "2027-01-06T00:00:00Z": false, "2026-12-24T00:00:00Z": true} {
		last, _ := time.Parse(time.RFC3339, at)
		if got := harbour.Moved.Holds(last); got != want {
			t.Errorf("last call %s: the mark holds: %v, want %v", at, got, want)
		}
	}
	if quiet, _ := clients.Find("Quiet"); quiet.Notified != 0 || quiet.Moved.Holds(time.Time{}) {
		t.Errorf("got %+v, want no marks", quiet)
	}
}

func TestBadMarksAreReported(t *testing.T) {
	key, _ := caller.NewKey()
	_, err := caller.NewClients(write(t, "", `{"clients": [
		{"name": "A", "notified": "1 December 2026"}, {"name": "B", "moved": {"on": "`+key+`", "why": "told us"}}, {"name": "C", "moved": {}},
		{"name": "D", "moved": {"on": "2027-01-05", "why": "two\nlines"}}
	]}`), quiet)
	if err == nil {
		t.Fatal("got no error")
	}
	for _, want := range []string{
		"clients[0].notified: not a day; write it like 2027-01-05", "clients[1].moved.on: not a day", "clients[2].moved.on: missing", "clients[2].moved.why: missing",
		"clients[3].moved.why: must be one line",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("got %q, want %q in it", err, want)
		}
	}
	if strings.Contains(err.Error(), key) {
		t.Error("the error repeats a key")
	}
}
