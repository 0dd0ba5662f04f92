package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sethvargo/go-envconfig"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/rpc"
	"github.com/quotegate/quotegate/shared/testkit/journal"
)

// TestSettingsAreThoseThatAreRead compares the description with what envconfig
// looks up, and its defaults with those of envconfig.
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
	defaults := environment{}
	for _, s := range settings(nil) {
		described = append(described, s.name)
		if s.standard != "" {
			defaults[s.name] = s.standard
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
	guide := readText(t, "../../docs/operate/README.md")
	inTable := func(words ...string) bool {
		for line := range strings.Lines(guide) {
			if strings.HasPrefix(line, "|") && !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(line, "`"+word+"`") }) {
				return true
			}
		}
		return false
	}
	for _, s := range settings(nil) {
		words := []string{s.name}
		if strings.HasPrefix(s.name, rpc.VariablePrefix) {
			words[0] = rpc.VariablePrefix + "<chainId>"
		}
		if s.standard != "" {
			words = append(words, s.standard)
		}
		if !inTable(words...) {
			t.Errorf("no table of docs/operate/README.md has a row with %q", words)
		}
		if limits := s.limits.String(); limits != "" && !regexp.MustCompile("(?m)^\\|.*`"+s.name+"`.*"+regexp.QuoteMeta(limits)).MatchString(guide) {
			t.Errorf("the row of %s in docs/operate/README.md does not say %q", s.name, limits)
		}
	}
	for _, c := range commands() {
		if !inTable(c.call()) {
			t.Errorf("no table of docs/operate/README.md has a row with %q", c.call())
		}
	}
}

// TestWhatMayHoldASecretIsHidden makes whoever adds a variable think of it.
func TestWhatMayHoldASecretIsHidden(t *testing.T) {
	suspicious := regexp.MustCompile(`TOKEN|KEY|SECRET|PASS|URL|DSN|_DB$`)
	for _, s := range settings(nil) {
		if suspicious.MatchString(s.name) && !s.secret {
			t.Errorf("%s may hold a secret: tag its field with setting:\"secret\"", s.name)
		}
	}
}

func TestPrintSettings(t *testing.T) {
	env := environment{
		"LISTEN_ADDR": ":1", "RATE_LIMIT": "", "REDIS_PREFIX": "", "LEGACY_HOSTS": "a.example, b.example", "DRAIN_DELAY": "soon", "LOG_FORMAT": "\x1b[31m",
		"ADMIN_TOKEN": "hunter2", "USAGE_DB": "hunter2", "REDIS_URL": "hunter2", "ISSUER_FEE_URL": "hunter2", "RPC_URLS_1": "hunter2",
		"OTHER": "hunter2",
	}
	var out bytes.Buffer
	if err := printSettings(&out, env); err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{}
	for line := range strings.Lines(out.String()) {
		name, rest, _ := strings.Cut(line, " ")
		rows[name] = strings.Join(strings.Fields(rest), " ")
	}
	for name, want := range map[string]string{
		"VARIABLE": "VALUE FROM LIMITS", "LISTEN_ADDR": ":1 environment", "ADMIN_ADDR": "127.0.0.1:9090 default",
		"RATE_LIMIT": "30 default between 1 and 1000, or 0 for no limit", "REDIS_PREFIX": `"" environment at most 64 characters, all of them printable ASCII and none a space`, "LEGACY_HOSTS": `"a.example, b.example" environment`,
		"DRAIN_DELAY": "soon environment between 0s and 1m", "LOG_FORMAT": `"\x1b[31m" environment`, "DEPLOYMENT_FILE": `"" default`,
		"ADMIN_TOKEN": "[hidden] environment at least 16 characters, all of them printable ASCII and none a space", "USAGE_DB": "[hidden] environment", "REDIS_URL": "[hidden] environment",
		"ISSUER_FEE_URL": "[hidden] environment", "RPC_URLS_1": "[hidden] environment", "RPC_URLS_369": `"" default`,
	} {
		if rows[name] != want {
			t.Errorf("%s: got %q, want %q", name, rows[name], want)
		}
	}
	if strings.Contains(out.String(), "hunter2") || strings.Contains(out.String(), "OTHER") {
		t.Errorf("it shows too much:\n%s", out.String())
	}
	if rows := strings.Count(out.String(), "\n"); rows != len(settings(nil))+1 { // and a heading
		t.Errorf("got %d lines for %d settings", rows, len(settings(nil)))
	}
}

