// Package flow runs flows that a file declares: triggers (a timer, or a method that
// is served on a target) start flows, whose steps call methods on any target, log,
// make values and answer. Which wire carries a call is one word of the file.
//
// docs/spec/flow.md has the file's grammar, what expressions are, and what the
// metrics mean; the package reads and runs all of it.
//
// Parse reads a file and says what is wrong with it, all at once and with places.
// New makes an [App] of it, which Run runs. The package knows no wire: who dials and
// who serves is told by [Options].
package flow
