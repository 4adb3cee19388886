package loadreport

import (
	"encoding/csv"
	"io"
	"math"
	"strconv"
)

// csvHead names the columns of CSV; they mean what the fields of the same names in
// [RowDoc] mean.
var csvHead = []string{
	"scope", "name", "samples", "right", "failed", "error_share", "average_ns", "min_ns", "max_ns", "std_dev_ns",
	"throughput_per_second", "right_per_second", "received_bytes_per_second", "sent_bytes_per_second", "average_bytes",
	"service_p50_ns", "service_p90_ns", "service_p99_ns", "service_p99.9_ns", "service_max_ns",
	"intended_p50_ns", "intended_p90_ns", "intended_p99_ns", "intended_p99.9_ns", "intended_max_ns",
}

// CSV writes comma-separated values with a head: a line for each operation, of
// scope "operation", if there are several, and one for all calls, of scope "total".
// A figure that is not known is empty.
func (r *Report) CSV(w io.Writer) error {
	out := csv.NewWriter(w)
	_ = out.Write(csvHead) // Flush and Error report
	for i := range r.Ops {
		_ = out.Write(r.Ops[i].line("operation", r.Ops[i].Name))
	}
	_ = out.Write(r.Total.line("total", r.Load.Method))
	out.Flush()
	return out.Error()
}

func (row *Row) line(scope, name string) []string {
	cells := []string{
		scope, name, csvInt(row.Samples), csvInt(row.Right), csvInt(row.Failed), csvFloat(row.ErrorShare),
		csvFloat(row.Average), csvFloat(row.Min), csvFloat(row.Max), csvFloat(row.StdDev),
		csvFloat(row.Throughput), csvFloat(row.RightRate), csvFloat(row.Received), csvFloat(row.Sent), csvFloat(row.AverageBytes),
	}
	for _, list := range [][]Percentile{row.Service, row.Intended} {
		for i := range Points {
			cell := ""
			if i < len(list) && list[i].Known {
				cell = csvInt(list[i].NS)
			}
			cells = append(cells, cell)
		}
	}
	return cells
}

// csvFloat keeps six significant digits, more than any figure has.
func csvFloat(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return ""
	}
	return strconv.FormatFloat(v, 'g', 6, 64)
}

func csvInt(n int64) string { return strconv.FormatInt(n, 10) }
