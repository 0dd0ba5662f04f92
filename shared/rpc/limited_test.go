package rpc

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/quotegate/quotegate/shared/testkit/node"
)

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	front := node.NewFront(t, simple)
	in := func(g *rig, d time.Duration) string { return g.now().Add(d).UTC().Format(http.TimeFormat) }
	for name, test := range map[string]struct {
		header func(*rig) string
		want   time.Duration
	}{
		"none":      {func(*rig) string { return "" }, time.Second},
		"seconds":   {func(*rig) string { return "7" }, 7 * time.Second},
		"an hour":   {func(*rig) string { return "3600" }, time.Minute},
		"date":      {func(g *rig) string { return in(g, 9*time.Second) }, 9 * time.Second},
		"past date": {func(g *rig) string { return in(g, -time.Hour) }, time.Second},
		"garbage":   {func(*rig) string { return node.Secret }, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t, front)
			for _, lane := range []Lane{Unverified, Partners, Partners} {
				front.Instead("eth_call", node.Limited(test.header(g)))
				if got := g.wantFailure(lane, Limited).RetryAfter; got != test.want {
					t.Errorf("%s: retry after %v, want %v", lane, got, test.want)
				}
				g.wantFailure(lane, Resting)
				g.pass(test.want)
			}
			front.Instead("eth_call", nil)
			g.wantAnswer(Partners)
		})
	}
}

// Whoever is told that we are over the quota, partners rest only if it was them,
// and all others rest.
func TestOverQuotaOthersGiveWay(t *testing.T) {
	t.Parallel()
	for told := range Lane(laneCount) {
		t.Run(told.String(), func(t *testing.T) {
			front := node.NewFront(t, simple)
			g := newRig(t, front)
			front.Instead("eth_call", node.Limited("5"))
			g.wantFailure(told, Limited)
			g.wantHealth(OverQuota, 1)
			front.Instead("eth_call", nil)
			for lane := range Lane(laneCount) {
				if lane == Partners && told != Partners {
					g.wantAnswer(lane)
					continue
				}
				if got := g.wantFailure(lane, Resting).RetryAfter; got != 5*time.Second {
					t.Errorf("%s: retry after %v, want 5s", lane, got)
				}
			}
			g.pass(5 * time.Second)
			for lane := range Lane(laneCount) {
				g.wantAnswer(lane)
			}
			g.wantHealth(Working, 0)
		})
	}
}

// While quota after quota is used up, partners are tried again each second, and
// the others less and less often.
func TestPartnersRecoverFirst(t *testing.T) {
	t.Parallel()
	front := node.NewFront(t, simple)
	front.Instead("eth_call", node.Limited("1"))
	g := newRig(t, front)
	for _, want := range []time.Duration{1, 2, 4, 8, 16, 30, 30} {
		want *= time.Second
		if got := g.wantFailure(Unverified, Limited).RetryAfter; got != want {
			t.Errorf("strangers: retry after %v, want %v", got, want)
		}
		g.pass(want)
	}
	for range 3 {
		if got := g.wantFailure(Partners, Limited).RetryAfter; got != time.Second {
			t.Errorf("partners: retry after %v, want a second", got)
		}
		g.pass(time.Second)
	}
}

// After the rest, who gave way asks one question a second, until a minute has
// passed without another 429.
func TestPaceAfterQuota(t *testing.T) {
	t.Parallel()
	front := node.NewFront(t, simple)
	g := newRig(t, front)
	front.Instead("eth_call", node.Limited(""))
	g.wantFailure(Wallets, Limited)
	front.Instead("eth_call", nil)
	for range 59 {
		g.pass(time.Second)
		for _, lane := range []Lane{Unverified, Wallets} {
			g.wantAnswer(lane)
			if got := g.wantFailure(lane, Resting).RetryAfter; got != time.Second {
				t.Errorf("%s: retry after %v, want a second", lane, got)
			}
		}
		g.wantAnswer(Partners)
		g.wantAnswer(Partners)
	}
	g.wantHealth(Working, 0) // waiting for the next second is no rest
	g.pass(time.Second)
	for _, lane := range []Lane{Unverified, Wallets, Unverified, Wallets} {
		g.wantAnswer(lane)
	}
}

// A call that was under way when the quota ran out does not end the rest.
func TestLateAnswerEndsNoRest(t *testing.T) {
	t.Parallel()
	for lane := range Lane(laneCount) {
		front := node.NewFront(t, simple)
		g := newRig(t, front)
		_, err := g.use(context.Background(), lane, func(ctx context.Context, e *Endpoint) ([]byte, error) {
			front.Instead("eth_call", node.Limited("3"))
			g.wantFailure(lane, Limited)
			return nil, nil
		})
		if err != nil {
			t.Errorf("%s: %v", lane, err)
		}
		if got := g.wantFailure(lane, Resting).RetryAfter; got != 3*time.Second {
			t.Errorf("%s: retry after %v, want 3s", lane, got)
		}
	}
}

func TestQuotaIsLoggedOnce(t *testing.T) {
	t.Parallel()
	front := node.NewFront(t, simple)
	g := newRig(t, front)
	for range 9 {
		front.Instead("eth_call", node.Limited("1"))
		g.wantFailure(Partners, Limited)
		front.Instead("eth_call", nil)
		g.pass(time.Minute)
		g.wantAnswer(Partners)
		g.wantAnswer(Unverified)
	}
	if got := g.levels(); !slices.Equal(got, []slog.Level{slog.LevelWarn}) {
		t.Errorf("logged at %v, want one warning:\n%s", got, g.log())
	}
	g.pass(time.Minute)
	front.Instead("eth_call", node.Limited("1"))
	g.wantFailure(Wallets, Limited)
	if got := g.levels(); len(got) != 2 {
		t.Errorf("logged %d times, want it said again after ten minutes", len(got))
	}
}
