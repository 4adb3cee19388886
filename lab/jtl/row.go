package jtl

import (
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/everywire/everywire/lab/load"
)

// Columns are the names in the first line.
var Columns = []string{
	"timeStamp", "elapsed", "label", "responseCode", "responseMessage", "threadName", "dataType", "success", "failureMessage",
	"bytes", "sentBytes", "grpThreads", "allThreads", "URL", "Latency", "IdleTime", "Connect",
}

const (
	codeOK      = "OK"
	codeDropped = "DROPPED"
	group       = "everywire"
	// constant stands in the columns that are not measured.
	constant = "0"
)

// row fills the columns of a call. It is given the last row, to write into.
func (c *Config) row(row []string, s *load.Sample) []string {
	label := s.Op
	if label == "" {
		label = c.Label
	}
	code, message, failure := codeOK, codeOK, ""
	switch {
	case s.Dropped:
		code, message = codeDropped, "no caller was free in time, so it was not sent"
		failure = message
	case s.Err == load.WrongReply: // the call itself went well
		failure = line(s.Text)
	case s.Err != "":
		code, message = s.Err, line(s.Text)
		failure = message
	}
	callers := strconv.Itoa(c.Callers)
	return append(row[:0],
		strconv.FormatInt(c.Start.Add(s.Scheduled).UnixMilli(), 10),
		millis(s.End-s.Begin), line(label), code, message,
		group+" 1-"+strconv.Itoa(s.Caller+1), "", strconv.FormatBool(failure == "" && s.Err == ""), failure,
		known(s.In), known(s.Out), callers, callers, c.URL,
		constant, millis(s.Begin-s.Scheduled), constant,
	)
}

// line makes a text one line, so that tools that know no quotes find one for each
// call.
func line(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, s)
}

// millis rounds to whole milliseconds, which is what the columns have.
func millis(d time.Duration) string {
	return strconv.FormatInt(d.Round(time.Millisecond).Milliseconds(), 10)
}

// known is a number of bytes, 0 where it is not known: the tools want a number.
func known(n int64) string { return strconv.FormatInt(max(0, n), 10) }
