package everywire

import (
	"errors"
	"go/build"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/everywire/everywire"

// An importRule says which of this module's packages, and which others, a part
// of the tree may import in code that is not a test.
type importRule struct {
	// dirs are the folders that it holds for; a trailing /... takes all below.
	dirs []string
	// ours are the folders of this module that they may import.
	ours []string
	// forbidden are other modules' packages that they must not import.
	forbidden []string
	reason    string
}

var importRules = []importRule{
	{
		dirs: []string{"schema/avsc"}, ours: []string{"schema"},
		forbidden: []string{"google.golang.org/grpc", "net/http", "github.com/hamba/avro"},
		reason:    "Avro's schemas follow from the description of types; codec and documents share them, and need no library for it",
	},
	{
		dirs: []string{"schema"}, ours: []string{},
		forbidden: []string{"google.golang.org/grpc"},
		reason:    "everything stands on the description of types; it must stand on nothing, or cycles and heavy imports follow",
	},
	{
		dirs: []string{"schema/infer"}, ours: []string{"schema"},
		forbidden: []string{"google.golang.org/grpc"},
		reason:    "a type that is made of documents is a type like any other",
	},
	{
		dirs: []string{"."}, ours: []string{"schema"},
		forbidden: []string{"github.com/go-json-experiment", "github.com/tinylib", "net/http"},
		reason:    "core is gRPC's programming model without a wire or a codec: whoever only registers services compiles neither",
	},
	{
		dirs: []string{"codec/..."}, ours: []string{"schema", "schema/avsc", "codec/internal/...", "codec/json"},
		forbidden: []string{"google.golang.org/grpc", "net/http"},
		reason:    "a codec is bytes and types; one that knew calls could not be used on every wire; encodings without documents hold them as JSON",
	},
	{
		dirs: []string{"describe"}, ours: []string{".", "schema", "schema/avsc"},
		forbidden: []string{"net/http", "github.com/go-json-experiment"},
		reason:    "documents are made from descriptions alone, so that wires and the command can both ask for them",
	},
	{
		dirs: []string{"describe/against"}, ours: []string{".", "schema", "describe"},
		forbidden: []string{"net/http"},
		reason:    "a comparison is of descriptions alone: who reads them from files or servers is the command",
	},
	{
		dirs: []string{"describe/page"}, ours: []string{},
		forbidden: []string{"net/http"},
		reason:    "a page is files: it reads an OpenAPI document in the browser, and whoever serves it decides how",
	},
	{
		dirs: []string{"wire/internal/..."}, ours: []string{".", "schema", "wire/internal/..."},
		reason: "what wires share must not know any of them, nor how a message is encoded",
	},
	{
		dirs:   []string{"wire/rest", "wire/jsonrpc", "wire/msgpackrpc", "wire/grpcwire", "wire/connectwire"},
		ours:   []string{".", "schema", "codec/...", "describe/...", "wire/internal/..."},
		reason: "a wire that imported another could not be understood, or left out, by itself",
	},
	{
		dirs:   []string{"wire"},
		ours:   []string{".", "schema", "codec/json", "codec/msgpack", "codec/cbor", "codec/protobuf", "wire/internal/...", "wire/rest", "wire/jsonrpc", "wire/msgpackrpc", "wire/grpcwire", "wire/connectwire"},
		reason: "the one place that knows every wire, and the codecs that every server has; it needs no service and no lab",
	},
	{
		dirs:      []string{"service/arith", "service/echo", "service/kv", "service/sample"},
		ours:      []string{"."},
		forbidden: []string{"net/http", "google.golang.org/protobuf", "github.com/go-json-experiment"},
		reason:    "a service that knew a wire or a codec would disprove the promise: written once, served on every wire",
	},
	{
		dirs:      []string{"service/relay"},
		ours:      []string{".", "service/sample"},
		forbidden: []string{"net/http", "google.golang.org/protobuf", "github.com/go-json-experiment"},
		reason:    "a service as above, that calls another by a connection which it is given: it knows that one's messages and no wire",
	},
	{
		dirs: []string{"service/kv/disk"}, ours: []string{"service/kv"},
		forbidden: []string{"google.golang.org/grpc", "net/http"},
		reason:    "a database is chosen by who opens it; it keeps changes and knows nothing of calls",
	},
	{
		dirs:      []string{"service/employees"},
		ours:      []string{".", "service/employees/outbox"},
		forbidden: []string{"net/http", "google.golang.org/protobuf", "github.com/go-json-experiment"},
		reason:    "a service as above, that hands its e-mails to an outbox",
	},
	{
		dirs: []string{"service/employees/outbox"}, ours: []string{},
		forbidden: []string{"google.golang.org/grpc", "net/http"},
		reason:    "e-mail is e-mail, whoever asks for it",
	},
	{
		dirs:      []string{"service/auth"},
		ours:      []string{".", "service/auth/..."},
		forbidden: []string{"net/http", "github.com/go-json-experiment", "github.com/prometheus"},
		reason:    "a service as above; what HTTP has beyond calls is in service/auth/web. Only the details of its errors are protobuf's, as gRPC has them",
	},
	{
		dirs: []string{"service/auth/users", "service/auth/token"}, ours: []string{"service/auth/internal/..."},
		forbidden: []string{"google.golang.org/grpc", "net/http"},
		reason:    "accounts and tokens are files and checks; who asks, and by which wire, is none of their business",
	},
	{
		dirs: []string{"describe/source"}, ours: []string{".", "schema", "describe"},
		forbidden: []string{"net/http"},
		reason:    "types are read from files, or by a connection that is given: by any wire that has reflection",
	},
	{
		dirs: []string{"observe/..."}, ours: []string{".", "wire"},
		reason: "what is seen of calls is seen through stats.Handler, which every wire feeds: no wire may need to know who looks",
	},
	{
		dirs: []string{"resilience"}, ours: []string{"."},
		forbidden: []string{"net/http"},
		reason:    "client interceptors see a call, not what carries it: so they are the same on every wire, and on a grpc.ClientConn",
	},
	{
		dirs: []string{"link"}, ours: []string{"internal/sleeper"},
		forbidden: []string{"google.golang.org/grpc", "net/http"},
		reason:    "a network knows nothing of what it carries; net.Listener and net.Conn are all that it shares with the rest",
	},
	{
		dirs: []string{"flow/expr"}, ours: []string{"schema"},
		forbidden: []string{"google.golang.org/grpc", "net/http", "reflect", "github.com/goccy/go-yaml"},
		reason:    "expressions are texts and values; without reflection their cost can be seen in their code",
	},
	{
		dirs: []string{"flow"}, ours: []string{".", "schema", "resilience", "flow/expr", "internal/yamltree"},
		forbidden: []string{"net/http", "github.com/prometheus"},
		reason:    "a flow names targets and knows no wire: who dials and serves is given to it, and so is who observes",
	},
	{
		dirs: []string{"flow/flogo", "flow/draw"}, ours: []string{"flow", "flow/expr"},
		forbidden: []string{"google.golang.org/grpc", "net/http"},
		reason:    "files are read and drawn without running anything",
	},
	{
		dirs: []string{"flow/flowmetrics"}, ours: []string{"flow"},
		reason: "metrics of flows are made from what every observer sees",
	},
	{
		dirs: []string{"lab/plan"}, ours: []string{},
		reason: "a plan is data: it stands in every record and must be readable without the rest",
	},
	{
		dirs: []string{"lab/record"}, ours: []string{"lab/plan"},
		reason: "a record can be read and reported on by anybody, without the code that was measured",
	},
	{
		dirs: []string{"lab/stats"}, ours: []string{"lab/plan", "lab/record"},
		reason: "statistics see records only: what is claimed must follow from what was written down",
	},
	{
		dirs: []string{"lab/report"}, ours: []string{"lab/plan", "lab/record", "lab/stats"},
		reason: "a report can be remade from its record alone",
	},
	{
		dirs: []string{"lab/loadreport"}, ours: []string{"lab/plan", "lab/record", "lab/report", "lab/stats", "lab/threshold"},
		forbidden: []string{"google.golang.org/grpc", "net/http"},
		reason:    "a load's report can be remade from its record alone",
	},
	{
		dirs: []string{"lab/threshold"}, ours: []string{"lab/record", "lab/stats"},
		forbidden: []string{"google.golang.org/grpc"},
		reason:    "a threshold judges what was written down, so that a record can be judged again",
	},
	{
		dirs: []string{"lab/timeline", "lab/jtl"}, ours: []string{"lab/load", "lab/record"},
		reason: "what is made of samples while a load runs sees samples only, and no wire",
	},
	{
		dirs: []string{"lab/netcount"}, ours: []string{"lab/record"},
		reason: "bytes are counted at the socket, the same for every arm",
	},
	{
		dirs: []string{"lab/ref"}, ours: []string{".", "codec/json", "codec/protobuf", "service/..."},
		reason: "a reference is what others would write: it must owe nothing to a wire of ours (net/http+json and grpc-go+protobuf have our codecs on purpose)",
	},
	{
		dirs: []string{"lab/reproduce"}, ours: []string{"lab/plan", "lab/record", "lab/ref", "lab/stats", "lab/report"},
		reason: "an article is plans and sentences about records; who runs them is the command",
	},
	{
		dirs: []string{"lab/cluster"}, ours: []string{"lab/proc"},
		forbidden: []string{"google.golang.org/grpc"},
		reason:    "a proxy in front of servers knows their addresses and nothing of what they serve",
	},
	{
		dirs: []string{"lab/failover"}, ours: []string{".", "lab/cluster", "lab/load", "lab/proc", "resilience"},
		forbidden: []string{"net/http"},
		reason:    "what becomes of calls is seen through a grpc.ClientConnInterface, the same for every wire",
	},
	{
		dirs: []string{"lab/data"}, ours: []string{".", "codec/json"},
		forbidden: []string{"google.golang.org/grpc", "net/http"},
		reason:    "templates are text, tables and documents: what they fill, a body or a message, is not theirs to know",
	},
	{
		dirs: []string{"lab/scenario"}, ours: []string{"lab/data", "lab/plan", "internal/yamltree"},
		forbidden: []string{"google.golang.org/grpc", "net/http"},
		reason:    "a file of operations is read and checked without calling anybody",
	},
	{
		dirs: []string{"lab/target"}, ours: []string{".", "schema", "codec/json", "lab/data", "lab/load", "lab/scenario"},
		reason: "what is called may be anybody's server: of our wires it sees a grpc.ClientConnInterface",
	},
	{
		dirs: []string{"lab/work"}, ours: []string{".", "schema/...", "codec/json", "service/...", "flow", "lab/..."},
		reason: "the one place that knows which services the lab measures, and a flow is one",
	},
	{
		dirs: []string{"lab/load", "lab/proc", "lab/run"}, ours: []string{".", "schema/...", "codec/json", "service/...", "lab/...", "link", "internal/sleeper"},
		reason: "payloads are JSON files; beside that the generator sees a grpc.ClientConnInterface, so that every arm, ours or not, is called in the same way",
	},
}

// heavy modules are for the command and the lab.
var heavy = []string{
	"github.com/creachadair/jrpc2", "github.com/alecthomas/kong", "github.com/jedib0t/go-pretty", "github.com/HdrHistogram",
	"github.com/prometheus", "go.opentelemetry.io", "golang.org/x/term", "testing", "github.com/google/go-cmp", "pgregory.net/rapid", "gvisor.dev/gvisor", "github.com/bufbuild/protocompile", "go.etcd.io/bbolt",
	"github.com/google/flatbuffers", "capnproto.org/go/capnp", module + "/link",
}

func TestImports(t *testing.T) {
	for _, pkg := range packages(t) {
		for _, rule := range importRules {
			if !matches(rule.dirs, pkg.dir) {
				continue
			}
			for _, imp := range pkg.imports {
				dir, isOurs := strings.CutPrefix(imp, module)
				dir = strings.TrimPrefix(dir, "/")
				if dir == "" {
					dir = "."
				}
				if isOurs && !matches(rule.ours, dir) {
					t.Errorf("%s imports %s.\n\tIt may import %q of this module: %s.", pkg.dir, imp, rule.ours, rule.reason)
				}
				if slices.ContainsFunc(rule.forbidden, func(f string) bool { return within(imp, f) }) {
					t.Errorf("%s imports %s, which it must not: %s.", pkg.dir, imp, rule.reason)
				}
			}
		}
	}
}

// No package does anything by being imported: generated code alone registers
// itself, with protobuf's own registry.
func TestNoInit(t *testing.T) {
	for _, pkg := range packages(t) {
		files, err := filepath.Glob(filepath.Join(pkg.dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(string(text), "// Code generated ") && strings.Contains(string(text), "\nfunc init() {") {
				t.Errorf("%s has an init function", file)
			}
		}
	}
}

// Whoever imports the library compiles no command line, no peer, no test.
func TestLibraryIsLight(t *testing.T) {
	library := []string{".", "schema", "codec/...", "describe/...", "wire", "wire/internal/...", "wire/rest", "wire/jsonrpc", "wire/msgpackrpc", "wire/grpcwire", "wire/connectwire", "service/..."}
	byChoice := []string{
		"service/kv/disk",                                // what nobody imports but who wants the database
		"service/kv/kvflatbuffers", "service/kv/kvcapnp", // generated code, which tests and measurements import alone
		"codec/flatbuffers/internal/...", "codec/capnp/internal/...", // the same
		"describe/source",    // what reads .proto files, for commands
		"service/auth/users", // accounts, for who serves the authentication service
		"service/auth/web",   // its metrics
	}
	for _, pkg := range packages(t) {
		if !matches(library, pkg.dir) || matches(byChoice, pkg.dir) {
			continue
		}
		for _, imp := range pkg.imports {
			if slices.ContainsFunc(heavy, func(h string) bool { return within(imp, h) }) {
				t.Errorf("%s imports %s, so everybody who imports the library compiles it", pkg.dir, imp)
			}
		}
	}
}

type goPackage struct {
	dir     string
	imports []string
}

// packages lists the module's packages with the imports of their code, for
// every system; tests are not counted.
func packages(t *testing.T) []goPackage {
	t.Helper()
	var all []goPackage
	err := filepath.WalkDir(".", func(dir string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case !d.IsDir():
			return nil
		case dir != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata"), dir == "tools", dir == "bench":
			return filepath.SkipDir
		}
		ctx := build.Default
		ctx.UseAllFiles = true
		p, err := ctx.ImportDir(dir, 0)
		if p != nil && len(p.Imports) > 0 {
			all = append(all, goPackage{filepath.ToSlash(dir), p.Imports})
		}
		var none *build.NoGoError
		if errors.As(err, &none) || p != nil && len(p.Imports) > 0 {
			return nil // with all files a folder may hold package main twice; the imports are what counts
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 15 {
		t.Fatalf("found only %d packages: the test looks in the wrong place", len(all))
	}
	return all
}

func matches(patterns []string, dir string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		if root, all := strings.CutSuffix(p, "/..."); all {
			return within(dir, root)
		}
		return dir == p
	})
}

func within(path, root string) bool { return path == root || strings.HasPrefix(path, root+"/") }
