package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/describe/against"
)

// compare names what has changed since the source that --against says.
func (c *describeCmd) compare(a *app, methods []*everywire.Method) error {
	old, err := c.methods(a.ctx, []string{c.Against})
	if err != nil {
		return err
	}
	changes, err := against.Compare(old, methods)
	if err != nil {
		return err
	}
	if c.JSON {
		e := json.NewEncoder(a.stdout)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		err = e.Encode(struct {
			Changes []against.Change `json:"changes"`
		}{append([]against.Change{}, changes...)})
	} else {
		err = printChanges(a.stdout, changes)
	}
	switch {
	case err != nil:
		return err
	case len(changes) == 0:
		return nil
	case len(changes) == 1:
		return errors.New("1 change breaks old clients")
	}
	return fmt.Errorf("%d changes break old clients", len(changes))
}

func printChanges(w io.Writer, changes []against.Change) error {
	if len(changes) == 0 {
		_, err := fmt.Fprintln(w, "Nothing has changed that breaks old clients.")
		return err
	}
	rows := [][]string{{"WHERE", "CHANGE", "IN", "BREAKS"}}
	for _, c := range changes {
		rows = append(rows, []string{c.Place, c.Change, c.In, strings.Join(c.Breaks, ", ")})
	}
	return printTable(w, rows, []int{36, 30, 8, 20})
}

// printTable writes rows whose cells have as many lines as they need to be no
// wider than their columns.
func printTable(w io.Writer, rows [][]string, widest []int) error {
	widths := make([]int, len(widest))
	lines := make([][][]string, len(rows)) // of each cell
	for r, row := range rows {
		for c, text := range row {
			cell := cellLines(text, widest[c])
			for _, line := range cell {
				widths[c] = max(widths[c], utf8.RuneCountInString(line))
			}
			lines[r] = append(lines[r], cell)
		}
	}
	var out strings.Builder
	for _, row := range lines {
		height := 0
		for _, cell := range row {
			height = max(height, len(cell))
		}
		for i := range height {
			var line strings.Builder
			for c, cell := range row {
				text := ""
				if i < len(cell) {
					text = cell[i]
				}
				line.WriteString(text + strings.Repeat(" ", widths[c]-utf8.RuneCountInString(text)+2))
			}
			out.WriteString(strings.TrimRight(line.String(), " ") + "\n")
		}
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// cellLines breaks a text at spaces, and a word that is too wide by itself
// behind a dot or a slash, if it has one.
func cellLines(text string, width int) []string {
	var all []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			all = append(all, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
		for utf8.RuneCountInString(line) > width {
			runes := []rune(line)
			cut := width
			if i := lastBreak(runes[:width]); i > 0 {
				cut = i + 1
			}
			all = append(all, string(runes[:cut]))
			line = "  " + string(runes[cut:])
		}
	}
	if line != "" || len(all) == 0 {
		all = append(all, line)
	}
	return all
}

func lastBreak(runes []rune) int {
	for i, r := range slices.Backward(runes) {
		if r == '.' || r == '/' {
			return i
		}
	}
	return -1
}
