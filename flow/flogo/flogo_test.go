package flogo_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/everywire/everywire/describe/source"
	"github.com/everywire/everywire/flow"
	"github.com/everywire/everywire/flow/flogo"
	"github.com/everywire/everywire/internal/golden"
)

var update = flag.Bool("update", false, "write what apps become into testdata/*.yaml")

// protoFiles finds the .proto files of testdata.
func protoFiles(name string) ([]protoreflect.ServiceDescriptor, error) {
	switch name {
	case "hello":
		return helloProto()
	case "kinds":
		return kindsProto()
	}
	return nil, fmt.Errorf("there is no %s.proto", name)
}

var helloProto, kindsProto = servicesOf("hello.proto"), servicesOf("kinds.proto")

// servicesOf reads a .proto file once: a fuzz target needs it often.
func servicesOf(name string) func() ([]protoreflect.ServiceDescriptor, error) {
	return sync.OnceValues(func() (services []protoreflect.ServiceDescriptor, err error) {
		text, err := os.ReadFile("testdata/" + name)
		if err != nil {
			return nil, err
		}
		methods, err := source.Proto(context.Background(), map[string]string{name: string(text)}, nil)
		for _, m := range methods {
			if s := m.Desc.Parent().(protoreflect.ServiceDescriptor); !slices.Contains(services, s) {
				services = append(services, s)
			}
		}
		return services, err
	})
}

func app(t testing.TB, name string) []byte {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	return text
}

var apps = []string{"hello-server-rest", "hello-client-rest", "hello-server-grpc", "hello-client-grpc", "parts", "more"}

// What apps become: the hello pair in both variants, and one with all parts that are
// read. What is made is a flow file without errors.
func TestConvert(t *testing.T) {
	for _, name := range apps {
		text := app(t, name)
		if !flogo.Is(name+".json", text) {
			t.Errorf("%s is said to be no app", name)
		}
		made, err := flogo.Convert(name+".json", text, flogo.Options{Proto: protoFiles})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		golden.Check(t, "testdata/"+name+".yaml", made, *update)
		if _, err := flow.Parse(name+".yaml", made); err != nil {
			t.Errorf("what %s becomes: %v", name, err)
		}
	}
}

