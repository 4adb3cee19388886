package record

// A Load is what a load called, and what was asked of it. How it called stands in
// the plan.
type Load struct {
	// Target is what was called, without secrets.
	Target string `json:"target"`
	// Method is the method that was called, "" if there are several: then the
	// trial's operations have names.
	Method string `json:"method,omitempty"`
	// Mix is the name of the file that the operations are from, "" if there is none.
	Mix string `json:"mix,omitempty"`
	// Connections says how callers were connected, in words: "one each", "one for
	// all"; "" if nothing is known.
	Connections string `json:"connections,omitempty"`
	// Thresholds are what must not happen, as they were written.
	Thresholds []string `json:"thresholds,omitempty"`
}
