package main

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/everywire/everywire/flow"
)

// flogoApps copies apps of testdata into a directory, with their .proto file and
// with a free address instead of theirs.
func flogoApps(t *testing.T, names ...string) []string {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(lis.Addr().String())
	lis.Close()
	dir, files := t.TempDir(), []string{}
	for _, name := range append(names, "hello.proto") {
		text, err := os.ReadFile("../../flow/flogo/testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		changed := strings.NewReplacer("localhost:8080", "localhost:"+port, `"value": 8080`, `"value": `+port, `"100ms"`, `"2ms"`).Replace(string(text))
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(changed), 0o600); err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return files[:len(names)]
}

// Apps of Flogo are checked and run as they are, in both variants, and can be made flow
// files, which are as good.
func TestFlowFlogo(t *testing.T) {
	for _, variant := range []string{"rest", "grpc"} {
		apps := flogoApps(t, "hello-server-"+variant+".json", "hello-client-"+variant+".json")
		stdout, stderr, status := command(t, "", "flow", "check", apps[0], apps[1])
		if status != exitOK || strings.Count(stdout, "good: 1 triggers, 1 flows\n") != 2 {
			t.Errorf("%s: check: %d\n%s%s", variant, status, stdout, stderr)
		}
		var converted []string
		for _, app := range apps {
			stdout, stderr, status := command(t, "", "flow", "convert", app)
			if status != exitOK || stderr != "" || !strings.HasPrefix(stdout, "# Made from "+filepath.Base(app)+", an app of Flogo.\nname: hello-") {
				t.Errorf("%s: %d\n%s%s", app, status, stdout, stderr)
			}
			file := strings.TrimSuffix(app, ".json") + ".yaml"
			if err := os.WriteFile(file, []byte(stdout), 0o600); err != nil {
				t.Fatal(err)
			}
			converted = append(converted, file)
		}
		for _, files := range [][]string{apps, converted} {
			_, stderr, status := command(t, "", "flow", "run", files[0], files[1], "--count", "3", "--set", "NAME=Ada")
			if n := strings.Count(stderr, `msg="Hello, Ada, welcome!" flow=ask step=log`); status != exitOK || n < 3 {
				t.Errorf("%q: status %d, %d greetings: %s", files, status, n, stderr)
			}
		}
	}
}

// What is not read is told by all commands, with its place.
func TestFlowFlogoErrors(t *testing.T) {
	app := flogoApps(t, "hello-client-grpc.json")[0]
	text, err := os.ReadFile(app)
	if err != nil {
		t.Fatal(err)
	}
	bad := strings.NewReplacer(`"#log"`, `"#counter"`, `"protoName": "hello"`, `"protoName": "helo"`).Replace(string(text))
	if err := os.WriteFile(app, []byte(bad), 0o600); err != nil {
		t.Fatal(err)
	}
	proto := filepath.Join(filepath.Dir(app), "helo.proto")
	for _, verb := range []string{"check", "run", "convert"} {
		stdout, stderr, status := command(t, "", "flow", verb, app)
		if status != exitFailure || !strings.HasSuffix(stderr, "everywire: there are 2 errors in "+app+"\n") {
			t.Errorf("%s: status %d: %s", verb, status, stderr)
		}
		for _, want := range []string{
			app + ":70:30: the types of the service are needed: " + proto + ": no such file or directory\n",
			"    at /resources/0/data/tasks/0/activity/input/protoName\n",
			app + `:82:22: the activity "#counter" is not read: flow run --admin counts the runs of each flow and activity` + "\n",
		} {
			if !strings.Contains(stdout+stderr, want) {
				t.Errorf("%s says\n%s%swant %s", verb, stdout, stderr, want)
			}
		}
	}
	stdout, _, _ := command(t, "", "flow", "check", app, "--json")
	var got struct{ Errors flow.Errors }
	if err := json.Unmarshal([]byte(stdout), &got); err != nil || len(got.Errors) != 2 || got.Errors[1].Path != "/resources/0/data/tasks/1/activity/ref" || len(got.Errors[1].Allowed) == 0 {
		t.Error(stdout)
	}
	if err := os.WriteFile(app, []byte(`{"name": "x", `), 0o600); err != nil {
		t.Fatal(err)
	}
	stdout, _, status := command(t, "", "flow", "check", app)
	if status != exitFailure || !strings.HasPrefix(stdout, app+":1:15: this is not JSON: the name of a member in double quotes should stand here, not the end of the file\n") {
		t.Errorf("status %d: %s", status, stdout)
	}
	_, stderr, status := command(t, "", "flow", "convert", "../../examples/flow/hello-client.yaml")
	if status != exitUsage || !strings.Contains(stderr, `is no app of Flogo: it has no "type": "flogo:app"`) {
		t.Errorf("status %d: %s", status, stderr)
	}
}
