package draw

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/code"

	"github.com/everywire/everywire/flow"
	"github.com/everywire/everywire/flow/expr"
)

// trigger is the box of what starts a flow.
func trigger(t *flow.Trigger) part {
	var lines []string
	kind, shape := "timer", clock
	switch {
	case t.Timer != nil:
		lines = append(lines, "every "+short(t.Timer.Every))
		if t.Timer.After > 0 {
			lines = append(lines, "after "+short(t.Timer.After))
		}
		if t.Timer.Count > 0 {
			lines = append(lines, strconv.Itoa(t.Timer.Count)+" times")
		}
		if t.Timer.Overlap != flow.Skip {
			lines = append(lines, "overlap: "+t.Timer.Overlap.String())
		}
	case t.Service != nil:
		kind, shape = "on call", port
		lines = append(lines, t.Service.On)
		if m := t.Service.Method; m != nil {
			lines = append(lines, m.Name)
			if m.Verb != "" {
				lines = append(lines, m.Verb+" "+m.Path)
			}
		}
	}
	return newBox(shape, kind, t.Name, append(lines, members(t.With)...))
}

// short is a duration without zeros at its end: 1m, not 1m0s.
func short(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// start is the box with which a flow begins.
func start(file *flow.File, f *flow.Flow) part {
	var lines []string
	for _, in := range f.Inputs {
		lines = append(lines, in.Name+": "+typeName(in.Label, in.Scalar, in.Of))
	}
	if f.Timeout > 0 {
		lines = append(lines, "timeout "+short(f.Timeout))
	}
	for _, other := range file.Flows {
		if calls(other.Steps, f) {
			lines = append(lines, "called by "+other.Name)
		}
	}
	return newBox(terminal, "flow", f.Name, lines)
}

func calls(all []*flow.Step, f *flow.Flow) bool {
	for _, s := range all {
		if s.Call != nil && s.Call.Flow == f || calls(s.Parallel, f) {
			return true
		}
	}
	return false
}

func typeName(l flow.Label, s flow.Scalar, of *flow.Message) string {
	name := string(s)
	if of != nil {
		name = of.Name
	}
	switch l {
	case flow.Optional:
		return "optional " + name
	case flow.Repeated:
		return "repeated " + name
	case flow.MapOf:
		return "map<string, " + name + ">"
	}
	return name
}

// step is the box of a step that has none within it.
func step(s *flow.Step) part {
	var lines []string
	shape := process
	name := ""
	if s.Named {
		name = s.Name
	}
	switch {
	case s.Invoke != nil:
		shape = port
		i := s.Invoke
		lines = append(lines, i.Target)
		if i.Method != nil {
			lines = append(lines, i.Method.Name)
		}
		lines = append(lines, value(i.Request)...)
		limits := "deadline " + short(i.Deadline)
		if i.Retry != nil {
			limits += fmt.Sprintf(", %d attempts", i.Retry.Attempts)
		}
		lines = append(lines, limits)
	case s.Log != nil:
		shape = document
		lines = append(lines, value(s.Log.Message)...)
		if s.Log.Level != "info" {
			lines = append(lines, "level "+s.Log.Level)
		}
		lines = append(lines, members(s.Log.Fields)...)
	case s.Map != nil:
		lines = append(lines, value(s.Map)...)
	case s.Call != nil:
		shape = predefined
		if s.Call.Flow != nil {
			lines = append(lines, s.Call.Flow.Name)
		}
		lines = append(lines, members(s.Call.With)...)
	case s.Return != nil:
		shape = terminal
		if s.Return.Message != nil {
			lines = append(lines, "error "+code.Code(s.Return.Code).String())
			lines = append(lines, value(s.Return.Message)...)
		} else {
			lines = append(lines, value(s.Return.Reply)...)
		}
	}
	return newBox(shape, s.Kind(), name, lines)
}

// value is a value in lines: one for each member of an object.
func value(v *flow.Value) []string {
	switch {
	case v == nil:
		return nil
	case v.Kind == flow.Object:
		return members(v.Members)
	}
	return []string{inline(v)}
}

func members(all []flow.Member) []string {
	var lines []string
	for _, m := range all {
		lines = append(lines, m.Name+": "+inline(m.Value))
	}
	return lines
}

// inline is a value in one line, as in the file.
func inline(v *flow.Value) string {
	switch v.Kind {
	case flow.Constant:
		text, err := expr.AppendText(nil, v.Const)
		if err != nil {
			return "…"
		}
		return string(text)
	case flow.Computed:
		return "${{ " + v.Expr.Text + " }}"
	case flow.Text:
		var b strings.Builder
		for _, p := range v.Parts {
			if p.Expr != nil {
				b.WriteString("${{ " + p.Expr.Text + " }}")
			} else {
				b.WriteString(p.Text)
			}
		}
		return b.String()
	case flow.Object:
		return "{" + strings.Join(members(v.Members), ", ") + "}"
	}
	items := make([]string, len(v.Items))
	for i, item := range v.Items {
		items[i] = inline(item)
	}
	return "[" + strings.Join(items, ", ") + "]"
}
