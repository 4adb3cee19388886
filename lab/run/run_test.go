package run

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire/lab/load"
	"github.com/everywire/everywire/lab/plan"
	"github.com/everywire/everywire/lab/record"
	"github.com/everywire/everywire/lab/ref"
	"github.com/everywire/everywire/lab/work"
)

// pidsEnv names a folder where every child of the test program leaves a file
// named by its process id.
const pidsEnv = "EVERYWIRE_TEST_PIDS"

// The test program is also both children and a coordinator.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && strings.HasPrefix(os.Args[1], "test-") {
		if err := child(os.Args[1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	// Children of a test with -race would sleep for a second before they end.
	os.Setenv("GORACE", "atexit_sleep_ms=0")
	goleak.VerifyTestMain(m)
}

func child(name string) error {
	if dir := os.Getenv(pidsEnv); dir != "" && name != "test-coordinator" {
		if err := os.WriteFile(filepath.Join(dir, strconv.Itoa(os.Getpid())), nil, 0o600); err != nil {
			return err
		}
	}
	switch name {
	case "test-server":
		return Server(os.Stdin, os.Stdout, testFabric, "")
	case "test-generator":
		return Generator(os.Stdin, os.Stdout, testFabric)
	case "test-coordinator":
		p := testPlan(wire("steady"), wire("steady2"))
		p.Measure = time.Hour
		_, err := Run(context.Background(), p, config(&trials{}))
		return err
	}
	return fmt.Errorf("unknown child %q", name)
}

// testFabric serves arms whose target says how they misbehave.
var testFabric = Fabric{
	Serve: func(ctx context.Context, arm plan.Arm, w *work.Work, at ref.Place) (Endpoint, func(context.Context) error, error) {
		switch arm.Target {
		case "refuses":
			return Endpoint{}, nil, errors.New("nothing to serve here")
		case "prints":
			_, _ = os.Stdout.WriteString("hello\n")
		case "panics":
			panic("cannot serve")
		}
		if arm.Target == "dies" {
			return dieWhenCalled()
		}
		addr, stop, err := ref.Serve(ctx, ref.NetHTTP, at, refOptions(w))
		return At(addr), stop, err
	},
	Dial: func(ctx context.Context, arm plan.Arm, w *work.Work, to Endpoint, dial ref.Dialer) (ref.Conn, error) {
		if arm.Target == "no-dial" {
			return nil, errors.New("nothing to dial")
		}
		conn, err := ref.Dial(ctx, ref.NetHTTP, to.Addrs[0], dial, refOptions(w))
		return misbehaved{Conn: conn, how: arm.Target}, err
	},
}

// dieWhenCalled listens in place of a server and ends the process with the
// first byte that comes.
func dieWhenCalled() (Endpoint, func(context.Context) error, error) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return Endpoint{}, nil, err
	}
	go func() {
		nc, err := lis.Accept()
		if err != nil {
			return
		}
		_, _ = nc.Read(make([]byte, 1))
		os.Exit(9)
	}()
	return At(lis.Addr().String()), func(context.Context) error { return lis.Close() }, nil
}

type misbehaved struct {
	ref.Conn
	how string
}

func (c misbehaved) Invoke(ctx context.Context, path string, in, out any, opts ...grpc.CallOption) error {
	switch c.how {
	case "wrong":
		return nil
	case "fails":
		return status.Error(codes.PermissionDenied, "not for you")
	case "slow":
		<-ctx.Done()
		return ctx.Err()
	case "generator-dies":
		os.Exit(8)
	}
	return c.Conn.Invoke(ctx, path, in, out, opts...)
}

func wire(target string) plan.Arm {
	return plan.Arm{Name: target, Kind: plan.Wire, Target: target}
}

func testPlan(arms ...plan.Arm) *plan.Plan {
	return &plan.Plan{
		Service: "arith", Arms: arms, Baseline: arms[0].Name,
		Callers: []int{1, 4}, Blocks: 2,
		Warmup: 10 * time.Millisecond, Measure: 100 * time.Millisecond, Seed: 7,
	}
}

// trials keeps the last trial of each block, arm and load: one from which CPU
// time was stolen is made again.
type trials []record.Trial

