package reproduce

import (
	"time"

	"github.com/everywire/everywire/lab/plan"
	"github.com/everywire/everywire/lab/ref"
	"github.com/everywire/everywire/lab/stats"
)

// The arms of the key-value store.
const (
	kvProtobuf = "grpc"
	kvJSON     = "grpc?codec=json"
	kvNumbers  = "grpc?bytes=array&codec=json"
)

// kvstore compares encoders under gRPC by a key-value store.
func kvstore() Article {
	at := func(experiment, arm string, callers int) Value {
		return Value{Experiment: experiment, Arm: arm, Callers: callers, Figure: stats.Rate}
	}
	const delayed, bare = "delayed", "no-delay"
	a := Article{
		Name:   "kvstore",
		Title:  "gRPC + JSON",
		System: "Create, Retrieve, Update and Delete of a key-value store over gRPC, values of 64 KiB on average: messages in protobuf, in JSON with base64, in JSON with arrays of numbers.",
		Experiments: []Experiment{
			{Name: delayed, Plan: func(s Scale, _ Machine) plan.Plan {
				p := kvPlan(s, 1, 100)
				p.ReadDelay, p.WriteDelay = 10*time.Millisecond, 50*time.Millisecond
				return again(p)
			}},
			{Name: bare, Plan: func(s Scale, _ Machine) plan.Plan { return again(kvPlan(s, 100)) }},
		},
		Tables: []Table{
			{Caption: "Calls a second where a read takes 10 ms and a write 50 ms", Unit: "calls/s", Rows: []Row{
				{Label: "protobuf, one call at a time", Published: 16.55, Ours: at(delayed, kvProtobuf, 1)},
				{Label: "protobuf, 100 in flight", Published: 2449.8, Ours: at(delayed, kvProtobuf, 100)},
				{Label: "JSON, base64", Published: 2202.2, Ratio: 2202.2 / 2449.8, Ours: at(delayed, kvJSON, 100), Base: at(delayed, kvProtobuf, 100)},
				{Label: "JSON, arrays of numbers", Published: 215.883, Ratio: 215.883 / 2449.8, Ours: at(delayed, kvNumbers, 100), Base: at(delayed, kvProtobuf, 100)},
			}},
			{Caption: "Calls a second without any delay", Unit: "calls/s", Rows: []Row{
				{Label: "protobuf, 100 in flight", Ours: at(bare, kvProtobuf, 100)},
				{Label: "JSON, base64", Ours: at(bare, kvJSON, 100), Base: at(bare, kvProtobuf, 100)},
				{Label: "JSON, arrays of numbers", Ours: at(bare, kvNumbers, 100), Base: at(bare, kvProtobuf, 100)},
				{Label: "MessagePack", Ours: at(bare, "grpc?codec=msgpack", 100), Base: at(bare, kvProtobuf, 100)},
				{Label: "bare grpc-go, protobuf", Ours: at(bare, ref.GRPCGo, 100), Base: at(bare, kvProtobuf, 100)},
			}},
		},
		Claims: []Claim{
			{
				Short: "delays, JSON : protobuf",
				Says:  "JSON with base64 makes 90 % of protobuf's calls", Published: 2202.2 / 2449.8, Where: "with the delays",
				Over: at(delayed, kvJSON, 100), OverName: "JSON with base64", Under: at(delayed, kvProtobuf, 100), UnderName: "protobuf",
			},
			{
				Short: "delays, number arrays : protobuf",
				Says:  "JSON with arrays of numbers makes a tenth of them", Published: 215.883 / 2449.8, Where: "with the delays",
				Over: at(delayed, kvNumbers, 100), OverName: "JSON with arrays of numbers", Under: at(delayed, kvProtobuf, 100), UnderName: "protobuf",
			},
			{Short: "JSON : protobuf", Over: at(bare, kvJSON, 100), OverName: "JSON with base64", Under: at(bare, kvProtobuf, 100), UnderName: "protobuf", Where: "without delays"},
			{Short: "number arrays : protobuf", Over: at(bare, kvNumbers, 100), OverName: "JSON with arrays of numbers", Under: at(bare, kvProtobuf, 100), UnderName: "protobuf", Where: "without delays"},
			{Short: "MessagePack : protobuf", Over: at(bare, "grpc?codec=msgpack", 100), OverName: "MessagePack", Under: at(bare, kvProtobuf, 100), UnderName: "protobuf", Where: "without delays"},
		},
		Differs: []string{
			"100 calls in flight that take 40 ms on average are at most 2,500 calls a second: with the delays the encoders hide behind them. Without delays they show.",
			"The article's 16.55 (one call at a time, creates not counted) and 24.283 (futures) are of a store with one lock around the delays, which ours does not have.",
			"Every reply is checked here: a value that was read is one that was written.",
		},
	}
	return a
}

func kvPlan(s Scale, callers ...int) plan.Plan {
	p := basic("kv", s, callers...)
	p.Arms, p.Baseline = arms(kvProtobuf, kvJSON, kvNumbers, "grpc?codec=msgpack", ref.GRPCGo), kvProtobuf
	switch s {
	case Full:
		p.Warmup, p.Measure = 200*time.Millisecond, 900*time.Millisecond
	case Quick:
		p.Measure = 300 * time.Millisecond
	case AsPublished:
		p.Measure = time.Minute
	}
	return p
}
