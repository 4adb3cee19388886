package loadreport

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/everywire/everywire/lab/record"
)

// prefix begins all names of metrics.
const prefix = "everywire_load_"

// buckets are the upper bounds of histograms in seconds: the same for every load,
// so that loads can be added and compared.
var buckets = []float64{
	0.00001, 0.000025, 0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
}

// Prometheus writes the load in Prometheus's text format (version 0.0.4), in base
// units, as for a file that node_exporter reads, or a push gateway. Operations are
// told apart by the label operation, so that sums over it are of all calls.
func (r *Report) Prometheus(w io.Writer) error {
	var p exposition
	t := r.Trial
	rows := r.Ops
	if len(rows) == 0 {
		all := r.Total
		all.Name = cmp.Or(r.Load.Method, all.Name)
		rows = []Row{all}
	}
	b := &r.Run.Header.Build
	p.family("info", "gauge", "What was called, and by which version.")
	p.sample("info", 1, "method", r.Load.Method, "mix", r.Load.Mix, "target", r.Load.Target, "version", b.Version)
	p.single("start_time_seconds", "gauge", "When the load began, in seconds since 1970.", float64(t.Started.UnixNano())/1e9)
	p.single("measured_seconds", "gauge", "The measured time.", t.Seconds)
	p.single("callers", "gauge", "How many callers there were; in an open loop, the most calls at once.", float64(t.Callers))

	p.family("calls_total", "counter", "Calls that ended in the measured time, by operation and by status: OK, or the kind of error.")
	for i := range rows {
		row := &rows[i]
		p.sample("calls_total", float64(row.Right), "operation", row.Name, "status", "OK")
		for _, kind := range row.Kinds() {
			p.sample("calls_total", float64(row.Errors[kind]), "operation", row.Name, "status", kind)
		}
	}
	p.single("censored_calls_total", "counter", "Calls that were still open when the measured time ended.", float64(t.Censored))
	if r.Open() {
		p.single("scheduled_calls_total", "counter", "Calls that were due in the measured time.", float64(t.Scheduled))
		p.single("late_calls_total", "counter", "Calls that began more than a millisecond late.", float64(t.Late))
		p.single("pacer_late_calls_total", "counter", "Calls that began more than a millisecond late because the load generator was late.", float64(t.PacerLate))
		p.single("dropped_calls_total", "counter", "Calls that were given up because no caller was free in time.", float64(t.Dropped))
		p.single("unsent_calls_total", "counter", "Calls that were due and had not begun at the end.", float64(t.Unsent))
	}
	p.histograms("call_duration_seconds", "Time of service of right replies: from the beginning of the call.", rows,
		func(row *Row) (*record.Hist, record.Times) { return row.service, row.times })
	if r.Open() {
		p.histograms("call_intended_duration_seconds", "Time of right replies from when the call was to begin.", rows,
			func(row *Row) (*record.Hist, record.Times) { return row.intended, record.Times{} })
	}
	p.bytes("sent_bytes_total", "Bytes that calls took, towards the server.", rows, func(row *Row) int64 { return row.Out })
	p.bytes("received_bytes_total", "Bytes that calls took, from the server.", rows, func(row *Row) int64 { return row.In })

	_, of := r.Busy()
	p.single("generator_cpu_seconds_total", "counter", "User and system time of the load generator.", t.ClientCPU)
	p.single("generator_cores", "gauge", "Cores that the load generator had.", float64(of))
	p.single("void", "gauge", "1 if the load counts for nothing, because its generator was at fault.", truth(t.Void != ""))
	p.thresholds(r.Thresholds)
	_, err := w.Write(p.b.Bytes())
	return err
}

// exposition is text in the format of Prometheus.
type exposition struct{ b bytes.Buffer }

// family begins the samples of a name.
func (p *exposition) family(name, kind, help string) {
	fmt.Fprintf(&p.b, "# HELP %s%s %s\n# TYPE %s%s %s\n", prefix, name, help, prefix, name, kind)
}

// sample writes one value; labels are names and values in turn.
func (p *exposition) sample(name string, v float64, labels ...string) {
	p.b.WriteString(prefix + name)
	for i := 0; i < len(labels); i += 2 {
		p.b.WriteString([]string{"{", ","}[min(i, 1)])
		p.b.WriteString(labels[i] + `="` + labelEscaper.Replace(strings.ToValidUTF8(labels[i+1], "\uFFFD")) + `"`)
	}
	if len(labels) > 0 {
		p.b.WriteByte('}')
	}
	p.b.WriteString(" " + decimal(v) + "\n")
}

var labelEscaper = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

func decimal(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

func (p *exposition) single(name, kind, help string, v float64) {
	p.family(name, kind, help)
	p.sample(name, v)
}

// histograms writes one histogram for each row.
func (p *exposition) histograms(name, help string, rows []Row, of func(*Row) (*record.Hist, record.Times)) {
	p.family(name, "histogram", help)
	for i := range rows {
		h, exact := of(&rows[i])
		counts, n := cumulate(h)
		for j, bound := range buckets {
			p.sample(name+"_bucket", float64(counts[j]), "operation", rows[i].Name, "le", decimal(bound))
		}
		p.sample(name+"_bucket", float64(n), "operation", rows[i].Name, "le", "+Inf")
		sum := h.Mean() * float64(n)
		if exact.Count > 0 {
			sum = exact.Mean * float64(exact.Count)
		}
		p.sample(name+"_sum", sum/float64(time.Second), "operation", rows[i].Name)
		p.sample(name+"_count", float64(n), "operation", rows[i].Name)
	}
}

// cumulate counts the times up to each bound, and all of them. A time counts where
// the smallest one of its cell in the record's histogram does, which is less than
// 0.1 % away.
func cumulate(h *record.Hist) (counts []int64, n int64) {
	counts = make([]int64, len(buckets))
	j := 0
	for ns, c := range h.All() {
		for j < len(buckets) && ns > int64(math.Round(buckets[j]*float64(time.Second))) {
			counts[j] = n
			j++
		}
		n += c
	}
	for ; j < len(buckets); j++ {
		counts[j] = n
	}
	return counts, n
}

// bytes writes the bytes of each row, if all are known.
func (p *exposition) bytes(name, help string, rows []Row, of func(*Row) int64) {
	if slices.ContainsFunc(rows, func(row Row) bool { return of(&row) < 0 }) {
		return
	}
	p.family(name, "counter", help)
	for i := range rows {
		p.sample(name, float64(of(&rows[i])), "operation", rows[i].Name)
	}
}

func (p *exposition) thresholds(list []Outcome) {
	if len(list) == 0 {
		return
	}
	p.family("threshold_failed", "gauge", "1 if the threshold failed, 0 if it held.")
	seen := map[string]bool{}
	for _, o := range list {
		if !seen[o.Threshold] { // the same text has the same outcome
			p.sample("threshold_failed", truth(o.Failed), "threshold", o.Threshold)
		}
		seen[o.Threshold] = true
	}
}

func truth(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
