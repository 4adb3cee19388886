// Package report shows a run: as a table for terminals, as a verdict in plain
// words, as a page that opens without a network, and as JSON and CSV for
// programs. It reads the record only, so a report can be made again from the
// file at any time.
//
// Nothing is said that the numbers do not support: an arm is called faster or
// slower only where package stats calls it different, a percentile that has too
// few samples is a dash, and what went wrong stands beside what it concerns.
package report
