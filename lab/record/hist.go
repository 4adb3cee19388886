package record

import (
	"encoding/json"
	"fmt"
	"iter"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// The range and resolution of latencies: 1 ns to 10 minutes, three significant
// digits. A longer call is counted as 10 minutes.
const (
	histMin    = 1
	histMax    = 600_000_000_000
	histDigits = 3
)

// Hist is a histogram of latencies in nanoseconds. Its zero value is empty and
// ready. In JSON it is a list of [value, count] pairs, one a filled bucket.
type Hist struct {
	h *hdrhistogram.Histogram
	// read are [value, count] pairs that were read and are not in h yet. A
	// histogram takes a quarter of a megabyte and a record holds hundreds, most of
	// which are merged into another and never asked.
	read [][2]int64
}

func (h *Hist) init() {
	if h.h == nil {
		h.h = hdrhistogram.New(histMin, histMax, histDigits)
	}
	for _, p := range h.read {
		_ = h.h.RecordValues(inRange(p[0]), p[1])
	}
	h.read = nil
}

func inRange(ns int64) int64 { return min(max(ns, histMin), histMax) }

// IsZero reports whether nothing was recorded.
func (h Hist) IsZero() bool { return h.h == nil && h.read == nil }

// Prepare makes room, so that the first Record does not allocate.
func (h *Hist) Prepare() { h.init() }

// Record counts one latency.
func (h *Hist) Record(ns int64) { h.recordN(ns, 1) }

func (h *Hist) recordN(ns, n int64) {
	h.init()
	_ = h.h.RecordValues(inRange(ns), n) // cannot be out of range
}

// Merge adds what other counted.
func (h *Hist) Merge(other *Hist) {
	if other.h != nil {
		h.init()
		h.h.Merge(other.h)
	}
	for _, p := range other.read {
		h.recordN(p[0], p[1])
	}
}

// Count is the number of latencies.
func (h *Hist) Count() int64 {
	if h.h == nil && h.read == nil {
		return 0
	}
	h.init()
	return h.h.TotalCount()
}

// Mean is their mean in nanoseconds, 0 if there are none.
func (h *Hist) Mean() float64 {
	if h.Count() == 0 {
		return 0
	}
	return h.h.Mean()
}

// Percentile returns the latency in nanoseconds that p percent do not pass,
// p from 0 to 100; 0 if there are none.
func (h *Hist) Percentile(p float64) int64 {
	if h.Count() == 0 {
		return 0
	}
	return h.h.ValueAtPercentile(p)
}

// All yields the filled buckets in ascending order: the smallest latency of each
// in nanoseconds, and how many it has.
func (h *Hist) All() iter.Seq2[int64, int64] {
	return func(yield func(ns, n int64) bool) {
		if h.Count() == 0 {
			return
		}
		for _, b := range h.h.Distribution() {
			if b.Count > 0 && !yield(b.From, b.Count) {
				return
			}
		}
	}
}

// MarshalJSON writes the filled buckets.
func (h Hist) MarshalJSON() ([]byte, error) {
	pairs := [][2]int64{}
	for ns, n := range h.All() {
		pairs = append(pairs, [2]int64{ns, n})
	}
	return json.Marshal(pairs)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (h *Hist) UnmarshalJSON(data []byte) error {
	var pairs [][2]int64
	if err := json.Unmarshal(data, &pairs); err != nil {
		return err
	}
	for _, p := range pairs {
		if p[0] < 0 || p[1] < 0 {
			return fmt.Errorf("histogram bucket [%d, %d] is negative", p[0], p[1])
		}
	}
	h.h, h.read = nil, pairs
	return nil
}
