package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sethvargo/go-envconfig"

	"github.com/quotegate/quotegate/shared/rpc"
	"github.com/quotegate/quotegate/shared/testkit/journal"
)

// The settings are those that envconfig looks up, with the same defaults. Those that may contain
// a secret are hidden.
func TestSettingsAreThoseThatAreRead(t *testing.T) {
	var asked, described []string
	lookup := envconfig.LookuperFunc(func(name string) (string, bool) {
		asked = append(asked, name)
		return "", false
	})
	var untouched config
	if err := envconfig.ProcessWith(t.Context(), &envconfig.Config{Target: &untouched, Lookuper: lookup}); err != nil {
		t.Fatal(err)
	}
	untouched.RPC = rpc.ReadConfig(lookup)
	suspicious := regexp.MustCompile(`TOKEN|KEY|SECRET|PASS|URL|DSN|_DB$`)
	defaults := environment{}
	for _, s := range settings(nil) {
		described = append(described, s.name)
		if s.standard != "" {
			defaults[s.name] = s.standard
		}
		if suspicious.MatchString(s.name) && !s.secret {
			t.Errorf("%s may hold a secret: tag its field with setting:\"secret\"", s.name)
		}
	}
	slices.Sort(asked)
	slices.Sort(described)
	if !slices.Equal(asked, described) {
		t.Errorf("read %v\ndescribed %v", asked, described)
	}
	got, err := readConfig(t.Context(), defaults)
	if err != nil || !reflect.DeepEqual(got, &untouched) {
		t.Errorf("got %+v, %v; want %+v", got, err, untouched)
	}
}

func TestGuideHasEverySettingAndCommand(t *testing.T) {
	var rows []string
	for line := range strings.Lines(readText(t, "../../docs/operate/README.md")) {
		if strings.HasPrefix(line, "|") {
			rows = append(rows, line)
		}
	}
	wantRow := func(words ...string) {
		t.Helper()
		missing := func(row string) bool {
			return slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(row, word) })
		}
		if !slices.ContainsFunc(rows, func(row string) bool { return !missing(row) }) {
			t.Errorf("no table of docs/operate/README.md has a row with %q", words)
		}
	}
	for _, s := range settings(nil) {
		name := s.name
		if strings.HasPrefix(name, rpc.VariablePrefix) {
			name = rpc.VariablePrefix + "<chainId>"
		}
		standard := ""
		if s.standard != "" {
			standard = "`" + s.standard + "`"
		}
		wantRow("`"+name+"`", standard, s.limits.String())
	}
	wantRow("`gateway`")
	wantRow("`gateway help [COMMAND]`")
	for _, c := range commands {
		wantRow("`" + c.usage() + "`")
	}
}

func TestPrintSettings(t *testing.T) {
	const secret = "hunter2"
	out, _ := runCommand(t, environment{
		"LISTEN_ADDR": ":1", "RATE_LIMIT": "", "REDIS_PREFIX": "", "LEGACY_HOSTS": "a.example, b.example",
		"DRAIN_DELAY": "soon", "LOG_FORMAT": "\x1b[31m",
		"ADMIN_TOKEN": secret, "USAGE_DB": secret, "REDIS_URL": secret, "ISSUER_FEE_URL": secret, "RPC_URLS_1": secret,
		"OTHER": secret,
	}, "config")
	rows := map[string]string{}
	for line := range strings.Lines(out) {
		name, rest, _ := strings.Cut(line, " ")
		rows[name] = strings.Join(strings.Fields(rest), " ")
	}
	const printable = "characters, all of them printable ASCII and none a space"
	for name, want := range map[string]string{
		"VARIABLE":        "VALUE FROM LIMITS",
		"LISTEN_ADDR":     ":1 environment",
		"ADMIN_ADDR":      "127.0.0.1:9090 default",
		"RATE_LIMIT":      "30 default between 1 and 1000, or 0 for no limit",
		"REDIS_PREFIX":    `"" environment at most 64 ` + printable,
		"LEGACY_HOSTS":    `"a.example, b.example" environment`,
		"DRAIN_DELAY":     "soon environment between 0s and 1m",
		"LOG_FORMAT":      `"\x1b[31m" environment`,
		"DEPLOYMENT_FILE": `"" default`,
		"ADMIN_TOKEN":     "[hidden] environment at least 16 " + printable,
		"USAGE_DB":        "[hidden] environment",
		"RPC_URLS_1":      "[hidden] environment",
		"RPC_URLS_369":    `"" default`,
	} {
		if rows[name] != want {
			t.Errorf("%s: got %q, want %q", name, rows[name], want)
		}
	}
	if strings.Contains(out, secret) || strings.Contains(out, "OTHER") || len(rows) != len(settings(nil))+1 {
		t.Errorf("it shows too much:\n%s", out)
	}
}

