package rpc

import (
	"context"
	"math"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"github.com/quotegate/quotegate/testdata/node"
)

// On good days at most one question in twenty goes to a second endpoint as well,
// however the times of the first are spread.
func TestFewCutsOnGoodDays(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	const ms = float64(time.Millisecond)
	for name, took := range map[string]func() float64{
		"always the same": func() float64 { return 80 * ms },
		"a little jitter": func() float64 { return (60 + 40*random.Float64()) * ms },
		"a long tail":     func() float64 { return 60 * ms * math.Exp(random.NormFloat64()) },
		"often very slow": func() float64 {
			if random.IntN(10) == 0 {
				return 1900 * ms
			}
			return 50 * ms
		},
		"ever slower": func() float64 { return (50 + 300*random.Float64()*random.Float64()*random.Float64()) * ms },
	} {
		var h habit
		const questions = 20_000
		cuts := 0
		for range questions {
			if d := time.Duration(took()); d > h.patience(2*time.Second) {
				h.cut()
				cuts++
			} else {
				h.answered(d)
			}
		}
		if cuts > questions/20 {
			t.Errorf("%s: %d of %d questions were given to another endpoint, want 5 %% at most", name, cuts, questions)
		}
	}
}

func TestPatience(t *testing.T) {
	const try = 2 * time.Second
	usual := func(took time.Duration, times int) (h habit) {
		for range times {
			h.answered(took)
		}
		return h
	}
	spent := usual(time.Millisecond, 100)
	for range 6 {
		spent.cut()
		spent.late = 0 // each time it was well again
	}
	hanging := spent
	hanging.cut()
	for name, tt := range map[string]struct {
		habit habit
		want  time.Duration
	}{
		"never asked":               {habit{}, try / 4},
		"quick":                     {usual(time.Millisecond, 100), try / 10},
		"slow":                      {usual(time.Second, 100), time.Second},
		"slower than a try":         {usual(time.Minute, 100), try},
		"its first answer":          {usual(100*time.Millisecond, 1), 300 * time.Millisecond},
		"cut too often":             {spent, try},
		"cut too often, late again": {hanging, try / 10},
	} {
		if got := tt.habit.patience(try); got.Round(time.Millisecond) != tt.want {
			t.Errorf("%s: got %v, want %v", name, got, tt.want)
		}
	}
}

// slow is a rig whose tries may take ten seconds, in a lane in which the first endpoint
// is usually quick.
func slow(t *testing.T, fronts ...*node.Front) *rig {
	limits := Limits{Try: 10 * time.Second, Total: 30 * time.Second, Calls: 16, Waiting: 16}
	g := newRigWith(t, map[Lane]Limits{Tracking: limits}, fronts...)
	for range 100 {
		g.networks[369].endpoints[0].answered(Tracking, time.Millisecond)
	}
	return g
}

// An endpoint that begins to hang costs a question a fraction of the time of a try, and
// from the second question on nothing, until it is tried again.
func TestHangCostsLittle(t *testing.T) {
	t.Parallel()
	hung, alive := node.NewFront(t, simple), node.NewFront(t, simple)
	g := slow(t, hung, alive)
	hung.Instead("eth_call", node.Hangs)
	for range 2 {
		start := time.Now()
		g.wantAnswer(Tracking)
		if took := time.Since(start); took >= 9*time.Second {
			t.Errorf("an endpoint that hangs cost %v", took)
		}
	}
	for range 5 {
		g.wantAnswer(Tracking)
	}
	if got := hung.Count("eth_call"); got != 2 {
		t.Errorf("the endpoint that hangs was asked %d times, want 2", got)
	}
	g.wantHealth(Working, 1, Tracking)
	hung.Instead("eth_call", nil)
	g.pass(time.Second)
	g.wantAnswer(Tracking)
	g.wantHealth(Working, 0, Tracking)
}

// An endpoint that was not waited for is asked again if the others have no answer.
func TestLateEndpointIsAskedAgain(t *testing.T) {
	t.Parallel()
	late, broken := node.NewFront(t, simple), node.NewFront(t, simple)
	g := slow(t, late, broken)
	late.Instead("eth_call", node.Hangs)
	broken.Instead("eth_call", func(w http.ResponseWriter, r *http.Request) {
		late.Instead("eth_call", nil)
		node.Status(502)(w, r)
	})
	g.wantAnswer(Tracking)
	if got := late.Count("eth_call"); got != 2 {
		t.Errorf("the late endpoint was asked %d times, want 2", got)
	}
	g.wantHealth(Working, 1, Tracking) // the broken one
}

// An endpoint that was not waited for can still be the other one of two.
func TestLateEndpointIsNotAsked(t *testing.T) {
	t.Parallel()
	late, alive := node.NewFront(t, simple), node.NewFront(t, simple)
	g := slow(t, late, alive)
	late.Instead("eth_call", node.Hangs)
	var asked Asked
	places := []int{}
	for range 2 {
		err := g.AskAnother(t.Context(), 369, Tracking, &asked, func(ctx context.Context, e *Endpoint) error {
			if _, err := call(ctx, e, []byte{1}); err != nil {
				return err
			}
			places = append(places, e.Place)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		late.Instead("eth_call", nil)
	}
	if len(places) != 2 || places[0] != 2 || places[1] != 1 {
		t.Errorf("endpoints %v have answered, want 2 and 1", places)
	}
}
