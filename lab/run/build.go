package run

import (
	"runtime"
	"runtime/debug"

	"github.com/everywire/everywire/lab/record"
)

// modules are the ones whose versions stand in a record: what is measured or
// does the work under it.
var modules = []string{
	"github.com/creachadair/jrpc2",
	"github.com/go-json-experiment/json",
	"github.com/tinylib/msgp",
	"google.golang.org/grpc",
	"google.golang.org/protobuf",
	"gvisor.dev/gvisor",
}

// Build describes the running program. The commit is known if it was built
// from a checkout by go build or go install; go run does not tell it.
func Build() record.Build {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return buildOf(info)
}

func buildOf(info *debug.BuildInfo) record.Build {
	b := record.Build{Version: "unknown", Go: runtime.Version(), Modules: map[string]string{}}
	if info.Main.Version != "" {
		b.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.modified":
			b.Dirty = s.Value == "true"
		}
	}
	for _, name := range modules {
		for _, m := range info.Deps {
			if m.Path == name {
				b.Modules[name] = m.Version
			}
		}
	}
	return b
}