func (t *trials) Trial(trial record.Trial) error {
	if n := len(*t); n > 0 {
		last := &(*t)[n-1]
		if last.Void == stolenReason && last.Block == trial.Block && last.Arm == trial.Arm && last.Link == trial.Link && last.Callers == trial.Callers {
			*last = trial
			return nil
		}
	}
	*t = append(*t, trial)
	return nil
}

func config(s Sink) Config {
	return Config{Exe: os.Args[0], ServerArgs: []string{"test-server"}, GeneratorArgs: []string{"test-generator"}, Sink: s}
}

// run runs a whole plan and checks that no process is left.
func run(t *testing.T, p *plan.Plan, c Config) []record.Trial {
	t.Helper()
	pids := t.TempDir()
	t.Setenv(pidsEnv, pids)
	var got trials
	c.Sink = &got
	partial, err := Run(t.Context(), p, c)
	if err != nil || partial != "" {
		t.Fatalf("partial %q, error %v", partial, err)
	}
	noneLeft(t, pids)
	if want := p.Blocks * p.Turns() * len(p.Callers); len(got) != want {
		t.Fatalf("%d trials, want %d", len(got), want)
	}
	return got
}

// good reports what is wrong with a trial that should count. That CPU time was
// stolen, or was not there at all, is not the program's fault.
func good(t record.Trial) string {
	switch {
	case starved(t):
		return ""
	case t.Void != "" && !strings.Contains(t.Void, "stolen"):
		return "void: " + t.Void
	case t.Calls == 0 || t.Latency.Count() != t.Calls || t.Errors != nil || t.Censored > int64(t.Callers):
		return fmt.Sprintf("counts: %d calls, %d latencies, errors %v, %d censored", t.Calls, t.Latency.Count(), t.Errors, t.Censored)
	case t.Seconds < 0.1 || t.Started.IsZero() || t.ServerCPU <= 0 || t.ClientCPU <= 0:
		return fmt.Sprintf("times: %v s from %v, CPU %v and %v", t.Seconds, t.Started, t.ServerCPU, t.ClientCPU)
	case t.Net == nil || t.Net.PayloadOut < t.Calls || t.Net.PayloadIn < t.Calls:
		return fmt.Sprintf("net: %+v", t.Net)
	}
	return ""
}

func starved(t record.Trial) bool { return strings.Contains(t.Void, "no call ended") }

func TestReferenceArms(t *testing.T) {
	var arms []plan.Arm
	for _, name := range ref.Names() {
		arms = append(arms, plan.Arm{Name: name, Kind: plan.Reference, Target: name})
	}
	arms = append(arms[:len(arms)-1], plan.Arm{Name: "floor", Kind: plan.Ping})
	p := testPlan(arms...)
	var progress []Progress
	c := config(nil)
	c.Progress = func(pr Progress) { progress = append(progress, pr) }
	got := run(t, p, c)
	measured := map[string]bool{}
	for i, trial := range got {
		if wrong := good(trial); wrong != "" {
			t.Errorf("%s, %d callers: %s", trial.Arm, trial.Callers, wrong)
		}
		measured[trial.Arm] = measured[trial.Arm] || !starved(trial)
		block, place := i/(2*len(arms)), i/2%len(arms)
		want := p.Arms[p.Order(block)[place]].Name
		if trial.Block != block || trial.Arm != want || trial.Callers != p.Callers[i%2] {
			t.Errorf("trial %d is of block %d, %s, %d callers; want block %d, %s", i, trial.Block, trial.Arm, trial.Callers, block, want)
		}
		if trial.Arm == "floor" && !starved(trial) && (trial.Net.PayloadOut%64 != 0 || trial.Net.PayloadIn != trial.Net.PayloadOut) {
			t.Errorf("ping: %+v", trial.Net)
		}
	}
	for _, arm := range p.Arms {
		if !measured[arm.Name] {
			t.Errorf("%s: no call ended in any trial", arm.Name)
		}
	}
	// One before each trial, those made again too, and one at the end.
	if len(progress) < len(got)+1 || progress[0].Left != p.Duration(perTrial) {
		t.Fatalf("%d reports, the first %+v", len(progress), progress[0])
	}
	last := progress[len(progress)-1]
	if last.Done != len(got) || last.Total != len(got) || last.Left != 0 || last.Elapsed <= 0 {
		t.Errorf("last report %+v", last)
	}
}

