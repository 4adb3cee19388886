package foreign

import (
	"context"
	"encoding/base64"
	"os/exec"
	"strings"
	"testing"

	"github.com/everywire/everywire/internal/needs"
	"github.com/everywire/everywire/service/employees"
	"github.com/everywire/everywire/service/kv"
)

// TestOnePort: curl, grpcurl, jayson, msgpack5 and a browser use one store and
// one list of people, by seven wires on one port.
func TestOnePort(t *testing.T) {
	curl := needs.Program(t, "curl", "on Debian, apt-get install curl")
	grpcurl := needs.Program(t, "grpcurl", "go install github.com/fullstorydev/grpcurl/cmd/grpcurl@latest")
	chromium := needs.Program(t, "chromium", "on Debian, apt-get install chromium")
	service := newService()
	employees.New(employees.Options{}).Register(service.reg)
	addr := service.serve(t, "any://127.0.0.1:0")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	say := func(program string, args ...string) string {
		out, err := exec.CommandContext(ctx, program, args...).Output()
		if err != nil {
			t.Fatalf("%s %q: %v, after %q", program, args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	b64 := base64.StdEncoding.EncodeToString

	if got := say(curl, "-sS", "-w", "%{http_code}", "-H", "Content-Type: application/json",
		"-d", `{"key":"`+b64([]byte("curl"))+`","value":"`+b64([]byte("by REST"))+`"}`, "http://"+addr+"/kv"); got != `{"version":1}200` {
		t.Errorf("curl got %q", got)
	}
	if got := say(curl, "-sS", "-o", "/dev/null", "-w", "%{http_code} %header{location}", "-H", "Content-Type: application/json",
		"-d", `{"name":"Ada","email":"ada@example.org"}`, "http://"+addr+"/employees"); !strings.HasPrefix(got, "201 /employees/") {
		t.Errorf("curl got %q", got)
	}
	list := say(grpcurl, "-plaintext", addr, "list")
	for _, name := range []string{"employees.Employees", "io.grpc.KeyValueService", "grpc.health.v1.Health"} {
		if !strings.Contains(list, name) {
			t.Errorf("grpcurl does not list %s: %s", name, list)
		}
	}
	if got := say(grpcurl, "-plaintext", "-d", `{"key":"`+b64([]byte("curl"))+`"}`, addr, kv.Retrieve); !strings.Contains(got, b64([]byte("by REST"))) {
		t.Errorf("grpcurl got %s", got)
	}
	results := runNode(t, "one-port.js", map[string]any{"chromium": chromium, "profile": t.TempDir(), "port": portOf(t, addr)})
	check(t, results, map[string]string{
		"jaysonTCP": `{"version":2}`, "jaysonHTTP": `"by TCP"`, "msgpackCreated": `null`, "msgpackRead": `"by TCP"`,
		"docs": `true`, "troubles": `[]`,
		"page": `{"created":[200,{"version":4}],"twice":"already_exists","values":["by TCP","by MessagePack","by REST","by Connect"],` +
			`"grpcWeb":["by Connect",true],"rest":[200,1,"number"]}`,
	})
}
