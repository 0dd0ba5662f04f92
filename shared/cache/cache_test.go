package cache

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quotegate/quotegate/shared/safego"
)

// Callers at the same time share one answer, and who gives up leaves it to the others.
func TestOneQuestionForAll(t *testing.T) {
	c := New[int, int](4, time.Now, "a test", nil)
	var asked atomic.Int32
	begun, release := make(chan struct{}), make(chan struct{})
	ask := func() (Entry[int], error) {
		asked.Add(1)
		close(begun)
		<-release
		return Entry[int]{Value: 7, Until: time.Now().Add(time.Hour)}, nil
	}
	var callers sync.WaitGroup
	for range 20 {
		callers.Go(func() {
			if a, err := c.Ask(context.Background(), 1, ask); a.Value != 7 || err != nil {
				t.Errorf("got %+v, %v", a, err)
			}
		})
	}
	<-begun
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := c.Ask(gone, 1, ask); !errors.Is(err, context.Canceled) {
		t.Errorf("who gave up got %v", err)
	}
	close(release)
	callers.Wait()
	if asked.Load() != 1 {
		t.Errorf("asked %d times", asked.Load())
	}
}

// Another question at the same time has an answer of its own.
func TestQuestionsAreToldApart(t *testing.T) {
	type key struct{ a, b string }
	c := New[key, int](4, time.Now, "a test", nil)
	one := func() (Entry[int], error) { return Entry[int]{Value: 1}, nil }
	_, err := c.Ask(t.Context(), key{"a ", "b"}, func() (Entry[int], error) {
		if got, err := c.Ask(t.Context(), key{"a", " b"}, one); got.Value != 1 || err != nil {
			t.Errorf("got %+v, %v", got, err)
		}
		return Entry[int]{Value: 2}, nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestKnownNamesStay(t *testing.T) {
	now := time.Now()
	c := New[int, int](16, func() time.Time { return now }, "a test", nil)
	say := func(n int, want Entry[int], fails error) {
		got, err := c.Ask(context.Background(), n, func() (Entry[int], error) { return want, fails })
		if got != want || err != fails {
			t.Errorf("got %+v, %v, want %+v, %v", got, err, want, fails)
		}
	}
	last := func(want int, known bool) {
		t.Helper()
		if a := c.Last(1); a.Value != want || a.Known != known {
			t.Errorf("got %+v, want %d", a, want)
		}
	}
	say(1, Entry[int]{Value: 11, Until: now.Add(time.Second), Known: true}, nil)
	for n := range 100 {
		say(100+n, Entry[int]{Value: n, Until: now.Add(time.Hour)}, nil)
	}
	if a, ok := c.Get(1); a.Value != 11 || !ok {
		t.Errorf("got %+v, %v of a known name after a flood", a, ok)
	}
	if c.others.Len() != 4 {
		t.Errorf("%d others are kept, want 4", c.others.Len())
	}
	now = now.Add(time.Second)
	if _, ok := c.Get(1); ok {
		t.Error("an answer was used beyond its time")
	}
	last(11, true)
	say(1, Entry[int]{}, errors.New("no answer"))
	last(11, true)
	say(1, Entry[int]{Value: 13}, nil)
	last(13, false) // it is known no longer
}

// Who has seen an answer that has been renewed since does not renew it once more.
func TestRenewedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New[int, int](4, time.Now, "a test", nil)
		asked := 0
		ask := func() (Entry[int], error) {
			asked++
			return Entry[int]{Value: asked, Until: time.Now().Add(time.Hour)}, nil
		}
		seen, err := c.Ask(t.Context(), 1, ask)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		for range 2 {
			c.Renew(1, seen, ask)
			synctest.Wait()
		}
		if got, ok := c.Get(1); got.Value != 2 || !ok || asked != 2 {
			t.Errorf("got %+v after %d questions, want the second answer", got, asked)
		}
	})
}

// TestPanicIsAnError: of one who waits, and in the log also if nobody does.
func TestPanicIsAnError(t *testing.T) {
	var out bytes.Buffer
	c := New[int, int](4, time.Now, "asking", slog.New(slog.NewTextHandler(&out, nil)))
	before := safego.Panics()
	bug := func() (Entry[int], error) { panic("a slip") }
	if _, err := c.Ask(context.Background(), 1, bug); err == nil || strings.Contains(err.Error(), "a slip") {
		t.Errorf("got %v, want an error that says no more than that there was a bug", err)
	}
	for _, want := range []string{"in=asking", "a slip", "cache_test.go"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing from the log: %s", want, &out)
		}
	}
	c.Renew(2, Entry[int]{}, bug)
	for safego.Panics() != before+2 {
		time.Sleep(time.Millisecond)
	}
}