// The bytes of a call are exact: they do not depend on how many calls there are.
func TestBytesPerCall(t *testing.T) {
	p := testPlan(plan.Arm{Name: "grpc-go", Kind: plan.Reference, Target: ref.GRPCGo}, plan.Arm{Name: "floor", Kind: plan.Ping})
	for _, trial := range run(t, p, config(nil)) {
		if trial.Arm == "floor" && trial.Net.PayloadOut != 64*(trial.Calls+trial.Censored) {
			t.Errorf("%d bytes for %d calls and %d censored", trial.Net.PayloadOut, trial.Calls, trial.Censored)
		}
		if trial.Net.Conns != 0 {
			t.Errorf("%s: %d connections were opened after the warm-up", trial.Arm, trial.Net.Conns)
		}
	}
}

// Every reference runs over an emulated link, and the record says what the link
// did.
func TestEmulatedLink(t *testing.T) {
	var arms []plan.Arm
	for _, name := range ref.Names() {
		arms = append(arms, plan.Arm{Name: name, Kind: plan.Reference, Target: name})
	}
	arms[len(arms)-1].Kind = plan.Ping
	p := testPlan(append(arms, wire("steady"))...)
	const spec = "rtt=2ms"
	p.Links, p.Blocks, p.Callers = []string{spec, plan.Loopback}, 1, []int{2}
	for _, trial := range run(t, p, config(nil)) {
		if wrong := good(trial); wrong != "" {
			t.Errorf("%s over %s: %s", trial.Arm, trial.Network(), wrong)
			continue
		}
		e := trial.Emulated
		if trial.Link == "" {
			if e != nil {
				t.Errorf("%s over loopback has an emulated link: %+v", trial.Arm, e)
			}
			continue
		}
		if trial.Link != spec || e == nil || e.Asked != 2e6 || e.RTT < e.Asked || trial.Latency.Percentile(0) < 2e6*99/100 {
			t.Errorf("%s: the link %q with %+v, the quickest call %d ns", trial.Arm, trial.Link, e, trial.Latency.Percentile(0))
			continue
		}
		// Both directions have a packet for each call at least.
		if calls := trial.Ended(); trial.Net.PacketsOut < calls || trial.Net.PacketsIn < calls || trial.Net.WireOut < trial.Net.PayloadOut {
			t.Errorf("%s: %d calls, %+v", trial.Arm, calls, trial.Net)
		}
	}
}

func TestEchoPayload(t *testing.T) {
	p := testPlan(plan.Arm{Name: "jrpc2", Kind: plan.Reference, Target: ref.JRPC2})
	p.Service = "echo"
	c := config(nil)
	c.Payload = []byte(`[{"a":[1,2.5,"x",null]}]`)
	for _, trial := range run(t, p, c) {
		if wrong := good(trial); wrong != "" {
			t.Error(wrong)
		}
	}
}

func TestFaults(t *testing.T) {
	for _, tc := range []struct {
		arm    string
		warmup time.Duration // without one the fault comes in the measured time
		void   string
	}{
		{"dies", time.Second, "the server died: exit status 9"},
		{"dies", 0, "the server died: exit status 9"},
		{"refuses", 0, "the server did not start: nothing to serve here"},
		{"panics", 0, "the server did not start: died: exit status 2: panic: cannot serve"},
		{"prints", 0, `the server did not start: said "hello", which is no reply to serve`},
		{"no-dial", 0, "the generator: open: nothing to dial"},
		{"generator-dies", time.Second, "the generator: open: died: exit status 8"},
		{"generator-dies", 0, "the generator: measure: died: exit status 8"},
	} {
		t.Run(fmt.Sprint(tc.arm, tc.warmup), func(t *testing.T) {
			p := testPlan(wire("steady"), wire(tc.arm))
			p.Warmup = tc.warmup
			p.Blocks = 1
			for _, trial := range run(t, p, config(nil)) {
				if trial.Arm == tc.arm {
					if trial.Void != tc.void {
						t.Errorf("%d callers: void %q, want %q", trial.Callers, trial.Void, tc.void)
					}
				} else if wrong := good(trial); wrong != "" {
					t.Errorf("the arm beside it: %s", wrong)
				}
			}
		})
	}
}

