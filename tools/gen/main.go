// Command gen generates the Go code of every .proto file in the repository.
// It needs Go and nothing else: protocompile reads the files, and the
// generators are tools of this module, at the versions of its go.mod.
//
//	go -C tools run ./gen           # write what is not current
//	go -C tools run ./gen -check    # exit 1 and name what is not current
//
// Generated files stand beside their .proto file, whose path from the root of
// the repository is its name in the protobuf registry.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
)

func main() {
	check := flag.Bool("check", false, "write nothing; exit 1 if a generated file is not current")
	root := flag.String("root", "..", "the repository's root")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "gen: unexpected argument %q\n", flag.Arg(0))
		os.Exit(2)
	}
	stale, err := run(context.Background(), *root, *check)
	if err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
	for _, name := range stale {
		if *check {
			fmt.Fprintf(os.Stderr, "gen: %s is not current: run go -C tools run ./gen\n", name)
		} else {
			fmt.Fprintln(os.Stdout, name)
		}
	}
	if *check && len(stale) > 0 {
		os.Exit(1)
	}
}

// run generates everything and returns the files that were not current.
func run(ctx context.Context, root string, check bool) (stale []string, err error) {
	protos, generated, err := find(root)
	if err != nil {
		return nil, err
	}
	req, err := parse(ctx, root, protos)
	if err != nil {
		return nil, err
	}
	want := map[string]string{}
	for _, tool := range []string{"protoc-gen-go", "protoc-gen-go-grpc"} {
		if err := generate(ctx, tool, req, want); err != nil {
			return nil, err
		}
	}
	return reconcile(root, want, generated, check)
}
