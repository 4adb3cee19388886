package flogo_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/everywire/everywire/flow"
	"github.com/everywire/everywire/flow/flogo"
)

func errorsOf(t *testing.T, text string) flow.Errors {
	t.Helper()
	_, err := flogo.Read("a.json", []byte(text), flogo.Options{Proto: protoFiles})
	var errs flow.Errors
	if !errors.As(err, &errs) {
		t.Fatalf("%T: %v", err, err)
	}
	return errs
}

// All errors are told at once, each with its place, its path, its line and what could
// stand there; also those that only the flow file shows which the app becomes.
func TestErrorsWhole(t *testing.T) {
	text := string(app(t, "hello-client-rest"))
	for old, put := range map[string]string{
		`"#timer"`:                        `"#kafka"`,
		`"activity": {"ref": "#log", "in`: `"a/b~c": 1, "activity": {"ref": "#log", "in`,
		`=$activity[ask].data.text`:       `=\u0022é\u0022 + $flow.nam`,
	} {
		if !strings.Contains(text, old) {
			t.Fatal(old)
		}
		text = strings.Replace(text, old, put, 1)
	}
	const flogoAt = "github.com/project-flogo/"
	want := flow.Errors{
		{
			File: "a.json", Pos: flow.Pos{Line: 18, Column: 14}, Path: "/triggers/0/ref",
			Text:    `the trigger "#kafka" is not read: have a consumer call a REST or gRPC trigger`,
			Allowed: []string{flogoAt + "contrib/trigger/rest", flogoAt + "contrib/trigger/timer", flogoAt + "grpc/trigger/grpc"},
			Source:  `      "ref": "#kafka",`,
		},
		{
			File: "a.json", Pos: flow.Pos{Line: 49, Column: 13}, Path: "/resources/0/data/tasks/1/a~1b~0c",
			Text:    `"a/b~c" of a task is not read`,
			Allowed: []string{"id", "type", "settings", "activity"},
			Source:  `            "a/b~c": 1, "activity": {"ref": "#log", "input": {"message": "=\u0022é\u0022 + $flow.nam"}}`,
		},
		{
			File: "a.json", Pos: flow.Pos{Line: 49, Column: 98}, Path: "/resources/0/data/tasks/1/activity/input/message",
			Text:    `the flow has no input "nam", and no mapper before has made it`,
			Allowed: []string{"name"},
			Source:  `            "a/b~c": 1, "activity": {"ref": "#log", "input": {"message": "=\u0022é\u0022 + $flow.nam"}}`,
		},
	}
	if diff := cmp.Diff(want, errorsOf(t, text)); diff != "" {
		t.Error(diff)
	}

	// The flow file's own error is told for the place in the app.
	text = strings.Replace(string(app(t, "hello-client-rest")), `"timeout": 2`, `"timeout": 99999999999`, 1)
	errs := errorsOf(t, text)
	if len(errs) != 1 || errs[0].Path != "/resources/0/data/tasks/0/activity/settings/timeout" || !strings.Contains(errs[0].Detail(), "\n    at "+errs[0].Path+"\n") {
		t.Error(errs.Detail())
	}
}

// What is no JSON, or too much of it, is told soon, with a place.
func TestBroken(t *testing.T) {
	nested := strings.Repeat("[", 100)
	for text, want := range map[string]string{
		"":                           "a.json:1:1: this is not JSON: a value should stand here, not the end of the file",
		`{"name": }`:                 "a.json:1:10: this is not JSON: a value should stand here, not '}'",
		"{\n\t\"näme\": 'x'}":        "a.json:2:10: this is not JSON: a value should stand here, not '\\''",
		`{"name": "x"`:               "a.json:1:13: this is not JSON: a comma or } should follow, not the end of the file",
		`{"name": "x`:                "a.json:1:10: this is not JSON: the text that begins here has no end",
		`{"name": "\x"}`:             `a.json:1:11: this is not JSON: a \ in a text is followed by`,
		`{"name": 01}`:               `a.json:1:10: this is not JSON: "01" is no value`,
		`{"name": "x"} {}`:           "a.json:1:15: this is not JSON: '{' does not belong behind the end of the app",
		"{\"a\": \"\ufffd\xff\"}":    "a.json:1:9: the file is not UTF-8",
		nested:                       "a.json:1:66: the file nests more than 64 deep",
		strings.Repeat(" ", 4<<20+1): "a.json:1:1: the file has 4194305 bytes: the limit is 4194304",
		"{\"a\":[" + strings.Repeat("1,", 1000) + "1]}": "a.json:1:2007: the list has more than 1000 elements",
		"[]":   "a.json:1:1: the app is an object, not a list",
		"null": "a.json:1:1: the app is an object, not null",
	} {
		errs := errorsOf(t, text)
		if len(errs) != 1 || !strings.HasPrefix(errs.Error(), want) {
			t.Errorf("%.40q: got\n%v\nwant\n%s", text, errs, want)
		}
	}
}

// An app with ever more errors, in one long line, is not read to its end.
func TestManyErrors(t *testing.T) {
	one := `{"id":"` + strings.Repeat("é", 1000) + `","handlers":[]},`
	text := `{"name":"x","triggers":[` + strings.Repeat(one, 999) + `{}]}`
	errs := errorsOf(t, text)
	if len(errs) != 101 {
		t.Fatalf("%d errors", len(errs))
	}
	if first := errs[0]; first.Column != 25 || first.Path != "/triggers/0" {
		t.Error(first.Pos, first.Path)
	}
	last := errs[100]
	if want := 25 + 100*len([]rune(one)); last.Column != want || last.Path != "/triggers/100" || last.Text != "there are more than 100 errors: these are the first" {
		t.Error(last.Pos, want, last.Path, last.Text)
	}
}
