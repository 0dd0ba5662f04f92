package survey

import (
	"strings"
	"sync/atomic"
)

// maxQuery bounds what is kept of a request. The longest lawful quote request
// is far below it.
const maxQuery = 2 << 10

// Subject is an old version under survey.
type Subject struct {
	survey             *Survey
	version, successor string
	try                Try

	dropped atomic.Uint64 // since they were last counted

	older, newer *tally // of the day before, which may be nil, and of the current one
}

// Subject adds a version whose calls are tried on a successor. It is used by
// the quote route of the version, and by no other: a health check would fail
// there for want of parameters.
func (s *Survey) Subject(version, successor string, try Try) *Subject {
	subject := &Subject{survey: s, version: version, successor: successor, try: try, newer: newTally(s.now())}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.subjects = append(s.subjects, subject)
	return subject
}

// Ask queues a client's query that the version has answered with success for
// trial, or drops it. It never waits. A query that the version itself refused is
// no one's hope, and is not to be asked about.
func (s *Subject) Ask(client, query string) {
	if len(query) > maxQuery {
		s.dropped.Add(1)
		return
	}
	c := call{subject: s, client: client, query: strings.Clone(query)}
	s.survey.gate.RLock()
	defer s.survey.gate.RUnlock()
	if s.survey.closed {
		s.dropped.Add(1)
		return
	}
	select {
	case s.survey.queue <- c:
	default:
		s.dropped.Add(1)
	}
}
