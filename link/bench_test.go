package link

import (
	"io"
	"slices"
	"testing"
	"time"
)

// The benchmarks tell what links achieve on the machine at hand; see
// docs/rfc/0004-link.md. Run them on a quiet one:
//
//	go test -run - -bench . ./link

var benchSpecs = []string{"rtt=0ms", "rtt=1ms", "rtt=4.364ms", "rtt=20ms", "rtt=142.5ms"}

// ends are the two ends of a link, in one process or joined over a carrier.
func ends(b *testing.B, how, spec string) (x, y *End) {
	if how == "carrier" {
		return joined(b, spec)
	}
	l := newLink(b, spec)
	return l.A, l.B
}

func bench(b *testing.B, f func(b *testing.B, x, y *End) func() time.Duration) {
	for _, how := range []string{"process", "carrier"} {
		for _, spec := range benchSpecs {
			b.Run(how+"/"+spec, func(b *testing.B) {
				x, y := ends(b, how, spec)
				once := f(b, x, y)
				var took []time.Duration
				for b.Loop() {
					took = append(took, once())
				}
				slices.Sort(took)
				b.ReportMetric(float64(took[len(took)/2])/1e6, "p50-ms")
				b.ReportMetric(float64(took[len(took)*9/10])/1e6, "p90-ms")
				if st := y.Stats(); st.LateMax > 0 {
					b.ReportMetric(float64(st.LateMean)/1e3, "late-µs")
				}
			})
		}
	}
}

// BenchmarkPing is the round-trip time achieved.
func BenchmarkPing(b *testing.B) {
	bench(b, func(b *testing.B, x, _ *End) func() time.Duration {
		return func() time.Duration {
			d, err := x.Ping(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			return d
		}
	})
}

// BenchmarkEcho is a call of 64 bytes each way over an open connection: what
// the two TCPs and the wake-ups add to a round trip.
func BenchmarkEcho(b *testing.B) {
	bench(b, func(b *testing.B, x, y *End) func() time.Duration {
		c, s := connect(b, x, y)
		b.Cleanup(func() { c.Close(); s.Close() })
		go func() { _, _ = io.Copy(s, s) }()
		buf := make([]byte, 64)
		return func() time.Duration {
			begin := time.Now()
			if _, err := c.Write(buf); err != nil {
				b.Fatal(err)
			}
			if _, err := io.ReadFull(c, buf); err != nil {
				b.Fatal(err)
			}
			return time.Since(begin)
		}
	})
}

// BenchmarkBulk is how much the emulation itself can carry: a link without a
// rate.
func BenchmarkBulk(b *testing.B) {
	for _, how := range []string{"process", "carrier"} {
		b.Run(how, func(b *testing.B) {
			x, y := ends(b, how, "rtt=1ms")
			c, s := connect(b, x, y)
			b.Cleanup(func() { c.Close(); s.Close() })
			go func() { _, _ = io.Copy(io.Discard, s) }()
			data := make([]byte, 1<<20)
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				if _, err := c.Write(data); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
