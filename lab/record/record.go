// Package record is the raw record of a run: a file of JSON lines, written as
// the run goes, that holds everything a report needs. The first line is a
// [Header], then one [Trial] a line, then an [End] if the run was not killed.
package record

import (
	"time"

	"github.com/everywire/everywire/lab/plan"
)

// Format is the version of the file format. Version 2 added links: a plan may
// have several, and a trial is then of one of them.
const Format = 2

// The values of every line's "type".
const (
	TypeHeader = "header"
	TypeTrial  = "trial"
	TypeEnd    = "end"
)

// Header says where and how a run was made.
type Header struct {
	Type    string    `json:"type"`
	Format  int       `json:"format"`
	Started time.Time `json:"started"`
	Build   Build     `json:"build"`
	Machine Machine   `json:"machine"`
	// Server is the machine of the servers, if it was another.
	Server *Machine  `json:"server,omitempty"`
	Plan   plan.Plan `json:"plan"`
	// Load is set if the run is a load of something that is not the plan's own: its
	// plan then has one arm and one block.
	Load *Load `json:"load,omitempty"`
}

// Build is the program that ran.
type Build struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Dirty   bool   `json:"dirty,omitempty"` // the commit plus changes
	Go      string `json:"go"`
	// Modules are the versions of what was measured, such as grpc.
	Modules map[string]string `json:"modules,omitempty"`
}

// Machine is where it ran.
type Machine struct {
	OS     string `json:"os"`
	Arch   string `json:"arch"`
	Kernel string `json:"kernel,omitempty"`
	CPU    string `json:"cpu,omitempty"`
	Cores  int    `json:"cores"`
	// ServerCores and ClientCores are what the two ends were pinned to; empty
	// where pinning is not possible.
	ServerCores string `json:"server_cores,omitempty"`
	ClientCores string `json:"client_cores,omitempty"`
}

// A Trial is one arm under one load in one block. All counts are of the
// measured time, without the warm-up.
type Trial struct {
	Type    string `json:"type"`
	Block   int    `json:"block"` // from 0
	Arm     string `json:"arm"`
	Callers int    `json:"callers"`
	// Link is one of the plan's; empty is loopback.
	Link    string    `json:"link,omitempty"`
	Started time.Time `json:"started"`
	// Void says why the trial does not count, "" if it does. A void trial may
	// be followed by another of the same block, arm and load.
	Void string `json:"void,omitempty"`
	// Warnings are what else the generator noticed about itself, in sentences.
	Warnings []string `json:"warnings,omitempty"`

	// Seconds is the measured time.
	Seconds float64 `json:"seconds"`
	// Calls counts correct replies only; Latency is theirs.
	Calls int64 `json:"calls"`
	// Errors counts wrong and failed calls by kind, such as "UNAVAILABLE" or
	// "wrong reply".
	Errors map[string]int64 `json:"errors,omitempty"`
	// FirstError is the text of the first one.
	FirstError string `json:"first_error,omitempty"`
	// Censored counts calls still open when the measured time ended.
	Censored int64 `json:"censored"`
	// OpenShare is how much of the censored calls lay in the measured time: for
	// each that was answered rightly afterwards, the fraction of its time. (Calls
	// + OpenShare) / Seconds is the throughput without the bias of cutting calls
	// off, which counts when a call takes long beside the measured time.
	OpenShare float64 `json:"open_share,omitempty"`
	Latency   Hist    `json:"latency"`
	// Intended is the time from when a call was to begin to its reply, in an open
	// loop: it has the waiting that Latency does not have.
	Intended Hist `json:"intended,omitzero"`
	// Scheduled counts the calls that an open loop was to begin: those that began
	// more than a millisecond late, those that were given up because too many were
	// in flight, and those whose time came but that had not begun at the end.
	Scheduled int64 `json:"scheduled,omitempty"`
	Late      int64 `json:"late,omitempty"`
	Dropped   int64 `json:"dropped,omitempty"`
	Unsent    int64 `json:"unsent,omitempty"`
	// Lag is the generator's own lateness in an open loop: how long each call did
	// not begin although it was due and a caller was free. PacerLate counts those of
	// more than a millisecond.
	Lag       Hist  `json:"lag,omitzero"`
	PacerLate int64 `json:"pacer_late,omitempty"`
	// Times are the exact sums of Latency.
	Times Times `json:"times,omitzero"`
	// Bytes are those of the calls that ended in the measured time, as their
	// connections counted them; nil where nobody counted. Net, which is of the
	// sockets, has those of calls that ended later, too.
	Bytes *Bytes `json:"bytes,omitempty"`
	// Ops are the operations of a workload that has several.
	Ops []Op `json:"ops,omitempty"`
	// Timeline is what happened in each second, where somebody collected it.
	Timeline []Second `json:"timeline,omitempty"`
	// ServerCPU and ClientCPU are user and system seconds of the two processes.
	ServerCPU float64 `json:"server_cpu"`
	ClientCPU float64 `json:"client_cpu"`
	// Stolen is the machine's CPU seconds that a hypervisor took, summed over
	// cores.
	Stolen float64 `json:"stolen"`
	// Others is the machine's CPU seconds that processes other than the trial's had; 0
	// if the system does not tell.
	Others float64 `json:"others,omitempty"`
	Net    *Net    `json:"net,omitempty"`
	// Served is how long the service itself took for each call, in nanoseconds,
	// where the arm's server tells.
	Served Hist `json:"served,omitzero"`
	// Backends are the calls that each replica behind a front service had.
	Backends []int64 `json:"backends,omitempty"`
	// Emulated is what an emulated link did; nil for loopback.
	Emulated *Emulated `json:"emulated,omitempty"`
}

