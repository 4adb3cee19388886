package load

import (
	"time"

	"github.com/everywire/everywire/lab/record"
)

// WrongReply is the kind of error of a reply that came but was not right.
const WrongReply = "wrong reply"

// LateAfter is from when a call of an open loop is late.
const LateAfter = time.Millisecond

// A Result is what was counted.
type Result struct {
	// Seconds is the measured time: that of the configuration, or until the end of
	// the last call if all callers have made the calls that they were to make.
	Seconds float64 `json:"seconds"`
	// Latency holds one value in ns for each correct reply. Intended is from when
	// the call was to begin, in an open loop.
	Latency  record.Hist `json:"latency"`
	Intended record.Hist `json:"intended,omitzero"`
	// Errors counts failed calls by status code, "UNAVAILABLE", and wrong
	// replies.
	Errors map[string]int64 `json:"errors,omitempty"`
	// FirstError is the text of the first of them.
	FirstError string `json:"first_error,omitempty"`
	// Censored counts calls still open when the measured time ended.
	Censored int64 `json:"censored"`
	// OpenShare sums, over the censored calls that were answered rightly
	// afterwards, the fraction of their time that lay in the measured time.
	OpenShare float64 `json:"open_share,omitempty"`
	// Scheduled counts the calls of an open loop whose time lay in the measured
	// time; each of them is right, an error, censored, dropped or unsent. Late ones
	// began more than [LateAfter] after their time. Dropped ones had not begun when
	// they had waited for the shape's patience, and never did; unsent ones had not
	// begun at the end.
	Scheduled int64 `json:"scheduled,omitempty"`
	Late      int64 `json:"late,omitempty"`
	Dropped   int64 `json:"dropped,omitempty"`
	Unsent    int64 `json:"unsent,omitempty"`
	// Lag is the generator's own lateness: how long each call of an open loop did
	// not begin although it was due and a caller was free, in ns. PacerLate counts
	// those of more than [LateAfter].
	Lag       record.Hist `json:"lag,omitzero"`
	PacerLate int64       `json:"pacer_late,omitempty"`
	// Times are the latencies' exact sums; Ops are those of each operation, if the
	// workload has several.
	Times record.Times `json:"times"`
	Ops   []record.Op  `json:"ops,omitempty"`
	// Bytes are those of the calls that ended in the measured time, nil if nobody
	// counted them.
	Bytes *record.Bytes `json:"bytes,omitempty"`
}

// Into fills what was counted into a trial.
func (r *Result) Into(t *record.Trial) {
	t.Seconds, t.Calls, t.Latency, t.Intended = r.Seconds, r.Latency.Count(), r.Latency, r.Intended
	t.Errors, t.FirstError = r.Errors, r.FirstError
	t.Censored, t.OpenShare = r.Censored, r.OpenShare
	t.Scheduled, t.Late, t.Dropped, t.Unsent = r.Scheduled, r.Late, r.Dropped, r.Unsent
	t.Lag, t.PacerLate = r.Lag, r.PacerLate
	t.Times, t.Ops, t.Bytes = r.Times, r.Ops, r.Bytes
}