// All mistakes are reported at once, and no secret.
func TestEveryMistakeIsReported(t *testing.T) {
	const secret = "hunter2"
	err := run(t.Context(), environment{
		"DRAIN_DELAY": "3", "QUOTE_TTL": "one minute", "RATE_LIMIT": "many", "LOG_CLIENT_ADDRESS": "maybe",
		"MAX_CONNECTIONS": "99999999999999999999", "LISTEN_ADDR": "8080", "ADMIN_ADDR": "0.0.0.0:9090",
		"LOG_FORMAT": "xml", "LEGACY_HOSTS": "https://old.example", "ISSUER_FEE_URL": secret, "LOG_LEVEL": "loud",
		"DEPLOYMENT_FILE": "", "USAGE_DB": "mysql://" + secret, "REDIS_URI": secret, "RPC_URLS_1": secret, "RPC_URLS_2": secret,
	}, io.Discard, func(string, string) { t.Error("it started") })
	if err == nil {
		t.Fatal("got no error")
	}
	got := strings.Split(err.Error(), "\n")
	for _, want := range []string{
		"the configuration is wrong:",
		"REDIS_URI: is not a setting; did you mean REDIS_URL?",
		"DEPLOYMENT_FILE: is set and empty; name the file with your contracts, or unset it",
		"RPC_URLS_2: is not a setting; endpoints are in RPC_URLS_<chain>",
		`DRAIN_DELAY: "3" is not a duration such as`,
		`QUOTE_TTL: "one minute" is not a duration`,
		`RATE_LIMIT: "many" is not a whole number`,
		`MAX_CONNECTIONS: "99999999999999999999" is not a whole number, or is too large`,
		`LOG_CLIENT_ADDRESS: "maybe" is not true or false`,
		`LOG_LEVEL: "loud" is not debug`, `LOG_FORMAT: "xml" is not`, `LISTEN_ADDR: "8080" is not an address`,
		"ADMIN_ADDR: ", `LEGACY_HOSTS: "https://old.example" is not a host name`, "ISSUER_FEE_URL: ",
		"USAGE_DB: is neither postgres://",
		"RPC_URLS_1: entry 1 does not begin with",
	} {
		i := slices.IndexFunc(got, func(line string) bool { return strings.HasPrefix(line, want) })
		if i < 0 {
			t.Errorf("not reported: %s", want)
			continue
		}
		got = slices.Delete(got, i, i+1)
	}
	if len(got) > 0 || strings.Contains(err.Error(), secret) {
		t.Errorf("reported beyond that, or a secret:\n%v", err)
	}
}

// TestEmptyValues: in a compose file, a variable that is not set becomes an empty one.
func TestEmptyValues(t *testing.T) {
	env := environment{}
	for _, s := range settings(nil) {
		if s.standard == "" || s.typ.Kind() != reflect.String {
			env[s.name] = ""
		}
	}
	delete(env, "DEPLOYMENT_FILE") // this one stops the start
	got, err := readConfig(t.Context(), env)
	if err != nil {
		t.Fatal(err)
	}
	if got.Limit.PerMinute != 30 || got.MaxConnections != 4096 {
		t.Errorf("got a limit of %d and %d connections, want the defaults", got.Limit.PerMinute, got.MaxConnections)
	}
}

