package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/everywire/everywire/bench/peers/peer"
)

// width is what tables and texts keep to.
const width = 100

func writeText(w io.Writer, r *result) {
	writeEnvironment(w, &r.Environment)
	p := r.Plan
	fmt.Fprintf(w, "%s of %v, medians. A call sends a number and a text of that length, and checks its echo.\n",
		count(p.Rounds, "round"), p.Window)
	tables := r.tables()
	apart := false
	for _, t := range tables {
		writeTable(w, &t)
		apart = apart || slices.ContainsFunc(t.Rows, t.apart)
	}
	fmt.Fprintf(w, "\n/fastest  the rate over that of the fastest peer that is an RPC framework\n"+
		"/raw      over that of a bare socket: ping-pong, or with callers that share a connection pipelined\n"+
		"±         half the distance between the quartiles of the rounds\n"+
		"CPU       user and system time a call; allocs: of client and server together\n")
	if apart {
		fmt.Fprintf(w, "*         has no calls side by side on a connection: a connection for each caller\n")
	}
	writeFindings(w, judge(tables))
}

func writeEnvironment(w io.Writer, e *environment) {
	fmt.Fprintln(w, wrap(fmt.Sprintf("%s, %s, %s, %s, %s", e.CPU, count(e.Cores, "core"), e.System, e.Go, e.Time)))
	fmt.Fprintln(w, wrap("Over loopback, each end a process: "+e.Pinned))
	if e.Load != "" {
		fmt.Fprintf(w, "Load average at the start: %s\n", e.Load)
	}
	var versions []string
	for _, p := range peer.All() {
		if v := e.Versions[p.Name]; v != "" {
			versions = append(versions, p.Name+" "+v)
		}
	}
	if len(versions) > 0 {
		fmt.Fprintln(w, wrap("Versions: "+strings.Join(versions, ", ")))
	}
}

// apart says that a peer had more connections than the load asked for.
func (t *table) apart(r row) bool { return !r.Peer.Shared && t.Load.Conns < t.Load.Callers }

func writeTable(w io.Writer, t *table) {
	fmt.Fprintf(w, "\n%v\n", t.Load)
	fmt.Fprintf(w, "%-10s%-16s%12s%6s%10s%8s%12s%12s%9s\n", "", "", "calls/s", "±", "/fastest", "/raw", "client CPU", "server CPU", "allocs")
	var failed []string
	kind := peer.Kind("")
	for _, r := range t.Rows {
		name, shown := r.Peer.Name, ""
		if t.apart(r) {
			name += " *"
		}
		if r.Peer.Kind != kind {
			kind, shown = r.Peer.Kind, string(r.Peer.Kind)
		}
		fmt.Fprintf(w, "%-10s%-16s%12s%6s%10s%8s%12s%12s%9s\n", shown, name, thousands(r.Rate), percent(r.Spread), fixed(r.Fastest),
			fixed(r.Raw), micros(r.ClientCPU), micros(r.ServerCPU), short3(r.Mallocs))
		if r.Error != "" {
			failed = append(failed, fmt.Sprintf("%s failed: %s", r.Peer.Name, r.Error))
		}
	}
	for _, line := range failed {
		fmt.Fprintln(w, wrap(line))
	}
}

func writeFindings(w io.Writer, found []finding) {
	if len(found) == 0 {
		return
	}
	fmt.Fprintf(w, "\nGoals\n")
	for _, f := range found {
		line := fmt.Sprintf("%-6s%s: %s%s (goal %s)", f.Verdict, f.What, short3(f.Figure), f.Unit, f.Goal)
		if f.Note != "" {
			line += "; " + f.Note
		}
		fmt.Fprintln(w, strings.ReplaceAll(wrap(line), "\n", "\n      "))
	}
}

// writeJSON writes v, a result or findings, indented.
func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// wrap breaks a line at spaces so that it fits.
func wrap(line string) string {
	var b strings.Builder
	at := 0
	for i, word := range strings.Split(line, " ") {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case at+1+n > width-6: // room for an indent
			b.WriteByte('\n')
			at = 0
		default:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(word)
		at += n
	}
	return b.String()
}

const none = "–"

func thousands(v float64) string {
	if math.IsNaN(v) {
		return none
	}
	s := fmt.Sprintf("%.0f", v)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func percent(v float64) string { return orNone(v, "%.0f%%", v*100) }
func fixed(v float64) string   { return orNone(v, "%.2f", v) }

func micros(v float64) string {
	if math.IsNaN(v) {
		return none
	}
	return short3(v) + " µs"
}

// short3 writes three figures.
func short3(v float64) string {
	switch {
	case v >= 1000:
		return thousands(v)
	case v >= 100:
		return orNone(v, "%.0f", v)
	case v >= 10:
		return orNone(v, "%.1f", v)
	default:
		return orNone(v, "%.2f", v)
	}
}

func orNone(v float64, format string, shown float64) string {
	if math.IsNaN(v) {
		return none
	}
	return fmt.Sprintf(format, shown)
}
