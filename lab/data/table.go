package data

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"unicode/utf8"
)

// MaxTable bounds a table's file, which is kept in memory.
const MaxTable = 256 << 20

// A Table is rows of values, of which each column has a name.
type Table struct {
	// Name is the file.
	Name    string
	Columns []string
	Rows    [][]Value
}

// ReadTable reads a file by its suffix: .csv (RFC 4180, the first line names the
// columns), or .jsonl, .ndjson (one JSON object a line, whose members are the
// columns).
func ReadTable(name string) (*Table, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // nothing was written
	text, err := io.ReadAll(io.LimitReader(f, MaxTable+1))
	switch {
	case err != nil:
		return nil, err
	case len(text) > MaxTable:
		return nil, &Error{Name: name, Text: "it is larger than 256 MiB, which a load keeps in memory"}
	}
	return ParseTable(name, text)
}

// ParseTable reads the text of a file as [ReadTable] does.
func ParseTable(name string, text []byte) (*Table, error) {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if at := invalidUTF8(text); at >= 0 {
		return nil, &Error{Name: name, Line: 1 + bytes.Count(text[:at], []byte("\n")), Text: "it is not UTF-8"}
	}
	t := &Table{Name: name}
	var err error
	switch suffix := strings.ToLower(filepath.Ext(name)); suffix {
	case ".csv":
		err = t.readCSV(text)
	case ".jsonl", ".ndjson":
		err = t.readLines(text)
	default:
		return nil, &Error{Name: name, Text: fmt.Sprintf("the suffix %q says no form of data: it is .csv, .jsonl or .ndjson", suffix)}
	}
	if err != nil {
		return nil, err
	}
	if len(t.Rows) == 0 {
		return nil, &Error{Name: name, Text: "it has no rows"}
	}
	return t, nil
}

func invalidUTF8(text []byte) int {
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}

func (t *Table) readCSV(text []byte) error {
	r := csv.NewReader(bytes.NewReader(text))
	r.ReuseRecord = true
	header, err := r.Read()
	if errors.Is(err, io.EOF) {
		return &Error{Name: t.Name, Text: "it is empty: its first line names the columns"}
	}
	if err != nil {
		return t.csvError(text, err)
	}
	for i, name := range header {
		if name == "" || slices.Contains(t.Columns, name) {
			line, column := r.FieldPos(i)
			return &Error{Name: t.Name, Line: line, Column: characters(text, line, column), Text: fmt.Sprintf("a column's name is empty or stands twice: %q", name)}
		}
		t.Columns = append(t.Columns, strings.Clone(name))
	}
	for {
		record, err := r.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return t.csvError(text, err)
		}
		row := make([]Value, len(record))
		for i, text := range record {
			row[i] = Value{Cell, strings.Clone(text)}
		}
		t.Rows = append(t.Rows, row)
	}
}

// characters turns a column that counts bytes, from 1, into one that counts characters.
func characters(text []byte, line, column int) int {
	for range line - 1 {
		_, text, _ = bytes.Cut(text, []byte("\n"))
	}
	return utf8.RuneCount(text[:min(column-1, len(text))]) + 1
}

func (t *Table) csvError(text []byte, err error) error {
	var at *csv.ParseError
	if !errors.As(err, &at) {
		return err
	}
	if errors.Is(at.Err, csv.ErrFieldCount) {
		return &Error{Name: t.Name, Line: at.StartLine, Text: fmt.Sprintf("the row does not have the %d fields that the first line names", len(t.Columns))}
	}
	return &Error{Name: t.Name, Line: at.Line, Column: characters(text, at.Line, at.Column), Text: at.Err.Error()}
}

func (t *Table) readLines(text []byte) error {
	number := 0
	for line := range bytes.Lines(text) {
		number++
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		if err := t.readObject(line, number); err != nil {
			return err
		}
	}
	return nil
}

