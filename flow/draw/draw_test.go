package draw_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/everywire/everywire/flow"
	"github.com/everywire/everywire/flow/draw"
	"github.com/everywire/everywire/internal/golden"
)

var update = flag.Bool("update", false, "write the pictures into testdata")

func parsed(t testing.TB, name string, text []byte) *flow.File {
	t.Helper()
	file, err := flow.Parse(name, text)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// The examples, and a flow with all kinds of steps, look as they did.
func TestPictures(t *testing.T) {
	files, err := filepath.Glob("../../examples/flow/*.yaml")
	if err != nil || len(files) < 4 {
		t.Fatal(files, err)
	}
	for _, name := range append(files, "testdata/orders.yaml") {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		file := parsed(t, name, text)
		picture, err := draw.SVG(file)
		if err != nil {
			t.Fatal(err)
		}
		golden.Check(t, "testdata/"+strings.TrimSuffix(filepath.Base(name), ".yaml")+".svg", picture, *update)
		checkInside(t, picture)
		if again, _ := draw.SVG(parsed(t, name, text)); !bytes.Equal(again, picture) {
			t.Errorf("%s looks different the second time", name)
		}
	}
}

// checkInside holds that a picture is XML, and that its rectangles and texts are
// within it.
func checkInside(t *testing.T, picture []byte) (texts []string) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(picture))
	width, height := 0.0, 0.0
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			return texts
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, picture)
		}
		e, ok := tok.(xml.StartElement)
		if !ok {
			continue
		}
		number := func(name string) float64 {
			for _, a := range e.Attr {
				if a.Name.Local == name {
					v, err := strconv.ParseFloat(a.Value, 64)
					if err != nil {
						t.Fatal(err)
					}
					return v
				}
			}
			return 0
		}
		right, bottom := number("x"), number("y")
		switch e.Name.Local {
		case "svg":
			width, height = number("width"), number("height")
		case "rect":
			right, bottom = right+number("width"), bottom+number("height")
		case "text":
			var text string
			if err := d.DecodeElement(&text, &e); err != nil {
				t.Fatal(err)
			}
			texts = append(texts, text)
			right += 0.6 * 13 * float64(len([]rune(text)))
		case "script", "image", "foreignObject":
			t.Errorf("there is a %s", e.Name.Local)
		}
		if right > width || bottom > height || number("x") < 0 || number("y") < 0 {
			t.Errorf("%v is outside of %g x %g", e, width, height)
		}
	}
}

// What stands in a file stays text, however it is written, and is cut where it is too
// long; the whole is in the title.
func TestTexts(t *testing.T) {
	long := strings.Repeat("long ", 40) + "END"
	var many strings.Builder
	for i := range 30 {
		fmt.Fprintf(&many, "m%d: 1, ", i)
	}
	file := parsed(t, "x.yaml", fmt.Appendf(nil, `name: "</title><script>alert(1)</script>"
triggers: {t: {timer: {every: 90m, count: 2}, flow: f}}
flows:
  f:
    steps:
      - log: {message: "</text><script>&amp;\n\u202e\u0007 <b>"}
      - map: {a: "%s"}
      - map: {%s}
`, long, many.String()))
	picture, err := draw.SVG(file)
	if err != nil {
		t.Fatal(err)
	}
	texts := strings.Join(checkInside(t, picture), "\n")
	for _, want := range []string{"every 1h30m\n2 times", "</text><script>&amp; ?? <b>", "a: long long", "long lon…", "m10: 1\n…"} {
		if !strings.Contains(texts, want) {
			t.Errorf("there is no %q in\n%s", want, texts)
		}
	}
	if strings.Contains(texts, "END") || !bytes.Contains(picture, []byte("END")) || !bytes.Contains(picture, []byte("m29: 1")) {
		t.Error("what was cut is not in the title, or in the picture too")
	}
}

// One flow, none, and too many.
func TestWhich(t *testing.T) {
	text, err := os.ReadFile("testdata/orders.yaml")
	if err != nil {
		t.Fatal(err)
	}
	file := parsed(t, "orders.yaml", text)
	one, err := draw.SVG(file, "tell")
	if err != nil || bytes.Contains(one, []byte("every-minute")) || !bytes.Contains(one, []byte("called by order")) {
		t.Errorf("%v\n%s", err, one)
	}
	if _, err := draw.SVG(file, "nothing"); err == nil || err.Error() != `orders.yaml has no flow "nothing": it has order, tell` {
		t.Error(err)
	}
	var many strings.Builder
	many.WriteString("name: x\ntriggers: {t: {timer: {every: 1s}, flow: f}}\nflows:\n  f:\n    steps:\n")
	for range draw.MaxSteps + 1 {
		many.WriteString("      - map: 1\n")
	}
	if _, err := draw.SVG(parsed(t, "many.yaml", []byte(many.String()))); err == nil || !strings.Contains(err.Error(), "has 2001 steps to draw") {
		t.Error(err)
	}
}
