// Package timeline makes a trial's timeline of its samples while it runs, and tells
// a command how the run goes. What a point of a timeline holds is [record.Second]
// and docs/spec/load.md; the package obeys all of it.
package timeline
