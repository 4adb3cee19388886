package threshold

import (
	"strings"
	"testing"
	"time"

	"github.com/everywire/everywire/lab/record"
)

func TestParseErrors(t *testing.T) {
	const known = `known are percentiles such as p50, p99 and p99.9, avg, min, max, stddev, rate, calls, errors, censored, late, dropped, unsent; "intended." before a time takes it from the intended start`
	for text, want := range map[string]string{
		"":                    `threshold "", column 1: a figure is missing; ` + known,
		"  >20ms":             `threshold "  >20ms", column 3: a figure is missing; ` + known,
		"latency>20ms":        `threshold "latency>20ms", column 1: the figure "latency" is not known; ` + known,
		"P99>20ms":            `threshold "P99>20ms", column 1: the figure "P99" is not known; ` + known,
		"p>20ms":              `threshold "p>20ms", column 1: the figure "p" is not known; ` + known,
		"p0>20ms":             `threshold "p0>20ms", column 1: "p0" is no percentile: write p50, p99.9 and the like, between 0 and 100; the ends are min and max`,
		"intended.p100>1s":    `threshold "intended.p100>1s", column 10: "p100" is no percentile: write p50, p99.9 and the like, between 0 and 100; the ends are min and max`,
		"pNaN>20ms":           `threshold "pNaN>20ms", column 1: "pNaN" is no percentile: write p50, p99.9 and the like, between 0 and 100; the ends are min and max`,
		"intended.rate>5":     `threshold "intended.rate>5", column 10: "rate" is not told from the intended start; percentiles, avg, min and max are`,
		"intended.stddev>5ms": `threshold "intended.stddev>5ms", column 10: "stddev" is not told from the intended start; percentiles, avg, min and max are`,
		"p99":                 `threshold "p99", column 4: a comparison is missing: >, >=, < or <=, and a limit`,
		"p99 = 20ms":          `threshold "p99 = 20ms", column 5: '=' is no comparison; known are >, >=, < and <=`,
		"p99 é":               `threshold "p99 é", column 5: 'é' is no comparison; known are >, >=, < and <=`,
		"p99==20ms":           `threshold "p99==20ms", column 4: '=' is no comparison; known are >, >=, < and <=`,
		"p99>":                `threshold "p99>", column 5: a limit is missing, such as 20ms`,
		"p99>20":              `threshold "p99>20", column 5: the limit 20 has no unit: write 20ms, 20s or the like`,
		"p99>=20 ms":          `threshold "p99>=20 ms", column 6: "20 ms" is no time; write one such as 20ms, with ns, us, ms, s, m or h`,
		"p99>-1ms":            `threshold "p99>-1ms", column 5: "-1ms" is no time; write one such as 20ms, with ns, us, ms, s, m or h`,
		"errors>101%":         `threshold "errors>101%", column 8: "101%" is no share: write one between 0% and 100%`,
		"errors>x%":           `threshold "errors>x%", column 8: "x%" is no share: write one between 0% and 100%`,
		"errors>-1":           `threshold "errors>-1", column 8: "-1" is no limit of errors; write one such as 10 or 1%`,
		"errors>1ms":          `threshold "errors>1ms", column 8: "1ms" is no limit of errors; write one such as 10 or 1%`,
		"rate<10%":            `threshold "rate<10%", column 6: "10%" is no limit of rate; write one such as 1000 or 1000/s`,
		"rate<inf":            `threshold "rate<inf", column 6: "inf" is no limit of rate; write one such as 1000 or 1000/s`,
		"calls<0x10":          `threshold "calls<0x10", column 7: "0x10" is no limit of calls; write one such as 1000`,
		"p99(>20ms":           `threshold "p99(>20ms", column 4: this ( has no ); a name with such in it stands in double quotes`,
		"p99()>20ms":          `threshold "p99()>20ms", column 4: the name of an operation is missing between ( and )`,
		`p99("a>20ms`:         `threshold "p99(\"a>20ms", column 4: this ( has no ); a name with such in it stands in double quotes`,
		`p99("a"b)>20ms`:      `threshold "p99(\"a\"b)>20ms", column 8: a ) is missing after the operation's name`,
		"late(read)>0":        `threshold "late(read)>0", column 5: late is told of all operations together only`,
		"p99>20ms and more":   `threshold "p99>20ms and more", column 5: "20ms and more" is no time; write one such as 20ms, with ns, us, ms, s, m or h`,
	} {
		_, err := Parse(text)
		if err == nil || err.Error() != want {
			t.Errorf("%s:\n got %v\nwant %s", text, err, want)
		}
	}
	if _, err := Parse(strings.Repeat("p", 1001)); err == nil || err.Error() != "a threshold of 1001 bytes: the limit is 1000" {
		t.Error(err)
	}
}

