package form

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/wire/internal/rpc"
	"github.com/everywire/everywire/wire/internal/stream"
)

// Reserved reports whether a name belongs to the protocol: section 4 of
// JSON-RPC keeps "rpc." for itself, and "$/" is ours. A service in a protobuf
// package named rpc is reached with a leading slash.
func Reserved[T string | []byte](name T) bool {
	return strings.HasPrefix(string(name), "rpc.") || strings.HasPrefix(string(name), "$/")
}

// Names finds methods by the names that requests carry.
type Names struct {
	cfg   *rpc.ServerConfig
	index atomic.Pointer[nameIndex]
	mu    sync.Mutex // held while the index is made anew
}

type nameIndex struct {
	methods int // how many methods it was made from
	entries map[string]*Entry
	paths   map[string]bool // nil if no method declares one
	errs    []error         // of declarations
}

// An Entry is a method under one of its names.
type Entry struct {
	Form *Form
	// Short is set for the short name, by which the result may be bare.
	Short bool
	// Pace is that of its calls.
	Pace stream.Pace
	err  error
}

// NewNames indexes the methods that are registered already. The error names
// the declarations that cannot work.
func NewNames(cfg *rpc.ServerConfig) (*Names, error) {
	n := &Names{cfg: cfg}
	index := makeIndex(cfg.Registry.Methods())
	n.index.Store(index)
	return n, errors.Join(index.errs...)
}

// makeIndex gives each method its names. One with a faulty declaration, which
// can only be registered after the server was made, keeps its full name.
func makeIndex(methods []*everywire.Method) *nameIndex {
	index := &nameIndex{methods: len(methods), entries: make(map[string]*Entry, 3*len(methods))}
	shorts := map[string]*Entry{}
	for _, m := range methods {
		f, err := Of(m)
		if full := m.FullName(); !Reserved(full) {
			index.entries[full] = &Entry{Form: f}
		}
		index.entries[m.Path()] = &Entry{Form: f}
		if m.JSONRPC != nil && m.JSONRPC.Name != "" {
			name := m.JSONRPC.Name
			if other := shorts[name]; other != nil {
				err = fmt.Errorf("JSON-RPC name %q is declared by both %s and %s", name, other.Form.Method.FullName(), m.FullName())
			}
			if err == nil && Reserved(name) {
				err = fmt.Errorf("JSON-RPC name %q of %s: names that begin with rpc. or $/ are reserved", name, m.FullName())
			}
			shorts[name] = &Entry{Form: f, Short: true, err: err}
		}
		if err == nil && m.JSONRPC != nil && m.JSONRPC.Path != "" {
			index.paths = with(index.paths, m.JSONRPC.Path)
		}
		if err != nil {
			index.errs = append(index.errs, err)
		}
	}
	for name, e := range shorts {
		full := index.entries[name]
		switch {
		case full == nil:
			index.entries[name] = e
		case full.Form.Method != e.Form.Method:
			index.errs = append(index.errs, fmt.Errorf("JSON-RPC name %q of %s is the full name of another method", name, e.Form.Method.FullName()))
		}
	}
	return index
}

func with(paths map[string]bool, path string) map[string]bool {
	if paths == nil {
		paths = map[string]bool{}
	}
	paths[path] = true
	return paths
}

// HasPath reports whether a method that was registered before the server was made, or
// that has been looked up since, declares this path of HTTP.
func (n *Names) HasPath(path string) bool { return n.index.Load().paths[path] }

// Lookup finds a method by its full name, with or without the slash before
// it, or by its short name. Methods registered after the server was made are
// found too. The error is a status.
func (n *Names) Lookup(name []byte) (*Entry, error) {
	e := n.index.Load().entries[string(name)]
	if e == nil {
		e = n.refresh().entries[string(name)]
	}
	switch {
	case e == nil:
		return nil, n.unknown(string(name))
	case e.err != nil:
		return nil, status.Error(codes.Internal, e.err.Error())
	}
	return e, nil
}

// refresh makes the index anew if methods were added.
func (n *Names) refresh() *nameIndex {
	methods := n.cfg.Registry.Methods()
	n.mu.Lock()
	defer n.mu.Unlock()
	index := n.index.Load()
	if len(methods) > index.methods {
		index = makeIndex(methods)
		n.index.Store(index)
	}
	return index
}

func (n *Names) unknown(name string) error {
	if Reserved(name) {
		return status.Errorf(codes.Unimplemented, "unknown method %q; names that begin with rpc. or $/ are reserved", name)
	}
	if path := "/" + strings.TrimPrefix(name, "/"); strings.Contains(path[1:], "/") {
		if _, err := n.cfg.Lookup(path); err != nil {
			return err
		}
	}
	return status.Errorf(codes.Unimplemented, "unknown method %q", name)
}
