package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"
)

// vitals are the signs by which a leak shows.
type vitals struct {
	goroutines int // -1 where the gateway does not tell
	files      int
	rss, peak  int64
}

func (v vitals) String() string {
	goroutines := "unknown"
	if v.goroutines >= 0 {
		goroutines = fmt.Sprint(v.goroutines)
	}
	return fmt.Sprintf("goroutines %s, open files %d, memory %.1f MiB (peak %.1f)", goroutines, v.files, mib(v.rss), mib(v.peak))
}

func mib(bytes int64) float64 { return float64(bytes) / (1 << 20) }

func (w *world) vitals(ctx context.Context) (v vitals, err error) {
	if v.goroutines, err = w.goroutines(ctx); err != nil {
		return v, err
	}
	if v.files, err = w.gateway.Files(); err != nil {
		return v, err
	}
	v.rss, v.peak, err = w.gateway.Memory()
	return v, err
}

// goroutines asks the operator's listener, if the gateway has one.
func (w *world) goroutines(ctx context.Context) (int, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+w.gateway.Admin+"/debug/pprof/goroutine?debug=1", nil)
	if err != nil {
		return 0, err
	}
	req.Close = true
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return -1, ctx.Err() // there is no such listener
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return -1, nil
	}
	var n int
	if _, err := fmt.Fscanf(res.Body, "goroutine profile: total %d", &n); err != nil {
		return 0, fmt.Errorf("the profile of goroutines: %w", err)
	}
	_, err = io.Copy(io.Discard, res.Body)
	return n, err
}

// spareFiles is how many more open files than before are no leak: the pool of
// connections to Redis keeps as many as were ever needed at once.
const spareFiles = 20

// settle waits until the gateway holds no more than before.
func (w *world) settle(ctx context.Context, before vitals) (now vitals, err error) {
	err = eventually(ctx, func() (bool, error) {
		var err error
		if now, err = w.vitals(ctx); err != nil {
			return false, err
		}
		return now.goroutines <= before.goroutines && now.files <= before.files+spareFiles, nil
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
