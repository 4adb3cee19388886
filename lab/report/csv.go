package report

import (
	"encoding/csv"
	"io"
	"strconv"

	"github.com/everywire/everywire/lab/record"
)

// csvHead names the columns of [CSV]; they mean what the fields of the same
// names in [Document] mean.
var csvHead = []string{
	"callers", "arm", "kind", "baseline", "trials", "void_trials", "calls", "calls_per_second",
	"ratio", "ratio_low", "ratio_high", "coverage", "p_holm", "different",
	"p50_ns", "p90_ns", "p99_ns", "censored", "errors",
	"server_cpu_ns_per_call", "client_cpu_ns_per_call", "server_cores_busy", "client_cores_busy",
	"payload_bytes_out_per_call", "payload_bytes_in_per_call", "wire_bytes_out_per_call", "wire_bytes_in_per_call",
	"packets_out_per_call", "packets_in_per_call", "connections_per_call", "link",
}

// CSV writes the summary as comma-separated values with a head: one line for
// each arm under each load. A figure that is not known is empty.
func CSV(w io.Writer, run *record.Run) error {
	out := csv.NewWriter(w)
	_ = out.Write(csvHead) // Flush and Error report
	for _, l := range newView(run).document().Loads {
		for i := range l.Arms {
			_ = out.Write(csvRow(&l, &l.Arms[i]))
		}
	}
	out.Flush()
	return out.Error()
}

func csvRow(l *LoadDoc, a *ArmDoc) []string {
	voids, errs := 0, int64(0)
	for _, n := range a.Void {
		voids += n
	}
	for _, n := range a.Errors {
		errs += n
	}
	ratio := RatioDoc{}
	if a.Ratio != nil {
		ratio = *a.Ratio
	}
	holm, different := "", ""
	if a.Test != nil {
		holm, different = csvFloat(&a.Test.Adjusted), strconv.FormatBool(a.Test.Different)
	}
	return []string{
		strconv.Itoa(l.Callers), a.Arm, string(a.Kind), strconv.FormatBool(a.Baseline), strconv.Itoa(a.Trials),
		strconv.Itoa(voids), csvInt(&a.Calls), csvFloat(a.CallsPerSecond),
		csvFloat(ratio.Median), csvFloat(ratio.Low), csvFloat(ratio.High), csvFloat(ratio.Coverage), holm, different,
		csvInt(a.Latency.P50), csvInt(a.Latency.P90), csvInt(a.Latency.P99), csvInt(&a.Censored), csvInt(&errs),
		csvFloat(a.ServerCPU), csvFloat(a.ClientCPU), csvFloat(a.ServerCores), csvFloat(a.ClientCores),
		csvFloat(a.PayloadOut), csvFloat(a.PayloadIn), csvFloat(a.WireOut), csvFloat(a.WireIn),
		csvFloat(a.PacketsOut), csvFloat(a.PacketsIn), csvFloat(a.Conns), l.Link,
	}
}

// csvFloat keeps six significant digits, more than any figure has.
func csvFloat(v *float64) string {
	if v == nil {
		return ""
	}
	return strconv.FormatFloat(*v, 'g', 6, 64)
}

func csvInt(v *int64) string {
	if v == nil {
		return ""
	}
	return strconv.FormatInt(*v, 10)
}
