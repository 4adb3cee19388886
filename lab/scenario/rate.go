package scenario

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/everywire/everywire/lab/data"
	"github.com/everywire/everywire/lab/plan"
)

// Limits of rates.
const (
	maxRate   = 10_000_000 // calls a second
	maxStages = 1000
	maxTime   = 30 * 24 * time.Hour
)

const rateForms = "a rate is in calls a second, such as 500, 500/30s for a time, 100..1000/30s for a ramp; several are stages, with commas between"

// ParseRate reads the rates of an open loop: stages with commas between, of which
// each is RATE[/TIME] or FROM..TO/TIME. The last may have no time: it then lasts for
// the rest of total, which is 0 if nothing was said about it. Otherwise total must be
// 0, or what the stages take.
func ParseRate(text string, total time.Duration) ([]plan.Stage, error) {
	r := &rates{text: text}
	var stages []plan.Stage
	var sum time.Duration
	for at := 0; ; {
		end := strings.IndexByte(text[at:], ',')
		last := end < 0
		if last {
			end = len(text) - at
		}
		stage, err := r.stage(at, at+end)
		switch {
		case err != nil:
			return nil, err
		case stage.For == 0 && !last:
			return nil, r.bad(at, "only the last stage may have no time, which others have behind a slash: %s/30s", text[at:at+end])
		case len(stages) >= maxStages:
			return nil, r.bad(at, "there are more than %d stages", maxStages)
		}
		sum += stage.For
		stages = append(stages, stage)
		if last {
			return r.rest(stages, sum, total)
		}
		at += end + 1
	}
}

// rest gives the last stage what is left of the time.
func (r *rates) rest(stages []plan.Stage, sum, total time.Duration) ([]plan.Stage, error) {
	last := &stages[len(stages)-1]
	switch {
	case last.For == 0 && total == 0:
		return nil, r.bad(len(r.text), "the last stage has no time: add /30s, or --duration")
	case last.For == 0 && sum >= total:
		return nil, r.bad(len(r.text), "the stages before the last take %v, which leaves nothing of --duration %v", sum, total)
	case last.For == 0:
		last.For = total - sum
	case total != 0 && sum != total:
		return nil, r.bad(len(r.text), "the stages take %v, but --duration says %v: leave it out", sum, total)
	}
	return stages, nil
}

// rates is a text of rates.
type rates struct{ text string }

func (r *rates) bad(at int, format string, args ...any) error {
	return data.Origin{Name: "--rate " + r.text}.At(r.text, at, format, args...)
}

// stage reads text[start:end].
func (r *rates) stage(start, end int) (stage plan.Stage, err error) {
	if start == end {
		return stage, r.bad(start, "a rate is missing: %s", rateForms)
	}
	rate, duration := end, end
	if slash := strings.IndexByte(r.text[start:end], '/'); slash >= 0 {
		rate, duration = start+slash, start+slash+1
	}
	from := rate
	if dots := strings.Index(r.text[start:rate], ".."); dots >= 0 {
		from = start + dots
	}
	if stage.From, err = r.number(start, from); err != nil {
		return stage, err
	}
	stage.To = stage.From
	if from != rate {
		if stage.To, err = r.number(from+2, rate); err != nil {
			return stage, err
		}
	}
	switch {
	case rate == end:
		return stage, nil
	case duration == end:
		return stage, r.bad(duration, "a time is missing behind the slash, such as 30s")
	}
	stage.For, err = time.ParseDuration(r.text[duration:end])
	switch {
	case err != nil:
		return stage, r.bad(duration, "%q is no time such as 500ms, 30s, 5m", r.text[duration:end])
	case stage.For <= 0 || stage.For > maxTime:
		return stage, r.bad(duration, "the time %v is not above 0, or longer than 30 days", stage.For)
	}
	return stage, nil
}

func (r *rates) number(start, end int) (float64, error) {
	text := r.text[start:end]
	n, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil || math.IsNaN(n) || strings.ContainsAny(text, "xXpP_"):
		return 0, r.bad(start, "%q is no rate: %s", text, rateForms)
	case n < 0 || n > maxRate:
		return 0, r.bad(start, "the rate %s is negative, or more than ten million calls a second", text)
	}
	return n, nil
}