// TestUnreadableValuesHideNoOtherProblem mixes mistakes of all kinds.
func TestUnreadableValuesHideNoOtherProblem(t *testing.T) {
	env := environment{
		"DRAIN_DELAY": "3", "QUOTE_TTL": "one minute", "INTEGRATOR_CACHE_TTL": "30", "RATE_LIMIT": "many", "MAX_CONNECTIONS": "99999999999999999999", "INTEGRATOR_CACHE_SIZE": "4k",
		"LISTEN_ADDR": "8080", "ADMIN_ADDR": "0.0.0.0:9090", "LOG_FORMAT": "xml", "LEGACY_HOSTS": "https://old.example", "ISSUER_FEE_URL": "hunter2",
		"LOG_LEVEL": "loud", "USAGE_DB": "mysql://hunter2", "RATELIMIT": "hunter2", "RPC_URLS_1": "hunter2", "RPC_URLS_2": "hunter2",
	}
	err := run(t.Context(), env, io.Discard, func(string, string) { t.Error("it started") })
	if err == nil {
		t.Fatal("got no error")
	}
	got := strings.Split(err.Error(), "\n")
	for _, want := range []string{
		"the configuration is wrong:",
		"RATELIMIT: is not a setting; did you mean RATE_LIMIT?",
		"RPC_URLS_2: names no supported chain",
		`DRAIN_DELAY: "3" is not a duration such as`,
		`QUOTE_TTL: "one minute" is not a duration`,
		`INTEGRATOR_CACHE_TTL: "30" is not a duration`,
		`RATE_LIMIT: "many" is not a whole number`,
		`MAX_CONNECTIONS: "99999999999999999999" is not a whole number, or is too large`,
		`INTEGRATOR_CACHE_SIZE: "4k" is not a whole number`,
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
	if len(got) > 0 {
		t.Errorf("reported beyond that:\n%s", strings.Join(got, "\n"))
	}
	if strings.Contains(err.Error(), "hunter2") {
		t.Errorf("the error shows a secret:\n%v", err)
	}
}

func TestUnreadableSecretIsNotRepeated(t *testing.T) {
	s := variable{name: "SECRET_NUMBER", typ: reflect.TypeFor[int](), secret: true, text: "hunter2"}
	if got, want := s.unreadable().Error(), "SECRET_NUMBER: the value is not a whole number, or is too large"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestEmptyValues are what a compose file makes of a variable that is not set.
func TestEmptyValues(t *testing.T) {
	env := environment{}
	for _, s := range settings(nil) {
		if s.standard == "" || s.typ.Kind() != reflect.String {
			env[s.name] = ""
		}
	}
	got, err := readConfig(t.Context(), env)
	if err != nil {
		t.Fatal(err)
	}
	if got.Limit.PerMinute != 30 || got.MaxConnections != 4096 {
		t.Errorf("got a limit of %d and %d connections, want the defaults", got.Limit.PerMinute, got.MaxConnections)
	}
}

// TestDeploymentsAreWarnedOf: an operator's own deployment needs the issuer's fee
// service, and the reference deployment is for the devnet. The start says so.
func TestDeploymentsAreWarnedOf(t *testing.T) {
	const warning = "the maxFee of every burn comes from the built-in table, " +
		"so that burns fail or wait when the issuer raises its fee; set ISSUER_FEE_URL"
	write := func(name string) string {
		return tempFile(t, strings.Replace(string(chain.ReferenceFile()), `"name": "reference"`, `"name": "`+name+`"`, 1))
	}
	issuer := httptest.NewServer(http.NotFoundHandler())
	defer issuer.Close()
	const reference = "this service quotes the reference deployment, whose contracts exist on the local devnet only; set DEPLOYMENT_FILE"
	for _, c := range []struct {
		name, file, url   string
		warned, reference bool
	}{
		{"the default", "", "", false, true},
		{"the reference deployment", "reference", "", false, false},
		{"a file of that name", write("reference"), "", false, false},
		{"another", write("mine"), "", true, false},
		{"another, with the service", write("mine"), issuer.URL, false, false},
	} {
		env := environment{"DEPLOYMENT_FILE": c.file, "ISSUER_FEE_URL": c.url}
		env["LISTEN_ADDR"] = "127.0.0.1:0"
		env["ADMIN_ADDR"] = "off"
		var log journal.Journal
		ctx, stop := context.WithCancel(t.Context())
		if err := run(ctx, env, &log, func(string, string) { stop() }); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(log.String(), `"level":"WARN","msg":"deployment: `+warning); got != c.warned {
			t.Errorf("%s: the start warns: %v, want %v:\n%s", c.name, got, c.warned, log.String())
		}
		if got := strings.Contains(log.String(), `"level":"WARN","msg":"deployment: `+reference); got != c.reference {
			t.Errorf("%s: the start warns of the reference: %v, want %v:\n%s", c.name, got, c.reference, log.String())
		}
		out, _ := runCommand(t, env, "check") // the issuer's fees fail
		if got := strings.Contains(out, warning); got != c.warned {
			t.Errorf("%s: the check notes it: %v, want %v:\n%s", c.name, got, c.warned, out)
		}
	}
}

// TestSecretsFromFiles: every secret may be in a file, as containers and systemd
// hand them over.
func TestSecretsFromFiles(t *testing.T) {
	write := func(text string) string { return tempFile(t, text) }
	token := strings.Repeat("a", 32)
	env := environment{"ADMIN_TOKEN_FILE": write(token + "\n"), "RPC_URLS_1_FILE": write("http://a.example,http://b.example\n"), "ADMIN_ADDR": ":0"}
	cfg, err := readConfig(t.Context(), env)
	if err != nil || cfg.Admin.Token != token || len(cfg.RPC[1]) != 2 {
		t.Fatalf("got %+v, %v", cfg, err)
	}
	var out bytes.Buffer
	if err := printSettings(&out, env); err != nil || strings.Contains(out.String(), token) || !regexp.MustCompile(`ADMIN_TOKEN +\[hidden\] +file`).MatchString(out.String()) {
		t.Errorf("got %v\n%s", err, out.String())
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
		"both":      {"ADMIN_TOKEN": token, "ADMIN_TOKEN_FILE": write(token)},
		"empty":     {"ADMIN_TOKEN_FILE": write("\n")},
		"two lines": {"ADMIN_TOKEN_FILE": write(token + "\n" + token)},
		"a folder":  {"ADMIN_TOKEN_FILE": t.TempDir()},
		"a slip":    {"ADMIN_TOKEN_FIL": write(token)},
		"no secret": {"LISTEN_ADDR_FILE": write(":1"), "RATE_LIMIT_FIL": "x", "ADMIN_TOKEN_FILE": "/does/not/exist"},
	} {
		if _, err := readConfig(t.Context(), bad); err == nil || strings.Contains(err.Error(), token) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestMisspelledNames(t *testing.T) {
	for name, meant := range map[string]string{
		"RATELIMIT":        "RATE_LIMIT",
		"RATE_LIMITS":      "RATE_LIMIT",
		"rate_limit":       "RATE_LIMIT",
		"RATE-LIMIT":       "RATE_LIMIT",
		"DEPLOYMENT_FIL":   "DEPLOYMENT_FILE",
		"DEPLOYMENT_FIEL":  "DEPLOYMENT_FILE",
		"DEPLOYMENTFILE":   "DEPLOYMENT_FILE",
		"_DEPLOYMENT_FILE": "DEPLOYMENT_FILE",
		"LOGLEVEL":         "LOG_LEVEL",
		"Usage_Db":         "USAGE_DB",
		"REDIS_URI":        "REDIS_URL",
		"QUOTE_TLT":        "QUOTE_TTL",
		"RPC_URL_1":        "RPC_URLS_1",
		"RPC_URL_10":       "RPC_URLS_10",
		"RPC_URLS10":       "RPC_URLS_10",
		"rpc_urls_8453":    "RPC_URLS_8453",
		"RPC_URSL_137":     "RPC_URLS_137",
	} {
		got := environment{name: "x"}.misspelled()
		if len(got) != 1 || !strings.HasPrefix(got[0].Error(), name+": is not a setting; did you mean "+meant+"?") {
			t.Errorf("%s: got %v, want a question about %s", name, got, meant)
		}
	}
	for _, name := range []string{"RPC_URLS_2", "RPC_URLS_01", "RPC_URLS_mainnet", "RPC_URLS_", "RPC_URLS", "RPC_URL_11155111", "RPC_URLS_69696969"} {
		got := environment{name: "x"}.misspelled()
		if len(got) != 1 || !strings.HasPrefix(got[0].Error(), name+": names no supported chain") || !strings.Contains(got[0].Error(), "1, 10, 25, ") {
			t.Errorf("%s: got %v, want the list of chains", name, got)
		}
	}
	got := environment{"RATE\nLIMIT": "hunter2"}.misspelled()
	if len(got) != 1 || strings.Contains(got[0].Error(), "\n") || strings.Contains(got[0].Error(), "hunter2") {
		t.Errorf("got %q, want one line without the value", got)
	}
}

// TestOtherNamesPass has the variables of shells, systemd, Kubernetes, CI and
// other programs.
func TestOtherNamesPass(t *testing.T) {
	env := newEnvironment(strings.Fields(`
		PATH= HOME=/ LANG=C LC_ALL=C LOGNAME=a PWD=/ SHLVL=1 TERM=x TZ=UTC USER=a HOSTNAME=h _=x EMPTY
		GOGC=100 GOMEMLIMIT=1GiB GOMAXPROCS=2 GODEBUG=x GOLOG_LOG_LEVEL=debug
		LISTEN_PID=1 LISTEN_FDS=1 LISTEN_FDNAMES=x INVOCATION_ID=x JOURNAL_STREAM=8:1 NOTIFY_SOCKET=/run/x
		KUBERNETES_SERVICE_HOST=10.0.0.1 KUBERNETES_PORT_443_TCP_PROTO=tcp
		REDIS_SERVICE_HOST=10.0.0.2 REDIS_SERVICE_PORT=6379 REDIS_PORT=tcp://10.0.0.2:6379 REDIS_PORT_6379_TCP_ADDR=10.0.0.2
		QUOTE_PORT=tcp://10.0.0.3:80 QUOTE_PORT_80_TCP=x USAGE_PORT=x USAGE_DB_PORT_5432_TCP_ADDR=x USAGE_DB_SERVICE_HOST=x
		REDIS_HOST=h REDIS_SSL=1 REDIS_TTL=1 REDIS_DB=0 REDIS_TLS_URL=x DATABASE_URL=x RPC_URL=x ETH_RPC_URL=x RPC_PORT=x
		DEPLOYMENT_NAME=x DEPLOYMENT_ID=x DEPLOYMENT_TIME=x DEPLOYMENT_TYPE=x LOG_FILE=x LOG_DIR=x LOG_PATH=x
		ADMIN_USER=x ADMIN_PORT=x ADMIN_KEY=x PORT=80 MAX_CONN=1 QUOTE_KEY=x QUOTE_URL=x QUOTE_VIEWING_KEY=x CI=true GITHUB_TOKEN=x
		RATE_LIMIT=5 RPC_URLS_1=x`))
	env[strings.Repeat("RATE_LIMIT", 10_000)] = "x"
	if got := env.misspelled(); len(got) != 0 {
		t.Errorf("got %v", got)
	}
	for _, s := range settings(nil) {
		if got := (environment{s.name: "x"}).misspelled(); len(got) != 0 {
			t.Errorf("%s is ours: got %v", s.name, got)
		}
	}
}

func TestNewEnvironment(t *testing.T) {
	env := newEnvironment([]string{"A=1=2", "B="})
	if len(env) != 2 || env["A"] != "1=2" || env["B"] != "" {
		t.Errorf("got %q", env)
	}
}