// trial has 20,000 calls of 1 ms and two of 30 ms in two operations, of which one
// fails at times.
func trial() *record.Trial {
	fill := func(h *record.Hist, times *record.Times, add time.Duration) {
		for range 20_000 {
			h.Record(int64(time.Millisecond + add))
			times.Add(int64(time.Millisecond + add))
		}
		for range 2 {
			h.Record(int64(30*time.Millisecond + add))
			times.Add(int64(30*time.Millisecond + add))
		}
	}
	t := &record.Trial{
		Seconds: 10, Calls: 20_002, OpenShare: 0.5, Errors: map[string]int64{"UNAVAILABLE": 90, "wrong reply": 10}, Censored: 5,
		Scheduled: 20_200, Late: 202, Dropped: 3, Unsent: 90,
	}
	fill(&t.Latency, &t.Times, 0)
	fill(&t.Intended, new(record.Times), 4*time.Millisecond)
	t.Ops = []record.Op{
		{Name: "read", Calls: 20_002, Latency: t.Latency, Times: t.Times},
		{Name: "POST /a(b)", Calls: 0, Errors: t.Errors},
	}
	return t
}

func TestFailed(t *testing.T) {
	for _, c := range []struct {
		text, want string
		failed     bool
	}{
		{"p99>20ms", "p99>20ms: p99 is 1ms", false},
		{" p99 < 20ms ", "p99 < 20ms: p99 is 1ms", true},
		{"p50>=1.001ms", "p50>=1.001ms: p50 is 1ms", false},
		{"max>=30ms", "max>=30ms: max is 30ms", true},
		{"max>30ms", "max>30ms: max is 30ms", false},
		{"min<=1ms", "min<=1ms: min is 1ms", true},
		{"avg>1002us", "avg>1002us: avg is 1.003ms", true},
		{"stddev>0.2ms", "stddev>0.2ms: stddev is 290µs", true},
		{"intended.p99>5ms", "intended.p99>5ms: intended.p99 is 5.001ms", true},
		{"intended.max>1m", "intended.max>1m: intended.max is 34.01ms", false},
		{"intended.avg<1us", "intended.avg<1us: intended.avg is 5.002ms", false},
		{"rate<2000.05", "rate<2000.05: rate is 2000/s", false},
		{"rate<2001/s", "rate<2001/s: rate is 2000/s", true},
		{"calls<=20002", "calls<=20002: calls is 20002", true},
		{"errors>0.49%", "errors>0.49%: errors is 0.4975%", true},
		{"errors>0.5%", "errors>0.5%: errors is 0.4975%", false},
		{"errors>99", "errors>99: errors is 100", true},
		{"errors>1e2", "errors>1e2: errors is 100", false},
		{"late>=1%", "late>=1%: late is 1%", true},
		{"late>202", "late>202: late is 202", false},
		{"dropped>0", "dropped>0: dropped is 3", true},
		{"unsent>100", "unsent>100: unsent is 90", false},
		{"censored>4", "censored>4: censored is 5", true},
		{"p99(read)>20ms", "p99(read)>20ms: p99 of read is 1ms", false},
		{"errors( POST /a(b) )>=100%", "errors( POST /a(b) )>=100%: errors of POST /a(b) is 100%", true},
		{`errors("POST /a(b)")>=100`, `errors("POST /a(b)")>=100: errors of POST /a(b) is 100`, true},
		{"rate(read)<2000", "rate(read)<2000: rate of read is 2000/s", false},
		// What cannot be checked has failed.
		{"p99.9>1h", "p99.9>1h: cannot be checked, so it has failed: 20002 right replies, and p99.9 needs 100000", true},
		{"p99(write)>1h", `p99(write)>1h: cannot be checked, so it has failed: no call of an operation "write" ended`, true},
		{"p99(POST /a(b))>1h", "p99(POST /a(b))>1h: cannot be checked, so it has failed: there was no right reply", true},
		{"intended.p99(read)>1h", "intended.p99(read)>1h: cannot be checked, so it has failed: no call was scheduled: it is not of an open loop", true},
	} {
		th, err := Parse(c.text)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if text, failed := th.Failed(trial()); text != c.want || failed != c.failed {
			t.Errorf("got  %v %s\nwant %v %s", failed, text, c.failed, c.want)
		}
	}
}

