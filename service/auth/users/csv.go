package users

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/everywire/everywire/service/auth/internal/safefile"
)

// maxFile bounds what is read of a file.
const maxFile = 256 << 20

// The columns of the file; those of claims follow.
var columns = []string{"username", "password", "enabled", "roles"}

const claimColumn = "claim" // claim1, claim2 and so on

// A csvFile is a store's file as the published services had it. It is read again
// when it has changed, and written whole.
type csvFile struct {
	path  string
	watch *safefile.Watch
}

func openCSV(path string) *csvFile {
	return &csvFile{path: path, watch: safefile.NewWatch(path)}
}

func (f *csvFile) changed() bool                  { return f.watch.Changed() }
func (f *csvFile) begin() (end func(), err error) { return safefile.Lock(f.path) }
func (*csvFile) close() error                     { return nil }

func (f *csvFile) load() (*table, error) {
	if !f.watch.Differs() {
		return nil, nil //nolint:nilnil // nothing new
	}
	data, info, err := safefile.Read(f.path, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		f.watch.Saw(nil)
		return newTable(), nil
	}
	if err != nil {
		return nil, err
	}
	f.watch.Saw(info)
	t, err := readCSV(data)
	if err != nil {
		return nil, fmt.Errorf("%s:%w", f.path, err)
	}
	return t, nil
}

func (f *csvFile) save(t *table, _ string, _ *account) error {
	if err := safefile.Write(f.path, writeCSV(t)); err != nil {
		return err
	}
	info, err := os.Stat(f.path)
	if err != nil {
		return err
	}
	f.watch.Saw(info)
	return nil
}

// readCSV reads a file. Its errors begin with line and column.
func readCSV(data []byte) (*table, error) {
	r := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(data, []byte("\ufeff"))))
	r.FieldsPerRecord = -1 // we say it ourselves
	t := newTable()
	header, err := r.Read()
	if errors.Is(err, io.EOF) {
		return t, nil
	}
	if err == nil {
		err = checkHeader(r, header)
	}
	lines := map[string]int{}
	for err == nil {
		var row []string
		if row, err = r.Read(); err == nil {
			err = addRow(t, r, header, row, lines)
		}
	}
	if errors.Is(err, io.EOF) {
		return t, nil
	}
	var parse *csv.ParseError
	if errors.As(err, &parse) {
		return nil, fmt.Errorf("%d:%d: %w", parse.Line, parse.Column, parse.Err)
	}
	return nil, err
}

// at is an error about a field of the row that was just read.
func at(r *csv.Reader, field int, format string, args ...any) error {
	line, column := r.FieldPos(field)
	return fmt.Errorf("%d:%d: "+format, append([]any{line, column}, args...)...)
}

func checkHeader(r *csv.Reader, header []string) error {
	for i, want := range columns {
		if i >= len(header) {
			return at(r, len(header)-1, "after the column %q there must be %q", header[len(header)-1], want)
		}
		if header[i] != want {
			return at(r, i, "column %d is %q, and must be %q", i+1, header[i], want)
		}
	}
	for i := len(columns); i < len(header); i++ {
		if want := claimColumn + strconv.Itoa(i-len(columns)+1); header[i] != want {
			return at(r, i, "column %d is %q, and can only be %q", i+1, header[i], want)
		}
	}
	if n := len(header) - len(columns); n > MaxClaims {
		return at(r, len(columns)+MaxClaims, "there are %d columns of claims, and may be %d", n, MaxClaims)
	}
	return nil
}

func addRow(t *table, r *csv.Reader, header, row []string, lines map[string]int) error {
	// Rows may leave out claims at their end, as they are made by hand.
	if len(row) < len(columns) || len(row) > len(header) {
		return at(r, len(row)-1, "the row has %d fields, and must have %d to %d", len(row), len(columns), len(header))
	}
	u := User{Name: row[0]}
	if err := word("name", u.Name); err != nil {
		return at(r, 0, "%w", err)
	}
	line, _ := r.FieldPos(0)
	if first, there := lines[u.Name]; there {
		return at(r, 0, "the user %q is in line %d already", u.Name, first)
	}
	lines[u.Name] = line
	d, err := parseDigest(row[1])
	if err != nil {
		return at(r, 1, "%w", err)
	}
	if u.Enabled, err = strconv.ParseBool(row[2]); err != nil {
		return at(r, 2, "enabled is %q, and must be true or false", row[2])
	}
	if row[3] != "" {
		u.Roles = strings.Split(row[3], rolesSeparator)
	}
	for _, c := range row[len(columns):] {
		if c != "" {
			u.Claims = append(u.Claims, c)
		}
	}
	if err := validate(&u); err != nil {
		return at(r, 3, "%w", err)
	}
	t.set(u.Name, newAccount(u, d))
	return nil
}

// writeCSV is the file of a table. Every row has as many claims as the longest, as
// old tools may want it.
func writeCSV(t *table) []byte {
	rows := t.rows()
	claims := 0
	for _, a := range rows {
		claims = max(claims, len(a.claims))
	}
	header := slices.Clone(columns)
	for i := range claims {
		header = append(header, claimColumn+strconv.Itoa(i+1))
	}
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	_ = w.Write(header) // into memory: nothing fails
	for _, a := range rows {
		row := make([]string, len(header))
		copy(row, []string{a.name, a.digest.String(), strconv.FormatBool(a.enabled), strings.Join(a.roles, rolesSeparator)})
		copy(row[len(columns):], a.claims)
		_ = w.Write(row)
	}
	w.Flush()
	return b.Bytes()
}
