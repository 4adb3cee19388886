package jtl

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/everywire/everywire/lab/load"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var config = Config{
	Start: time.UnixMilli(1_796_000_000_250), Label: "arith.Arith/Sum", URL: "http://localhost:8080/v1/sum?a=1,b=2", Callers: 8,
}

// written are the lines of some samples.
func written(t *testing.T, samples ...load.Sample) [][]string {
	t.Helper()
	var b bytes.Buffer
	j := New(&b, config)
	for _, s := range samples {
		j.Sample(s)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(b.Bytes(), []byte("\n")); n != len(samples)+1 {
		t.Errorf("%d lines for %d samples", n, len(samples))
	}
	lines, err := csv.NewReader(&b).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

func TestRows(t *testing.T) {
	const ms = time.Millisecond
	got := written(t,
		load.Sample{Caller: 2, Scheduled: 1000 * ms, Begin: 1000 * ms, End: 1354*ms + 400*time.Microsecond, Out: 133, In: 2781},
		load.Sample{Op: "say \"a,b\"", Caller: 0, Scheduled: 10 * ms, Begin: 30 * ms, End: 31*ms + 500*time.Microsecond, Out: -1, In: -1},
		load.Sample{Op: "verify", Caller: 1, Scheduled: 0, Begin: 0, End: 2 * ms, Out: 1, In: 0, Err: "UNAVAILABLE", Text: "connection refused,\r\n\"now\""},
		load.Sample{Op: "verify", Caller: 7, Scheduled: 0, Begin: 0, End: 2 * ms, Out: 1, In: 5, Err: load.WrongReply, Text: "wrong reply: 1 + 1 gave 3"},
		load.Sample{Caller: 7, Scheduled: 5 * ms, Begin: 105 * ms, End: 105 * ms, Out: -1, In: -1, Dropped: true},
		load.Sample{Caller: 6, Scheduled: 5 * ms, Begin: 5 * ms, End: 20_005 * ms, Out: 9, In: 9, Censored: true},
	)
	slices.SortFunc(got[1:], func(a, b []string) int { return strings.Compare(a[0]+a[5]+a[3], b[0]+b[5]+b[3]) })
	url := config.URL
	want := [][]string{
		Columns,
		{"1796000000250", "2", "verify", "UNAVAILABLE", `connection refused,  "now"`, "everywire 1-2", "", "false", `connection refused,  "now"`, "0", "1", "8", "8", url, "0", "0", "0"},
		{"1796000000250", "2", "verify", "OK", "OK", "everywire 1-8", "", "false", "wrong reply: 1 + 1 gave 3", "5", "1", "8", "8", url, "0", "0", "0"},
		{"1796000000255", "20000", "arith.Arith/Sum", "OK", "OK", "everywire 1-7", "", "true", "", "9", "9", "8", "8", url, "0", "0", "0"},
		{"1796000000255", "0", "arith.Arith/Sum", "DROPPED", "no caller was free in time, so it was not sent", "everywire 1-8", "", "false", "no caller was free in time, so it was not sent", "0", "0", "8", "8", url, "0", "100", "0"},
		{"1796000000260", "2", `say "a,b"`, "OK", "OK", "everywire 1-1", "", "true", "", "0", "0", "8", "8", url, "0", "20", "0"},
		{"1796000001250", "354", "arith.Arith/Sum", "OK", "OK", "everywire 1-3", "", "true", "", "2781", "133", "8", "8", url, "0", "0", "0"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Whatever texts there are, the file is read back with them, a line for each call.
func TestReadBack(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		op, text := rapid.String().Draw(rt, "op"), rapid.String().Draw(rt, "text")
		var b bytes.Buffer
		j := New(&b, config)
		j.Sample(load.Sample{Op: op, Err: "INTERNAL", Text: text})
		if err := j.Close(); err != nil {
			rt.Fatal(err)
		}
		lines, err := csv.NewReader(bytes.NewReader(b.Bytes())).ReadAll()
		if err != nil || len(lines) != 2 || bytes.Count(b.Bytes(), []byte("\n")) != 2 {
			rt.Fatalf("%q: %v", b.String(), err)
		}
		if op == "" {
			op = config.Label
		}
		if lines[1][2] != line(op) || lines[1][4] != line(text) || lines[1][8] != line(text) {
			rt.Fatalf("got %q", lines[1])
		}
	})
}

// Nothing is lost with many callers, nor with a slow disk, for which they wait.
func TestManyCallers(t *testing.T) {
	const callers, each = 20, 3000 // more than the queue holds
	slow := &slowDisk{begin: make(chan struct{})}
	c := config
	c.Callers = callers
	j := New(slow, c)
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			for n := range each {
				j.Sample(load.Sample{Caller: i, Op: strconv.Itoa(n), Out: 1, In: 1})
			}
		})
	}
	// The queue is full when somebody waits for it. Then the disk begins to work.
	for len(j.queue) < queued {
		time.Sleep(time.Millisecond)
	}
	close(slow.begin)
	wg.Wait()
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(&slow.got).ReadAll()
	if err != nil || len(lines) != callers*each+1 {
		t.Fatalf("%d lines, want %d; %v", len(lines), callers*each+1, err)
	}
	next := map[string]int{}
	for _, l := range lines[1:] {
		if l[2] != strconv.Itoa(next[l[5]]) {
			t.Fatalf("%s: call %s follows %d others", l[5], l[2], next[l[5]])
		}
		next[l[5]]++
	}
}

