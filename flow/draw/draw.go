package draw

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/everywire/everywire/flow"
)

// MaxSteps bounds what a picture shows: one of more steps is no picture.
const MaxSteps = 2000

// SVG draws all flows of a file, or those that are named, one below the other, each
// with the triggers that start it.
func SVG(file *flow.File, names ...string) ([]byte, error) {
	flows := file.Flows
	if len(names) > 0 {
		flows = nil
		for _, name := range names {
			f := file.Flow(name)
			if f == nil {
				return nil, fmt.Errorf("%s has no flow %q: it has %s", file.Name, name, strings.Join(flowNames(file), ", "))
			}
			flows = append(flows, f)
		}
	}
	if len(flows) == 0 {
		return nil, errors.New("there is no flow to draw")
	}
	steps := 0
	for _, f := range flows {
		steps += count(f.Steps)
	}
	if steps > MaxSteps {
		return nil, fmt.Errorf("%s has %d steps to draw: a picture has up to %d, draw some of its flows", file.Name, steps, MaxSteps)
	}
	p := &picture{file: file}
	all := column{gap: 3 * gap}
	for _, f := range flows {
		all.items = append(all.items, p.flow(f))
	}
	return p.document(&all, flows), nil
}

func flowNames(file *flow.File) []string {
	var names []string
	for _, f := range file.Flows {
		names = append(names, f.Name)
	}
	slices.Sort(names)
	return names
}

func count(steps []*flow.Step) int {
	n := len(steps)
	for _, s := range steps {
		n += count(s.Parallel)
	}
	return n
}

// A picture makes the parts of a file's picture.
type picture struct{ file *flow.File }

// flow is one flow: its triggers, and its steps below.
func (p *picture) flow(f *flow.Flow) part {
	chain := &column{gap: gap, arrows: true}
	starts := &row{gap: gap / 2}
	for _, t := range p.file.Triggers {
		if t.Flow == f {
			starts.items = append(starts.items, trigger(t))
		}
	}
	if len(starts.items) > 0 {
		chain.items = append(chain.items, starts)
	}
	chain.items = append(chain.items, start(p.file, f))
	chain.items = append(chain.items, steps(f.Steps)...)
	return chain
}

// steps are parts of steps, one below the other.
func steps(all []*flow.Step) []part {
	var parts []part
	for _, s := range all {
		var inner part
		if s.Parallel != nil {
			side := &row{gap: gap / 2}
			side.items = append(side.items, steps(s.Parallel)...)
			inner = &frame{label: label("parallel", s), inner: side}
		} else {
			inner = step(s)
		}
		parts = append(parts, maybe(s, inner))
	}
	return parts
}

// maybe puts a step's condition before it.
func maybe(s *flow.Step, inner part) part {
	if s.When == nil {
		return inner
	}
	return &condition{text: newBox(hexagon, "when", "", []string{s.When.Text}), inner: inner, ends: s.Return != nil}
}

// label is a step's word, and its name if the file gives one.
func label(kind string, s *flow.Step) string {
	if s.Named {
		return kind + " " + s.Name
	}
	return kind
}
