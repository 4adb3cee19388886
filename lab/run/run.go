// Package run runs a plan: for each block, for each arm over each link in the
// block's random order, a fresh server process and a fresh generator process on
// separate cores; one trial for each number of callers over fresh connections.
//
// The plan's measured time is for calls that are short beside it. If the
// warm-up shows that a call takes more than an eighth of it, the trial measures
// for the time of eight calls, but for no more than three seconds on that
// account; over an emulated link for twelve calls and six seconds. The record
// has the time that was measured.
//
// A trial whose server or generator does not start, ends, hangs or says
// nonsense is void: it is recorded with the reason, and the run goes on with
// fresh processes. A trial is also void if no call ended in time, and by rules fixed
// beforehand: if a hypervisor took more than [MaxStolen] of the machine's CPU time,
// or if the generator of an open loop was late. Only then it is made again at once.
package run

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/everywire/everywire/lab/load"
	"github.com/everywire/everywire/lab/plan"
	"github.com/everywire/everywire/lab/proc"
	"github.com/everywire/everywire/lab/record"
	"github.com/everywire/everywire/lab/ref"
	"github.com/everywire/everywire/lab/work"
)

// MaxStolen is the share of the machine's CPU time (cores times measured time)
// that may be stolen before a trial is void.
const MaxStolen = 0.05

const (
	// drain is how long calls that are open at the end of a load are waited
	// for before they are cancelled.
	drain = 10 * time.Second
	// stretch and maxStretched are the rule for long calls: a measured time of
	// stretch calls of the warm-up's mean, up to maxStretched.
	stretch      = 8
	maxStretched = 3 * time.Second
	// stretchOnLink is stretch over an emulated link, where a call takes a round
	// trip whatever the arm: in ten blocks one caller has the 100 calls then that
	// a median needs, up to a call of half a second.
	stretchOnLink      = 12
	maxStretchedOnLink = 6 * time.Second
	// startTimeout bounds the start of one end of a trial.
	startTimeout = 15 * time.Second
	// maxAgain is how often a trial is made again because CPU time was stolen from it,
	// its pacer was late, or other processes used the machine. That says nothing of the arm, so the block stays a fair
	// one. A trial that is void for another reason is the arm's own doing and stays so.
	maxAgain = 2
	// maxCalm is how long a trial that others disturbed is put off.
	maxCalm = 10 * time.Second
	// perTrial is about what it costs to start the two ends of an arm; it is
	// used for the first estimate of the time left only.
	perTrial = 60 * time.Millisecond
)

// An Agent is one of another machine, and the token that it wants; see
// [proc.Agent].
type Agent struct{ Addr, Token string }

// A Remote says what the other machine is.
type Remote struct {
	Build   record.Build
	Machine record.Machine
}

// Ask asks an agent what it is. It fails if the agent's program is not the same
// as this one: what is measured would be neither.
func Ask(ctx context.Context, a Agent) (*record.Machine, error) {
	var far Remote
	child, err := proc.Dial(ctx, a.Addr, a.Token, &far)
	if err != nil {
		return nil, err
	}
	child.Stop()
	if here := Build(); here.Version != far.Build.Version || here.Commit != far.Build.Commit || here.Dirty != far.Build.Dirty {
		return nil, fmt.Errorf("everywire %s %s runs there, %s %s here: use the same program on both machines",
			far.Build.Version, far.Build.Commit, here.Version, here.Commit)
	}
	far.Machine.ServerCores, far.Machine.ClientCores = "", ""
	return &far.Machine, nil
}

// A Sink takes the trials as they are made; a [*record.Writer] is one.
type Sink interface {
	Trial(record.Trial) error
}

// Config says how a plan is run.
type Config struct {
	// Exe is the program to start children from, usually os.Executable().
	Exe string
	// ServerArgs and GeneratorArgs are the hidden subcommands that call
	// [Server] and [Generator].
	ServerArgs, GeneratorArgs []string
	// Server, if set, is where another machine's agent starts the servers; the
	// generators stay here, and have all cores.
	Server *Agent
	// Payload is the JSON text of a list of the documents that echo gets.
	Payload []byte
	Sink    Sink
	// Spare makes trials again that other processes disturbed.
	Spare bool
	// Progress, if set, is called before each trial and after the last.
	Progress func(Progress)
}

// Progress is how far a run is.
type Progress struct {
	// Block, Arm, Link and Callers are of the trial that begins; at the end of
	// the run they are of the last one.
	Block     int
	Arm, Link string
	Callers   int
	// Done of Total trials have ended, Void of them without a result.
	Done, Total, Void int
	Elapsed           time.Duration
	// Left is about how long the rest takes.
	Left time.Duration
}

// Run runs the plan. If ctx ends, the trial under way is dropped, its
// processes are ended, and partial says so. An error is of the plan or of the
// sink; what was recorded before it stays. When Run returns, no process that it
// started is left.
func Run(ctx context.Context, p *plan.Plan, c Config) (partial string, err error) {
	if err := check(p, c); err != nil {
		return "", err
	}
	r := &runner{plan: p, config: c, begin: time.Now()}
	r.progress.Total = p.Blocks * p.Turns() * len(p.Callers)
	if c.Server == nil {
		r.serverCores, r.clientCores = proc.Split(proc.Cores())
	}
	for block := range p.Blocks {
		for _, i := range p.Order(block) {
			arm, network := p.Turn(i)
			if err := r.arm(ctx, block, arm, network); err != nil {
				return "", err
			}
			select {
			case <-ctx.Done():
				return fmt.Sprintf("stopped after %d of %d trials: %v", r.progress.Done, r.progress.Total, context.Cause(ctx)), nil
			default:
			}
		}
	}
	r.report()
	return "", nil
}