// slowDisk takes nothing before it may begin.
type slowDisk struct {
	begin chan struct{}
	got   bytes.Buffer
}

func (d *slowDisk) Write(p []byte) (int, error) {
	<-d.begin
	return d.got.Write(p)
}

// A caller that waits for the disk is told of.
func TestWaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := &slowDisk{begin: make(chan struct{})}
		c := config
		c.Callers = 1
		j := New(slow, c)
		var wg sync.WaitGroup
		wg.Go(func() {
			for range (queued + 4) * batchSize {
				j.Sample(load.Sample{})
			}
		})
		time.Sleep(3 * time.Second)
		close(slow.begin)
		wg.Wait()
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		if w := j.Waited(); w != 3*time.Second {
			t.Errorf("waited %v, want 3s", w)
		}
	})
}

// What a slow load has done can be seen soon.
func TestFlushes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		j := New(&b, config)
		j.Sample(load.Sample{})
		time.Sleep(every + time.Millisecond)
		synctest.Wait()
		if n := bytes.Count(b.Bytes(), []byte("\n")); n != 2 {
			t.Errorf("%d lines after a second, want 2", n)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

var errFull = errors.New("no space left on device")

// fullDisk takes so many bytes.
type fullDisk struct{ room int }

func (d *fullDisk) Write(p []byte) (int, error) {
	if len(p) > d.room {
		n := d.room
		d.room = 0
		return n, errFull
	}
	d.room -= len(p)
	return len(p), nil
}

// A full disk stops nobody, and is told at the end.
func TestFullDisk(t *testing.T) {
	for _, room := range []int{0, 200_000} {
		j := New(&fullDisk{room}, config)
		for range 100_000 {
			j.Sample(load.Sample{})
		}
		err := j.Close()
		if !errors.Is(err, errFull) || !strings.HasPrefix(err.Error(), "jtl: after about ") || !strings.Contains(err.Error(), " lines, the rest is missing: no space left") {
			t.Errorf("room for %d: %v", room, err)
		}
	}
}

func BenchmarkSample(b *testing.B) {
	j := New(io.Discard, config)
	b.ReportAllocs()
	for b.Loop() {
		j.Sample(load.Sample{End: time.Millisecond, Out: 100, In: 100})
	}
	if err := j.Close(); err != nil {
		b.Fatal(err)
	}
}
