package link

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// A Spec says what a link does to packets. The zero Spec does nothing to them.
type Spec struct {
	// RTT is the round-trip time of a small packet on an idle link: each
	// direction delays by half of it.
	RTT time.Duration
	// Rate is how many bits of IP packets a second each direction carries; 0
	// stands for no limit.
	Rate int64
	// Loss is the probability, from 0 to below 1, with which each direction loses
	// a packet; packets are lost independently of each other.
	Loss float64
	// Jitter is how far a round trip may be from RTT, either way: each direction
	// adds to its delay an even spread of ±Jitter/2. Packets are not reordered by
	// it.
	Jitter time.Duration
}

// Limits of a spec. What lies beyond is a slip of the finger: a link that would
// hold more packets than memory, or that TCP gives up on.
const (
	maxRTT  = 10 * time.Second
	maxRate = 100e9
	minRate = 1000
)

// presets are links that can be asked for by name: those of the published
// comparison, from San Francisco.
var presets = []struct {
	name string
	spec Spec
}{
	{"fremont", Spec{RTT: 4364 * time.Microsecond}},
	{"london", Spec{RTT: 142500 * time.Microsecond}},
}

// Presets returns the names that Parse knows, with what they stand for.
func Presets() []string {
	out := make([]string, len(presets))
	for i, p := range presets {
		out[i] = p.name + " (" + p.spec.String() + ")"
	}
	return out
}

const form = `the form is rtt=4.364ms,rate=1gbit,loss=0.1%,jitter=0.2ms, each at most once`

// Parse reads the text form of a spec: items separated by commas, in any order,
// each at most once.
//
//	rtt=4.364ms     a Go duration
//	rate=1gbit      bits a second: a number and bit, kbit, mbit or gbit
//	loss=0.1%       per cent, or a number from 0 to below 1
//	jitter=0.2ms    a Go duration, at most rtt
//
// The first item may be the name of a preset, which the items after it change:
// london,loss=1%.
func Parse(text string) (Spec, error) {
	var s Spec
	seen := map[string]bool{}
	if strings.TrimSpace(text) == "" {
		return Spec{}, fmt.Errorf("link %q: it is empty; %s", text, form)
	}
	for i, item := range strings.Split(text, ",") {
		name, value, hasValue := strings.Cut(strings.TrimSpace(item), "=")
		name = strings.ToLower(strings.TrimSpace(name))
		if !hasValue && i == 0 {
			preset, err := presetOf(name)
			if err != nil {
				return Spec{}, fmt.Errorf("link %q: %w", text, err)
			}
			s = preset
			continue
		}
		if !hasValue {
			return Spec{}, fmt.Errorf("link %q: %q has no value; %s", text, item, form)
		}
		if seen[name] {
			return Spec{}, fmt.Errorf("link %q: %s is given twice", text, name)
		}
		seen[name] = true
		if err := s.set(name, strings.ToLower(strings.TrimSpace(value))); err != nil {
			return Spec{}, fmt.Errorf("link %q: %w", text, err)
		}
	}
	if err := s.Check(); err != nil {
		return Spec{}, fmt.Errorf("link %q: %w", text, err)
	}
	return s, nil
}

func presetOf(name string) (Spec, error) {
	for _, p := range presets {
		if p.name == name {
			return p.spec, nil
		}
	}
	return Spec{}, fmt.Errorf("%q is no named link; there are %s; or %s", name, strings.Join(Presets(), ", "), form)
}

func (s *Spec) set(name, value string) (err error) {
	switch name {
	case "rtt":
		s.RTT, err = duration(name, value)
	case "jitter":
		s.Jitter, err = duration(name, value)
	case "rate":
		s.Rate, err = rate(value)
	case "loss":
		s.Loss, err = loss(value)
	default:
		err = fmt.Errorf("it has no %q; %s", name, form)
	}
	return err
}

