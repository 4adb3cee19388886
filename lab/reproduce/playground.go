package reproduce

import (
	"time"

	"github.com/everywire/everywire/lab/plan"
	"github.com/everywire/everywire/lab/ref"
	"github.com/everywire/everywire/lab/stats"
)

// The links of the playground: from San Francisco.
const (
	fremont = "rtt=4.364ms"
	london  = "rtt=142.5ms"
)

// The arms of the playground, as rows and claims name them.
const (
	httpEachCall = "rest?reconnect"
	httpKept     = "rest"
	jsonTCP      = "jsonrpc+tcp"
	msgpackTCP   = "msgpackrpc+tcp?envelope=map"
)

// playground compares JSON over HTTP, JSON over TCP and MessagePack over TCP by
// the sum of two small numbers, one call at a time, at three distances.
func playground() Article {
	a := Article{
		Name:   "playground",
		Title:  "Is it time to replace REST with RPC?",
		System: "The sum of two integers by one caller, one call at a time: JSON over HTTP, JSON over TCP, MessagePack over TCP, at three distances.",
		Experiments: []Experiment{{Name: "distances", Plan: func(s Scale, _ Machine) plan.Plan {
			p := basic("arith", s, 1)
			p.Links = []string{plan.Loopback, fremont, london}
			p.Arms = arms(httpEachCall, httpKept, jsonTCP, msgpackTCP, ref.NetHTTP, ref.JRPC2, ref.Ping)
			p.Baseline = httpEachCall
			switch s {
			case Quick:
				p.Arms = arms(httpEachCall, httpKept, jsonTCP, msgpackTCP)
				p.Warmup = 20 * time.Millisecond
			case AsPublished:
				p.Shape.Calls, p.Measure = 1000, 20*time.Minute
			}
			return again(p)
		}}},
		Differs: []string{
			"The article's HTTP client opens a connection for every call, which costs a round trip more: at 142.5 ms that alone is its factor of two. rest keeps its connection, as every HTTP client can; rest?reconnect does what the article did.",
			"The article ran over real networks; here the distances are emulated, with handshakes and acknowledgements of a TCP of their own. Their round trips are as long, their congestion and loss are not there.",
			"Its servers and clients were programs of Node. Ours are Go, and net/http and jrpc2 stand beside them: how much of a factor is the implementation's, the records tell (everywire report).",
		},
	}
	rates := Table{Caption: "Calls a second", Unit: "calls/s"}
	for _, d := range []struct {
		where, link          string
		http, tcp, msgpack   float64
		tcpRatio, packedOver float64
	}{
		{"on one machine", plan.Loopback, 3268, 15886, 8004, 4.9, 2.4},
		{"at 4.364 ms", fremont, 65.40, 239.6, 203.9, 3.7, 3.1},
		{"at 142.5 ms", london, 3.479, 6.963, 6.902, 2.0, 2.0},
	} {
		at := func(arm string) Value {
			return Value{Experiment: "distances", Arm: arm, Callers: 1, Link: d.link, Figure: stats.Rate}
		}
		base := at(httpEachCall)
		rates.Rows = append(rates.Rows,
			Row{Label: "JSON over HTTP, " + d.where, Published: d.http, Ours: base},
			Row{Label: "the same, connection kept", Ours: at(httpKept), Base: base},
			Row{Label: "JSON over TCP, " + d.where, Published: d.tcp, Ratio: d.tcpRatio, Ours: at(jsonTCP), Base: base},
			Row{Label: "MessagePack over TCP, " + d.where, Published: d.msgpack, Ratio: d.packedOver, Ours: at(msgpackTCP), Base: base},
		)
		a.Claims = append(a.Claims,
			Claim{
				Short: "TCP : HTTP, " + d.where,
				Says:  "JSON over TCP makes more calls than JSON over HTTP", Published: d.tcpRatio, Where: d.where,
				Over: at(jsonTCP), OverName: "JSON over TCP", Under: base, UnderName: "HTTP with a connection for each call, as there",
			},
			Claim{Short: "TCP : HTTP kept, " + d.where, Over: at(jsonTCP), OverName: "JSON over TCP", Under: at(httpKept), UnderName: "HTTP that keeps its connection", Where: d.where},
			Claim{
				Short: "MessagePack : JSON, " + d.where,
				Says:  "MessagePack makes fewer calls than JSON over TCP", Published: d.msgpack / d.tcp, Where: d.where,
				Over: at(msgpackTCP), OverName: "MessagePack over TCP", Under: at(jsonTCP), UnderName: "JSON over TCP",
			},
		)
	}
	bytes := Table{Caption: "Bytes of TCP payload per call, out and in", Unit: "bytes"}
	for _, b := range []struct {
		label, arm string
		out, in    float64
	}{
		{"JSON over HTTP", httpEachCall, 221, 141},
		{"JSON over TCP", jsonTCP, 60, 40},
		{"MessagePack over TCP", msgpackTCP, 40, 27},
	} {
		at := Value{Experiment: "distances", Arm: b.arm, Callers: 1, Link: fremont, Figure: stats.BytesOut}
		bytes.Rows = append(bytes.Rows, Row{Label: b.label + ", out", Published: b.out, Ours: at})
		at.Figure = stats.BytesIn
		bytes.Rows = append(bytes.Rows, Row{Label: b.label + ", in", Published: b.in, Ours: at})
	}
	a.Tables = []Table{rates, bytes}
	return a
}
