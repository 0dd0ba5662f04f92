package evidence

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestMostAtOnce(t *testing.T) {
	h := func(hours float64) int64 { return int64(hours * float64(hour)) }
	for name, test := range map[string]struct {
		lives []life
		want  []int
	}{
		"none":                          {nil, []int{0, 0, 0}},
		"one, all the time":             {[]life{{began: h(-5), ended: h(9)}}, []int{1, 1, 1}},
		"one that came and went":        {[]life{{began: h(0.5), ended: h(1.2)}}, []int{1, 1, 0}},
		"two at once":                   {[]life{{began: 0, ended: h(3)}, {began: h(1.5), ended: h(1.6)}}, []int{1, 2, 1}},
		"one that follows another":      {[]life{{began: 0, ended: h(1.5)}, {began: h(1.5), ended: h(3)}}, []int{1, 1, 1}},
		"many that follow one another":  {[]life{{began: 0, ended: 60}, {began: 70, ended: 80}, {began: 90, ended: 95}}, []int{1, 0, 0}},
		"before and after":              {[]life{{began: h(-2), ended: h(-1)}, {began: h(3), ended: h(4)}}, []int{0, 0, 0}},
		"up to the end of an hour":      {[]life{{began: 0, ended: h(1)}}, []int{1, 1, 0}},
		"a clock that went back":        {[]life{{began: h(2), ended: h(1)}}, []int{0, 0, 0}},
		"a replacement that overlaps":   {[]life{{began: 0, ended: h(1.5)}, {began: h(1.4), ended: h(3)}}, []int{1, 2, 1}},
		"one that has written just now": {[]life{{began: h(2), ended: h(2)}, {began: 0, ended: h(3)}}, []int{1, 1, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := mostAtOnce(test.lives, 0, 3*hour); !slices.Equal(got, test.want) {
				t.Errorf("got %d, want %d", got, test.want)
			}
		})
	}
	if got := mostAtOnce(nil, hour, hour); got != nil {
		t.Errorf("got %d of no hour", got)
	}
}

func TestTooFewInstances(t *testing.T) {
	at := time.Date(2027, 3, 10, 12, 0, 0, 0, time.UTC).Unix()
	steady := life{began: at - 100*hour, ended: at, running: true}
	late := life{began: at - 3*hour - 60, ended: at, running: true}
	gone := life{began: at - 100*hour, ended: at - 50*hour}
	for name, test := range map[string]struct {
		lives     []life
		instances int
		want      []string
	}{
		"all":       {[]life{steady, steady}, 2, nil},
		"more":      {[]life{steady, steady, steady}, 2, nil},
		"one late":  {[]life{steady, late}, 2, []string{"from 8 Mar 2027, 12:00 UTC to 10 Mar 2027, 08:00 UTC only 1 instance counted, of 2"}},
		"one alone": {[]life{steady}, 2, []string{"1 instance has written since the sunset, of 2 that there are", "only 1 instance counted, of 2"}},
		"none":      {nil, 1, []string{"0 instances have written since", "only 0 instances counted, of 1"}},
		"one ended": {[]life{steady, gone}, 2, []string{"1 instance has written since the sunset", "only 1 instance counted"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := slices.Concat(tooFewNow(test.lives, test.instances, at, at-60), tooFewInHours(test.lives, test.instances, at-48*hour, at))
			if len(got) != len(test.want) {
				t.Fatalf("got %q, want %q", got, test.want)
			}
			for i, want := range test.want {
				if !strings.Contains(got[i], want) {
					t.Errorf("got %q, want %q", got[i], want)
				}
			}
		})
	}
	var holes []life // an instance every other hour
	for i := range int64(24) {
		holes = append(holes, life{began: at - (2*i+2)*hour, ended: at - (2*i+1)*hour - 1})
	}
	if got := tooFewInHours(holes, 1, at-48*hour, at); len(got) != maxGaps+1 || got[maxGaps] != "too few instances counted in 21 spans after that" {
		t.Errorf("got %q, want three spans and a sum", got)
	}
}

// TestHoursOfAnotherUnit: a time that nobody can have counted takes no memory.
func TestHoursOfAnotherUnit(t *testing.T) {
	noon := time.Date(2027, 3, 10, 12, 0, 0, 0, time.UTC)
	h := hourly{noon.Unix(): 1, noon.Unix() + hour: 2, noon.UnixMilli(): 3, noon.Unix() - hour: 4, 1<<63 - 1: 5}
	if got := h.since(noon.Unix()); len(got) != 2 || got[0] != 1 || got[1] != 2 {
		t.Errorf("got %d hours", len(got))
	}
}