// An Op is what one operation of a workload had.
type Op struct {
	Name string `json:"name"`
	// Calls counts correct replies; Latency and Intended are theirs.
	Calls    int64 `json:"calls"`
	Latency  Hist  `json:"latency"`
	Intended Hist  `json:"intended,omitzero"`
	// Times are the latencies' exact sums.
	Times Times `json:"times"`
	// Errors counts wrong and failed calls by kind.
	Errors map[string]int64 `json:"errors,omitempty"`
	// Out and In are bytes of all of its calls, -1 if they are not known.
	Out int64 `json:"out"`
	In  int64 `json:"in"`
}

// Bytes are what calls took; out is towards the server.
type Bytes struct {
	Out int64 `json:"out"`
	In  int64 `json:"in"`
}

// MaxOthers is the share of the machine's CPU time that processes other than a trial's
// may have before its figures are disturbed by them.
const MaxOthers = 0.10

// Disturbed counts the trials of a load whose figures count and were disturbed by other
// processes, of so many whose figures count.
func (r *Run) Disturbed(callers int, network string) (disturbed, of int) {
	for i := range r.Trials {
		t := &r.Trials[i]
		if t.Void != "" || t.Callers != callers || t.Network() != network {
			continue
		}
		of++
		if t.Others > MaxOthers*t.Seconds*float64(r.Header.Machine.Cores) {
			disturbed++
		}
	}
	return disturbed, of
}

// Network is the link of the trial by its name.
func (t *Trial) Network() string {
	if t.Link == "" {
		return plan.Loopback
	}
	return t.Link
}

// Emulated is what an emulated link did during the measured time, as seen from
// the generator's end; out is towards the server. Net has the packets and bytes
// of the link then.
type Emulated struct {
	// Asked is the round-trip time that was asked for, in nanoseconds. RTT is
	// the one that small packets had on the idle link before the measured time:
	// the median of a few.
	Asked int64 `json:"asked_rtt_ns"`
	RTT   int64 `json:"rtt_ns"`
	// Late is how much later than due packets came to the generator's TCP: the
	// mean, in nanoseconds.
	Late int64 `json:"late_ns"`
	// Lost packets were lost by chance, Overflowed ones did not fit into the
	// buffer before a line with a rate.
	LostOut       int64 `json:"lost_out"`
	LostIn        int64 `json:"lost_in"`
	OverflowedOut int64 `json:"overflowed_out"`
	OverflowedIn  int64 `json:"overflowed_in"`
	// ACKs are packets without payload that open and close nothing.
	ACKsOut int64 `json:"acks_out"`
	ACKsIn  int64 `json:"acks_in"`
	// Retransmits are segments that the generator's TCP sent again.
	Retransmits int64 `json:"retransmits"`
}

// Ended is how many calls ServerCPU, ClientCPU and Net are of, so what they are
// divided by for one call: the correct ones, the failed ones, and those that
// were still open when the measured time ended, which were waited for.
func (t *Trial) Ended() int64 {
	n := t.Calls + t.Censored
	for _, e := range t.Errors {
		n += e
	}
	return n
}

// Net is what crossed the client's sockets: counted there, out is towards the
// server.
type Net struct {
	// Conns is how many connections were opened during the measured time.
	Conns int64 `json:"conns"`
	// PayloadOut and PayloadIn are TCP payload bytes.
	PayloadOut int64 `json:"payload_out"`
	PayloadIn  int64 `json:"payload_in"`
	// PacketsOut and PacketsIn are TCP segments, pure ACKs included; -1 where
	// the system does not tell. Over an emulated link they are its packets.
	PacketsOut int64 `json:"packets_out"`
	PacketsIn  int64 `json:"packets_in"`
	// WireOut and WireIn add the IP and TCP headers of those segments; -1
	// where unknown.
	WireOut int64 `json:"wire_out"`
	WireIn  int64 `json:"wire_in"`
}

// End closes a run.
type End struct {
	Type  string    `json:"type"`
	Ended time.Time `json:"ended"`
	// Partial says why the run stopped before its plan was done, "" if it was.
	Partial string `json:"partial,omitempty"`
}

// A Run is a whole record.
type Run struct {
	Header Header
	Trials []Trial
	// End is nil if the file has no end: the run was killed.
	End *End
}
