package reproduce

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/everywire/everywire/lab/plan"
	"github.com/everywire/everywire/lab/record"
	"github.com/everywire/everywire/lab/report"
	"github.com/everywire/everywire/lab/stats"
)

var scales = []Scale{Full, Quick, AsPublished}

// Whatever is said of an article can be measured: every value is of an arm, a load
// and a link that its experiment has, and every plan is a good one.
func TestArticlesAreWhole(t *testing.T) {
	if names := Names(); !slices.Equal(names, []string{"playground", "lightauth", "relay", "flow", "kvstore"}) {
		t.Errorf("the articles are %q", names)
	}
	for _, a := range Articles() {
		for _, scale := range scales {
			plans := map[string]plan.Plan{}
			for _, e := range a.Experiments {
				p := e.Plan(scale, Machine{})
				if err := p.Check(); err != nil {
					t.Errorf("%s %s at scale %s: %v", a.Name, e.Name, scale, err)
				}
				if claims := p.Blocks >= 10; claims != (scale == Full) {
					t.Errorf("%s %s at scale %s: %d blocks", a.Name, e.Name, scale, p.Blocks)
				}
				if _, twice := plans[e.Name]; twice {
					t.Errorf("%s has two experiments %s", a.Name, e.Name)
				}
				if scale == Full && p.Arm(p.Baseline+Again) == nil {
					t.Errorf("%s %s has no noise floor", a.Name, e.Name)
				}
				plans[e.Name] = p
			}
			for what, v := range values(a) {
				p, ok := plans[v.Experiment]
				if !ok || p.Arm(v.Arm) == nil || !slices.Contains(p.Callers, v.Callers) || !slices.Contains(p.Networks(), v.place().Link) {
					t.Errorf("%s at scale %s: %s is of %+v, which is not measured", a.Name, scale, what, v)
				}
			}
		}
		if needed := stats.BlocksNeeded(len(a.Claims)); needed > 10 {
			t.Errorf("%s has %d claims, for which %d blocks would be needed", a.Name, len(a.Claims), needed)
		}
		for _, c := range a.Claims {
			if len(c.Short) == 0 || len(c.Short) > 45 || c.Over.Figure != c.Under.Figure || (c.Says == "") != (c.Published == 0) {
				t.Errorf("%s: the claim %+v", a.Name, c)
			}
		}
		if a.Title == "" || a.System == "" || len(a.Differs) == 0 {
			t.Errorf("%s does not say enough", a.Name)
		}
	}
}

// values are all that an article shows, by what shows them.
func values(a Article) map[string]Value {
	all := map[string]Value{}
	for _, t := range a.Tables {
		for _, r := range t.Rows {
			all["the row "+r.Label+" of "+t.Caption] = r.Ours
			if r.Base != (Value{}) {
				all["the base of "+r.Label+" of "+t.Caption] = r.Base
			}
		}
	}
	for i, c := range a.Claims {
		all[fmt.Sprintf("claim %d", i)], all[fmt.Sprintf("the base of claim %d", i)] = c.Over, c.Under
	}
	return all
}

// Without NGINX the arms that need it are left out with the reason, and the rest is
// a plan still.
func TestWithoutNginx(t *testing.T) {
	for _, e := range relay().Experiments {
		p := e.Plan(Full, Machine{NoNginx: "it is not installed"})
		if err := p.Check(); err != nil {
			t.Errorf("%s: %v", e.Name, err)
		}
		for _, a := range p.Arms {
			if a.Cluster != nil && a.Cluster.Balancer == plan.Nginx {
				t.Errorf("%s runs", a.Name)
			}
		}
		if e.Name == "three" && (len(p.Excluded) != 5 || p.Excluded[0].Reason != "it is not installed") {
			t.Errorf("left out: %+v", p.Excluded)
		}
	}
}

// synthetic is an article with one claim, and a record in which the ratio of its arms
// is as given in each block.
func synthetic(scale Scale, published float64, ratios ...float64) *Result {
	at := func(arm string) Value { return Value{Experiment: "e", Arm: arm, Callers: 1, Figure: stats.Rate} }
	a := Article{
		Name: "article", Title: "An article", System: "A system.",
		Tables: []Table{{Caption: "Rates", Unit: "calls/s", Rows: []Row{
			{Label: "the first", Published: 100, Ours: at("first")},
			{Label: "the second", Published: 100 * published, Ratio: published, Ours: at("second"), Base: at("first")},
		}}},
		Claims:  []Claim{{Says: "the second is quicker", Published: published, Over: at("second"), OverName: "the second", Under: at("first"), UnderName: "the first", Where: "here"}},
		Differs: []string{"Everything differs."},
	}
	run := &record.Run{Header: record.Header{Started: time.Unix(0, 0), Plan: plan.Plan{
		Service: "arith", Arms: []plan.Arm{{Name: "first"}, {Name: "second"}}, Baseline: "first", Callers: []int{1}, Blocks: len(ratios),
	}}}
	for block, r := range ratios {
		run.Trials = append(run.Trials,
			record.Trial{Block: block, Arm: "first", Callers: 1, Seconds: 1, Calls: 1000},
			record.Trial{Block: block, Arm: "second", Callers: 1, Seconds: 1, Calls: int64(1000 * r)})
	}
	return &Result{Article: a, Scale: scale, Runs: map[string]*record.Run{"e": run}, Failed: map[string]string{}}
}

