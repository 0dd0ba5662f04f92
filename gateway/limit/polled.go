package limit

import (
	"context"
	"crypto/sha256"
	"net/http"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/quotegate/quotegate/shared/fault"
)

const (
	maxTickets        = 4096            // subjects with tickets, known ones and as many others; 3 MB in all
	ticketsPerSubject = 4               // of one client: several people behind one address may follow one swap
	early             = time.Second / 4 // who is told 5 seconds and asks so much earlier is on time
	longestNext       = 5 * time.Minute // the latest time that an answer tells because the budget is short
	longestPoll       = 3 * time.Second // how long a question waits for others of its client
)

// Poll is a question about a subject, on a route that is asked again until something
// has happened. A nil Poll is a question that nobody counts.
type Poll struct {
	limiter  *Limiter
	header   http.Header
	question question
	subject  string
	known    bool     // the subject existed when the client was told to ask again
	counted  decision // against the budget, if it is allowed
	inLine   bool     // others of its client may wait for it
}

// AdmitPolled counts a question about a subject, empty if it has none, against the budget for polled requests,
// beside that of Admit and half as large, and sets the same headers.
//
// Who asks again no earlier than Next has told is never refused: that costs nothing, and
// has no headers. A first question that finds no room waits for those of its client that
// are under way, because they may turn out to cost nothing. If the Poll is not nil, End
// must follow.
func (l *Limiter) AdmitPolled(ctx context.Context, h http.Header, from Client, subject string) (*Poll, *fault.Error) {
	if !l.counts(from) {
		return nil, nil
	}
	p := &Poll{
		limiter: l, header: h, subject: subject,
		question: question{client: from.key, limit: max(l.limitOf(from)/2, 1), polled: true},
	}
	promised, known := l.redeem(p)
	p.known = known
	if promised {
		l.allowed.Add(1)
		return p, nil
	}
	l.takeInLine(ctx, p)
	l.tell(h, p.question, p.counted)
	l.record(p.counted)
	if !p.counted.allowed {
		return nil, p.question.fault(p.counted.seconds())
	}
	return p, nil
}

// takeInLine counts a question. If there is no room, it waits until one of the same
// client ends, and tries again.
func (l *Limiter) takeInLine(ctx context.Context, p *Poll) {
	var patience *time.Timer // once it waits
	for {
		ended := l.polls.lookAt(p.question.client)
		p.counted = l.take(p.question)
		if p.counted.allowed {
			l.polls.enter(p.question.client)
			p.inLine = true
			return
		}
		if patience == nil {
			patience = time.NewTimer(longestPoll)
			defer patience.Stop()
		}
		if !l.polls.wait(ctx, patience, p.question, ended) {
			return
		}
	}
}

// Next says when the client may ask about the subject again, if an answer would tell it
// to ask after next; 0 is never. It gives the client a ticket for that time.
//
// A subject that does not exist may be invented. If a client follows many of those, they
// come later: one after the other, as many a minute as the budget has. A subject that is
// ours, because only somebody who paid for it can have made it, costs nothing at all.
func (p *Poll) Next(exists, ours bool, next time.Duration) time.Duration {
	if p == nil {
		return next
	}
	if ours {
		p.giveBack()
	} else if !exists && p.counted.allowed {
		p.limiter.polls.remember(p.key(), p.counted)
	}
	if next <= 0 {
		return next
	}
	promise := true
	if !exists {
		next, promise = p.limiter.polls.space(p.question, p.limiter.clock(), next)
	}
	if promise {
		p.limiter.promise(p, exists, next)
	}
	return next
}

// giveBack undoes the counting of this question, and of those before that found nothing
// yet.
func (p *Poll) giveBack() {
	l := p.limiter
	if p.counted.allowed {
		l.giveBack(p.question, p.counted)
		p.counted.used--
		l.tell(p.header, p.question, p.counted)
		p.counted.allowed = false
	}
	now := l.clock()
	for _, d := range l.polls.recall(p.key()) {
		if now-d.at < windowTicks {
			l.giveBack(p.question, d)
		}
	}
}

func (p *Poll) key() ticketKey {
	digest := sha256.Sum256([]byte(p.subject))
	return ticketKey{p.question.client, [16]byte(digest[:16])}
}

// Retry is Next for an error that does not tell whether the subject exists.
func (p *Poll) Retry(after time.Duration) time.Duration {
	if p == nil {
		return after
	}
	return p.Next(p.known, false, after)
}

// End lets others of the same client try again, who wait for this question.
func (p *Poll) End() {
	if p != nil && p.inLine {
		p.limiter.polls.leave(p.question.client)
	}
}

// giveBack undoes the counting of a question.
func (l *Limiter) giveBack(q question, d decision) {
	if d.memory {
		l.memory.giveBack(q, d.at)
	}
	if l.redis != nil && d.stamp > 0 {
		l.redis.giveBack(q, d.stamp)
	}
}

// redeem uses up a ticket of the client for the subject that is due.
func (l *Limiter) redeem(p *Poll) (promised, known bool) {
	if p.subject == "" {
		return false, false
	}
	if l.redis != nil {
		promised, known = l.redis.redeem(p.question, p.subject)
		if promised {
			return promised, known
		}
	}
	return l.polls.redeem(p.key(), l.clock())
}

// promise gives the client a ticket. It is in Redis, so that it counts at every
// instance, or in memory.
func (l *Limiter) promise(p *Poll, known bool, next time.Duration) {
	if l.redis != nil {
		kept := l.redis.promise(p.question, p.subject, known, next)
		if kept {
			return
		}
	}
	l.polls.promise(p.key(), known, l.clock()+int64(next/tick))
}

