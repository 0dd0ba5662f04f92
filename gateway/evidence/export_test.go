package evidence

import (
	"time"
)

// What tests outside of the package see of it.
const (
	AskAgain     = askAgain
	AskEvery     = askEvery
	ManyClients  = manyClients
	KeepEvidence = keepEvidence
)

// LimitTime changes how long a reading may take.
func (r *Reader) LimitTime(to time.Duration) { r.timeLimit = to }
