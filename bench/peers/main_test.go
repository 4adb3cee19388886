package main

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/everywire/everywire/bench/peers/peer"
)

// The test's own program is its children.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == childFlag {
		main()
		return
	}
	os.Exit(m.Run())
}

func TestParse(t *testing.T) {
	s, err := parse(nil, io.Discard, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.plan.Peers) != len(peer.All()) || len(s.plan.Loads) != 12 || s.plan.Rounds < 8 || !s.plan.Pin {
		t.Errorf("the default is %+v", s.plan)
	}
	if longest := time.Duration(len(s.plan.Peers)*len(s.plan.Loads)*s.plan.Rounds) * (s.plan.Window + warmUp); longest > 15*time.Minute {
		t.Errorf("the default takes %v", longest)
	}
	s, err = parse([]string{"--quick", "--peers", "arpc,raw,arpc", "--sizes", "0,2K", "--callers", "8x2,3"}, io.Discard, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	want := []load{{8, 2, 0}, {3, 1, 0}, {8, 2, 2048}, {3, 1, 2048}}
	if strings.Join(s.plan.Peers, " ") != "arpc raw" || len(s.plan.Loads) != 4 || s.plan.Rounds != 3 || s.plan.Window != 200*time.Millisecond {
		t.Errorf("the plan is %+v", s.plan)
	}
	for i := range want {
		if s.plan.Loads[i] != want[i] {
			t.Errorf("load %d is %v", i, s.plan.Loads[i])
		}
	}
	if s, err := parse([]string{"-quick", "-rounds", "5"}, io.Discard, io.Discard); err != nil || s.plan.Rounds != 5 || len(s.plan.Loads) != 4 {
		t.Errorf("quick with five rounds is %+v: %v", s, err)
	}
}

// Each mistake is told with what was wrong, and the status is that of usage.
func TestUsageErrors(t *testing.T) {
	for _, tc := range []struct{ args, want string }{
		{"-peers grpc-java", `no peer "grpc-java"`},
		{"-peers raw,", `no peer ""`},
		{"-sizes 1M", `"1M" is not a size`},
		{"-sizes 4096K", `"4096K" is not a size`},
		{"-sizes -1", `"-1" is not a size`},
		{"-callers 0", `"0" is not a number of callers`},
		{"-callers 2x3", `"2x3" is not a number of callers`},
		{"-callers 8x", `"8x" is not a number of callers`},
		{"-rounds 0", "0 rounds"},
		{"-window 1ms", "a window of 1ms"},
		{"-idle-connections 0", "0 idle connections"},
		{"-experiment none", `no experiment "none"`},
		{"-experiment idle -peers raw", "experiments are for jsonrpc+tcp and msgpackrpc+tcp"},
		{"raw", `"raw" is no flag`},
		{"-nonsense", "nonsense"},
	} {
		var out, errs bytes.Buffer
		if status := command(t.Context(), strings.Fields(tc.args), &out, &errs); status != exitUsage || !strings.Contains(errs.String(), tc.want) {
			t.Errorf("%s: status %d, %s", tc.args, status, errs.String())
		}
		if out.Len() > 0 {
			t.Errorf("%s: printed %s", tc.args, out.String())
		}
	}
}

func TestHelp(t *testing.T) {
	for _, flag := range []string{"-h", "--help"} {
		var out, errs bytes.Buffer
		if status := command(t.Context(), []string{flag}, &out, &errs); status != 0 || errs.Len() > 0 {
			t.Errorf("status %d: %s", status, errs.String())
		}
		for _, e := range experiments {
			if !strings.Contains(out.String(), e.about) {
				t.Errorf("%s is not explained", e.name)
			}
		}
		fits(t, out.String())
	}
}

func TestList(t *testing.T) {
	var out bytes.Buffer
	if status := command(t.Context(), []string{"-list"}, &out, io.Discard); status != 0 {
		t.Error("status", status)
	}
	for _, p := range peer.All() {
		if !strings.Contains(out.String(), p.Name) {
			t.Errorf("%s is not listed", p.Name)
		}
	}
	fits(t, out.String())
}

func fits(t *testing.T, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

// Every peer is measured, by real processes, with callers that share
// connections and with callers that do not.
func TestEveryPeer(t *testing.T) {
	var out, errs bytes.Buffer
	status := command(t.Context(), strings.Fields("-sizes 64,64K -callers 1,6x2 -rounds 1 -window 10ms -json"), &out, &errs)
	if status != 0 {
		t.Fatalf("status %d: %s", status, errs.String())
	}
	var res struct{ result }
	if err := json.Unmarshal(out.Bytes(), &res); err != nil {
		t.Fatal(err)
	}
	if want := 4 * len(peer.All()); len(res.Cells) != want {
		t.Fatalf("%d cells, not %d", len(res.Cells), want)
	}
	for _, c := range res.Cells {
		s := c.Samples[0]
		if s.Calls < 1 || s.Took < 10*time.Millisecond || s.ClientCPU <= 0 || s.ServerCPU <= 0 {
			t.Errorf("%s, %v: %+v", c.Peer, c.Load, s)
		}
	}
	var text bytes.Buffer
	writeText(&text, &res.result)
	fits(t, text.String())
}

// Each experiment comes to figures, whatever they are.
func TestExperiments(t *testing.T) {
	for _, e := range experiments {
		wires := []string{jsonrpcName, msgpackrpcName}
		if e.grpc {
			wires = []string{grpcName}
		}
		for _, name := range wires {
			t.Run(e.name+"/"+name, func(t *testing.T) {
				b := &bench{
					wire: name, rounds: 2, window: 20 * time.Millisecond, cores: pick(true), pin: true,
					idleConns: 50, slowSize: 16 << 10, progress: io.Discard, table: io.Discard,
				}
				found, err := e.run(t.Context(), b)
				if err != nil || len(found) == 0 {
					t.Fatalf("found %v: %v", found, err)
				}
				for _, f := range found {
					if math.IsNaN(f.Figure) || f.What == "" || f.Goal == "" || f.Verdict == "" {
						t.Errorf("found %+v", f)
					}
				}
				var out bytes.Buffer
				writeFindings(&out, found)
				fits(t, out.String())
			})
		}
	}
}