// Other JSON, and flow files, are no apps.
func TestIs(t *testing.T) {
	for text, want := range map[string]bool{
		`{"type": "flogo:app"}`: true, ` {"appModel": "1.1.0"}`: true, "\ufeff{\"type\": \"flogo:app\"": true, `{"resources": []}`: true,
		"name: x\nflows: {}\n": false, `{"name": "x", "flows": {}, "triggers": {}}`: false, "": false, `{"openapi": "3.1.0"}`: false,
	} {
		if got := flogo.Is("x.yaml", []byte(text)); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
	if !flogo.Is("x.flogo", []byte("{")) || !flogo.Is("x.json", []byte("{")) {
		t.Error("an app by its name, with a mistake, is none")
	}
}

// Properties are set from outside, and keep their types.
func TestSet(t *testing.T) {
	text := app(t, "hello-server-rest")
	file, err := flogo.Read("a.json", text, flogo.Options{Set: []flow.Assignment{{Name: "PORT", Value: "9090"}}})
	if err != nil || file.Triggers[0].Service.On != "rest://:9090" {
		t.Errorf("%v, %v", file.Triggers[0].Service, err)
	}
	_, err = flogo.Read("a.json", text, flogo.Options{Set: []flow.Assignment{{Name: "PORT", Value: "x"}}})
	if err == nil || !strings.Contains(err.Error(), "PORT cannot be set to \"x\"") {
		t.Error(err)
	}

	// One that is encrypted is given so.
	text = bytes.Replace(app(t, "hello-client-rest"), []byte(`"World"`), []byte(`"SECRET:abc"`), 1)
	file, err = flogo.Read("a.json", text, flogo.Options{Set: []flow.Assignment{{Name: "NAME", Value: "Ada"}}})
	if err != nil || file.Settings[0].Value != "Ada" {
		t.Errorf("%+v, %v", file.Settings, err)
	}
}

// What is wrong, and what is not read, is told with its place and what is.
func TestErrors(t *testing.T) {
	for name, c := range map[string]struct {
		app, old, put string
		want          string // line:column: text (allowed: …)
	}{
		"no JSON":                      {"hello-server-rest", `"type": "flogo:app",`, `"type": "flogo:app"`, "4:3: "},
		"a member twice":               {"hello-server-rest", `"version": "1.0.0",`, `"version": "1.0.0", "version": "2",`, `4:23: `},
		"another app model":            {"hello-server-rest", `"1.1.0"`, `"0.9"`, `6:15: the app model "0.9" is not read`},
		"a trigger that is not read":   {"hello-server-rest", `"ref": "#rest"`, `"ref": "github.com/project-flogo/contrib/trigger/kafka"`, `20:14: the trigger "github.com/project-flogo/contrib/trigger/kafka" is not read: have a consumer call a REST or gRPC trigger`},
		"an activity that is not read": {"hello-server-rest", `"ref": "#log"`, `"ref": "#counter"`, `47:33: the activity "#counter" is not read: flow run --admin counts the runs`},
		"a setting that is not read":   {"hello-server-rest", `"path": "/hello/:name"`, `"path": "/hello/:name", "enableCORS": "true"`, `"enableCORS" of a handler of a REST trigger is not read`},
		"a path that ends in a star":   {"hello-server-rest", `/hello/:name`, `/hello/*name`, `24:49: the rest of a path, "*name", is not read`},
		"a verb":                       {"hello-server-rest", `"GET"`, `"TRACE"`, `24:34: the method "TRACE" is not read`},
		"a flow that is not there":     {"hello-server-rest", `res://flow:greet`, `res://flow:great`, `27:37: there is no flow "res://flow:great"`},
		"a parameter of the path":      {"hello-server-rest", `$.pathParams.name`, `$.pathParams.nam`, `the path has no parameter "nam"`},
		"an input of the flow":         {"hello-server-rest", `"=string.concat(\"asked by \", $flow.name)"`, `"=string.concat(\"asked by \", $flow.nam)"`, `the flow has no input "nam"`},
		"a function":                   {"hello-server-rest", `string.concat(\"asked`, `string.shout(\"asked`, `the function "string.shout" is not read`},
		"an expression":                {"hello-server-rest", `\"asked by \", $flow.name)`, `\"asked by \", $flow.name`, `47:103: `},
		"a link to nowhere":            {"hello-server-rest", `"to": "answer"`, `"to": "answers"`, `there is no task "answers"`},
		"a link for errors":            {"hello-server-rest", `"to": "answer"`, `"to": "answer", "type": "error"`, `a link that is followed when a task fails is not read`},
		"a circle":                     {"hello-server-rest", `[{"from": "log_asked", "to": "answer"}]`, `[{"from": "log_asked", "to": "answer"}, {"from": "answer", "to": "log_asked"}]`, `the links go round in a circle`},
		"a loop":                       {"hello-server-rest", `"id": "log_asked",`, `"id": "log_asked", "type": "iterator",`, `there are no loops`},
		"a timer":                      {"hello-client-rest", `"100ms"`, `"soon"`, `21:42: "repeatInterval" is a time of at least 1ms`},
		"a task before":                {"hello-client-rest", `$activity[ask]`, `$activity[asked]`, `there is no task "asked" that has run before this one`},
		"a uri":                        {"hello-client-rest", `http://localhost`, `ftp://localhost`, `the uri is of the form http://host:port/path or https://…`},
		"a parameter that is missing":  {"hello-client-rest", `{"pathParams": {"name": "=$flow.name"}}`, `{}`, `the path of the uri has a parameter "name", which "pathParams" does not give`},
		"a .proto file":                {"hello-client-grpc", `"protoName": "hello"`, `"protoName": "helo"`, `the types of the service are needed: there is no helo.proto`},
		"a service of it":              {"hello-client-grpc", `"serviceName": "Hello"`, `"serviceName": "Helo"`, `hello.proto has no service "Helo"`},
		"a method of it":               {"hello-client-grpc", `"methodName": "Greet"`, `"methodName": "Meet"`, `the service Hello has no method "Meet"`},
		"a field of its request":       {"hello-server-grpc", `$.content.name`, `$.content.nam`, `hello.GreetRequest has no field "nam"`},
		"a stream":                     {"more", `"methodName": "Put"},`, `"methodName": "Watch"},`, `"Watch" is a stream: flows have calls with one request and one reply`},
		"a oneof":                      {"more", `"serviceName": "Items", "methodName": "Put"`, `"serviceName": "Odds", "methodName": "Put"`, `kinds.v1.Odd.a is in a oneof, which flows do not have`},
		"a map of numbers":             {"more", `"serviceName": "Items", "methodName": "Put"`, `"serviceName": "Odds", "methodName": "Put"`, `kinds.v1.Odd.numbers: a map whose keys are no texts is not read`},
		"an enum":                      {"more", `"serviceName": "Items", "methodName": "Put"`, `"serviceName": "Odds", "methodName": "Put"`, `kinds.v1.Odd.color: a field of the type enum is not read`},
		"a code that is computed":      {"more", `"code": 404`, `"code": "=$flow.count"`, `the code of an answer must be a constant`},
		"a code that is none":          {"more", `"code": 404`, `"code": 418`, `the code 418 is not read (allowed: 200, 400, 401,`},
		"another good code":            {"more", `"code": 404`, `"code": 201`, `an answer has the code 200 or that of an error, not 201`},
		"TLS without a certificate":    {"more", `"certFile": "cert.pem", `, ``, `a trigger with TLS needs "certFile" and "keyFile", names of files`},
		"a port":                       {"more", `"port": 8443`, `"port": 84430`, `the port is a number from 0 to 65535, not 84430`},
		"a flag":                       {"more", `"enableTLS": "true"`, `"enableTLS": "yes"`, `"enableTLS" is true or false, not the text "yes"`},
		"no verification":              {"more", `"caFile": "ca.pem"`, `"skipVerify": true`, `certificates are always verified`},
		"a level":                      {"more", `"WARN"`, `"LOUD"`, `the level "LOUD" is not read (allowed: DEBUG, INFO, WARN, ERROR)`},
		"a content of a GET":           {"more", `"=coerce.toInt($.queryParams.count)"`, `"=$.content.count"`, `a GET has no content here: only POST, PUT and PATCH do`},
		"all the content, and a path":  {"more", `"path": "/places"`, `"path": "/places/:city"`, `the whole content cannot be named where the path or the query has parameters`},
		"a header of the request":      {"more", `$.pathParams.city`, `$.headers.city`, `"headers" of a REST trigger is not read`},
		"two actions":                  {"more", `"actions": [`, `"actions": [{"ref": "#flow", "settings": {"flowURI": "res://flow:new"}}, `, `a handler has one action here`},
		"a text as the content":        {"more", `"content": "=$flow.all"`, `"content": "text"`, `a text is sent as it is by Flogo, and not as JSON`},
		"XML":                          {"more", `"Accept": "application/json"`, `"Accept": "text/xml"`, `only JSON is sent and accepted, not the text "text/xml"`},
		"a list of things":             {"more", `"tags": ["=$flow.tags[0]", "x"]`, `"tags": {"@foreach($flow.tags)": {}}`, `"@foreach($flow.tags)" is not read`},
		"an output of an activity":     {"more", `"activity": {"ref": "#noop"}`, `"activity": {"ref": "#noop", "output": {"x": 1}}`, `"output" of an activity is not read`},
		"an output that is not there":  {"more", `"data": "=$.where"`, `"data": "=$.wher"`, `the flow has no output "wher" (allowed: code, where)`},
		"another resource":             {"more", `"id": "flow:new"`, `"id": "microgateway:new"`, `the resource "microgateway:new" is not read: only flows are`},
		"an error handler":             {"more", `"name": "put",`, `"name": "put", "errorHandler": {"tasks": [{"id": "x"}]},`, `an error handler is not read`},
		"a name that a mapper gives":   {"parts", `"mappings": {"left"`, `"mappings": {"item": 1, "left"`, `"item" has a value already, which it would keep if this task does not run`},
		"a value of another type":      {"more", `"level": "5"`, `"level": "five"`, `an integer is needed here, not a text`},
		"an encrypted property":        {"hello-client-rest", `"value": "World"`, `"value": "SECRET:abc"`, `is encrypted: give it another value, --set NAME=VALUE`},
	} {
		t.Run(name, func(t *testing.T) {
			text := string(app(t, c.app))
			if !strings.Contains(text, c.old) {
				t.Fatalf("the app has no %s", c.old)
			}
			_, err := flogo.Read("a.json", []byte(strings.Replace(text, c.old, c.put, 1)), flogo.Options{Proto: protoFiles})
			var errs flow.Errors
			if !errors.As(err, &errs) || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got\n%v\nwant %s", err, c.want)
			}
			for _, e := range errs {
				if e.File != "a.json" || e.Line < 1 || e.Column < 1 || e.Source == "" {
					t.Errorf("%+v", e)
				}
			}
		})
	}
}

// Whatever the text is: an app that is read is a flow file that can be made, one that
// is not has errors within it.
func FuzzRead(f *testing.F) {
	for _, name := range apps {
		f.Add(app(f, name))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		o := flogo.Options{Proto: protoFiles}
		_, err := flogo.Read("a.json", text, o)
		if err == nil {
			made, err := flogo.Convert("a.json", text, o)
			if err == nil {
				_, err = flow.Parse("a.yaml", made)
			}
			if err != nil {
				t.Fatalf("%s\nbecomes\n%s\n%v", text, made, err)
			}
			return
		}
		var errs flow.Errors
		if !errors.As(err, &errs) || len(errs) == 0 {
			t.Fatalf("%T: %v", err, err)
		}
		for _, e := range errs {
			if e.Line < 1 || e.Line > 1+strings.Count(string(text), "\n") || e.Column < 1 {
				t.Fatalf("%+v", e)
			}
		}
	})
}
