package flow_test

import (
	"bytes"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/everywire/everywire/flow"
)

var update = flag.Bool("update", false, "write what is said into testdata/errors.txt")

// An errorCase is one of testdata/errors.txt.
type errorCase struct{ title, file, said string }

func errorCases(t *testing.T) (head string, cases []errorCase) {
	t.Helper()
	text, err := os.ReadFile("testdata/errors.txt")
	if err != nil {
		t.Fatal(err)
	}
	head, rest, _ := strings.Cut(string(text), "\n=== ")
	head += "\n"
	for part := range strings.SplitSeq(rest, "\n=== ") {
		title, part, _ := strings.Cut(part, "\n")
		file, said, ok := strings.Cut(part, "--- said\n")
		if !ok {
			t.Fatalf("the case %q has no line --- said", title)
		}
		cases = append(cases, errorCase{title, file, strings.TrimRight(said, "\n")})
	}
	return head, cases
}

// What is said of files with errors, whole: line, column, the line with a mark below
// the place, and what is allowed there.
func TestErrors(t *testing.T) {
	head, cases := errorCases(t)
	var all bytes.Buffer
	all.WriteString(head)
	for i, c := range cases {
		said := ""
		_, err := flow.Parse("f.yaml", []byte(c.file))
		if err != nil {
			said = strings.TrimRight(asErrors(t, err).Detail(), "\n")
		}
		if i > 0 {
			all.WriteString("\n")
		}
		all.WriteString("=== " + c.title + "\n" + c.file + "--- said\n" + said + "\n")
		if *update {
			continue
		}
		t.Run(c.title, func(t *testing.T) {
			if said == "" {
				t.Error("nothing is wrong with the file")
			}
			if diff := cmp.Diff(c.said, said); diff != "" {
				t.Errorf("- want, + got:\n%s", diff)
			}
		})
	}
	if *update {
		if err := os.WriteFile("testdata/errors.txt", all.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// asErrors are the errors of a file, which are of the type that is promised, in
// order, and each within the file.
func asErrors(t *testing.T, err error) flow.Errors {
	t.Helper()
	errs, ok := err.(flow.Errors) //nolint:errorlint // it is promised
	if !ok {
		t.Fatalf("an error of type %T: %v", err, err)
	}
	for i, e := range errs {
		if e.Line < 1 || e.Column < 1 || e.Column > len([]rune(e.Source))+1 {
			t.Errorf("%v stands beyond its line", e)
		}
		if i > 0 && (e.Line < errs[i-1].Line || e.Line == errs[i-1].Line && e.Column < errs[i-1].Column) {
			t.Errorf("%v comes after %v", e, errs[i-1])
		}
	}
	return errs
}

func TestNotUTF8(t *testing.T) {
	_, err := flow.Parse("f.yaml", []byte("doc: \"caf\xe9\"\nname: x\n"))
	const want = "f.yaml:1:10: the file is not UTF-8\n" +
		"    doc: \"caf\uFFFD\"\n" +
		"             ^\n"
	if got := asErrors(t, err).Detail(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// Files that are made to take long are refused at once.
func TestLimits(t *testing.T) {
	const good = "name: x\ntriggers: {t: {timer: {every: 1s}, flow: f}}\nflows: {f: {steps: [{log: {message: m}}]}}\n"
	if _, err := flow.Parse("f.yaml", []byte(good+strings.Repeat("# a comment\n", (flow.MaxFile-len(good))/len("# a comment\n")))); err != nil {
		t.Errorf("a file at the limit: %v", err)
	}
	for name, c := range map[string]struct{ text, want string }{
		"large":        {strings.Repeat(" ", flow.MaxFile+1), "f.yaml:1:1: the file has 262145 bytes: the limit is 262144"},
		"brackets":     {"a: " + strings.Repeat("[", 100_000), "f.yaml:1:132: the file nests more than 64 deep"},
		"dashes":       {strings.Repeat("- ", 50_000), "f.yaml:1:129: the file nests more than 64 deep"},
		"indentation":  {strings.Repeat(" ", 100_000) + "a: 1", "f.yaml:1:1026: the file nests more than 64 deep"},
		"expression":   {"name: ${{ " + strings.Repeat("(", 100) + " }}", ""},
		"long":         {"name: x\nversion: \"${{ " + strings.Repeat("1+", 600) + "1 }}\"\n", ""},
		"control keys": {"\x01: 1\n", ""},
	} {
		_, err := flow.Parse("f.yaml", []byte(c.text))
		if err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		if got := asErrors(t, err)[0].Error(); c.want != "" && got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