// An operator's own deployment needs the issuer's fee service, and quotes of the reference
// deployment must not be signed. The start and the check say so.
func TestDeploymentsAreWarnedOf(t *testing.T) {
	issuer := httptest.NewServer(http.NotFoundHandler())
	defer issuer.Close()
	const (
		reference = "no quote may be signed: " + localOnly
		builtIn   = "the maxFee of every burn comes from the built-in table"
	)
	for _, tt := range []struct{ file, url, warning string }{
		{"", "", reference},
		{"reference", "", reference},
		{deploymentNamed(t, "reference"), issuer.URL, reference},
		{deploymentNamed(t, "mine"), "", builtIn},
		{deploymentNamed(t, "mine"), issuer.URL, ""},
	} {
		cfg := &config{DeploymentFile: tt.file}
		cfg.IssuerFees.FeeURL = tt.url
		d, err := cfg.deployment()
		isSingle := func(warning string) bool { return strings.HasPrefix(warning, "confirmations is 1") }
		d.Warnings = slices.DeleteFunc(d.Warnings, isSingle)
		if err != nil || !strings.HasPrefix(strings.Join(d.Warnings, ""), tt.warning) ||
			(tt.warning == "") != (len(d.Warnings) == 0) {
			t.Errorf("%q with issuer %q: got %v and %q, want %q", tt.file, tt.url, err, d.Warnings, tt.warning)
		}
	}
	wantContains(t, check(t, environment{}, 0), reference)
}

// TestStartSaysWhatIsNotSet in one line, and what changes it.
func TestStartSaysWhatIsNotSet(t *testing.T) {
	const (
		memory = `counts are kept in memory \(USAGE_DB\); rate limits are kept in memory \(REDIS_URL\)`
		chains = `nothing is verified on the chains \(RPC_URLS_<chainId>\)`
	)
	usage := filepath.Join(t.TempDir(), "usage.db")
	mine := deploymentNamed(t, "mine")
	for _, tt := range []struct {
		env  environment
		want string // a pattern
	}{
		{environment{}, `\A{.*"WARN","msg":"deployment: no quote may be signed: ` + localOnly + ` \(DEPLOYMENT_FILE\); ` +
			chains + "; " + memory + `"}\n.*"msg":"serving"`},
		{environment{"DEPLOYMENT_FILE": mine}, `"INFO","msg":"deployment: ` + chains + "; " + memory + `"}`},
		{environment{
			"DEPLOYMENT_FILE": mine, "RPC_URLS_1": "http://127.0.0.1:1", "RATE_LIMIT": "0", "USAGE_DB": usage,
		}, ""},
	} {
		tt.env["LISTEN_ADDR"] = "127.0.0.1:0"
		tt.env["ADMIN_ADDR"] = "off"
		var log journal.Journal
		ctx, stop := context.WithCancel(t.Context())
		if err := run(ctx, tt.env, &log, func(string, string) { stop() }); err != nil {
			t.Fatal(err)
		}
		got := log.String()
		if !regexp.MustCompile(tt.want).MatchString(got) || tt.want == "" && strings.Contains(got, "in memory") {
			t.Errorf("got\n%s\nwant %s", got, tt.want)
		}
	}
}

