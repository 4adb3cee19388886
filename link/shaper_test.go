package link

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// What holds of every packet on every link.
func TestShaper(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Spec{RTT: time.Duration(rapid.Int64Range(0, int64(time.Second)).Draw(t, "rtt"))}
		s.Jitter = time.Duration(rapid.Int64Range(0, int64(s.RTT)).Draw(t, "jitter"))
		if rapid.Bool().Draw(t, "limited") {
			s.Rate = rapid.Int64Range(1e5, 1e10).Draw(t, "rate")
		}
		s.Loss = rapid.SampledFrom([]float64{0, 0, 0.1, 0.9}).Draw(t, "loss")
		sh := newShaper(s, rapid.Uint64().Draw(t, "seed"), fromA)

		now, last, line := int64(0), int64(math.MinInt64), int64(0)
		for range rapid.IntRange(1, 300).Draw(t, "packets") {
			now += rapid.SampledFrom([]int64{0, 0, 1000, 1e5, 1e7}).Draw(t, "pause")
			size := rapid.IntRange(1, mtu).Draw(t, "size")
			sent := now // when the line has sent it
			if s.Rate != 0 {
				sent = max(now, line) + int64(float64(size)*8e9/float64(s.Rate))
			}
			due, v := sh.packet(now, size)
			switch v {
			case overflowed:
				if s.Rate == 0 || max(now, line)-now < int64(s.RTT) {
					t.Fatalf("a packet found no room with %v on the line", time.Duration(line-now))
				}
				continue
			case lost:
				if s.Loss == 0 {
					t.Fatal("lost a packet")
				}
				line = sh.free
				continue
			}
			lo, hi := sent+int64(s.RTT/2-s.Jitter/2), sent+int64(s.RTT/2+s.Jitter/2)
			const rounding = 2
			if due < lo-rounding || due > max(hi, last)+rounding {
				t.Fatalf("sent at %d, on the line until %d, due at %d: not from %d to %d", now, sent, due, lo, hi)
			}
			if due < last {
				t.Fatalf("due at %d, before the last one at %d", due, last)
			}
			last = due
			line = sh.free // its rounding does not add up
		}
	})
}

// The same seed loses the same packets, whatever their sizes and times;
// another seed, and the other direction, others.
func TestSeed(t *testing.T) {
	s := Spec{RTT: time.Millisecond, Loss: 0.2}
	fates := func(seed uint64, d direction, size int, pause int64) (out [1000]verdict) {
		sh := newShaper(s, seed, d)
		for i := range out {
			_, out[i] = sh.packet(int64(i)*pause, size)
		}
		return out
	}
	first := fates(7, fromA, 100, 1000)
	if first != fates(7, fromA, 1500, 1) {
		t.Error("the same seed lost other packets")
	}
	if first == fates(8, fromA, 100, 1000) || first == fates(7, fromB, 100, 1000) {
		t.Error("another seed or direction lost the same packets")
	}
}

func TestLossShare(t *testing.T) {
	for _, p := range []float64{0.001, 0.1, 0.5} {
		sh := newShaper(Spec{Loss: p}, 1, fromA)
		const packets = 100_000
		n := 0.0
		for range packets {
			if _, v := sh.packet(0, 100); v == lost {
				n++
			}
		}
		mean, deviation := packets*p, math.Sqrt(packets*p*(1-p))
		if math.Abs(n-mean) > 5*deviation {
			t.Errorf("loss %g: %g of %d packets lost", p, n, packets)
		}
	}
}

// A line that is given more than it carries delivers its rate, and drops the
// rest.
func TestRate(t *testing.T) {
	const rate = 10e6
	sh := newShaper(Spec{RTT: 10 * time.Millisecond, Rate: rate}, 1, fromA)
	var bits, dropped, last int64
	for now := int64(0); now < int64(time.Second); now += int64(time.Second) / 2000 {
		due, v := sh.packet(now, 1250) // twice the rate
		if v == overflowed {
			dropped++
			continue
		}
		bits, last = bits+1250*8, due
	}
	span := time.Duration(last) - 5*time.Millisecond
	if got := float64(bits) / span.Seconds(); math.Abs(got-rate) > 1 {
		t.Errorf("delivered %g bits a second, want %g", got, rate)
	}
	if buffered := span - time.Second; buffered < 119*time.Millisecond || buffered > 122*time.Millisecond {
		t.Errorf("the line was booked %v ahead; 100 full packets take 120 ms", buffered)
	}
	if dropped < 800 || dropped > 950 {
		t.Errorf("dropped %d of 2000", dropped)
	}
}
