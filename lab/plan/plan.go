// Package plan says what a run of the lab measures: which arms, under which
// load, how often and in which order. A plan is data: it stands in the record
// of the run, and running it again is running the same plan.
package plan

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// A Plan is all that a run needs to know.
type Plan struct {
	// Name says which experiment this is, "" if it has no name.
	Name string `json:"name,omitempty"`
	// Service is the service under measurement: "arith" (Sum of two small
	// integers), "echo" (a document there and back), "kv" (the four operations of a
	// key-value store), "auth" (a login and twenty checks of its token), "relay" (a
	// service that calls another) or "hello" (a flow that calls another), as
	// articles had them.
	Service string `json:"service"`
	// Payload is what echo is sent, nil for other services.
	Payload *Payload `json:"payload,omitempty"`
	// ReadDelay and WriteDelay are how long kv takes, in nanoseconds.
	ReadDelay  time.Duration `json:"read_delay_ns,omitempty"`
	WriteDelay time.Duration `json:"write_delay_ns,omitempty"`
	// Delay is how long relay's second service takes, in nanoseconds, and Front the
	// shape of the target by which callers call its first.
	Delay time.Duration `json:"delay_ns,omitempty"`
	Front string        `json:"front,omitempty"`
	// ConnEach gives each caller a connection of its own.
	ConnEach bool  `json:"conn_each,omitempty"`
	Arms     []Arm `json:"arms"`
	// Baseline is the name of the arm that ratios are against.
	Baseline string `json:"baseline"`
	// Callers are the loads: how many callers call in a closed loop.
	Callers []int `json:"callers"`
	// Links are the networks that every arm is measured over: [Loopback], or the
	// text form of an emulated one. None stands for loopback alone.
	Links  []string `json:"links,omitempty"`
	Blocks int      `json:"blocks"`
	// Shape says when calls are made.
	Shape Shape `json:"shape,omitzero"`
	// Warmup and Measure are how long each load of each trial runs before
	// counting and while counting, in nanoseconds.
	Warmup  time.Duration `json:"warmup_ns"`
	Measure time.Duration `json:"measure_ns"`
	// Seed makes the order of arms in each block.
	Seed uint64 `json:"seed"`
	// MaxMessage is the limit on one message in bytes.
	MaxMessage int `json:"max_message"`
	// Excluded are arms that were asked for and cannot carry the payload.
	Excluded []Excluded `json:"excluded,omitempty"`
}

// Excluded is an arm that does not run.
type Excluded struct {
	Arm    string `json:"arm"`
	Reason string `json:"reason"`
}

// Payload names the documents that a run sent.
type Payload struct {
	// Name is the name of the file, or of the files, with commas between.
	Name string `json:"name"`
	// Bytes and SHA256 are of the text, or of all texts together.
	Bytes  int    `json:"bytes"`
	SHA256 string `json:"sha256"`
	// Typed is set if the documents travelled as values of a type that was inferred
	// from them, not as documents of any shape.
	Typed bool `json:"typed,omitempty"`
	// Wrapped is set if each was a member of an object then, being none itself.
	Wrapped bool `json:"wrapped,omitempty"`
	// Untyped are the places without a type.
	Untyped []Untyped `json:"untyped,omitempty"`
}

// Untyped is a place in the documents that stayed one.
type Untyped struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// Kind says what an arm is for.
type Kind string

// The kinds of arms.
const (
	// Wire is one of ours, by target.
	Wire Kind = "wire"
	// Reference is an implementation that is not ours, beside the wire that it
	// speaks: it tells what is the wire's from what is the implementation's.
	Reference Kind = "reference"
	// Ping is a bare socket that echoes bytes: the floor.
	Ping Kind = "ping"
)