func (t *Table) readObject(line []byte, number int) error {
	bad := func(format string, args ...any) error {
		return &Error{Name: t.Name, Line: number, Text: fmt.Sprintf(format, args...)}
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(line, &members); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			at := max(0, min(int(syntax.Offset)-1, len(line)))
			return &Error{Name: t.Name, Line: number, Column: utf8.RuneCount(line[:at]) + 1, Text: syntax.Error()}
		}
		return bad("each line is a JSON object: this is something else")
	}
	if members == nil {
		return bad("each line is a JSON object: this is null")
	}
	if t.Rows == nil {
		for name := range members {
			if name == "" {
				return bad("a member's name is empty")
			}
			t.Columns = append(t.Columns, name)
		}
		slices.Sort(t.Columns)
	}
	row := make([]Value, len(t.Columns))
	for i, name := range t.Columns {
		raw, ok := members[name]
		if !ok {
			return bad("it has no member %q, which the first line has", name)
		}
		row[i] = valueOf(raw)
		delete(members, name)
	}
	for name := range members {
		return bad("it has a member %q, which the first line has not", name)
	}
	t.Rows = append(t.Rows, row)
	return nil
}

// valueOf is the value of a JSON text that is well-formed.
func valueOf(raw json.RawMessage) Value {
	if raw[0] == '"' {
		var text string
		if json.Unmarshal(raw, &text) == nil {
			return Value{String, text}
		}
	}
	return Value{JSON, string(raw)}
}

// An Order says which row comes next.
type Order string

// The orders.
const (
	// Sequential takes the rows as they stand, one after the other for all callers
	// together, and begins again behind the last.
	Sequential Order = "sequential"
	// Random takes any row, each as often as the others.
	Random Order = "random"
	// Unique deals the rows out, as cards are: no two callers ever have the same. A
	// caller takes its own as they stand, and begins again behind its last.
	Unique Order = "unique"
)

// Orders are all of them, the default first.
func Orders() []Order { return []Order{Sequential, Random, Unique} }

// A Feeder gives rows of a table to callers.
type Feeder struct {
	table *Table
	order Order
	slots []int
	next  atomic.Uint64
}

// NewFeeder declares the table's columns in the scope.
func NewFeeder(t *Table, order Order, names *Scope) *Feeder {
	f := &Feeder{table: t, order: order}
	for _, name := range t.Columns {
		f.slots = append(f.slots, names.Declare(name))
	}
	return f
}

// Check reports whether so many callers can be fed.
func (f *Feeder) Check(callers int) error {
	if f.order == Unique && callers > len(f.table.Rows) {
		return &Error{Name: f.table.Name, Text: fmt.Sprintf("it has %d rows, too few for %d callers that must not share one: add rows, or choose the order random or sequential", len(f.table.Rows), callers)}
	}
	return nil
}

// First gives the columns the values of the first row, and takes it from nobody.
func (f *Feeder) First(s *State) {
	for i, slot := range f.slots {
		s.values[slot] = f.table.Rows[0][i]
	}
}

// A Cursor takes rows for one caller.
type Cursor struct {
	feeder          *Feeder
	caller, callers int
	taken           int
}

// Cursor makes the cursor of one of so many callers.
func (f *Feeder) Cursor(caller, callers int) *Cursor {
	return &Cursor{feeder: f, caller: caller, callers: max(callers, 1)}
}

// Next gives the columns their values of the next row.
func (c *Cursor) Next(s *State) {
	f := c.feeder
	rows := f.table.Rows
	var row []Value
	switch f.order {
	case Random:
		row = rows[s.rand.IntN(len(rows))]
	case Unique:
		own := c.caller + c.taken*c.callers
		if own >= len(rows) {
			c.taken, own = 0, c.caller
		}
		c.taken++
		row = rows[own%len(rows)]
	default:
		row = rows[(f.next.Add(1)-1)%uint64(len(rows))]
	}
	for i, slot := range f.slots {
		s.values[slot] = row[i]
	}
}
