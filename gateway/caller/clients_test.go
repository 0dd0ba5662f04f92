package caller_test

import (
	"log/slog"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/shared/calldata"
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
		integrator calldata.IntegratorID
		want       string
	}{
		"key before all":          {[]string{"API-Key", key, "Origin", "https://app.example"}, "203.0.113.77", partner, "by key"},
		"integrator":              {[]string{"Origin", "https://app.example"}, "203.0.113.77", partner, "by integrator"},
		"origin":                  {[]string{"Origin", "https://APP.example", "User-Agent", "okhttp/4"}, "203.0.113.77", noIntegrator, "by origin"},
		"another integrator":      {[]string{"Origin", "https://app.example"}, "", calldata.IntegratorID{31: 1}, "by origin"},
		"address":                 {[]string{"Origin", "https://other.example", "User-Agent", "okhttp/4"}, "203.0.113.77", noIntegrator, "by address"},
		"smaller network":         {nil, "203.0.113.78", noIntegrator, "by smaller network"},
		"network":                 {nil, "203.0.113.1", noIntegrator, "by network"},
		"IPv4-mapped":             {nil, "::ffff:203.0.113.1", noIntegrator, "by network"},
		"smaller network in IPv6": {nil, "2001:db8:1::5", noIntegrator, "by smaller network"},
		"network in IPv6":         {nil, "2001:db8:2::5", noIntegrator, "by network"},
		"agent":                   {[]string{"User-Agent", "OkHttp/4.12 (x)"}, "198.51.100.1", noIntegrator, "by agent"},
		"agent without address":   {[]string{"User-Agent", "okhttp"}, "", noIntegrator, "by agent"},
		"nobody":                  {[]string{"User-Agent", "okhttp3/4"}, "198.51.100.1", calldata.IntegratorID{31: 1}, ""},
		"nothing said":            {nil, "", noIntegrator, ""},
	} {
		addr, _ := netip.ParseAddr(tt.addr)
		r := request(tt.headers...)
		c := caller.From(r, addr, tt.integrator)
		want := c.Identity().String()
		if tt.want != "" {
			want = "client " + tt.want
		}
		if known := clients.Recognise(&c, r.Header); !known || name(c) != tt.want || c.Proven() != (tt.want == "by key") {
			t.Errorf("%s: got %q, proven %v, want %q", title, name(c), c.Proven(), tt.want)
		}
		if got := c.Identity().String(); got != want {
			t.Errorf("%s: got identity %q, want %q", title, got, want)
		}
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

// TestClientsFileReportsEveryFault lists every fault of a file at once, each with its place, and
// never a key or a hash.
func TestClientsFileReportsEveryFault(t *testing.T) {
	key, hash := caller.NewKey()
	text := `{"clients": [
		{"name": "Acme", "match": ["` + wallet + `", "203.0.113.0/24"], "keys": ["` + hash + `"]},
		{"name": "Acme", "match": ["` + word + `", "agent:curl", "agent:CURL"], "keys": ["` + strings.ToUpper(hash[7:]) + `", "sha256:` + strings.ToUpper(hash[7:]) + `"]},
		{"name": "", "contact": "a\nb", "notes": "` + strings.Repeat("n", 2001) + `", "perMinute": 0},
		{"name": "` + strings.Repeat("x", 65) + `", "perMinute": 1001, "match": ["0.0.0.0/0", "client:Acme", "` + key + `", "partner", "agent:a b"]},
		{"name": "` + key + `", "keys": ["` + key + `", ""], "match": ["agent:wget"]},
		{"name": "tab\t", "match": ["client:", "client: x"]},
		{"name": " space", "match": ["agent:wget"]},
		{"name": "ünicode", "contact": 7, "key": [], "keys": "` + hash + `", "perMinute": 1.5},
		{"name": "A", "notified": "1 December 2026", "moved": {}},
		{"name": "B", "moved": {"on": "` + key + `", "why": "two\nlines"}}
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
		"clients[3].match[4]: \"agent:a b\" is none of",
		"clients[4].name: a name must not begin with qg_",
		"clients[4].keys[0]: this is a key",
		"clients[4].keys[1]: not the hash of a key",
		"clients[5].name: \"tab\\t\" is not a name",
		"clients[5].match[0]: \"client:\" is none of",
		"clients[5].match[1]: \"client: x\" is none of",
		"clients[6].name: \" space\" is not a name",
		"clients[6].match[0]: the client (a key) has the same",
		"clients[7].name: \"ünicode\" is not a name",
		"clients[7].contact: got number, want string",
		"clients[7].key: unknown field",
		"clients[7].keys: got string, want array",
		"clients[7].perMinute: got number 1.5, want whole number",
		"clients[8].notified: not a day; write it like 2027-01-05",
		"clients[8].moved.on: missing",
		"clients[8].moved.why: missing",
		"clients[9].moved.on: not a day",
		"clients[9].moved.why: must be one line",
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
	for text, want := range map[string]string{
		"":                    "not valid JSON",
		"{":                   "not valid JSON",
		"{}":                  `clients: missing; write {"clients": []}`,
		`{"clients": null}`:   "clients: missing",
		`{"clients": {}}`:     "clients: got object, want array",
		`{"client": []}`:      "client: unknown field",
		`{"clients": [null]}`: "clients[0]: got null, want object",
		`{"clients": [{"name": "A", "keys": [null]}]}`:  "clients[0].keys[0]: got null, want string",
		`{"clients": [{"name": "A", "match": [null]}]}`: "clients[0].match[0]: got null, want string",
		`{"clients": [1]}`: "clients[0]: got number, want object",
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

// TestChangedClientsFileIsReadAgain changes the file under running Clients. The log says
// nothing that is secret. A bad file changes nothing.
func TestChangedClientsFileIsReadAgain(t *testing.T) {
	key, hash := caller.NewKey()
	next, nextHash := caller.NewKey()
	file := write(t, "", `{"clients": [{"name": "Acme", "keys": ["`+hash+`"]}, {"name": "Old"}]}`)
	var j journal.Journal
	clients, err := caller.NewClients(file, slog.New(slog.NewJSONHandler(&j, nil)))
	if err != nil {
		t.Fatal(err)
	}
	good := `{"clients": [{"name": "Acme", "keys": ["` + nextHash + `"]}, {"name": "New"}]}`
	for _, step := range []struct {
		text    string
		refused bool
		proves  string // the key that is known then
		logged  string
	}{
		{good, false, next, `"known clients changed","file":"` + file + `","clients":2`},
		{`{"clients": [{"name": "Acme", "keys": ["` + key + `"]}, {"name": ""}]}`, true, next, "clients[0].keys[0]: this is a key"},
		{good, false, next, "the clients file is valid and in use"},
		{`{"clients": []}`, false, "", `"known clients changed","file":"` + file + `","clients":0`},
	} {
		write(t, file, step.text)
		clients.Reload()
		for _, key := range []string{key, next} {
			c := caller.Caller{}
			clients.Recognise(&c, http.Header{"Api-Key": {key}})
			if c.Proven() != (key == step.proves) {
				t.Errorf("%s: a key proves %v", step.text, c.Proven())
			}
		}
		if clients.Refused() != step.refused || j.Count(step.logged) != 1 {
			t.Errorf("%s: refused %v, and the log\n%s", step.text, clients.Refused(), j.String())
		}
	}
	for _, secret := range []string{key[3:20], next[3:20], hash[7:30], nextHash[7:30]} {
		if j.Count(secret) != 0 {
			t.Errorf("a secret is in the log:\n%s", j.String())
		}
	}
}

// TestFind: clients are found by their names, and under every name that a call of theirs
// can have been recorded by.
func TestFind(t *testing.T) {
	_, hash := caller.NewKey()
	clients := read(t, `{"clients": [
		{"name": "Harbour", "contact": "ops@harbour.example", "notes": "größer", "keys": ["`+hash+`"], "perMinute": 1000,
		 "match": ["`+checksum+`", "origin:https://harbour.example", "agent:harbour"],
		 "notified": "2026-12-01", "moved": {"on": "2027-01-05", "why": "they wrote so"}},
		{"name": "Quiet", "match": null, "perMinute": null}, {"name": "Near", "match": ["203.0.113.0/24"]}
	]}`)
	for recorded, want := range map[string]string{
		"client Harbour": "Harbour", "integrator " + partner.String(): "Harbour", "origin https://harbour.example": "Harbour",
		"agent harbour #5f1c": "Harbour", "client Near": "Near", "client Gone": "", "client harbour": "",
		"agent harbour-2 #5f1c": "", "network #5f1c": "", "": "", "integrator 0x": "",
	} {
		got, known := clients.FindRecorded(recorded)
		if got.Name != want || known != (want != "") {
			t.Errorf("%q: got %q, %v, want %q", recorded, got.Name, known, want)
		}
	}
	harbour, _ := clients.Find("Harbour")
	if harbour.Contact != "ops@harbour.example" || harbour.Notes != "größer" || len(harbour.Keys) != 1 || harbour.Limit() != 1000 ||
		harbour.Notified != "2026-12-01" || harbour.Moved.Sentence() != "2027-01-05: they wrote so" {
		t.Errorf("got %+v", harbour)
	}
	for at, want := range map[string]bool{"2027-01-05T23:59:59Z": true, "2027-01-06T00:00:00Z": false, "2026-12-24T00:00:00Z": true} {
		last, _ := time.Parse(time.RFC3339, at)
		if got := harbour.Moved.Holds(last); got != want {
			t.Errorf("last call %s: the mark holds: %v, want %v", at, got, want)
		}
	}
	quiet, known := clients.Find("Quiet")
	_, otherCase := clients.Find("quiet")
	if !known || otherCase || quiet.Notified != "" || quiet.Limit() != 0 || quiet.Moved.Holds(time.Time{}) {
		t.Errorf("got %+v and %t, want no marks", quiet, otherCase)
	}
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

func TestPatternMatches(t *testing.T) {
	known := caller.From(request("Origin", "https://Partner.example", "User-Agent", "OkHttp/4.12"), netip.MustParseAddr("::ffff:203.0.113.9"), partner)
	known.Known = &caller.Client{Name: "Acme Wallet"}
	unknown := caller.From(request(), netip.Addr{}, noIntegrator)
	for text, want := range map[string]bool{
		wallet:                                true,
		checksum:                              true,
		word:                                  true,
		"0x" + strings.Repeat("1", 40):        false,
		"203.0.113.0/24":                      true,
		"203.0.113.9/32":                      true,
		"203.0.112.0/24":                      false,
		"2001:db8::/32":                       false,
		"origin:https://partner.example":      true,
		"origin:https://partner.example:443":  true,
		"origin:http://partner.example":       false,
		"origin:https://evilpartner.example":  false,
		"origin:https://partner.example.evil": false,
		"agent:okhttp":                        true,
		"agent:OKHTTP":                        true,
		"agent:okhttp3":                       false,
		"client:Acme Wallet":                  true,
		"client:Acme":                         false,
		"client:acme wallet":                  false,
	} {
		p, err := caller.ParsePattern(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := p.Matches(known); got != want {
			t.Errorf("%s: got %t, want %t", text, got, want)
		}
		if p.Matches(unknown) {
			t.Errorf("%s: matches a caller who said nothing", text)
		}
	}
}

func TestPatternRefused(t *testing.T) {
	for _, text := range []string{
		"", "partner", strings.Repeat("p", 5_000), "0x12", "0X" + wallet[2:], "203.0.113.9", "2001:db8::1", "203.0.113.9/24",
		"203.0.113.0/33", "::ffff:203.0.113.0/120", "origin:partner.example", "origin:https://p.example/path", "origin:",
		"https://partner.example", "agent:", "agent:okhttp/4", "agent:" + strings.Repeat("a", 33), "client:",
		"client:" + strings.Repeat("a", 65), "qg_0123456789", "origin:qg_0123456789", "client: qg_0123456789",
	} {
		_, err := caller.ParsePattern(text)
		if err == nil {
			t.Errorf("%.60q: accepted", text)
			continue
		}
		want := "is none of: an integrator ID"
		if strings.Contains(text, "qg_") {
			want = "this is a key"
		}
		if !strings.Contains(err.Error(), want) || len(err.Error()) > 450 {
			t.Errorf("%.60q: got %.450q, want something short about %q", text, err, want)
		}
	}
}

// TestPatternAgreesWithRecordedNames: where a name tells whether a pattern matches,
// that is what the pattern does with every caller of that name.
func TestPatternAgreesWithRecordedNames(t *testing.T) {
	var callers []caller.Caller
	for _, known := range []*caller.Client{nil, {Name: "Acme"}, {Name: "Other"}} {
		for _, id := range []calldata.IntegratorID{{}, partner} {
			for _, origin := range []string{"", "https://a.example", "https://b.example"} {
				for _, agent := range []string{"curl", "okhttp"} {
					for _, addr := range []string{"203.0.113.7", "198.51.100.7"} {
						callers = append(callers, caller.Caller{Known: known, Integrator: id, Origin: origin, Agent: agent,
							Addr: netip.MustParseAddr(addr)})
					}
				}
			}
		}
	}
	for _, text := range []string{word, "origin:https://a.example", "203.0.113.0/24", "agent:curl", "client:Acme"} {
		p, err := caller.ParsePattern(text)
		if err != nil {
			t.Fatal(err)
		}
		decided := 0
		for _, c := range callers {
			name := c.Identity().String()
			yes, no := p.MatchesRecorded(name, true), p.MatchesRecorded(name, false)
			if yes == no { // whatever it was before
				decided++
				if yes != p.Matches(c) {
					t.Errorf("%s: got %t for the name %q, and %t for a caller of it", text, yes, name, p.Matches(c))
				}
			} else if no {
				t.Errorf("%s: %q is the opposite of what it was before", text, name)
			}
		}
		if decided == 0 != p.IsNetwork() {
			t.Errorf("%s: decides for %d callers", text, decided)
		}
	}
}