// An Arm is one combination under measurement.
type Arm struct {
	// Name is unique in the plan; it is what tables show.
	Name string `json:"name"`
	Kind Kind   `json:"kind"`
	// Target is a wire arm's target without its host: "grpc?codec=json". For a
	// reference it names the implementation: "net/http", "grpc-go", "jrpc2".
	Target string `json:"target"`
	// Beside is the wire arm that a reference stands beside.
	Beside string `json:"beside,omitempty"`
	// Again is set on the second run of the baseline, whose ratio to the first
	// is the noise floor.
	Again bool `json:"again,omitempty"`
	// Cluster is what relay's first service calls, nil for one server that it calls
	// directly.
	Cluster *Cluster `json:"cluster,omitempty"`
}

// A Cluster is several servers of the same, and what spreads calls over them.
type Cluster struct {
	Replicas int `json:"replicas"`
	// Balancer is [Nginx] or [RoundRobin].
	Balancer string `json:"balancer"`
	// KeepAlive is how many idle connections NGINX keeps to the replicas; 0: it
	// opens one for each call, of HTTP/1.0.
	KeepAlive int `json:"keep_alive,omitempty"`
	// TLS is set if both NGINX and the replicas have it.
	TLS bool `json:"tls,omitempty"`
}

// The balancers.
const (
	Nginx = "nginx"
	// RoundRobin is the caller's own.
	RoundRobin = "round_robin"
)

// Loopback is the name of the machine's own network, which is not emulated.
const Loopback = "loopback"

// Networks are the links of the plan, at least one.
func (p *Plan) Networks() []string {
	if len(p.Links) == 0 {
		return []string{Loopback}
	}
	return p.Links
}

// Turns is how many times a block starts an arm: each once over each link.
func (p *Plan) Turns() int { return len(p.Arms) * len(p.Networks()) }

// Turn returns the arm and the link of a turn, which counts from 0.
func (p *Plan) Turn(i int) (arm Arm, link string) {
	return p.Arms[i%len(p.Arms)], p.Networks()[i/len(p.Arms)]
}

// Order returns the order in which the turns of a block run: a permutation
// that depends on the seed and the block only.
func (p *Plan) Order(block int) []int {
	return rand.New(rand.NewPCG(p.Seed, uint64(block))).Perm(p.Turns())
}

// Arm returns the arm with the given name, or nil.
func (p *Plan) Arm(name string) *Arm {
	if i := slices.IndexFunc(p.Arms, func(a Arm) bool { return a.Name == name }); i >= 0 {
		return &p.Arms[i]
	}
	return nil
}

// Duration is about how long the run takes; perTrial is what starting a server
// and a generator costs.
func (p *Plan) Duration(perTrial time.Duration) time.Duration {
	load := (p.Warmup + p.Measure) * time.Duration(len(p.Callers))
	return time.Duration(p.Blocks*p.Turns()) * (load + perTrial)
}

// Check reports what is wrong with a plan.
func (p *Plan) Check() error {
	if err := p.Shape.Check(); err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, a := range p.Arms {
		if seen[a.Name] {
			return fmt.Errorf("plan: two arms are named %q", a.Name)
		}
		seen[a.Name] = true
	}
	links := map[string]bool{}
	for _, l := range p.Links {
		if links[l] || l == "" {
			return fmt.Errorf("plan: the link %q is there twice, or has no name", l)
		}
		links[l] = true
	}
	switch {
	case len(p.Arms) == 0:
		return fmt.Errorf("plan: no arms")
	case !seen[p.Baseline]:
		return fmt.Errorf("plan: the baseline %q is not among the arms", p.Baseline)
	case p.Blocks < 1:
		return fmt.Errorf("plan: %d blocks; at least 1 is needed", p.Blocks)
	case len(p.Callers) == 0 || slices.Min(p.Callers) < 1:
		return fmt.Errorf("plan: the numbers of callers are %v; each must be at least 1", p.Callers)
	case p.Measure <= 0:
		return fmt.Errorf("plan: the measured time is %v", p.Measure)
	}
	return nil
}