func duration(name, value string) (time.Duration, error) {
	d, err := time.ParseDuration(value)
	if err != nil {
		return 0, fmt.Errorf("%s=%s is no duration such as 4.364ms", name, value)
	}
	return d, nil
}

// rateUnits are decimal, as those of networks are; the longest suffix first.
var rateUnits = []struct {
	name string
	bits float64
}{{"gbit", 1e9}, {"mbit", 1e6}, {"kbit", 1e3}, {"bit", 1}}

func rate(value string) (int64, error) {
	for _, u := range rateUnits {
		number, ok := strings.CutSuffix(value, u.name)
		if !ok {
			continue
		}
		n, err := strconv.ParseFloat(number, 64)
		bits := math.Round(n * u.bits)
		if err != nil || !(bits >= minRate && bits <= maxRate) {
			break
		}
		return int64(bits), nil
	}
	return 0, fmt.Errorf("rate=%s is no rate from 1kbit to 100gbit, such as 1gbit or 2.5mbit (bits a second)", value)
}

func loss(value string) (float64, error) {
	number, percent := strings.CutSuffix(value, "%")
	p, err := strconv.ParseFloat(number, 64)
	if percent {
		p /= 100
	}
	if err != nil || !(p >= 0 && p < 1) {
		return 0, fmt.Errorf("loss=%s is neither per cent below 100%% nor a number from 0 to below 1", value)
	}
	return p, nil
}

// Check reports what is wrong with a spec.
func (s Spec) Check() error {
	switch {
	case s.RTT < 0 || s.RTT > maxRTT:
		return fmt.Errorf("rtt=%v is not from 0 to %v", s.RTT, maxRTT)
	case s.Rate != 0 && (s.Rate < minRate || s.Rate > maxRate):
		return fmt.Errorf("a rate of %d bits a second is not from 1kbit to 100gbit", s.Rate)
	case !(s.Loss >= 0 && s.Loss < 1):
		return fmt.Errorf("loss=%v is not from 0 to below 1", s.Loss)
	case s.Jitter < 0:
		return fmt.Errorf("jitter=%v is negative", s.Jitter)
	case s.Jitter > s.RTT:
		return fmt.Errorf("jitter=%v is more than rtt=%v, and no packet arrives before it was sent", s.Jitter, s.RTT)
	}
	return nil
}

// String writes the spec so that Parse reads it back. What is zero is left out,
// except rtt.
func (s Spec) String() string {
	out := "rtt=" + millis(s.RTT)
	if s.Rate != 0 {
		out += ",rate=" + rateText(s.Rate)
	}
	if s.Loss != 0 {
		out += ",loss=" + lossText(s.Loss)
	}
	if s.Jitter != 0 {
		out += ",jitter=" + millis(s.Jitter)
	}
	return out
}

// millis writes a duration in milliseconds: the unit of network delays, where
// Duration.String would change units from one link to the next.
func millis(d time.Duration) string {
	whole, rest := d/time.Millisecond, d%time.Millisecond
	if rest == 0 {
		return strconv.FormatInt(int64(whole), 10) + "ms"
	}
	return strings.TrimRight(fmt.Sprintf("%d.%06d", whole, rest), "0") + "ms"
}

func rateText(bits int64) string {
	for _, u := range rateUnits {
		if text := strconv.FormatFloat(float64(bits)/u.bits, 'f', -1, 64); float64(bits) >= u.bits && len(text) <= 6 {
			return text + u.name
		}
	}
	return strconv.FormatInt(bits, 10) + "bit"
}

// lossText writes per cent where that reads back as the same number.
func lossText(p float64) string {
	text := strconv.FormatFloat(p*100, 'g', -1, 64)
	if rounded := strconv.FormatFloat(p*100, 'g', 6, 64); len(rounded) < len(text) {
		text = rounded
	}
	if back, err := loss(text + "%"); err == nil && back == p {
		return text + "%"
	}
	return strconv.FormatFloat(p, 'g', -1, 64)
}
