package reproduce

import (
	"math"

	"github.com/everywire/everywire/lab/stats"
)

// An ArticleJSON is what is found of an article, for programs.
type ArticleJSON struct {
	Name    string            `json:"name"`
	Title   string            `json:"title"`
	Scale   Scale             `json:"scale"`
	Answers []AnswerJSON      `json:"answers"`
	Tables  []TableJSON       `json:"tables"`
	Differs []string          `json:"differs"`
	Failed  map[string]string `json:"failed,omitempty"`
}

// An AnswerJSON is an answer. Ratios are of speeds: above 1 is faster.
type AnswerJSON struct {
	Over      string     `json:"over"`
	Under     string     `json:"under"`
	Where     string     `json:"where,omitempty"`
	Published float64    `json:"published,omitempty"`
	Ratio     *RatioJSON `json:"ratio,omitempty"`
	// Different is set if a claim may be made; see Sentence.
	Different bool   `json:"different"`
	Sentence  string `json:"sentence"`
}

// A RatioJSON is a median ratio, with its interval if there are blocks enough.
type RatioJSON struct {
	Median float64  `json:"median"`
	Low    *float64 `json:"low,omitempty"`
	High   *float64 `json:"high,omitempty"`
	Blocks int      `json:"blocks"`
}

// A TableJSON is one of the article's tables with our figures.
type TableJSON struct {
	Caption string    `json:"caption"`
	Unit    string    `json:"unit"`
	Rows    []RowJSON `json:"rows"`
}

// A RowJSON is a row of it. Ratios are of the figures, over those of the row's base.
type RowJSON struct {
	Label          string     `json:"label"`
	Published      float64    `json:"published,omitempty"`
	Here           *float64   `json:"here,omitempty"`
	PublishedRatio float64    `json:"published_ratio,omitempty"`
	Ratio          *RatioJSON `json:"ratio,omitempty"`
}

// JSON is the digest for programs.
func JSON(results []*Result) []ArticleJSON {
	var out []ArticleJSON
	for _, r := range results {
		a := ArticleJSON{Name: r.Article.Name, Title: r.Article.Title, Scale: r.Scale, Differs: r.Article.Differs, Failed: r.Failed}
		for _, x := range r.Answers() {
			a.Answers = append(a.Answers, AnswerJSON{
				Over: x.Claim.OverName, Under: x.Claim.UnderName, Where: x.Claim.Where, Published: x.Claim.Published,
				Ratio: ratioJSON(x.Ratio), Different: x.Test.Different && r.Scale == Full, Sentence: x.Sentence,
			})
		}
		for i := range r.Article.Tables {
			a.Tables = append(a.Tables, r.tableJSON(&r.Article.Tables[i]))
		}
		out = append(out, a)
	}
	return out
}

func (r *Result) tableJSON(t *Table) TableJSON {
	out := TableJSON{Caption: t.Caption, Unit: t.Unit}
	for _, row := range t.Rows {
		j := RowJSON{Label: row.Label, Published: row.Published, PublishedRatio: row.Ratio}
		if here := r.middle(t.Unit, row.Ours); !math.IsNaN(here) {
			j.Here = &here
		}
		if row.Base != (Value{}) {
			j.Ratio = ratioJSON(r.ratio(row.Ours, row.Base))
		}
		out.Rows = append(out.Rows, j)
	}
	return out
}

// ratioJSON is nil if there is no ratio.
func ratioJSON(r stats.Ratio) *RatioJSON {
	if math.IsNaN(r.Median) || math.IsInf(r.Median, 0) {
		return nil
	}
	out := &RatioJSON{Median: r.Median, Blocks: len(r.Blocks)}
	if r.Interval != nil {
		out.Low, out.High = &r.Interval.Low, &r.Interval.High
	}
	return out
}