// polls is what is remembered of polled questions: the tickets that were given, and
// which clients have questions under way.
type polls struct {
	mu sync.Mutex

	known, others *lru.Cache[ticketKey, tickets] // so that invented subjects displace only one another
	charged       *lru.Cache[ticketKey, charges] // what questions about subjects that nobody knows have cost
	last          *lru.Cache[clientKey, int64]   // the last tick that was promised to a client for an invented subject

	lines map[clientKey]*line
}

type ticketKey struct {
	client  clientKey
	subject [16]byte // a hash, since the text would keep a whole request in memory
}

// tickets are the ticks from which on a client may ask; 0 for none.
type tickets [ticketsPerSubject]int64

// charges are the last few decisions about a subject.
type charges [2]decision

// line is the questions of a client that are counted and under way.
type line struct {
	underWay, waiting int
	ended             chan struct{} // closed when one of them ends
}

func newPolls() *polls {
	p := &polls{lines: map[clientKey]*line{}}
	p.known, _ = lru.New[ticketKey, tickets](maxTickets) // fails only for a size below 1
	p.others, _ = lru.New[ticketKey, tickets](maxTickets)
	p.charged, _ = lru.New[ticketKey, charges](maxTickets)
	p.last, _ = lru.New[clientKey, int64](maxTickets)
	return p
}

func (p *polls) redeem(k ticketKey, now int64) (promised, known bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, tier := range []*lru.Cache[ticketKey, tickets]{p.known, p.others} {
		held, _ := tier.Get(k)
		for i, due := range held {
			if due == 0 || now < due-int64(early/tick) {
				continue
			}
			held[i] = 0
			if held == (tickets{}) {
				tier.Remove(k)
			} else {
				tier.Add(k, held)
			}
			return true, tier == p.known
		}
	}
	return false, false
}

// promise adds a ticket. If there is no place for it, the latest one of the others
// gives way if it is later.
func (p *polls) promise(k ticketKey, known bool, due int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	tier, other := p.others, p.known
	if known {
		tier, other = p.known, p.others
	}
	held, _ := tier.Get(k)
	if old, ok := other.Peek(k); ok { // the subject has come to be known, or is no longer
		held = old
		other.Remove(k)
	}
	place := 0
	for i := range held {
		if held[i] == 0 {
			place = i
			break
		}
		if held[i] > held[place] {
			place = i
		}
	}
	if held[place] == 0 || due < held[place] {
		held[place] = max(due, 1)
	}
	tier.Add(k, held)
}

// remember keeps what a question has cost, until the subject turns out to be ours.
func (p *polls) remember(k ticketKey, d decision) {
	p.mu.Lock()
	defer p.mu.Unlock()
	held, _ := p.charged.Get(k)
	p.charged.Add(k, charges{d, held[0]})
}

func (p *polls) recall(k ticketKey) (all []decision) {
	p.mu.Lock()
	defer p.mu.Unlock()
	held, _ := p.charged.Get(k)
	p.charged.Remove(k)
	for _, d := range held {
		if d.allowed {
			all = append(all, d)
		}
	}
	return all
}

// space finds the time of the next question about an invented subject: so long after
// the last one that was promised that all of them fit into the budget. It is false if
// that is too far away to be promised.
func (p *polls) space(q question, now int64, next time.Duration) (time.Duration, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	due := now + int64(next/tick)
	if last, ok := p.last.Get(q.client); ok {
		due = max(due, last+windowTicks/int64(q.limit))
	}
	later := time.Duration(due-now) * tick
	later = (later + time.Second - 1).Truncate(time.Second) // as answers tell it
	if later > max(longestNext, next) {
		return longestNext, false
	}
	p.last.Add(q.client, now+int64(later/tick))
	return later, true
}

// lookAt returns what is closed when a question of the client ends, or nil if none is
// under way.
func (p *polls) lookAt(client clientKey) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if l := p.lines[client]; l != nil {
		return l.ended
	}
	return nil
}

func (p *polls) enter(client clientKey) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.line(client).underWay++
}

// line is that of a client, a new one if it has none.
func (p *polls) line(client clientKey) *line {
	l := p.lines[client]
	if l == nil {
		l = &line{ended: make(chan struct{})}
		p.lines[client] = l
	}
	return l
}

func (p *polls) leave(client clientKey) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.lines[client]
	close(l.ended)
	l.ended = make(chan struct{})
	l.underWay--
	p.drop(client, l)
}

// drop forgets a line without questions.
func (p *polls) drop(client clientKey, l *line) {
	if l.underWay == 0 && l.waiting == 0 {
		delete(p.lines, client)
	}
}

// wait waits until a question of the client ends. It is false if none was under way, if
// as many wait already as the budget is large, or if it takes too long.
func (p *polls) wait(ctx context.Context, patience *time.Timer, q question, ended <-chan struct{}) bool {
	if ended == nil {
		return false
	}
	if joined := p.join(q); !joined {
		return false
	}
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		l := p.lines[q.client]
		l.waiting--
		p.drop(q.client, l)
	}()
	select {
	case <-ended:
		return true
	case <-patience.C:
		return false
	case <-ctx.Done():
		return false
	}
}

// join counts one who waits.
func (p *polls) join(q question) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.line(q.client) // a new one if the last question has ended since, and its place is free
	if l.waiting >= q.limit {
		return false
	}
	l.waiting++
	return true
}
