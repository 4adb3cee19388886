package record

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// maxLine is the limit on one line of a record in bytes. A trial's line is a
// few kilobytes; the limit stops a foreign file without line ends.
const maxLine = 64 << 20

// A Writer writes a record as a run goes. Each line reaches the underlying
// writer in one Write and nothing is held back, so that a killed run leaves
// all its finished trials. It must not be used by two goroutines at once.
type Writer struct {
	w     io.Writer
	ended bool
}

// NewWriter writes the header and returns the writer of what follows. It sets
// the header's Type and Format.
func NewWriter(w io.Writer, h Header) (*Writer, error) {
	h.Type, h.Format = TypeHeader, Format
	rw := &Writer{w: w}
	return rw, rw.line(h)
}

// Trial writes one trial; it sets its Type.
func (w *Writer) Trial(t Trial) error {
	t.Type = TypeTrial
	return w.line(t)
}

// End writes the last line; it sets its Type. Nothing can be written after it.
func (w *Writer) End(e End) error {
	e.Type = TypeEnd
	err := w.line(e)
	w.ended = true
	return err
}

func (w *Writer) line(v any) error {
	if w.ended {
		return errors.New("record: written to after its end")
	}
	line, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("record: %w", err)
	}
	if _, err := w.w.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("record: %w", err)
	}
	return nil
}

// Read reads a whole record. An error names the line it is about. A last line
// that was cut off is left out without an error, and End is then nil: the run
// was killed while writing it. Unknown fields are ignored; an unknown type of
// line or a newer format is an error, because the meaning of the rest is then
// unknown.
func Read(r io.Reader) (*Run, error) {
	sc := bufio.NewScanner(r)
	sc.Buffer(make([]byte, 0, 64<<10), maxLine)
	sc.Split(splitLines)
	rd := reader{run: &Run{}, seen: map[trialKey]int{}, made: map[trialKey]bool{}}
	for sc.Scan() {
		rd.line++
		line, whole := bytes.CutSuffix(sc.Bytes(), []byte("\n"))
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		if !whole && rd.header && !json.Valid(line) {
			break
		}
		if err := rd.add(line); err != nil {
			return nil, fmt.Errorf("record: line %d: %w", rd.line, err)
		}
	}
	if err := sc.Err(); errors.Is(err, bufio.ErrTooLong) {
		return nil, fmt.Errorf("record: line %d: longer than %d MiB; this is not a record of a run", rd.line+1, maxLine>>20)
	} else if err != nil {
		return nil, fmt.Errorf("record: after line %d: %w", rd.line, err)
	}
	if !rd.header {
		return nil, errors.New("record: the file is empty; a record begins with a header line")
	}
	return rd.run, nil
}

// splitLines is a bufio.SplitFunc that keeps the line end, so that a cut-off
// last line can be told from a whole one.
func splitLines(data []byte, atEOF bool) (int, []byte, error) {
	if i := bytes.IndexByte(data, '\n'); i >= 0 {
		return i + 1, data[:i+1], nil
	}
	if atEOF && len(data) > 0 {
		return len(data), data, nil
	}
	return 0, nil, nil
}

type trialKey struct {
	block     int
	arm, link string
	callers   int
}

// reader is the state of Read between lines.
type reader struct {
	run    *Run
	line   int
	header bool
	seen   map[trialKey]int  // the line of each trial
	made   map[trialKey]bool // false if it was void, so that it may follow again
}

func (r *reader) add(line []byte) error {
	var head struct {
		Type   string `json:"type"`
		Format int    `json:"format"`
	}
	if err := json.Unmarshal(line, &head); err != nil {
		if !r.header {
			return errors.New(`not a record of a run, which begins with {"type":"header",`)
		}
		return explain(err)
	}
	switch {
	case !r.header && head.Type != TypeHeader:
		return fmt.Errorf("not a record of a run: the first line's type is %q, not %q", head.Type, TypeHeader)
	case r.header && head.Type == TypeHeader:
		return errors.New("a second header: these are two records in one file; give each a file of its own")
	case r.run.End != nil:
		return fmt.Errorf("a line of type %q after the end of the run", head.Type)
	}
	switch head.Type {
	case TypeHeader:
		return r.addHeader(line, head.Format)
	case TypeTrial:
		return r.addTrial(line)
	case TypeEnd:
		var e End
		if err := json.Unmarshal(line, &e); err != nil {
			return explain(err)
		}
		r.run.End = &e
		return nil
	}
	return fmt.Errorf("unknown type %q; known are %q, %q and %q", head.Type, TypeHeader, TypeTrial, TypeEnd)
}

func (r *reader) addHeader(line []byte, format int) error {
	switch {
	case format > Format:
		return fmt.Errorf("the record has format %d and this program knows up to %d; use a newer everywire", format, Format)
	case format < 1:
		return fmt.Errorf("the record has format %d; formats count from 1", format)
	}
	if err := json.Unmarshal(line, &r.run.Header); err != nil {
		return explain(err)
	}
	r.header = true
	return r.run.Header.Plan.Check()
}

func (r *reader) addTrial(line []byte) error {
	var t Trial
	if err := json.Unmarshal(line, &t); err != nil {
		return explain(err)
	}
	p := &r.run.Header.Plan
	key := trialKey{t.Block, t.Arm, t.Network(), t.Callers}
	switch {
	case p.Arm(t.Arm) == nil:
		return fmt.Errorf("a trial of %q, which is not an arm of the plan", t.Arm)
	case !slices.Contains(p.Networks(), t.Network()):
		return fmt.Errorf("a trial over %q; the plan's links are %q", t.Network(), p.Networks())
	case t.Block < 0 || t.Block >= p.Blocks:
		return fmt.Errorf("a trial of block %d; the plan has blocks 0 to %d", t.Block, p.Blocks-1)
	case !slices.Contains(p.Callers, t.Callers):
		return fmt.Errorf("a trial with %d callers; the plan has %v", t.Callers, p.Callers)
	case r.seen[key] != 0 && r.made[key]:
		over := ""
		if t.Link != "" {
			over = " over " + t.Link
		}
		return fmt.Errorf("the trial of %q with %d callers%s in block %d stands in line %d already", t.Arm, t.Callers, over, t.Block, r.seen[key])
	}
	if err := t.check(); err != nil {
		return err
	}
	r.seen[key], r.made[key] = r.line, t.Void == ""
	r.run.Trials = append(r.run.Trials, t)
	return nil
}

// check reports a count or time that cannot be.
func (t *Trial) check() error {
	for _, v := range []struct {
		name  string
		value float64
	}{
		{"seconds", t.Seconds},
		{"calls", float64(t.Calls)},
		{"censored", float64(t.Censored)},
		{"server_cpu", t.ServerCPU},
		{"client_cpu", t.ClientCPU},
		{"stolen", t.Stolen},
		{"others", t.Others},
	} {
		if v.value < 0 {
			return fmt.Errorf("%s is %v; it cannot be negative", v.name, v.value)
		}
	}
	if t.Void == "" && t.Seconds == 0 {
		return errors.New("seconds is 0 and the trial is not void")
	}
	return nil
}

// explain shortens encoding/json's errors to what a reader of the file needs.
func explain(err error) error {
	var syntax *json.SyntaxError
	var typ *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return fmt.Errorf("not JSON at byte %d: %s", syntax.Offset, syntax.Error())
	case errors.As(err, &typ):
		return fmt.Errorf("%s is a JSON %s, which does not fit", typ.Field, typ.Value)
	}
	return err
}
