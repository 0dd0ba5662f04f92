package safego

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"
)

// A panic ends one piece of work, and the next comes after the same pause.
func TestEvery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second+time.Millisecond)
		defer cancel()
		times, before := 0, Panics()
		Every(ctx, 2*time.Second, slog.New(slog.DiscardHandler), "counting", func() {
			times++
			if times == 2 {
				panic("a bug")
			}
		})
		if times != 5 || Panics() != before+1 {
			t.Errorf("got %d times and %d panics, want 5 and one", times, Panics()-before)
		}
	})
}