func times(n int, values ...float64) []float64 {
	var all []float64
	for i := range n {
		all = append(all, values[i%len(values)])
	}
	return all
}

// A sentence says what the interval supports.
func TestAnswers(t *testing.T) {
	for _, tc := range []struct {
		name      string
		published float64
		ratios    []float64
		want      string
	}{
		{"as much", 2, times(10, 1.9, 2.1), "the first (1.90 to 2.10): faster, as much as published."},
		{"less", 4.9, times(10, 2), "faster, by less than published."},
		{"more", 1.2, times(10, 2), "faster, by more than published."},
		{"the other way round", 2, times(10, 0.5), "slower, the other way round than published."},
		{"slower as published", 0.5, times(10, 0.5), "slower, as much as published."},
		{"slower by less", 0.2, times(10, 0.5), "slower, by less than published."},
		{"equal", 2, times(10, 1, 1.01), "no difference of 5 %."},
		{"noise", 2, times(10, 0.5, 1, 2, 1.01), "not distinguished at 5 %."},
		{"where there was none", 1.01, times(10, 2), "faster, where the article has no difference of 5 %."},
		{"too few", 2, times(3, 2), "too few blocks for a claim."},
	} {
		answers := synthetic(Full, tc.published, tc.ratios...).Answers()
		if len(answers) != 1 || !strings.HasSuffix(answers[0].Sentence, tc.want) {
			t.Errorf("%s: %q, want it to end with %q", tc.name, answers[0].Sentence, tc.want)
		}
	}
	if got := synthetic(Quick, 2, 2).Answers()[0].Sentence; !strings.HasSuffix(got, "of one block, so no claim.") {
		t.Errorf("quick: %q", got)
	}
	none := synthetic(Full, 2)
	none.Runs = nil
	if got := none.Answers()[0].Sentence; !strings.HasSuffix(got, "Here the second was not measured beside the first.") {
		t.Errorf("nothing: %q", got)
	}
}

// An interval beyond 5 % is told, though it proves nothing among many claims.
func TestOneBlockAside(t *testing.T) {
	for _, tc := range []struct {
		low, high float64
		want      string
	}{
		{1.94, 4.2, "faster by this interval, which alone proves nothing among 9 claims"},
		{0.2, 0.9, "slower by this interval, which alone proves nothing among 9 claims"},
		{1.04, 4.2, "not distinguished at 5 %"},
	} {
		a := Answer{Ratio: stats.Ratio{Median: (tc.low + tc.high) / 2, Interval: &stats.Interval{Low: tc.low, High: tc.high}}, among: 9}
		if got := a.verdict(); got != tc.want {
			t.Errorf("%g to %g: %q, want %q", tc.low, tc.high, got, tc.want)
		}
	}
}

// The digest has the article's figures and ours, on the terminal, as a page and for
// programs; and what failed.
func TestDigest(t *testing.T) {
	r := synthetic(Full, 2, times(10, 2)...)
	r.Failed["e2"] = "the server did not start"
	var text, page bytes.Buffer
	d := Digest([]*Result{r})
	if err := d.Text(&text, report.TextOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"An article", "article, e2: the server did not start.", "the second     ", "100  1,000", "2.00 [2.00, 2.00]", "- Everything differs.",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the text lacks %q:\n%s", want, &text)
		}
	}
	for line := range strings.Lines(text.String()) {
		if len([]rune(line)) > 101 {
			t.Errorf("a line of %d columns: %s", len([]rune(line)), line)
		}
	}
	if err := d.HTML(&page); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"<h1>An article</h1>", "the second is quicker", "<svg", "published"} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(page.String(), "src=") || strings.Contains(page.String(), "http://") {
		t.Error("the page needs something from elsewhere")
	}
	data, err := json.Marshal(JSON([]*Result{r}))
	if err != nil || !strings.Contains(string(data), `"ratio":{"median":2,"low":2,"high":2,"blocks":10},"different":true`) {
		t.Errorf("JSON: %s, %v", data, err)
	}
}

// Calls of replicas tell what balances by call and what by connection.
func TestSpread(t *testing.T) {
	r := synthetic(Full, 2)
	run := r.Runs["e"]
	run.Header.Plan.Arms = []plan.Arm{{Name: "by call", Cluster: &plan.Cluster{Replicas: 3}}, {Name: "pinned", Cluster: &plan.Cluster{Replicas: 3}}}
	run.Trials = []record.Trial{
		{Arm: "by call", Backends: []int64{10, 11, 10}},
		{Arm: "pinned", Backends: []int64{0, 30, 0}},
		{Arm: "pinned", Backends: []int64{30, 0, 0}},
		{Arm: "pinned", Void: "x", Backends: []int64{0, 0, 500}},
	}
	parts := r.backends()
	if len(parts) != 1 || !slices.Equal(parts[0].Table.Rows[0], []string{"by call", "35 %", "32 %", "32 %", "by call"}) ||
		!slices.Equal(parts[0].Table.Rows[1], []string{"pinned", "100 %", "0 %", "0 %", "by connection"}) {
		t.Errorf("got %+v", parts[0].Table.Rows)
	}
}