// TestReferenceDeployment: no quote of it may be signed, by its header in every version and by health, however it was
// chosen. Quotes of the same contracts under another name may be.
func TestReferenceDeployment(t *testing.T) {
	for name, env := range map[string]environment{
		"default":                  {},
		"chosen":                   {"DEPLOYMENT_FILE": "reference"},
		"a file of that name":      {"DEPLOYMENT_FILE": deploymentNamed(t, "reference")},
		"a file with another name": {"DEPLOYMENT_FILE": deploymentNamed(t, "mine")},
	} {
		t.Run(name, func(t *testing.T) {
			warning := "This quote must not be signed: " + localOnly
			problems := `"problems":["No quote of this gateway may be signed: ` + localOnly + `"]`
			if strings.Contains(name, "another") {
				warning, problems = "", ""
			}
			base, _, _ := start(t, env)
			for _, m := range modules() {
				status, h, _ := getWith(t, base+m.Routes[0].Path+quoteQuery, "Origin", "https://wallet.example")
				got := h.Values("Quote-Warning")
				if status != http.StatusOK || strings.Join(got, "|") != warning || warning != "" && len(got) != 1 {
					t.Errorf("%s: got %d and the warnings %q, want %q", m.Name, status, got, warning)
				}
				if exposed := h.Get("Access-Control-Expose-Headers"); !strings.Contains(exposed, "Quote-Warning") {
					t.Errorf("%s: a page may read %s alone", m.Name, exposed)
				}
			}
			_, body := get(t, base+healthPath)
			wantContains(t, body, `"status":"ok"`, problems)
			if problems == "" && strings.Contains(body, "problems") {
				t.Errorf("got problems: %s", body)
			}
		})
	}
}

