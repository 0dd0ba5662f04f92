package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"syscall"
	"time"

	"github.com/quotegate/quotegate/cmd/internal/child"
)

// outage is one way in which something fails for a while.
type outage struct {
	name       string
	begin, end func()
}

func (w *world) outages(ctx context.Context) []outage {
	note := w.tally.note
	nodes := func(mode string) func() { return func() { w.setNodes(mode) } }
	redis := func(sig syscall.Signal) func() { return func() { note(w.redis.Signal(sig)) } }
	all := []outage{
		{"one node hangs", func() { note(w.nodes[0].set(hung)) }, nodes(working)},
		{"nobody reads the log", w.tally.log.Lock, w.tally.log.Unlock},
		{"Redis is dead", func() { w.redis.Kill() }, func() {
			var err error
			w.redis, err = child.StartRedis(ctx, w.redis.Addr)
			note(err)
		}},
		{"Redis is frozen", redis(syscall.SIGSTOP), redis(syscall.SIGCONT)},
		{"PostgreSQL is dead", w.postgres.Crash, func() { note(w.postgres.Start(ctx)) }},
		{"PostgreSQL is frozen", func() { note(w.postgres.Freeze()) }, func() { note(w.postgres.Thaw()) }},
	}
	for _, mode := range faults {
		all = append(all, outage{"all nodes are " + mode, nodes(mode), nodes(working)})
	}
	if w.retiring == "v3" {
		w.tell("NOT TESTED: the plan; no older version is served that it could retire")
		return all
	}
	return append(all, outage{"the plan refuses " + w.retiring,
		func() { w.changePlan(ctx, brownout(w.retiring, time.Now()), http.StatusGone) },
		func() { w.changePlan(ctx, everythingActive, http.StatusOK) }})
}

// breakThings goes through the outages, one at a time, for so long, and through each of them at least once.
func (w *world) breakThings(ctx context.Context, duration time.Duration) {
	const longest = 5 * time.Second
	outages := w.outages(ctx)
	length := min(duration/time.Duration(len(outages)), longest)
	start := time.Now()
	for i := 0; w.isWell(ctx) && (i < len(outages) || time.Since(start) < duration); i++ {
		o := outages[i%len(outages)]
		w.tell("%s", o.name)
		o.begin()
		pause(ctx, length)
		o.end()
	}
}

func (w *world) setNodes(mode string) {
	for _, n := range w.nodes {
		w.tally.note(n.set(mode))
	}
}

const planFile = "/plan.json" // in the folder of the world

const everythingActive = `{"versions": {}}`

// brownout refuses everybody a version for an hour from now on.
func brownout(version string, now time.Time) string {
	at := func(d time.Duration) string { return now.Add(d).UTC().Format(time.RFC3339) }
	return fmt.Sprintf(`{"versions": {%q: {"deprecated": %q, "sunset": %q,
		"successor": "/v3/swap/quote", "docs": "https://example.org/migrate", "immediate": true,
		"brownouts": [{"from": %q, "to": %q, "share": 1}]}}}`,
		version, at(-2*time.Hour), at(48*time.Hour), at(-time.Hour), at(time.Hour))
}

// writePlan replaces the file in one step, as an operator should.
func (w *world) writePlan(text string) error {
	next := w.dir + "/next.json"
	return errors.Join(os.WriteFile(next, []byte(text), 0o600), os.Rename(next, w.dir+planFile))
}

// changePlan replaces the plan, and waits until the retiring version answers with a status.
func (w *world) changePlan(ctx context.Context, text string, status int) {
	w.refusing.Store(true)
	w.tally.note(errors.Join(w.writePlan(text), w.gateway.Signal(syscall.SIGHUP)))
	q := w.quoteQuestion(w.retiring, w.retiring, newRand(), isPlain)
	w.eventually(ctx, fmt.Sprintf("%s answers with %d", w.retiring, status), func() bool {
		answer, _ := w.ask(q, w.newClient())
		return answer.Status == status
	})
	w.refusing.Store(status == http.StatusGone)
}
