package record

// A Second is a point of a trial's timeline: what happened in one second, or in
// several of a long trial. A timeline is a picture; figures are the trial's own.
type Second struct {
	// At is when it begins, in seconds since the start of the measured time; Seconds
	// is how long it is.
	At      float64 `json:"at"`
	Seconds float64 `json:"seconds"`
	// Begun counts calls that began in it, Late those of them that did so late.
	// Dropped counts calls that were given up in it.
	Begun   int64 `json:"begun"`
	Late    int64 `json:"late,omitempty"`
	Dropped int64 `json:"dropped,omitempty"`
	// Right counts right replies that came in it, Errors failed calls that ended in
	// it, by kind.
	Right  int64            `json:"right"`
	Errors map[string]int64 `json:"errors,omitempty"`
	// Out and In are the bytes of the calls that ended in it, -1 if not known.
	Out int64 `json:"out"`
	In  int64 `json:"in"`
	// InFlight is how many calls had begun and not ended at its end.
	InFlight int64 `json:"in_flight"`
	// Service is of the right replies, from the beginning of the call; Intended is
	// from when it was to begin, in an open loop.
	Service  Spread `json:"service,omitzero"`
	Intended Spread `json:"intended,omitzero"`
}

// A Spread is what times there were, in nanoseconds. Percentiles are within 1 %;
// whether there are enough calls for them is for the reader to ask.
type Spread struct {
	Mean int64 `json:"mean"`
	P50  int64 `json:"p50"`
	P99  int64 `json:"p99"`
	Max  int64 `json:"max"`
}
