package data

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestParseTable(t *testing.T) {
	for _, c := range []struct {
		name, text string
		columns    []string
		rows       [][]Value
	}{
		{"u.csv", "name,age\nann,41\n\"b, \"\"ob\"\"\",\n", []string{"name", "age"}, [][]Value{{{Cell, "ann"}, {Cell, "41"}}, {{Cell, `b, "ob"`}, {Cell, ""}}}},
		{"u.CSV", "\ufeffname\r\nann\r\n", []string{"name"}, [][]Value{{{Cell, "ann"}}}},
		{"u.jsonl", `{"b":"41","a":12345678901234567890}` + "\n\n" + `{"a":{"x":[1, 2]},"b":null}`, []string{"a", "b"}, [][]Value{{{JSON, "12345678901234567890"}, {String, "41"}}, {{JSON, `{"x":[1, 2]}`}, {JSON, "null"}}}},
		{"u.ndjson", `{"a":"\u00e9"}`, []string{"a"}, [][]Value{{{String, "é"}}}},
	} {
		got, err := ParseTable(c.name, []byte(c.text))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if !slices.Equal(got.Columns, c.columns) || !reflect.DeepEqual(got.Rows, c.rows) {
			t.Errorf("%s: got %q %v", c.name, got.Columns, got.Rows)
		}
	}
}

func TestTableErrors(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"u.txt", "x", `the suffix ".txt" says no form of data`},
		{"u.csv", "", "u.csv: it is empty"},
		{"u.csv", "a,b\n", "it has no rows"},
		{"u.csv", "a,b\n1\n", "line 2: the row does not have the 2 fields"},
		{"u.csv", "a,a\n1,2\n", `line 1 column 3: a column's name is empty or stands twice: "a"`},
		{"u.csv", "é,é\n1,2\n", `line 1 column 3: a column's name is empty or stands twice: "é"`},
		{"u.csv", "a\n\"x\n", "line 2 column"},
		{"u.csv", "a,b\nüü,x\"y\n", "line 2 column 5"},
		{"u.csv", "a\nx\"y\n", "line 2 column"},
		{"u.csv", "a\n\xff\n", "line 2: it is not UTF-8"},
		{"u.jsonl", "{\"a\":1}\n{\"a\":}\n", "line 2 column 6"},
		{"u.jsonl", "{\"a\":1}\n{\"b\":1}\n", `line 2: it has no member "a", which the first line has`},
		{"u.jsonl", "{\"a\":1}\n{\"a\":1,\"b\":1}\n", `line 2: it has a member "b"`},
		{"u.jsonl", "{\"\":1}\n", "line 1: a member's name is empty"},
		{"u.jsonl", "[1]\n", "line 1: each line is a JSON object"},
		{"u.jsonl", "null\n", "this is null"},
		{"u.jsonl", "\n", "it has no rows"},
	} {
		_, err := ParseTable(c.name, []byte(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %q: got %v, want %s", c.name, c.text, err, c.want)
		}
	}
	if _, err := ReadTable(filepath.Join(t.TempDir(), "none.csv")); !os.IsNotExist(err) {
		t.Errorf("got %v", err)
	}
}

// take runs n callers for k rounds and returns which rows each had.
func take(t *testing.T, order Order, rows, callers, rounds int) [][]string {
	t.Helper()
	table := &Table{Name: "x.csv", Columns: []string{"id"}}
	for i := range rows {
		table.Rows = append(table.Rows, []Value{{Cell, string(rune('a' + i))}})
	}
	names := new(Scope)
	f := NewFeeder(table, order, names)
	had := make([][]string, callers)
	cursors := make([]*Cursor, callers)
	states := make([]*State, callers)
	for i := range callers {
		cursors[i], states[i] = f.Cursor(i, callers), NewState(names, new(Counter), 1, i)
	}
	for range rounds {
		for i, c := range cursors {
			c.Next(states[i])
			had[i] = append(had[i], states[i].Get(0).Text)
		}
	}
	return had
}

func TestOrders(t *testing.T) {
	if got := take(t, Sequential, 3, 2, 2); !reflect.DeepEqual(got, [][]string{{"a", "c"}, {"b", "a"}}) {
		t.Errorf("sequential: %v", got)
	}
	if got := take(t, Unique, 5, 2, 4); !reflect.DeepEqual(got, [][]string{{"a", "c", "e", "a"}, {"b", "d", "b", "d"}}) {
		t.Errorf("unique: %v", got)
	}
	seen := map[string]bool{}
	for _, id := range take(t, Random, 4, 1, 200)[0] {
		seen[id] = true
	}
	if len(seen) != 4 {
		t.Errorf("random: of 4 rows only %v in 200", seen)
	}
	f := NewFeeder(&Table{Name: "x.csv", Rows: make([][]Value, 2)}, Unique, new(Scope))
	if err := f.Check(3); err == nil || !strings.Contains(err.Error(), "2 rows, too few for 3 callers") {
		t.Errorf("got %v", err)
	}
	if err := f.Check(2); err != nil {
		t.Error(err)
	}
}

// A file that is read is a table with names and whole rows; of one that is not, the
// place of the mistake is known.
func FuzzParseTable(f *testing.F) {
	for _, text := range []string{"name,age\nann,41\n\"b, \"\"ob\"\"\",\n", "a\r\nx\"y", "\ufeffa,a\n", `{"b":"41","a":1e999}` + "\n\n" + `{"a":{"x":[1, 2]},"b":null}`, "[1]", "{\"é\":}"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, name := range []string{"x.csv", "x.jsonl"} {
			table, err := ParseTable(name, []byte(text))
			if err != nil {
				var e *Error
				if !errors.As(err, &e) || e.Line > 1+strings.Count(text, "\n") || e.Column > 1+len(text) {
					t.Fatalf("%s %q: %v", name, text, err)
				}
				continue
			}
			names := map[string]bool{"": true}
			for _, c := range table.Columns {
				if names[c] {
					t.Fatalf("%s %q: columns %q", name, text, table.Columns)
				}
				names[c] = true
			}
			for _, row := range table.Rows {
				if len(row) != len(table.Columns) {
					t.Fatalf("%s %q: a row of %d", name, text, len(row))
				}
			}
		}
	})
}