// Wrong and failed calls are a result, not a fault of the trial.
func TestErrorsAreRecorded(t *testing.T) {
	p := testPlan(wire("wrong"), wire("fails"))
	for _, trial := range run(t, p, config(nil)) {
		kind, text := "wrong reply", "wrong reply: "
		if trial.Arm == "fails" {
			kind, text = "PERMISSION_DENIED", "not for you"
		}
		if trial.Calls != 0 || trial.Errors[kind] == 0 || !strings.Contains(trial.FirstError, text) {
			t.Errorf("%s: %d calls, errors %v, first %q", trial.Arm, trial.Calls, trial.Errors, trial.FirstError)
		}
	}
}

func TestProgramThatDoesNotStart(t *testing.T) {
	c := config(nil)
	c.Exe = filepath.Join(t.TempDir(), "missing")
	for _, trial := range run(t, testPlan(wire("steady")), c) {
		if !strings.HasPrefix(trial.Void, "the generator did not start: ") {
			t.Errorf("void %q", trial.Void)
		}
	}
}

// cancelSink ends the run when it gets its n-th trial.
type cancelSink struct {
	trials
	n      int
	cancel context.CancelCauseFunc
}

func (s *cancelSink) Trial(trial record.Trial) error {
	if err := s.trials.Trial(trial); err != nil {
		return err
	}
	if len(s.trials) == s.n {
		s.cancel(errors.New("interrupted"))
	}
	return nil
}

func TestInterruptedBetweenTrials(t *testing.T) {
	pids := t.TempDir()
	t.Setenv(pidsEnv, pids)
	ctx, cancel := context.WithCancelCause(t.Context())
	s := &cancelSink{n: 3, cancel: cancel}
	partial, err := Run(ctx, testPlan(wire("steady"), wire("steady2")), config(s))
	done := 3
	if s.trials[2].Void == stolenReason { // it would have been made again
		done = 2
	}
	if err != nil || partial != fmt.Sprintf("stopped after %d of 8 trials: interrupted", done) || len(s.trials) != 3 {
		t.Errorf("partial %q, error %v, %d trials", partial, err, len(s.trials))
	}
	noneLeft(t, pids)
}

func TestInterruptedMidTrial(t *testing.T) {
	for _, how := range []string{"steady", "slow"} {
		pids := t.TempDir()
		t.Setenv(pidsEnv, pids)
		ctx, cancel := context.WithCancelCause(t.Context())
		p := testPlan(wire(how))
		p.Measure = time.Hour
		if how == "slow" {
			p.Warmup = time.Hour
		}
		go func() {
			waitForPIDs(pids, 2)
			cancel(errors.New("interrupted"))
		}()
		var got trials
		partial, err := Run(ctx, p, config(&got))
		if err != nil || partial != "stopped after 0 of 4 trials: interrupted" || len(got) != 0 {
			t.Errorf("%s: partial %q, error %v, %d trials", how, partial, err, len(got))
		}
		noneLeft(t, pids)
	}
}

func TestSinkFails(t *testing.T) {
	pids := t.TempDir()
	t.Setenv(pidsEnv, pids)
	full := errors.New("disk full")
	if _, err := Run(t.Context(), testPlan(wire("steady")), config(sinkFunc(func(record.Trial) error { return full }))); !errors.Is(err, full) {
		t.Errorf("error %v", err)
	}
	noneLeft(t, pids)
}

type sinkFunc func(record.Trial) error

func (f sinkFunc) Trial(t record.Trial) error { return f(t) }

// The reason for a hanging end reads as one sentence after "the server" and
// as a phrase after a colon.
func TestBoundedSaysWhat(t *testing.T) {
	ctx, cancel := bounded(t.Context(), time.Millisecond)
	defer cancel()
	<-ctx.Done()
	if got, want := fmt.Sprintf("the server %v", context.Cause(ctx)), "the server gave no answer within 1ms"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestBadPlans(t *testing.T) {
	for _, tc := range []struct {
		change func(*plan.Plan)
		want   string
	}{
		{func(p *plan.Plan) { p.Blocks = 0 }, "0 blocks"},
		{func(p *plan.Plan) { p.Links = []string{plan.Loopback, "rtt=4"} }, `link "rtt=4": rtt=4 is no duration`},
		{func(p *plan.Plan) { p.Service = "echo" }, "echo needs a payload"},
		{func(p *plan.Plan) { p.Service = "payroll" }, `echo, hello, kv, relay, not "payroll"`},
		{func(p *plan.Plan) { p.Service = "relay" }, "relay needs a shape for the calls of its first service"},
		{func(p *plan.Plan) { p.Arms[0].Kind = "x" }, `arm "a" is of unknown kind "x"`},
		{func(p *plan.Plan) { p.Arms[0].Kind = plan.Reference }, `arm "a": unknown reference implementation "a"`},
	} {
		p := testPlan(wire("a"))
		tc.change(p)
		if _, err := Run(t.Context(), p, config(nil)); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("error %v, want %s", err, tc.want)
		}
	}
}