// Every secret may be in a file, as containers and systemd hand them over.
func TestSecretsFromFiles(t *testing.T) {
	token := strings.Repeat("a", 32)
	env := environment{
		"ADMIN_TOKEN_FILE": tempFile(t, token+"\n"),
		"RPC_URLS_1_FILE":  tempFile(t, "http://a.example,http://b.example\n"),
		"ADMIN_ADDR":       ":0",
	}
	cfg, err := readConfig(t.Context(), env)
	if err != nil || cfg.Admin.Token != token || len(cfg.RPC[1]) != 2 {
		t.Fatalf("got %+v, %v", cfg, err)
	}
	out, err := runCommand(t, env, "config")
	if err != nil || strings.Contains(out, token) || !regexp.MustCompile(`ADMIN_TOKEN +\[hidden\] +file`).MatchString(out) {
		t.Errorf("got %v\n%s", err, out)
	}
	for _, s := range settings(nil) {
		if s.secret {
			_, err := readConfig(t.Context(), environment{s.name + "_FILE": "/does/not/exist"})
			if err == nil || strings.Count(err.Error(), "\n"+s.name+"_FILE: ") != 1 {
				t.Errorf("%s: got %v", s.name, err)
			}
		}
	}
	for name, bad := range map[string]environment{
		"both":      {"ADMIN_TOKEN": token, "ADMIN_TOKEN_FILE": tempFile(t, token)},
		"empty":     {"ADMIN_TOKEN_FILE": tempFile(t, "\n")},
		"two lines": {"ADMIN_TOKEN_FILE": tempFile(t, token+"\n"+token)},
		"a folder":  {"ADMIN_TOKEN_FILE": t.TempDir()},
		"a typo":    {"REDIS_URL_FIL": tempFile(t, token)},
	} {
		if _, err := readConfig(t.Context(), bad); err == nil || strings.Contains(err.Error(), token) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// TestMisspelledNames: a wrong name that is clearly meant for this program is a problem, and one
// that may be another program's is a warning.
func TestMisspelledNames(t *testing.T) {
	const chains = "endpoints are in RPC_URLS_<chain>, and `gateway config` lists the chains. If it"
	for name, tt := range map[string]struct{ problem, warning string }{
		"DEPLOYMENT_FIEL":          {problem: "did you mean DEPLOYMENT_FILE?"},
		"DEPLOYMENT_FIL":           {problem: "did you mean DEPLOYMENT_FILE?"},
		"DEPLOYMENT_FILES":         {problem: "did you mean DEPLOYMENT_FILE?"},
		"LIFECYCLE_FIXE":           {problem: "did you mean LIFECYCLE_FILE?"},
		"INTEGRATOR_CACHE_TLT":     {problem: "did you mean INTEGRATOR_CACHE_TTL?"},
		"TRUSTED_PROXYIES":         {problem: "did you mean TRUSTED_PROXIES?"},
		"ISSUER_FEEURL":            {problem: "did you mean ISSUER_FEE_URL?"},
		"USAGE_DBB":                {problem: "did you mean USAGE_DB?"},
		"USAGE_DB_FILES":           {problem: "did you mean USAGE_DB_FILE?"},
		"REDIS_URI":                {problem: "did you mean REDIS_URL?"},
		"RPC_URLS_2":               {problem: chains},
		"RPC_URLS_01":              {problem: chains},
		"RPC_URLS_mainnet":         {problem: chains},
		"RPC_URLS_1_URL":           {problem: chains},
		"RPC_URLS_":                {problem: chains},
		"RATELIMIT":                {warning: "RATELIMIT (did you mean RATE_LIMIT?)"},
		"RATE_LIMITS":              {warning: "RATE_LIMITS (did you mean RATE_LIMIT?)"},
		"rate_limit":               {warning: "rate_limit (did you mean RATE_LIMIT?)"},
		"RATE-LIMIT":               {warning: "RATE-LIMIT (did you mean RATE_LIMIT?)"},
		"QUOTE_TLT":                {warning: "QUOTE_TLT (did you mean QUOTE_TTL?)"},
		"_DEPLOYMENT_FILE":         {warning: "_DEPLOYMENT_FILE (did you mean DEPLOYMENT_FILE?)"},
		"REDIS__U_RL":              {warning: "REDIS__U_RL (did you mean REDIS_URL?)"},
		"RPC_URSL_137":             {warning: "RPC_URSL_137 (did you mean RPC_URLS_137?)"},
		"RPC_URL_1":                {warning: "RPC_URL_1 (did you mean RPC_URLS_1?)"},
		"rpc_urls_10":              {warning: "rpc_urls_10 (did you mean RPC_URLS_10?)"},
		"REDIS_SERVICE_HOST":       {warning: "REDIS_SERVICE_HOST"},
		"TRUSTED_PIXIEORS":         {warning: "TRUSTED_PIXIEORS"}, // an anagram
		"DEPLOYMENT_FLIES":         {warning: "DEPLOYMENT_FLIES"}, // two edits
		"DEPLOYMENT_FIL\x1bE_FILE": {warning: `"DEPLOYMENT_FIL\x1bE_FILE"`},
		"LIMIT_RATE":               {},
		"RATE":                     {},
	} {
		problems, warning := environment{name: "hunter2"}.misspelled()
		if want := "variables that are not settings are ignored: " + tt.warning; tt.warning != "" && warning != want ||
			tt.warning == "" && warning != "" {
			t.Errorf("%s: got the warning %q, want %q", name, warning, want)
		}
		if tt.problem == "" && len(problems) == 0 {
			continue
		}
		if len(problems) != 1 || tt.problem == "" ||
			!strings.HasPrefix(problems[0].Error(), name+": is not a setting; "+tt.problem) {
			t.Errorf("%s: got %v, want %q", name, problems, tt.problem)
		}
	}
	env := environment{"RATELIMIT": "1", "REDIS_PORT": "tcp://10.0.0.2:6379", "PATH": "/bin", "REDIS_URL": ""}
	const want = "variables that are not settings are ignored: RATELIMIT (did you mean RATE_LIMIT?), REDIS_PORT"
	if problems, warning := env.misspelled(); problems != nil || warning != want {
		t.Errorf("got %v and %q, want one warning %q", problems, warning, want)
	}
	env = environment{"LISTEN_ADDR": "127.0.0.1:0", "ADMIN_ADDR": "off", "RATELIMIT": "hunter2"}
	const ignored = "variables that are not settings are ignored: RATELIMIT (did you mean RATE_LIMIT?)"
	var log journal.Journal
	ctx, stop := context.WithCancel(t.Context())
	if err := run(ctx, env, &log, func(string, string) { stop() }); err != nil {
		t.Fatal(err)
	}
	wantContains(t, log.String(), `"level":"WARN","msg":"environment: `+ignored)
	out := check(t, env, 0)
	wantContains(t, out, ignored)
	if strings.Contains(log.String()+out, "hunter2") {
		t.Error("the value is shown")
	}
}

func TestOneEdit(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{"", "", false}, {"ab", "ab", false}, {"", "a", true}, {"", "ab", false}, {"ab", "abc", true},
		{"ab", "aab", true}, {"ab", "xab", true}, {"ab", "axb", true}, {"ab", "xabx", false}, {"ab", "ax", true},
		{"abc", "axc", true}, {"abc", "axx", false}, {"abc", "acb", true}, {"abc", "bac", true},
		{"abc", "cba", false}, {"abcd", "badc", false}, {"aaa", "aaaa", true}, {"aaa", "aaaaa", false},
	} {
		if got, reversed := oneEdit(tt.a, tt.b), oneEdit(tt.b, tt.a); got != tt.want || reversed != tt.want {
			t.Errorf("%q and %q: got %t and %t, want %t", tt.a, tt.b, got, reversed, tt.want)
		}
	}
}

// The variables of shells, systemd, Kubernetes, CI and other programs are not ours. Those with
// a prefix of ours are named, and nothing is guessed about them.
func TestOtherNamesPass(t *testing.T) {
	env := newEnvironment(strings.Fields(`
		PATH= HOME=/ LANG=C LOGNAME=a PWD=/ TERM=x TZ=UTC USER=a HOSTNAME=h _=x EMPTY
		GOGC=100 GOMEMLIMIT=1GiB GOMAXPROCS=2 GODEBUG=x GOLOG_LOG_LEVEL=debug
		LISTEN_PID=1 LISTEN_FDS=1 LISTEN_FDNAMES=x INVOCATION_ID=x JOURNAL_STREAM=8:1 NOTIFY_SOCKET=/run/x
		KUBERNETES_SERVICE_HOST=10.0.0.1 REDIS_SERVICE_HOST=10.0.0.2 REDIS_PORT=tcp://10.0.0.2:6379
		QUOTE_PORT=tcp://10.0.0.3:80 QUOTE_PORT_80_TCP=x USAGE_PORT=x USAGE_DB_PORT_5432_TCP_ADDR=x
		REDIS_HOST=h REDIS_SSL=1 REDIS_TTL=1 REDIS_DB=0 REDIS_TLS_URL=x DATABASE_URL=x RPC_URL=x RPC_URL_MAINNET=x ETH_RPC_URL=x RPC_PORT=x
		DEPLOYMENT_NAME=x DEPLOYMENT_ID=x DEPLOYMENT_TIME=x DEPLOYMENT_TYPE=x LOG_FILE=x LOG_DIR=x LOG_PATH=x
		ADMIN_USER=x ADMIN_PORT=x ADMIN_KEY=x PORT=80 MAX_CONN=1 QUOTE_KEY=x QUOTE_URL=x QUOTE_VIEWING_KEY=x CI=true
		RATE_LIMIT=5=6 RPC_URLS_1=x`))
	if env["RATE_LIMIT"] != "5=6" || env["PATH"] != "" {
		t.Errorf("got %q", env)
	}
	env[strings.Repeat("RATE_LIMIT", 10_000)] = "x"
	for _, s := range settings(nil) {
		env[s.name] = "x"
	}
	const named = "variables that are not settings are ignored: DEPLOYMENT_ID, DEPLOYMENT_NAME, DEPLOYMENT_TIME, " +
		"DEPLOYMENT_TYPE, REDIS_DB, REDIS_HOST, REDIS_PORT, REDIS_SERVICE_HOST, REDIS_SSL, REDIS_TLS_URL, REDIS_TTL, " +
		"USAGE_DB_PORT_5432_TCP_ADDR, USAGE_PORT"
	if problems, warning := env.misspelled(); len(problems) != 0 || warning != named {
		t.Errorf("got %v and %q, want %q", problems, warning, named)
	}
}
