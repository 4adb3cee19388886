package main

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/wire"
)

type serveCmd struct {
	Services   []string      `arg:"" name:"service" help:"Services to serve: arith, echo, kv."`
	On         []string      `required:"" placeholder:"TARGET" sep:"none" help:"Where to serve, such as rest://:8080. Repeat it for more targets."`
	ReadDelay  time.Duration `placeholder:"10ms" help:"kv: how long a read takes (default none)."`
	WriteDelay time.Duration `placeholder:"50ms" help:"kv: how long a write takes (default none)."`
	MaxMessage byteSize      `placeholder:"4MiB" help:"The largest message taken or sent (default 4MiB)."`
	Drain      time.Duration `default:"10s" help:"How long calls in flight may take to finish when the server is stopped."`
}

// Help is the long help with examples.
func (*serveCmd) Help() string {
	return `Examples:

  everywire serve kv --on rest://:8080 --on grpc://:9090 --on jsonrpc+tcp://:7070
  curl localhost:8080/kv -H 'Content-Type: application/json' -d '{"key":"a2V5","value":"aGk="}'
  curl localhost:8080/kv/a2V5
  grpcurl -plaintext localhost:9090 list

  everywire serve arith --on jsonrpc+tcp://:7070
  printf '{"jsonrpc":"2.0","method":"sum","params":[20,21],"id":1}\n' | nc -N localhost 7070

Keys and values of kv are bytes; in JSON they are base64. SIGINT or SIGTERM stops the server when
the calls in flight have ended, a second one stops it at once. "everywire targets" lists what a target may say.`
}

// Run serves until it is interrupted.
func (c *serveCmd) Run(a *app) error {
	logger := slog.New(slog.NewTextHandler(a.stderr, nil))
	reg, err := registryOf(c.Services, c, everywire.WithLogger(logger))
	if err != nil {
		return err
	}
	server, err := wire.Serve(a.ctx, reg, c.On,
		wire.WithLogger(logger), wire.WithDrainTimeout(c.Drain),
		wire.WithLimits(everywire.Limits{MaxMessage: int(c.MaxMessage)}))
	if err != nil {
		return err
	}
	for _, t := range server.Targets() {
		fmt.Fprintf(a.stdout, "serving %s on %v\n", strings.Join(c.Services, ", "), t)
	}
	<-a.ctx.Done()
	fmt.Fprintf(a.stderr, "stopping: calls in flight have %v to finish; a second signal stops at once\n", c.Drain)
	if err := server.Wait(); err != nil {
		return errors.Join(errors.New("stopped, but not cleanly"), err)
	}
	return nil
}
