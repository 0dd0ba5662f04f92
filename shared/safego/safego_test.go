package safego_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quotegate/quotegate/shared/safego"
)

func TestDo(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, nil))
	before, after := safego.Panics(), false
	safego.Do(log, "nothing much", func() {})
	if out.Len() != 0 || safego.Panics() != before {
		t.Errorf("work that does not panic was logged or counted: %s", &out)
	}
	func() {
		defer func() { after = true }()
		safego.Do(log, "dividing", func() {
			var none []int
			_ = none[len(none)]
		})
	}()
	if !after || safego.Panics() != before+1 {
		t.Errorf("got %d panics, want one more than %d", safego.Panics(), before)
	}
	for _, want := range []string{"level=ERROR", "in=dividing", "index out of range", "safego_test.go"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing from the log: %s", want, &out)
		}
	}
}

// watched is a log that tests can read while work goes on.
type watched struct {
	mu  sync.Mutex
	out bytes.Buffer
}

func (w *watched) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out.Write(p)
}

func (w *watched) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out.String()
}

// TestEveryWayToStart: whatever starts work survives its panic, logs it with its
// stack, and counts it.
func TestEveryWayToStart(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	var group safego.Group
	var flights safego.Singleflight[int]
	bug := func() { panic("a slip") }
	for name, start := range map[string]func(log *slog.Logger, what string){
		"Do":       func(log *slog.Logger, what string) { safego.Do(log, what, bug) },
		"Go":       func(log *slog.Logger, what string) { safego.Go(log, what, bug) },
		"Group":    func(log *slog.Logger, what string) { group.Go(log, what, bug); group.Wait() },
		"After":    func(log *slog.Logger, what string) { safego.After(0, log, what, bug) },
		"WhenDone": func(log *slog.Logger, what string) { safego.WhenDone(ended, log, what, bug) },
		"Try": func(log *slog.Logger, what string) {
			if err := safego.Try(log, what, func() error { panic("a slip") }); err == nil || strings.Contains(err.Error(), "a slip") {
				t.Errorf("got %v, want an error without the panic's text", err)
			}
		},
		"Singleflight": func(log *slog.Logger, what string) {
			_, err := flights.Ask(t.Context(), log, what, "a key", func() (int, error) { panic("a slip") })
			if err == nil || strings.Contains(err.Error(), "a slip") {
				t.Errorf("got %v, want an error without the panic's text", err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			var out watched
			before := safego.Panics()
			start(slog.New(slog.NewTextHandler(&out, nil)), name+" work")
			for safego.Panics() == before || out.String() == "" {
				time.Sleep(time.Millisecond)
			}
			if got := safego.Panics() - before; got != 1 {
				t.Errorf("counted %d panics, want 1", got)
			}
			for _, want := range []string{"level=ERROR", name + " work", "a slip", "safego_test.go"} {
				if !strings.Contains(out.String(), want) {
					t.Errorf("%q is missing from the log: %s", want, &out)
				}
			}
		})
	}
}

// badLog panics itself.
type badLog struct{ slog.Handler }

func (badLog) Handle(context.Context, slog.Record) error { panic("the log has a bug too") }

func TestLogsThatPanic(t *testing.T) {
	before := safego.Panics()
	safego.Do(slog.New(badLog{slog.DiscardHandler}), "work", func() { panic("a slip") })
	safego.Do(slog.New(badLog{slog.NewTextHandler(&bytes.Buffer{}, nil)}), "work", func() { panic("a slip") })
	if got := safego.Panics() - before; got != 2 {
		t.Errorf("counted %d panics, want 2", got)
	}
}

// TestSingleflight: callers at the same time share an answer or an error, and one that
// gives up leaves it to the others.
func TestSingleflight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var flights safego.Singleflight[int]
		release := make(chan struct{})
		flights.Start(nil, "work", "a", func() (int, error) {
			<-release
			return 7, nil
		})
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		never := func() (int, error) { t.Error("asked twice"); return 0, nil }
		if _, err := flights.Ask(gone, nil, "work", "a", never); !errors.Is(err, context.Canceled) {
			t.Errorf("who gave up got %v", err)
		}
		time.AfterFunc(time.Second, func() { close(release) }) // when nobody can go on without it
		if v, err := flights.Ask(t.Context(), nil, "work", "a", never); v != 7 || err != nil {
			t.Errorf("got %d, %v", v, err)
		}
		failure := errors.New("no")
		ask := func() (int, error) { return 3, failure }
		if v, err := flights.Ask(t.Context(), nil, "work", "b", ask); v != 3 || err != failure {
			t.Errorf("got %d, %v", v, err)
		}
	})
}
