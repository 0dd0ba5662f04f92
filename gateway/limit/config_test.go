package limit

import (
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// TestValidate: every problem is reported, and none of the messages repeats a password.
func TestValidate(t *testing.T) {
	url := func(text string) Config { return Config{PerMinute: 30, RedisURL: text, RedisTimeout: shortest} }
	timeout := func(d time.Duration) Config { return Config{RedisURL: "redis://localhost", RedisTimeout: d} }
	prefix := func(text string) Config { return Config{RedisPrefix: text} }
	const limits, redisURL, prefixes, timeouts = "RATE_LIMIT: ", "REDIS_URL: ", "REDIS_PREFIX: ", "REDIS_TIMEOUT: "
	for _, tt := range []struct {
		name string
		cfg  Config
		want string // what each line of the error begins with; empty: there is none
	}{
		{"zero value", Config{}, ""},
		{"highest", Config{PerMinute: MaxPerMinute}, ""},
		{"redis", url("redis://localhost:6379/0"), ""},
		{"redis with TLS", url("rediss://user:p%40ss@redis.example:6380/2?pool_size=5"), ""},
		{"redis on a unix socket", url("unix:///run/redis.sock?db=1"), ""},
		{"sentinel", url("redis://a:26379?master_name=main&addr=b:26380&addr=[::1]:26379"), ""},
		{"sentinel in all", url("rediss://x:y%26@a.example:26379/2?master_name=main&username=user&password=p%40ss"), ""},
		{"cluster", url("redis://a:6379?addr=b:6379&addr=[::1]:6380"), ""},
		{"cluster in all", url("rediss://user:p%40ss@a.example/?addr=b:6379&pool_size=5"), ""},
		{"a prefix", prefix("staging/quotegate:"), ""},
		{"longest timeout", timeout(time.Second), ""},
		{"a timeout for nothing", Config{RedisTimeout: time.Second}, ""},
		{"longest prefix", prefix(strings.Repeat("~", 64)), ""},

		{"all at once", Config{PerMinute: -1, RedisURL: "http://localhost", RedisPrefix: "my gateway"}, limits + "|" + prefixes + "|" + timeouts + "|" + redisURL},
		{"too high a limit", Config{PerMinute: MaxPerMinute + 1}, limits},
		{"redis without scheme", url("localhost:6379"), redisURL},
		{"redis port", url("redis://localhost:70000"), redisURL},
		{"redis database", url("redis://localhost/-1"), redisURL},
		{"redis database by name", url("redis://localhost/main"), redisURL},
		{"unknown redis option", url("redis://localhost?colour=blue"), redisURL},
		{"unix socket without path", url("unix://"), redisURL},
		{"several hosts", url("redis://a:6379,b:6379"), redisURL},
		{"an earlier form", url("redis+sentinel://a:26379/main"), redisURL},
		{"sentinel without master", url("redis://a:26379?master_name="), redisURL},
		{"sentinel database", url("redis://a:26379/x?master_name=main"), redisURL},
		{"negative database", url("redis://a:26379/-1?master_name=main"), redisURL},
		{"sentinel port", url("redis://a:0?master_name=main"), redisURL},
		{"another sentinel's port", url("redis://a:26379?master_name=main&addr=b:70000"), redisURL},
		{"sentinel on a socket", url("unix:///run/redis.sock?master_name=main"), redisURL},
		{"cluster with a gap", url("redis://a?addr="), redisURL},
		{"cluster port", url("redis://a:6379?addr=b:70000"), redisURL},
		{"cluster with a database", url("redis://a/1?addr=b:6379"), redisURL},
		{"cluster with db", url("redis://a?addr=b:6379&db=1"), redisURL},
		{"no timeout", timeout(0), timeouts},
		{"a timeout too short", timeout(shortest - 1), timeouts},
		{"a timeout too long", timeout(time.Second + 1), timeouts},
		{"a timeout too long for nothing", Config{RedisTimeout: time.Hour}, timeouts},
		{"a prefix too long", prefix(strings.Repeat("x", 64+1)), prefixes},
		{"a prefix with a space", prefix("a b"), prefixes},
		{"a prefix with a newline", prefix("a\n"), prefixes},
		{"a prefix beyond ASCII", prefix("prüfung:"), prefixes},

		{"password and port", url("redis://user:hunter2@host:port"), redisURL},
		{"password with a slash", url("redis://user:12/hunter2@host"), redisURL},
		{"password badly encoded", url("redis://user:%hunter2@host"), redisURL},
		{"password and host", url("redis://user:hunter2@ho st"), redisURL},
		{"password as an option", url("redis://user@host?password=hunter2"), redisURL},
		{"password as the scheme", url("hunter2://host"), redisURL},
		{"password in an earlier form", url("redis+sentinel://user:hunter2@a/main"), redisURL},
		{"password of a cluster", url("redis://user:hunter2@a?addr=b:port"), redisURL},
		{"password badly encoded, cluster", url("redis://user:%hunter2@a?addr=b:6379"), redisURL},
		{"password of a sentinel", url("redis://user:hunter2@a/hunter2?master_name=main"), redisURL},
		{"password of its master", url("redis://a?master_name=main&password=hunter2&colour=hunter2"), redisURL},
		{"password alone", url("hunter2"), redisURL},
	} {
		err := tt.cfg.Validate()
		if tt.want == "" {
			if err != nil {
				t.Errorf("%s: got %v", tt.name, err)
			}
			continue
		}
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: got %v, want a problem, without the password", tt.name, err)
			continue
		}
		lines, want := strings.Split(err.Error(), "\n"), strings.Split(tt.want, "|")
		for i := range max(len(lines), len(want)) {
			if i >= len(lines) || i >= len(want) || !strings.HasPrefix(lines[i], want[i]) {
				t.Errorf("%s: got %q, want %q", tt.name, lines, want)
				break
			}
		}
		if _, err := New(t.Context(), tt.cfg, quiet, newClock().Now); err == nil {
			t.Errorf("%s: New took it", tt.name)
		}
	}
}

// With TLS every node must have a certificate for its own name, unless the URL says that
// any will do. No request is sent twice, since Redis could count it twice.
func TestConnect(t *testing.T) {
	for url, want := range map[string]struct {
		name string // in every certificate; empty: its own
		skip bool
	}{
		"rediss://a": {name: "a"}, "rediss://a?skip_verify=true": {name: "a", skip: true},
		"rediss://a?addr=b:6379": {}, "rediss://a?master_name=main": {},
	} {
		connect, err := parseURL(url)
		if err != nil {
			t.Fatal(err)
		}
		client := connect()
		var options redis.Options
		switch c := client.(type) {
		case *redis.ClusterClient:
			options.TLSConfig = c.Options().TLSConfig
		case *redis.Client:
			options = *c.Options()
		}
		if c := options.TLSConfig; c == nil || c.InsecureSkipVerify != want.skip || c.ServerName != want.name {
			t.Errorf("%s: got %+v", url, c)
		}
		if options.MaxRetries != 0 {
			t.Errorf("%s: got %d retries, want none", url, options.MaxRetries)
		}
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	}
}
