package usage

import (
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// settle has every instance publish, and then read what all have published.
func settle(t *testing.T, rigs ...*rig) {
	t.Helper()
	for range 2 { // the first round may change a key
		for _, r := range rigs {
			r.sync(t.Context())
		}
		for _, r := range rigs {
			r.collect(t.Context())
		}
	}
}

// settleBack settles until all have noticed that Redis is back, which go-redis
// looks for once a second.
func settleBack(t *testing.T, rigs ...*rig) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for _, r := range rigs {
		for settle(t, rigs...); r.shared.down.Load() != nil; settle(t, rigs...) {
			if time.Now().After(deadline) {
				t.Fatalf("Redis is back and was not noticed: %s", r.log)
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
}

func TestInstancesCountTogether(t *testing.T) {
	server := startRedis(t)
	at := &clock{t: noon}
	a := start(t, Config{}, server.url(), at)
	b := start(t, Config{}, server.url(), at)
	settle(t, a, b)
	if a.Name(agent("203.0.113.77")) != b.Name(agent("203.0.113.77")) {
		t.Error("the instances have not agreed on a key")
	}
	a.call(agent("203.0.113.77"), 3)
	b.call(agent("203.0.113.77"), 4)
	a.call(origin(1), 1)
	b.call(origin(2), 1)
	settle(t, a, b)
	for name, r := range map[string]*rig{"a": a, "b": b} {
		report := r.Report()
		if report.Instances != 2 || len(report.Notes) != 0 {
			t.Errorf("%s: got %d instances and notes %q, want 2 and none", name, report.Instances, report.Notes)
		}
		got := r.v1(t)
		if want := (Count{9, 3}); got.Hour != want || got.Day != want || got.Week != want {
			t.Errorf("%s: got %+v, %+v, %+v, want %+v", name, got.Hour, got.Day, got.Week, want)
		}
		if c := got.Clients[0]; c.Week != 7 || c.Day != 7 || c.Share != 0.7778 {
			t.Errorf("%s: got %+v as the heaviest, want 7 of 9 calls", name, c)
		}
		if clients, calls := r.LastDay("v1"); clients != 3 || calls != 9 {
			t.Errorf("%s: got last day %d, %d, want 3 clients and 9 calls", name, clients, calls)
		}
	}
	// The windows of the one slide by what the other has said.
	at.pass(7 * time.Hour)
	a.call(origin(1), 1)
	if got := a.v1(t); got.Hour != (Count{1, 1}) || got.Day != (Count{10, 3}) {
		t.Errorf("seven hours later got hour %+v and day %+v, want 1 and 10 calls", got.Hour, got.Day)
	}
}

func TestRedisHoldsNoAddress(t *testing.T) {
	server := startRedis(t)
	r := start(t, Config{}, server.url(), &clock{t: noon})
	r.call(agent("203.0.113.77"), 3)
	settle(t, r)
	packed, err := server.Get(t.Context(), redisPrefix+r.instance).Bytes()
	if err != nil {
		t.Fatal(err)
	}
	text := unzip(t, packed)
	for _, secret := range []string{"203.0.113", r.key.Load().String()} {
		if strings.Contains(text, secret) {
			t.Errorf("the state in Redis holds %q:\n%s", secret, text)
		}
	}
	if !strings.Contains(text, `"curl"`) {
		t.Errorf("the state in Redis lacks the client:\n%s", text)
	}
}

// TestInstanceThatIsGone, which must go on to count: a gate that forgot it
// would retire what is still in use.
func TestInstanceThatIsGone(t *testing.T) {
	server := startRedis(t)
	at := &clock{t: noon}
	a := start(t, Config{}, server.url(), at)
	a.call(origin(1), 5)
	a.close()
	at.pass(10 * time.Minute)
	b := start(t, Config{}, server.url(), at)
	b.collect(t.Context())
	if got := b.v1(t).Week; got != (Count{5, 1}) {
		t.Errorf("got %+v, want what the instance before has left", got)
	}
	if got := b.Report().Instances; got != 1 {
		t.Errorf("got %d instances, want the one that runs", got)
	}
	if got := b.Since(); !got.Equal(noon) {
		t.Errorf("got since %v, want %v, when the instance before began", got, noon)
	}
	ttl := server.TTL(t.Context(), redisPrefix+a.instance).Val()
	if ttl < 7*24*time.Hour+6*time.Hour || ttl > keep {
		t.Errorf("got a state that is kept for %v, want as long as it counts", ttl)
	}
}

// TestRestartWithFileAndRedis must not count the same calls as our own and as
// those of another.
func TestRestartWithFileAndRedis(t *testing.T) {
	server := startRedis(t)
	at := &clock{t: noon}
	file := filepath.Join(t.TempDir(), "usage")
	for n := 1; n <= 3; n++ {
		r := start(t, Config{File: file}, server.url(), at)
		r.call(origin(1), 1)
		for range 2 {
			if got := r.v1(t).Week; got != (Count{uint64(n), 1}) {
				t.Errorf("start %d: got %+v, want %d calls", n, got, n)
			}
			settle(t, r)
		}
		r.close()
	}
	if n := server.ZCard(t.Context(), redisIndex).Val(); n != 1 {
		t.Errorf("got %d instances in the index, want 1", n)
	}
	if keys := server.Keys(t.Context(), redisPrefix+"*").Val(); len(keys) != 1 {
		t.Errorf("got states %q, want one", keys)
	}
}

func TestRedisThatGoesAway(t *testing.T) {
	server := startRedis(t)
	at := &clock{t: noon}
	a := start(t, Config{}, server.url(), at)
	b := start(t, Config{}, server.url(), at)
	a.call(origin(1), 2)
	b.call(origin(2), 3)
	settle(t, a, b)
	server.stop()
	at.pass(time.Minute)
	a.call(origin(1), 1)
	a.sync(t.Context())
	a.collect(t.Context())
	report := a.Report()
	if len(report.Notes) != 1 || !strings.Contains(report.Notes[0], "Redis does not answer since 2027-03-10T12:33:10Z") ||
		!strings.Contains(report.Notes[0], "counted up to 2027-03-10T12:32:10Z") {
		t.Errorf("got notes %q, want since when Redis is away and what is known", report.Notes)
	}
	if got := a.v1(t).Week; got != (Count{6, 2}) {
		t.Errorf("got %+v, want our own calls and what the other said last", got)
	}
	if got := a.log.Count("does not answer"); got != 1 {
		t.Errorf("got %d lines about it, want 1:\n%s", got, a.log)
	}
	server.start() // empty
	settleBack(t, a, b)
	if got := a.v1(t).Week; got != (Count{6, 2}) {
		t.Errorf("got %+v once Redis is back without its data, want all of it again", got)
	}
}

// TestRedisThatComesLate has two instances that made keys of their own.
func TestRedisThatComesLate(t *testing.T) {
	server := reserveRedis(t)
	at := &clock{t: noon}
	dir := t.TempDir()
	began := start(t, Config{File: dir + "/a"}, "", at)
	began.close()
	at.pass(time.Hour)
	a := start(t, Config{File: dir + "/a"}, server.url(), at)
	b := start(t, Config{File: dir + "/b"}, server.url(), at)
	a.call(agent("203.0.113.77"), 1)
	b.call(agent("203.0.113.77"), 1)
	a.call(origin(1), 1)
	b.call(origin(1), 1)
	if got := a.Since(); !got.Equal(at.now()) {
		t.Errorf("got since %v while nobody knows what the others did, want the start of the process", got)
	}
	if notes := a.Report().Notes; len(notes) != 1 || !strings.Contains(notes[0], "the other instances are not counted") {
		t.Errorf("got notes %q, want that the others are not counted", notes)
	}
	server.start()
	settleBack(t, a, b)
	if a.Name(agent("203.0.113.77")) != b.Name(agent("203.0.113.77")) {
		t.Error("the instances have not agreed on a key")
	}
	if got := a.Since(); !got.Equal(noon) {
		t.Errorf("got since %v, want %v", got, noon)
	}
	a.call(origin(1), 1)
	a.call(agent("203.0.113.77"), 1)
	settle(t, a, b)
	got := b.v1(t)
	if got.Week.Calls != 6 || got.Week.Clients < 2 || got.Week.Clients > 4 {
		t.Errorf("got %+v, want 6 calls, and no client more than twice", got.Week)
	}
	if got.Clients[0].Client != "origin https://wallet-1.example" || got.Clients[0].Week != 3 {
		t.Errorf("got %+v first, want the origin, known by one name, with 3 calls", got.Clients[0])
	}
}

func TestKeysThatDiffer(t *testing.T) {
	server := startRedis(t)
	at := &clock{t: noon}
	a := start(t, Config{Key: "the key of the one"}, server.url(), at)
	b := start(t, Config{Key: "the key of the other"}, server.url(), at)
	a.call(origin(1), 1)
	b.call(origin(1), 1)
	settle(t, a, b)
	if notes := a.Report().Notes; len(notes) != 1 || !strings.Contains(notes[0], "USAGE_KEY") {
		t.Errorf("got notes %q, want that the keys differ", notes)
	}
	if got := a.v1(t).Clients; len(got) != 1 || got[0].Week != 2 {
		t.Errorf("got %+v, want the origin once", got)
	}
	if keys := server.Keys(t.Context(), redisKey).Val(); len(keys) != 0 {
		t.Error("an operator's key is in Redis")
	}
}

// TestStrangersInRedis puts everything there that is not ours.
func TestStrangersInRedis(t *testing.T) {
	server := startRedis(t)
	at := &clock{t: noon}
	a := start(t, Config{}, server.url(), at)
	b := start(t, Config{}, server.url(), at)
	b.call(origin(2), 3)
	settle(t, a, b)
	ctx := t.Context()
	for i, value := range []string{"garbage", "", strings.Repeat("x", maxPacked+10)} {
		name := string(rune('p' + i))
		server.Set(ctx, redisPrefix+name, value, 0)
		server.ZAddArgs(ctx, redisIndex, zAdd(name, at.now()))
	}
	server.ZAddArgs(ctx, redisIndex, zAdd("there is no such state", at.now()))
	settle(t, a, b)
	if got := a.v1(t).Week; got != (Count{3, 1}) {
		t.Errorf("got %+v, want what the other instance counted", got)
	}
	if notes := a.Report().Notes; len(notes) != 1 || !strings.Contains(notes[0], "2 other instances left counts that cannot be read") {
		t.Errorf("got notes %q, want that two cannot be read", notes)
	}
	for _, strange := range []string{redisIndex, redisKey} {
		server.Del(ctx, strange)
		server.LPush(ctx, strange, "a list")
		settle(t, a, b)
		if notes := a.Report().Notes; len(notes) == 0 || !strings.Contains(strings.Join(notes, " "), "Redis does not answer") {
			t.Errorf("%s is a list: got notes %q, want that Redis is of no use", strange, notes)
		}
		server.Del(ctx, strange)
		settle(t, a, b)
	}
	if got := a.v1(t).Week; got != (Count{3, 1}) {
		t.Errorf("got %+v after all that, want what the other instance counted", got)
	}
}

// TestClockOfAnotherInstance that is a year ahead must not hide the present.
func TestClockOfAnotherInstance(t *testing.T) {
	server := startRedis(t)
	at, ahead := &clock{t: noon}, &clock{t: noon.Add(365 * 24 * time.Hour)}
	a := start(t, Config{}, server.url(), at)
	b := start(t, Config{}, server.url(), ahead)
	a.call(origin(1), 2)
	for range 29 { // as many slots as there are
		b.call(origin(2), 1)
		ahead.pass(6 * time.Hour)
	}
	settle(t, a, b)
	if got := a.v1(t).Week; got != (Count{2, 1}) {
		t.Errorf("got %+v, want our own calls", got)
	}
	// A few seconds are nothing.
	c := start(t, Config{}, server.url(), &clock{t: noon.Add(5 * time.Minute)})
	c.call(origin(3), 1)
	settle(t, a, c)
	at.pass(10 * time.Minute)
	if got := a.v1(t).Hour; got != (Count{3, 2}) {
		t.Errorf("got %+v, want the calls of both", got)
	}
}

func TestManyInstances(t *testing.T) {
	server := startRedis(t)
	at := &clock{t: noon}
	a := start(t, Config{}, server.url(), at)
	b := newBook(maxRows)
	k := *a.key.Load()
	b.record(k.identity(origin(1)), &k, origin(1), noon.Unix())
	for n := range maxInstances + 20 {
		s := &state{instance: "gone-" + string(rune('a'+n%26)) + string(rune('a'+n/26)), fingerprint: k.fingerprint(), since: noon.Unix(), at: noon.Unix() - int64(n), books: map[string]*book{"v1": b}}
		data, err := s.encode()
		if err != nil {
			t.Fatal(err)
		}
		a.turn.Lock() // the census may be sharing its own just now
		err = a.shared.put(t.Context(), s, data)
		a.turn.Unlock()
		if err != nil {
			t.Fatal(err)
		}
	}
	a.collect(t.Context())
	if got := a.v1(t).Week; got.Calls < maxInstances-1 || got.Calls > maxInstances || got.Clients != 1 {
		t.Errorf("got %+v, want the calls of the latest %d instances", got, maxInstances)
	}
	if notes := a.Report().Notes; len(notes) != 1 || !strings.Contains(notes[0], "only the 256 instances") {
		t.Errorf("got notes %q, want that some are left out", notes)
	}
}
