package reproduce

import (
	"bytes"
	"fmt"
	"time"

	"github.com/everywire/everywire/lab/plan"
	"github.com/everywire/everywire/lab/stats"
)

// The period of the timer, and how often it fires in the article.
const (
	timerPeriod     = 100 * time.Millisecond
	timerExecutions = 100
)

// sizes are the bytes of the sweep's payloads.
var sizes = []int{64, 1 << 10, 8 << 10, 64 << 10, 1 << 20}

// flow compares a flow that a timer starts ten times a second and that calls a
// service by REST or by gRPC.
func flow() Article {
	at := func(arm string, figure stats.Figure) Value {
		return Value{Experiment: "timer", Arm: arm, Callers: 1, Figure: figure}
	}
	a := Article{
		Name:   "flow",
		Title:  "Is it gRPC as fast versus REST as all the industry is talking about?",
		System: "A flow that a timer starts every 100 ms calls a greeting by REST or by gRPC and logs the answer; a second flow answers.",
		Experiments: []Experiment{{Name: "timer", Plan: func(s Scale, _ Machine) plan.Plan {
			p := basic("hello", s, 1)
			p.Arms, p.Baseline = arms(httpKept, httpEachCall, "grpc"), httpKept
			p.Warmup, p.Measure = 200*time.Millisecond, 3*time.Second
			switch s {
			case Quick:
				p.Measure = time.Second
			case AsPublished:
				p.Measure = timerExecutions * timerPeriod
			}
			perSecond := float64(time.Second / timerPeriod)
			p.Shape.Stages = []plan.Stage{{For: p.Measure, From: perSecond, To: perSecond}}
			return again(p)
		}}},
		Tables: []Table{{Caption: "Time of a flow, in ms", Unit: "ms", Rows: []Row{
			{Label: "server's flow, REST", Published: 0.159, Ours: at(httpKept, stats.ServedTime)},
			{Label: "server's flow, gRPC", Published: 0.035, Ratio: 0.035 / 0.159, Ours: at("grpc", stats.ServedTime), Base: at(httpKept, stats.ServedTime)},
			{Label: "client's flow, REST", Published: 4.066, Ours: at(httpKept, stats.MeanTime)},
			{Label: "client's flow, REST, a connection each", Ours: at(httpEachCall, stats.MeanTime), Base: at(httpKept, stats.MeanTime)},
			{Label: "client's flow, gRPC", Published: 0.89, Ratio: 0.89 / 4.066, Ours: at("grpc", stats.MeanTime), Base: at(httpKept, stats.MeanTime)},
		}}},
		Claims: []Claim{
			{
				Short: "client's flow, gRPC : REST",
				Says:  "the client's flow takes 78 % less time by gRPC", Published: 4.066 / 0.89, Where: "ten times a second",
				Over: at("grpc", stats.MeanTime), OverName: "the client's flow by gRPC", Under: at(httpKept, stats.MeanTime), UnderName: "that by REST",
			},
			{
				Short: "server's flow, gRPC : REST",
				Says:  "the server's flow takes 78 % less time by gRPC", Published: 0.159 / 0.035, Where: "ten times a second",
				Over: at("grpc", stats.ServedTime), OverName: "the server's flow by gRPC", Under: at(httpKept, stats.ServedTime), UnderName: "that by REST",
			},
			{
				Short: "client's flow, gRPC : REST reconnecting",
				Over:  at("grpc", stats.MeanTime), OverName: "the client's flow by gRPC", Under: at(httpEachCall, stats.MeanTime), UnderName: "that by REST with a connection for each call",
				Where: "ten times a second",
			},
		},
		Differs: []string{
			"The article's figures are the last of 100 executions, as its gauge held it; here every execution is in a histogram, and the means of ten blocks are compared.",
			"At ten calls a second most of a call's time is what waking up costs: caches are cold and the processor sleeps between calls. That is a workload of its own, and no measure of capacity.",
			"The server's flow does the same work whatever calls it. What differs in it by wire is what the processor found in its caches.",
		},
	}
	sweep := Table{Caption: "One caller that calls again at once, by the size of a document that is sent there and back (the article's untested claim)", Unit: "calls/s"}
	for _, size := range sizes {
		name := fmt.Sprintf("payload-%d", size)
		a.Experiments = append(a.Experiments, Experiment{Name: name, Payload: func() []byte { return greeting(size) }, Plan: func(s Scale, _ Machine) plan.Plan {
			p := basic("echo", s, 1)
			p.Payload = &plan.Payload{Name: fmt.Sprintf("a greeting of %s", byteSize(size)), Bytes: len(greeting(size)), Typed: true}
			p.Arms, p.Baseline = arms(httpKept, "grpc"), httpKept
			if s == Quick {
				p.Measure = 100 * time.Millisecond
			}
			return again(p)
		}})
		rest := Value{Experiment: name, Arm: httpKept, Callers: 1, Figure: stats.Rate}
		grpc := rest
		grpc.Arm = "grpc"
		sweep.Rows = append(sweep.Rows, Row{Label: byteSize(size) + ", REST", Ours: rest}, Row{Label: byteSize(size) + ", gRPC", Ours: grpc, Base: rest})
		a.Claims = append(a.Claims, Claim{Short: byteSize(size) + ", gRPC : REST", Over: grpc, OverName: "gRPC", Under: rest, UnderName: "REST", Where: "with " + byteSize(size)})
	}
	a.Tables = append(a.Tables, sweep)
	return a
}

// greeting is a document of about so many bytes.
func greeting(size int) []byte {
	const around = len(`{"name":""}`)
	return fmt.Appendf(nil, `{"name":%q}`, bytes.Repeat([]byte("x"), max(1, size-around)))
}

// byteSize writes a whole number of bytes.
func byteSize(n int) string {
	switch {
	case n >= 1<<20:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 1<<10:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}
