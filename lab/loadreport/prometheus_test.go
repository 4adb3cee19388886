package loadreport

import (
	"bytes"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
)

// series is one value of an exposition.
type series struct {
	name   string
	labels map[string]string
	value  float64
}

var (
	seriesLine  = regexp.MustCompile(`^([a-z_]+)(?:\{(.*)\})? (\S+)$`)
	seriesLabel = regexp.MustCompile(`([a-z_]+)="((?:[^"\\]|\\.)*)"`)
	unescape    = strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\n`, "\n")
)

// scraped are the values by name. Prometheus's own parser has read them, and its
// linter has no complaint.
func scraped(t *testing.T, r *Report) map[string][]series {
	t.Helper()
	var b bytes.Buffer
	if err := r.Prometheus(&b); err != nil {
		t.Fatal(err)
	}
	problems, err := promlint.New(bytes.NewReader(b.Bytes())).Lint()
	if err != nil {
		t.Fatalf("%v\n%s", err, b.String())
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	all := map[string][]series{}
	for line := range strings.Lines(b.String()) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		m := seriesLine.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if m == nil {
			t.Fatalf("the line %q", line)
		}
		v, err := strconv.ParseFloat(m[3], 64)
		if err != nil {
			t.Fatal(err)
		}
		one := series{m[1], map[string]string{}, v}
		for _, l := range seriesLabel.FindAllStringSubmatch(m[2], -1) {
			one.labels[l[1]] = unescape.Replace(l[2])
		}
		all[one.name] = append(all[one.name], one)
	}
	return all
}

// Sums over operations are of all calls, and agree with the calls themselves.
func TestPrometheusCounts(t *testing.T) {
	for name := range cases() {
		r, calls := made(t, name)
		families := scraped(t, r)
		want := map[string]float64{}
		for _, c := range calls {
			switch {
			case c.dropped:
				want["dropped"]++
			case c.censored:
				want["censored"]++
			case c.err != "":
				want[c.op+"/"+c.err]++
			default:
				want[c.op+"/OK"]++
			}
		}
		got := map[string]float64{}
		for _, m := range families["everywire_load_calls_total"] {
			op := m.labels["operation"]
			if len(r.Ops) == 0 {
				if op != "shop.Orders/Get" {
					t.Errorf("%s: the operation is %q", name, op)
				}
				op = ""
			}
			if m.value > 0 {
				got[op+"/"+m.labels["status"]] = m.value
			}
		}
		for key, family := range map[string]string{"dropped": "everywire_load_dropped_calls_total", "censored": "everywire_load_censored_calls_total"} {
			if f := families[family]; len(f) == 1 && f[0].value > 0 {
				got[key] = f[0].value
			}
		}
		for key := range got {
			if _, is := want[key]; !is {
				t.Errorf("%s: %v of %q, which nobody made", name, got[key], key)
			}
		}
		for key, n := range want {
			if got[key] != n {
				t.Errorf("%s: %v of %q, want %v", name, got[key], key, n)
			}
		}
	}
}

// Buckets are cumulative, end with +Inf, and have the calls up to their bounds,
// within what one cell of the record's histogram is wide.
func TestPrometheusHistograms(t *testing.T) {
	for name := range cases() {
		r, calls := made(t, name)
		families := scraped(t, r)
		for family, from := range map[string]func(call) float64{
			"everywire_load_call_duration_seconds":          func(c call) float64 { return c.end - c.begin },
			"everywire_load_call_intended_duration_seconds": func(c call) float64 { return c.end - c.due },
		} {
			counts := families[family+"_count"]
			if len(counts) == 0 && (!strings.Contains(family, "intended") || r.Open()) {
				t.Errorf("%s: no %s", name, family)
			}
			for i, count := range counts {
				op := count.labels["operation"]
				var times []float64
				for _, c := range calls {
					if !c.dropped && !c.censored && c.err == "" && (len(r.Ops) == 0 || c.op == op) {
						times = append(times, from(c))
					}
				}
				var list []series
				for _, b := range families[family+"_bucket"] {
					if b.labels["operation"] == op {
						list = append(list, b)
					}
				}
				checkHistogram(t, name+" "+family, list, families[family+"_sum"][i].value, count.value, times)
			}
		}
	}
}

func checkHistogram(t *testing.T, name string, list []series, sum, count float64, times []float64) {
	t.Helper()
	if count != float64(len(times)) {
		t.Errorf("%s: %v samples, want %d", name, count, len(times))
	}
	want := 0.0
	for _, s := range times {
		want += s
	}
	if math.Abs(sum-want) > 0.001*want {
		t.Errorf("%s: the sum is %v, want %v", name, sum, want)
	}
	if n := len(list); n != len(buckets)+1 || list[n-1].labels["le"] != "+Inf" || list[n-1].value != count {
		t.Fatalf("%s: %d buckets, the last %v", name, n, list[n-1])
	}
	for i, b := range list {
		bound, err := strconv.ParseFloat(b.labels["le"], 64)
		if err != nil {
			t.Fatal(err)
		}
		if i > 0 && b.value < list[i-1].value {
			t.Errorf("%s: bucket %v after %v", name, b, list[i-1])
		}
		var least, most float64
		for _, s := range times {
			if s <= bound*0.998 {
				least++
			}
			if s <= bound*1.002 {
				most++
			}
		}
		if b.value < least || b.value > most {
			t.Errorf("%s: %v up to %v, want %v to %v", name, b.value, bound, least, most)
		}
	}
}

// Labels may hold anything.
func TestPrometheusEscapes(t *testing.T) {
	const odd = "a\\b\"c\nd"
	s := cases()["mix"]
	s.ops = []string{odd, "\xffé"}
	s.n = 100
	run, _ := s.make()
	r, err := New(run)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, m := range scraped(t, r)["everywire_load_calls_total"] {
		seen[m.labels["operation"]] = true
	}
	if len(seen) != 2 || !seen[odd] || !seen["\uFFFDé"] {
		t.Errorf("operations are %v", seen)
	}
}