func TestLongCallsAreMeasuredForLonger(t *testing.T) {
	result := func(calls int, each time.Duration, errs map[string]int64) *load.Result {
		r := &load.Result{Errors: errs}
		for range calls {
			r.Latency.Record(int64(each))
		}
		return r
	}
	const measure = 300 * time.Millisecond
	for _, tc := range []struct {
		name string
		warm *load.Result
		took time.Duration
		want time.Duration
	}{
		{"short calls", result(100, time.Millisecond, nil), time.Second, measure},
		{"long calls", result(10, 100*time.Millisecond, nil), time.Second, 800 * time.Millisecond},
		{"very long calls", result(10, time.Minute, nil), time.Hour, maxStretched},
		{"no call in time", result(0, 0, nil), 50 * time.Millisecond, 400 * time.Millisecond},
		{"some callers only", result(3, time.Millisecond, nil), 50 * time.Millisecond, 400 * time.Millisecond},
		{"failing calls", result(0, 0, map[string]int64{"UNKNOWN": 1}), time.Second, measure},
	} {
		got := windowFor(measure, false, 4, tc.warm, tc.took)
		if d := got - tc.want; d < -tc.want/100 || d > tc.want/100 { // the histogram's resolution
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
	}
	for _, tc := range []struct{ call, want time.Duration }{
		{time.Millisecond, measure},
		{142 * time.Millisecond, 12 * 142 * time.Millisecond},
		{time.Second, 6 * time.Second},
	} {
		if got := windowFor(measure, true, 4, result(10, tc.call, nil), time.Second); got.Round(10*time.Millisecond) != tc.want.Round(10*time.Millisecond) {
			t.Errorf("over a link with calls of %v: %v, want %v", tc.call, got, tc.want)
		}
	}
	if got := windowFor(time.Minute, false, 4, result(10, time.Second, nil), time.Minute); got != time.Minute {
		t.Errorf("a planned minute became %v", got)
	}
}

func TestVoidRules(t *testing.T) {
	for _, tc := range []struct {
		name  string
		trial record.Trial
		void  string
	}{
		{"nothing", record.Trial{Seconds: 0.3, Censored: 4}, "no call ended within the measured 0.3 s"},
		{"only errors", record.Trial{Errors: map[string]int64{"UNKNOWN": 1}}, ""},
		{"calls", record.Trial{Calls: 1}, ""},
		{"stolen below", record.Trial{Calls: 1, Stolen: 0.05 * cpuSeconds}, ""},
		{"stolen above", record.Trial{Calls: 1, Stolen: 0.06 * cpuSeconds}, "more than 5 % of the machine's CPU time was stolen"},
	} {
		if got := voidBy(&tc.trial, time.Second); got != tc.void {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.void)
		}
	}
}

func TestMachineAndBuild(t *testing.T) {
	m := Machine()
	if m.OS == "" || m.Arch == "" || m.Cores < 1 || (m.ServerCores == "") != (m.ClientCores == "") {
		t.Errorf("%+v", m)
	}
	if b := Build(); b.Go == "" || b.Version == "" {
		t.Errorf("%+v", b)
	}
}

func TestBuildOf(t *testing.T) {
	got := buildOf(&debug.BuildInfo{
		Main:     debug.Module{Path: "github.com/everywire/everywire", Version: "v1.2.3"},
		Deps:     []*debug.Module{{Path: "google.golang.org/grpc", Version: "v1.85.0"}, {Path: "example.org/other", Version: "v1.0.0"}},
		Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.modified", Value: "true"}, {Key: "-race", Value: "true"}},
	})
	want := record.Build{
		Version: "v1.2.3", Commit: "abc", Dirty: true, Go: runtime.Version(),
		Modules: map[string]string{"google.golang.org/grpc": "v1.85.0"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if b := buildOf(&debug.BuildInfo{}); b.Version != "unknown" || b.Commit != "" || b.Dirty {
		t.Errorf("of no information: %+v", b)
	}
}
