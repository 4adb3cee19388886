package link

import (
	"math/rand/v2"
	"time"
)

// A shaper decides what becomes of the packets of one direction: lost, or due
// at the other end at a time. It keeps no packets and reads no clock, so what
// the link does is a function of the spec, the seed, and the sizes and times
// of the packets; a [queue] does the waiting.
//
// The direction is a line of the given rate behind a buffer that drops what
// does not fit (drop-tail), and then a delay. A packet that is lost was on the
// line: it took its time there.
type shaper struct {
	delay  time.Duration
	spread time.Duration // jitter of this direction, either way
	rate   int64
	buffer time.Duration // how far the line may be booked ahead
	loss   float64
	rng    *rand.Rand

	free int64 // when the line has sent all that is before it
	last int64 // when the last packet is due: none overtakes it
}

// direction numbers the two directions of a link.
type direction uint64

const (
	fromA direction = iota
	fromB
)

// bufferPackets is the least number of full packets that a limited line
// buffers. Where the bandwidth-delay product is more, it is the buffer: the
// classic rule, with which one flow keeps the line busy through a loss.
const bufferPackets = 100

func newShaper(s Spec, seed uint64, d direction) *shaper {
	sh := &shaper{
		delay: s.RTT / 2, spread: s.Jitter / 2, rate: s.Rate, loss: s.Loss,
		rng: rand.New(rand.NewPCG(seed, uint64(d))), //nolint:gosec // packets are lost by chance, nothing is secret
	}
	if s.Rate != 0 {
		sh.buffer = max(s.RTT, sh.onLine(bufferPackets*mtu))
	}
	return sh
}

// verdict is what becomes of a packet.
type verdict uint8

const (
	delivered verdict = iota
	lost
	overflowed // the line's buffer was full
)

// packet decides about a packet of size bytes that is sent at now, in
// nanoseconds. Calls must come in the order of now.
func (s *shaper) packet(now int64, size int) (due int64, v verdict) {
	// The numbers are drawn for every packet, so that the fate of the n-th does
	// not depend on what became of those before it.
	lottery, wander := s.rng.Float64(), s.rng.Float64()
	if s.rate != 0 {
		start := max(now, s.free)
		if start-now > int64(s.buffer) {
			return 0, overflowed
		}
		s.free = start + int64(s.onLine(size))
		now = s.free
	}
	if lottery < s.loss {
		return 0, lost
	}
	return s.due(now, wander), delivered
}

// probe is packet for a measurement of the link's delay: it is never lost and
// takes no room on the line.
func (s *shaper) probe(now int64) int64 {
	return s.due(now, 0.5)
}

func (s *shaper) due(now int64, wander float64) int64 {
	due := now + int64(s.delay) + int64(float64(s.spread)*(2*wander-1))
	s.last = max(s.last, due)
	return s.last
}

// onLine is how long the line takes for size bytes.
func (s *shaper) onLine(size int) time.Duration {
	return time.Duration(int64(size) * 8 * int64(time.Second) / s.rate)
}