// A trial that holds nothing passes no threshold.
func TestNothingMeasured(t *testing.T) {
	void := trial()
	void.Void = "disturbed"
	many := trial()
	many.Censored = 300
	never := trial()
	never.Unsent = 300
	for _, c := range []struct {
		text  string
		trial *record.Trial
		want  string
	}{
		{"p99>1h", &record.Trial{Seconds: 1}, "there was no right reply"},
		{"max>1h", &record.Trial{Seconds: 1}, "there was no right reply"},
		{"errors>1%", &record.Trial{Seconds: 1}, "no call ended"},
		{"censored>1%", &record.Trial{Seconds: 1}, "no call began"},
		{"late>0", &record.Trial{Seconds: 1}, noSchedule},
		{"rate<1", &record.Trial{}, "no time was measured"},
		{"rate<1", void, "the trial is void: disturbed"},
		{"p99>1h", many, "300 calls were open at the end, more than lie beyond p99 of 20002 right replies"},
		{"intended.p99>1h", never, "308 calls were open at the end, dropped or unsent, more than lie beyond intended.p99 of 20002 right replies"},
	} {
		th, err := Parse(c.text)
		if err != nil {
			t.Fatal(err)
		}
		want := c.text + ": cannot be checked, so it has failed: " + c.want
		if text, failed := th.Failed(c.trial); !failed || text != want {
			t.Errorf("got  %v %s\nwant %s", failed, text, want)
		}
	}
	th, _ := Parse("rate<1")
	if text, failed := th.Failed(&record.Trial{Seconds: 1}); !failed || text != "rate<1: rate is 0/s" {
		t.Errorf("no call at all: %v %s", failed, text)
	}
}

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		text string
		open bool
		ops  []string
		want string
	}{
		{"p99>1s", false, nil, ""},
		{"p99(read)>1s", false, []string{"read", "write"}, ""},
		{"intended.p99>1s", true, nil, ""},
		{"intended.p99.9>1s", false, nil, `threshold "intended.p99.9>1s": intended.p99.9 is of open loops, in which calls begin at a rate; this is a closed loop`},
		{"dropped>0", false, nil, `threshold "dropped>0": dropped is of open loops, in which calls begin at a rate; this is a closed loop`},
		{"rate(read)<1", false, nil, `threshold "rate(read)<1": this load has one operation only: leave out (read)`},
		{"rate(update)<1", true, []string{"read", "write"}, `threshold "rate(update)<1": there is no operation "update"; there are "read", "write"`},
	} {
		th, err := Parse(c.text)
		if err != nil {
			t.Fatal(err)
		}
		err = th.Check(c.open, c.ops)
		if (err == nil) != (c.want == "") || err != nil && err.Error() != c.want {
			t.Errorf("%s:\n got %v\nwant %s", c.text, err, c.want)
		}
	}
}

// Whatever is read is read again from its own text, and judges in one line.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"p99>20ms", "p99.9(verify)>=5ms", "errors>1%", "errors>10", "rate<1000/s", "intended.p99>1m2.5s", "late > 0",
		`avg("a \") b")<1us`, "max(POST /a(b))<=1h", "p1e1>0s", "((((", "p99(\xff)>1s", "intended.intended.p5>1s",
	} {
		f.Add(s)
	}
	whole := trial()
	f.Fuzz(func(t *testing.T, s string) {
		th, err := Parse(s)
		if err != nil {
			if strings.ContainsAny(err.Error(), "\n\r") {
				t.Fatalf("an error of several lines: %q", err)
			}
			return
		}
		again, err := Parse(th.String())
		if err != nil || again != th {
			t.Fatalf("%q became %q: %+v, %+v, %v", s, th, th, again, err)
		}
		if th.limit < 0 || th.share && th.limit > 1 {
			t.Fatalf("%q has the limit %v", s, th.limit)
		}
		_, _ = th.Failed(whole)
		_ = th.Check(true, []string{"read"})
	})
}
