package reproduce

import (
	"slices"

	"github.com/everywire/everywire/lab/plan"
	"github.com/everywire/everywire/lab/stats"
)

// An Article is a published comparison.
type Article struct {
	// Name is what the command calls it, Title what its authors did.
	Name, Title string
	// System says what was measured.
	System string
	// Experiments measure the same here.
	Experiments []Experiment
	// Tables put the article's figures and ours side by side.
	Tables []Table
	// Claims are the article's headlines, and others that it invites.
	Claims []Claim
	// Differs says what differs between the article's measurement and ours, and
	// what neither tells; each is a sentence or two.
	Differs []string
}

// An Experiment is one plan.
type Experiment struct {
	// Name is unique among those of the article.
	Name string
	// Plan makes the plan at a scale; arms that cannot be run here are in its
	// Excluded.
	Plan func(Scale, Machine) plan.Plan
	// Payload makes the document that echo is sent, nil for other services.
	Payload func() []byte
}

// A Machine says what the machine has that some arms need.
type Machine struct {
	// NoNginx says why arms behind NGINX cannot be run, "" if they can.
	NoNginx string
}

// A Scale says how long everything is measured.
type Scale string

// The scales.
const (
	// Full is the published mix at a scaled length, in blocks enough for claims.
	Full Scale = "full"
	// Quick shows that everything works, and claims nothing.
	Quick Scale = "quick"
	// AsPublished has the published lengths, in one block that claims nothing.
	AsPublished Scale = "as published"
)

// A Table is one table of the article.
type Table struct {
	Caption string
	// Unit is of the figures: "calls/s", "ms", "bytes".
	Unit string
	Rows []Row
}

// A Row is a published figure and where ours is.
type Row struct {
	Label string
	// Published is the article's figure in the table's unit; 0 if it has none.
	Published float64
	// Ratio is the article's figure over that of the row that it is compared
	// with; 0 if it is compared with none.
	Ratio float64
	Ours  Value
	// Base is the row's, that it is compared with; its zero value is none.
	Base Value
}

// A Value is a figure of an experiment.
type Value struct {
	Experiment string
	Arm        string
	Callers    int
	// Link is loopback if it is empty.
	Link   string
	Op     string
	Figure stats.Figure
}

func (v Value) place() stats.Place {
	link := v.Link
	if link == "" {
		link = plan.Loopback
	}
	return stats.Place{Arm: v.Arm, Callers: v.Callers, Link: link, Op: v.Op}
}

// A Claim is a ratio that an article publishes, or that a reader of it would
// want to know.
type Claim struct {
	// Says is the article's sentence, as a clause: "JSON over TCP makes 4.9 times
	// the calls of JSON over HTTP on one machine". It is empty for a comparison
	// that the article does not make.
	Says string
	// Published is the article's ratio, with more meaning better; 0 if none.
	Published float64
	// Over and Under are what our ratio is of. They have the same figure.
	Over, Under Value
	// OverName and UnderName are what the sentence calls them; Short is what a chart
	// calls the ratio.
	OverName, UnderName, Short string
	// Where ends the sentence: "on one machine", "at 142.5 ms".
	Where string
}

// Articles are the five, in the order of the command's help.
func Articles() []Article {
	return []Article{playground(), lightauth(), relay(), flow(), kvstore()}
}

// Names are the names of all articles.
func Names() []string {
	var names []string
	for _, a := range Articles() {
		names = append(names, a.Name)
	}
	return names
}

// Find finds an article by name.
func Find(name string) (Article, bool) {
	all := Articles()
	i := slices.IndexFunc(all, func(a Article) bool { return a.Name == name })
	if i < 0 {
		return Article{}, false
	}
	return all[i], true
}
