// Package jtl writes a file with a line for each call of a load while it runs:
// JMeter's CSV results, in the columns of its manual ("Listeners", CSV log
// format), which the tools around JMeter read. What each column has here, and
// which are always the same, is in docs/spec/load.md; the package obeys all of it.
package jtl
