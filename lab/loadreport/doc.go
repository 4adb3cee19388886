// Package loadreport shows one load: what was called and how, JMeter's summary
// columns, percentiles of the time of service beside those from the intended
// start, what did not go well, and which thresholds held. It writes text for
// terminals, a page that opens without a network, JSON, CSV, and the text format
// of Prometheus. It reads the record only, so a report can be made again from the
// file at any time.
//
// What each figure is, its unit and its formula are in docs/spec/load-report.md;
// the package obeys all of it.
package loadreport
