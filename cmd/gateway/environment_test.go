package main

import (
	"slices"
	"strings"
	"testing"
)

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
	for name, instead := range map[string]string{"USAGE_FILE": "write USAGE_DB instead", "USAGE_KEY": "take it out"} {
		got := environment{name: "x"}.misspelled()
		if len(got) != 1 || !strings.HasPrefix(got[0].Error(), name+": is a setting of an earlier release; "+instead) {
			t.Errorf("%s: got %v, want what to write instead", name, got)
		}
	}
	if got := (environment{"RATE\nLIMIT": "x"}).misspelled(); len(got) != 1 || strings.Contains(got[0].Error(), "\n") {
		t.Errorf("got %q, want one line", got)
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

func FuzzMisspelled(f *testing.F) {
	f.Add("RATELIMIT")
	f.Add("RPC_URLS_\n1")
	var known []string
	for _, s := range settings(nil) {
		known = append(known, s.name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		got := environment{name: "value-hunter2"}.misspelled() // must not panic
		if slices.Contains(known, name) && len(got) != 0 {
			t.Errorf("%q: got %v", name, got)
		}
		for _, err := range got {
			if strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%q: got %q", name, err)
			}
		}
	})
}
