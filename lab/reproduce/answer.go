package reproduce

import (
	"fmt"
	"math"
	"strings"

	"github.com/everywire/everywire/lab/record"
	"github.com/everywire/everywire/lab/report"
	"github.com/everywire/everywire/lab/stats"
)

// A Result is what was measured of an article.
type Result struct {
	Article Article
	Scale   Scale
	// Runs are the records of its experiments, by name. One that could not be
	// made is missing.
	Runs map[string]*record.Run
	// Failed says, by experiment, why there is no record or not all of one.
	Failed map[string]string
}

// blocks are the figures of a value, one for each block.
func (r *Result) blocks(v Value) []stats.Block {
	run := r.Runs[v.Experiment]
	if run == nil {
		return nil
	}
	return stats.Blocks(run, v.place(), v.Figure)
}

// ratio is that of two values: of the figures as they are, not of speeds.
func (r *Result) ratio(over, under Value) stats.Ratio {
	return stats.Pair(r.blocks(over), r.blocks(under))
}

// speed is how fast one value is beside another: above 1 if it is faster.
func (r *Result) speed(over, under Value) stats.Ratio {
	if over.Figure.More() {
		return r.ratio(over, under)
	}
	return r.ratio(under, over)
}

// An Answer is what our figures say of a claim.
type Answer struct {
	Claim Claim
	// Ratio is the speed of Over beside Under.
	Ratio stats.Ratio
	Test  stats.Test
	among int // so many claims are judged together
	// Sentence says it in words.
	Sentence string
}

// Answers answers the article's claims together: with more claims it takes more
// to call anything different.
func (r *Result) Answers() []Answer {
	family := make([]stats.Ratio, len(r.Article.Claims))
	for i, c := range r.Article.Claims {
		family[i] = r.speed(c.Over, c.Under)
	}
	answers := make([]Answer, len(family))
	for i, t := range stats.Judge(family) {
		a := Answer{Claim: r.Article.Claims[i], Ratio: family[i], Test: t, among: len(family)}
		a.Sentence = a.sentence(r)
		answers[i] = a
	}
	return answers
}

// sentence says what the interval supports, and no more.
func (a *Answer) sentence(r *Result) string {
	c, where := a.Claim, ""
	if c.Where != "" {
		where = " " + c.Where
	}
	published := ""
	if c.Says != "" {
		published = fmt.Sprintf("Published: %s%s (%sx). ", c.Says, where, report.Times(c.Published))
		where = ""
	}
	if math.IsNaN(a.Ratio.Median) {
		return fmt.Sprintf("%sHere %s was not measured beside %s%s.", published, c.OverName, strings.TrimSuffix(c.UnderName, ","), where)
	}
	is := "is %sx as fast as"
	if c.Over.Figure.More() {
		is = "makes %sx the calls of"
	}
	is = fmt.Sprintf(is, report.Times(a.Ratio.Median))
	if r.Scale != Full {
		return fmt.Sprintf("%sHere %s %s %s%s: of one block, so no claim.", published, c.OverName, is, c.UnderName, where)
	}
	figures := fmt.Sprintf("Here %s %s %s%s (%s)", c.OverName, is, c.UnderName, where, report.Within(a.Ratio))
	return published + figures + ": " + a.verdict() + "."
}

// verdict is the end of the sentence.
func (a *Answer) verdict() string {
	p, iv := a.Claim.Published, a.Ratio.Interval
	faster := a.Ratio.Median > 1
	word := "slower"
	if faster {
		word = "faster"
	}
	switch {
	case iv == nil:
		return "too few blocks for a claim"
	case !a.Test.Different && within(iv.Low) && within(iv.High):
		return "no difference of 5 %"
	case !a.Test.Different && (iv.Low > 1+stats.Band || iv.High < 1/(1+stats.Band)):
		return fmt.Sprintf("%s by this interval, which alone proves nothing among %d claims", word, a.among)
	case !a.Test.Different:
		return "not distinguished at 5 %"
	case p == 0:
		return word
	case within(p):
		return word + ", where the article has no difference of 5 %"
	case p > 1 != faster:
		return word + ", the other way round than published"
	case iv.Low <= p && p <= iv.High:
		return word + ", as much as published"
	case faster == (p > a.Ratio.Median):
		return word + ", by less than published"
	}
	return word + ", by more than published"
}

// within reports whether a ratio is too near to 1 to matter.
func within(ratio float64) bool {
	return ratio <= 1+stats.Band && ratio >= 1/(1+stats.Band)
}
