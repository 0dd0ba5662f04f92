package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// vitals are the signs by which a leak shows.
type vitals struct {
	goroutines int // -1 where the gateway does not tell
	files      int
	live       int64 // bytes on the heap that somebody holds
	rss        int64
}

func (v vitals) String() string {
	goroutines := "unknown"
	if v.goroutines >= 0 {
		goroutines = fmt.Sprint(v.goroutines)
	}
	return fmt.Sprintf("goroutines %s, open files %d, live heap %.1f MiB, memory %.1f MiB",
		goroutines, v.files, mib(v.live), mib(v.rss))
}

func mib(bytes int64) float64 { return float64(bytes) / (1 << 20) }

func (w *world) vitals(ctx context.Context) (v vitals, err error) {
	if v.goroutines, err = w.goroutines(ctx); err != nil {
		return v, err
	}
	if v.live, err = w.liveHeap(ctx); err != nil {
		return v, err
	}
	if v.files, err = w.gateway.Files(); err != nil {
		return v, err
	}
	v.rss, _, err = w.gateway.Memory()
	return v, err
}

// goroutines asks the operator's listener, if the gateway has one.
func (w *world) goroutines(ctx context.Context) (n int, err error) {
	profile, err := w.profile(ctx, "goroutine?debug=1")
	if profile == nil {
		return -1, err
	}
	if _, err := fmt.Sscanf(string(profile), "goroutine profile: total %d", &n); err != nil {
		return 0, fmt.Errorf("the profile of goroutines: %w", err)
	}
	return n, nil
}

// liveHeap has the collector run, and asks what it left. It is 0 where the
// gateway does not tell.
func (w *world) liveHeap(ctx context.Context) (bytes int64, err error) {
	profile, err := w.profile(ctx, "heap?gc=1&debug=1")
	if profile == nil {
		return 0, err
	}
	_, figures, _ := strings.Cut(string(profile), "# HeapAlloc = ")
	if _, err := fmt.Sscan(figures, &bytes); err != nil {
		return 0, fmt.Errorf("the profile of the heap: %w", err)
	}
	return bytes, nil
}

// profile asks the operator's listener. It gives nil if the gateway has none.
func (w *world) profile(ctx context.Context, name string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+w.gateway.Admin+"/debug/pprof/"+name, nil)
	if err != nil {
		return nil, err
	}
	req.Close = true
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, ctx.Err() // there is no such listener
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, nil
	}
	return io.ReadAll(res.Body)
}

// spareFiles is how many more open files than before are no leak: the pool of
// connections to Redis keeps as many as were ever needed at once.
const spareFiles = 20

// spareHeap is how much more than before is no leak: what the two limits and the evidence
// remember of each client of the crowd, about 340 bytes, and what the caches hold.
const spareHeap = 4<<20 + 384*crowdSize

// settle waits until the gateway holds no more than before, beside what it is
// to remember of the requests since.
func (w *world) settle(ctx context.Context, before vitals) (now vitals, err error) {
	err = eventually(ctx, func() (bool, error) {
		var err error
		if now, err = w.vitals(ctx); err != nil {
			return false, err
		}
		return now.goroutines <= before.goroutines && now.files <= before.files+spareFiles &&
			now.live <= before.live+spareHeap, nil
	})
	if err != nil {
		return now, fmt.Errorf("the gateway does not come back to where it was (%v): %v: %w", before, now, err)
	}
	return now, nil
}

// quiet waits until connections that were just closed are gone.
func (w *world) quiet(ctx context.Context) (v vitals, err error) {
	last := -1
	err = eventually(ctx, func() (bool, error) {
		time.Sleep(700 * time.Millisecond) // longer than a node keeps a connection
		var err error
		v, err = w.vitals(ctx)
		same := v.files == last
		last = v.files
		return same, err
	})
	return v, err
}
