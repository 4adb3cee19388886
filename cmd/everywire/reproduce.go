package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/everywire/everywire/lab/cluster"
	"github.com/everywire/everywire/lab/record"
	"github.com/everywire/everywire/lab/reproduce"
	"github.com/everywire/everywire/lab/work"
)

type reproduceCmd struct {
	Names       []string `arg:"" name:"name" help:"Which published comparisons: ${articles}, or all."`
	Quick       bool     `xor:"scale" help:"All in under two minutes: shows that everything works, and claims nothing."`
	AsPublished bool     `xor:"scale" help:"The published lengths, once: hours for all, and no claim."`
	Out         string   `default:"everywire-reproduce" type:"path" placeholder:"DIR" help:"Where the records and the report go (default ${default})."`
	JSON        bool     `help:"Print claims and answers as JSON instead of tables."`
	Seed        uint64   `placeholder:"N" help:"Makes the order of arms and the requests (default: from the clock)."`
}

// Help is the long help with examples.
func (*reproduceCmd) Help() string {
	return `Sets up each published system, measures it here with interleaved blocks, and puts the article's table and
ours side by side: ratios with intervals beside the published ratios, each headline answered in a sentence that
its interval supports, what differs and why. It writes an HTML page and the raw records.

Examples:

  everywire reproduce all                 about twenty minutes
  everywire reproduce all --quick         under two minutes: everything works, nothing is claimed
  everywire reproduce relay               one service calls another, also three of them behind NGINX
  everywire reproduce kvstore --as-published
  everywire reproduce all --json | jq '.[].answers[].sentence'
  everywire report everywire-reproduce/relay-three.jsonl      everything about one experiment

Three of relay's arms need NGINX (Debian: apt-get install nginx libnginx-mod-stream); without it they are left
out, and the report says so.

Exit status: 0 when all was measured, 1 if something could not be, 2 for a mistake in the command, 130 when
interrupted (what was measured so far is reported).`
}

// Run measures and reports.
func (c *reproduceCmd) Run(a *app) error {
	articles, err := c.articles()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(c.Out, 0o755); err != nil {
		return fmt.Errorf("cannot write the report: %w", err)
	}
	if c.Seed == 0 {
		c.Seed = uint64(time.Now().UnixNano())
	}
	machine := reproduce.Machine{NoNginx: noNginx(a)}
	var results []*reproduce.Result
	for _, article := range articles {
		r := &reproduce.Result{Article: article, Scale: c.scale(), Runs: map[string]*record.Run{}, Failed: map[string]string{}}
		results = append(results, r)
		for _, e := range article.Experiments {
			if a.ctx.Err() == nil {
				c.experiment(a, r, e, machine)
			} else {
				r.Failed[e.Name] = "interrupted before it began"
			}
		}
	}
	if err := c.report(a, results); err != nil {
		return err
	}
	if a.ctx.Err() != nil {
		return errInterrupted
	}
	return missing(results)
}

// noNginx says why arms behind NGINX cannot be run, "" if they can.
func noNginx(a *app) string {
	if err := cluster.Installed(a.ctx); err != nil {
		return err.Error()
	}
	return ""
}

// articles are those of the command line.
func (c *reproduceCmd) articles() ([]reproduce.Article, error) {
	if slices.Contains(c.Names, "all") {
		return reproduce.Articles(), nil
	}
	var all []reproduce.Article
	for _, name := range c.Names {
		article, ok := reproduce.Find(name)
		if !ok {
			return nil, usagef("there is no published comparison %q: there are %s, and all", name, strings.Join(reproduce.Names(), ", "))
		}
		all = append(all, article)
	}
	return all, nil
}

func (c *reproduceCmd) scale() reproduce.Scale {
	switch {
	case c.Quick:
		return reproduce.Quick
	case c.AsPublished:
		return reproduce.AsPublished
	}
	return reproduce.Full
}

// experiment measures one experiment into the result.
func (c *reproduceCmd) experiment(a *app, r *reproduce.Result, e reproduce.Experiment, machine reproduce.Machine) {
	name := r.Article.Name + "-" + e.Name
	p := e.Plan(r.Scale, machine)
	p.Name, p.Seed = name, c.Seed
	var payload []byte
	if e.Payload != nil {
		var err error
		if payload, err = work.Payload([][]byte{e.Payload()}); err != nil {
			r.Failed[e.Name] = err.Error()
			return
		}
	}
	file := filepath.Join(c.Out, name+".jsonl")
	progress := newProgress(a.stderr)
	progress.what = name
	partial, err := measurePlan(a, &p, payload, file, nil, progress.show)
	progress.done()
	switch {
	case err != nil:
		r.Failed[e.Name] = err.Error()
		return
	case partial != "":
		r.Failed[e.Name] = partial
	}
	recorded, err := (&reportCmd{File: file}).read(nil)
	if err != nil {
		r.Failed[e.Name] = err.Error()
		return
	}
	r.Runs[e.Name] = recorded
	if why := unmeasured(recorded); why != "" && r.Failed[e.Name] == "" {
		r.Failed[e.Name] = why
	}
}

// unmeasured says which arms have no figures, "" if all have.
func unmeasured(r *record.Run) string {
	reason := map[string]string{}
	for _, x := range r.Header.Plan.Excluded {
		reason[x.Arm] = x.Reason
	}
	for _, arm := range r.Header.Plan.Arms {
		var void, failed string
		ok := slices.ContainsFunc(r.Trials, func(t record.Trial) bool {
			if t.Arm == arm.Name {
				void, failed = t.Void, t.FirstError
			}
			return t.Arm == arm.Name && t.Void == "" && (t.Calls > 0 || t.OpenShare > 0)
		})
		if !ok {
			reason[arm.Name] = strings.Trim(void+"; "+failed, "; ")
		}
	}
	var words []string
	for _, name := range slices.Sorted(maps.Keys(reason)) {
		words = append(words, fmt.Sprintf("%s was not measured (%s)", name, reason[name]))
	}
	return strings.Join(words, "; ")
}

// missing is the error that ends a run of which something could not be measured.
func missing(results []*reproduce.Result) error {
	var words []string
	for _, r := range results {
		for _, name := range slices.Sorted(maps.Keys(r.Failed)) {
			words = append(words, r.Article.Name+" "+name)
		}
	}
	if len(words) == 0 {
		return nil
	}
	return fmt.Errorf("not all could be measured: %s; the report says why", strings.Join(words, ", "))
}

// report writes the page, and the text or JSON to standard output.
func (c *reproduceCmd) report(a *app, results []*reproduce.Result) error {
	digest := reproduce.Digest(results)
	file := filepath.Join(c.Out, "report.html")
	page, err := os.Create(file)
	if err != nil {
		return fmt.Errorf("cannot write the report: %w", err)
	}
	if err := errors.Join(digest.HTML(page), page.Close()); err != nil {
		return err
	}
	if c.JSON {
		return writeJSON(a.stdout, reproduce.JSON(results))
	}
	if err := digest.Text(a.stdout, textOptions(a.stdout)); err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "\nReport: %s\nRecords: %s\n", display(file), display(filepath.Join(c.Out, "*.jsonl")))
	return nil
}