func check(p *plan.Plan, c Config) error {
	if err := p.Check(); err != nil {
		return err
	}
	switch {
	case !slices.Contains(work.Services(), p.Service):
		return fmt.Errorf("plan: the lab measures %s, not %q", strings.Join(work.Services(), ", "), p.Service)
	case p.Service == "echo" && c.Payload == nil:
		return errors.New("plan: echo needs a payload")
	case twoTiers(p) && p.Front == "":
		return fmt.Errorf("plan: %s needs a shape for the calls of its first service", p.Service)
	}
	if err := checkLinks(p); err != nil {
		return err
	}
	if c.Server != nil {
		if err := checkFar(p); err != nil {
			return err
		}
	}
	for _, a := range p.Arms {
		if a.Kind != plan.Wire && a.Kind != plan.Reference && a.Kind != plan.Ping {
			return fmt.Errorf("plan: arm %q is of unknown kind %q", a.Name, a.Kind)
		}
		if name, ok := reference(a); ok && !ref.Known(name) {
			return fmt.Errorf("plan: arm %q: unknown reference implementation %q; known are %q", a.Name, name, ref.Names())
		}
	}
	return nil
}

// checkFar reports what cannot be measured between two machines.
func checkFar(p *plan.Plan) error {
	if !slices.Equal(p.Networks(), []string{plan.Loopback}) {
		return errors.New("plan: between two machines is a network already: leave out emulated links")
	}
	for _, a := range p.Arms {
		if a.Cluster != nil && a.Cluster.Balancer == plan.Nginx {
			return fmt.Errorf("plan: arm %q: NGINX is started on one machine, with the servers behind it", a.Name)
		}
	}
	return nil
}

type runner struct {
	plan                     *plan.Plan
	config                   Config
	serverCores, clientCores []int
	begin                    time.Time
	progress                 Progress
	spared                   int // trials that were made again because of others
}

// arm runs one arm's trials of a block over one link. It returns early if ctx
// ends; its error is the sink's.
func (r *runner) arm(ctx context.Context, block int, arm plan.Arm, network string) error {
	var e *ends
	defer func() { e.stop() }()
	for i, callers := range r.plan.Callers {
		r.progress.Block, r.progress.Arm, r.progress.Link, r.progress.Callers = block, arm.Name, network, callers
		for again := 0; ; again++ {
			r.report()
			t := record.Trial{Block: block, Arm: arm.Name, Callers: callers, Started: time.Now()}
			if network != plan.Loopback {
				t.Link = network
			}
			var err error
			if e == nil {
				e, err = r.start(ctx, block, arm, network)
			}
			if err == nil {
				err = e.trial(ctx, &t, r.seed(block, i))
			}
			if ctx.Err() != nil {
				return nil
			}
			if err != nil {
				t.Void = err.Error()
				e.stop()
				e = nil
			}
			if t.Void == "" && again < maxAgain && r.spare(e.others) {
				t.Void = othersReason
			}
			if t.Void != "" {
				r.progress.Void++
			}
			if err := r.config.Sink.Trial(t); err != nil {
				return err
			}
			if t.Void != stolenReason && t.Void != othersReason && t.Void != load.LatePacer || again == maxAgain {
				break
			}
			if t.Void == othersReason {
				calm(ctx)
			}
		}
		r.progress.Done++
	}
	return nil
}

// calm waits until other processes leave the machine alone, up to maxCalm; the trial's
// own wait, too.
func calm(ctx context.Context) {
	const look = 250 * time.Millisecond
	for until := time.Now().Add(maxCalm); time.Now().Before(until); {
		before := machineTime()
		select {
		case <-ctx.Done():
			return
		case <-time.After(look):
		}
		if busy := machineTime().busy - before.busy; busy.Seconds() <= record.MaxOthers*look.Seconds()*float64(runtime.NumCPU()) {
			return
		}
	}
}

// spare reports whether a trial is made again because of what other processes had of
// the machine. On one that is always busy it would be for nothing: no more than a
// quarter of the run's trials are, and what is still disturbed then counts, and is told.
func (r *runner) spare(others float64) bool {
	if !r.config.Spare || others <= record.MaxOthers || r.spared >= r.progress.Total/4 {
		return false
	}
	r.spared++
	return true
}

// seed makes requests that differ by block and load but not by arm.
func (r *runner) seed(block, load int) uint64 {
	return r.plan.Seed + uint64(block*len(r.plan.Callers)+load)<<1
}

func (r *runner) report() {
	if r.config.Progress == nil {
		return
	}
	p := &r.progress
	p.Elapsed = time.Since(r.begin)
	if p.Done == 0 {
		p.Left = r.plan.Duration(perTrial)
	} else {
		p.Left = p.Elapsed / time.Duration(p.Done) * time.Duration(p.Total-p.Done)
	}
	r.config.Progress(*p)
}
