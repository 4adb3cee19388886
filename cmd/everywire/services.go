package main

import (
	"slices"
	"strings"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/service/arith"
	"github.com/everywire/everywire/service/echo"
	"github.com/everywire/everywire/service/employees"
	"github.com/everywire/everywire/service/kv"
	"github.com/everywire/everywire/service/sample"
)

// A builtin is a service that the command can serve.
type builtin struct {
	name     string
	register func(*everywire.Registry, *serveCmd)
}

var builtins = []builtin{
	{"arith", func(reg *everywire.Registry, _ *serveCmd) { arith.Register(reg) }},
	{"echo", func(reg *everywire.Registry, _ *serveCmd) { echo.Register(reg) }},
	{"kv", func(reg *everywire.Registry, c *serveCmd) {
		s := c.store
		if s == nil { // only its description is wanted
			s = kv.New(kv.Options{})
		}
		s.Register(reg)
		c.stopping = append(c.stopping, s.Stop)
	}},
	{"employees", func(reg *everywire.Registry, c *serveCmd) {
		s := employees.New(employees.Options{Outbox: c.mail})
		s.Register(reg)
		c.stopping = append(c.stopping, s.Close)
	}},
	{"sample", func(reg *everywire.Registry, c *serveCmd) { sample.Register(reg, c.sampleOptions()) }},
	{"relay", func(reg *everywire.Registry, c *serveCmd) { c.registerRelay(reg, c.upstream) }},
	{"auth", func(reg *everywire.Registry, c *serveCmd) { c.auth.service().Register(reg) }},
}

func builtinNames() string {
	names := make([]string, len(builtins))
	for i, b := range builtins {
		names[i] = b.name
	}
	return strings.Join(names, ", ")
}

// registryOf registers built-in services by name.
func registryOf(names []string, c *serveCmd, opts ...everywire.RegistryOption) (*everywire.Registry, error) {
	reg := everywire.NewRegistry(opts...)
	for i, name := range names {
		b := slices.IndexFunc(builtins, func(b builtin) bool { return b.name == name })
		if b < 0 {
			return nil, usagef("there is no service %q: the services are %s", name, builtinNames())
		}
		if slices.Contains(names[:i], name) {
			return nil, usagef("the service %q is given twice", name)
		}
		builtins[b].register(reg, c)
	}
	return reg, nil
}

// allBuiltins describes every method that the command knows.
func allBuiltins() *everywire.Registry {
	var names []string
	for _, b := range builtins {
		names = append(names, b.name)
	}
	reg, err := registryOf(names, &serveCmd{})
	if err != nil {
		panic(err) // the names are the table's own
	}
	return reg
}
