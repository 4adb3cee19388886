package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/service/employees/outbox"
	"github.com/everywire/everywire/service/kv"
	"github.com/everywire/everywire/wire"
)

type serveCmd struct {
	Services   []string      `arg:"" optional:"" name:"service" help:"Services to serve: arith, echo, kv, employees, sample, relay, auth."`
	On         []string      `placeholder:"TARGET" sep:"none" help:"Where to serve, such as rest://:8080. Repeat it for more targets."`
	ReadDelay  time.Duration `placeholder:"10ms" help:"kv: how long a read takes (default none)."`
	WriteDelay time.Duration `placeholder:"50ms" help:"kv: how long a write takes (default none)."`
	Data       string        `placeholder:"DIR" help:"kv: a folder that keeps what is stored (default none: it is gone when the server ends)."`
	MaxBytes   storeSize     `placeholder:"256MiB" help:"kv: how much is stored at most, keys and values, all of which is in memory (default 256MiB)."`
	SMTP       string        `name:"smtp" placeholder:"HOST:PORT" help:"employees: the server that e-mails are sent to (default none: no e-mail is sent)."`
	Outbox     string        `placeholder:"DIR" help:"employees: a folder that e-mails are written to instead, each as a file."`
	MailFrom   string        `placeholder:"ADDRESS" help:"employees: who e-mails are from (default everywire@localhost)."`
	MaxMessage byteSize      `placeholder:"4MiB" help:"The largest message taken or sent (default 4MiB)."`
	Drain      time.Duration `default:"10s" help:"How long calls in flight may take to finish when the server is stopped."`

	relayFlags   `group:"the services sample and relay"`
	authFlags    `group:"the service auth"`
	observeFlags `group:"seen from outside"`
	labFlags     `group:"trials for another machine"`

	mail     *outbox.Outbox // of the flags, or nil
	store    *kv.Store      // of the flags, or nil
	upstream *upstream      // of the flags, or nil
	auth     *authServer    // of the flags, or nil
	stopping []func()       // what services do when the server is being stopped
}

// Help is the long help with examples.
func (*serveCmd) Help() string {
	return `Examples:

  everywire serve kv --on rest://:8080 --on grpc://:9090 --on jsonrpc+tcp://:7070
  curl localhost:8080/kv -H 'Content-Type: application/json' -d '{"key":"a2V5","value":"aGk="}'
  curl localhost:8080/kv/a2V5
  grpcurl -plaintext localhost:9090 list

  everywire serve employees --outbox ./sent --on rest://:8080 --on jsonrpc+http://:8081
  curl 'localhost:8080/employees?language=de&perpage=1'
  curl localhost:8080/employees --json '{"name":"Ada","email":"ada@example.org"}'
  curl -X PATCH localhost:8080/employees/9 -H 'If-Match: "1"' --json '{"name":"Ada L."}'
  curl localhost:8080/employees/9/email --json '{"subject":"Hi","text":"Welcome."}'
  curl -N localhost:8080/employees:watch
  curl localhost:8081/rpc --json '{"jsonrpc":"2.0","method":"get_employee","params":[9],"id":1}'
  everywire call rest://localhost:8080 employees.Employees/WatchEmployees --timeout 1h

  everywire serve arith --on jsonrpc+tcp://:7070
  printf '{"jsonrpc":"2.0","method":"sum","params":[20,21],"id":1}\n' | nc -N localhost 7070

  everywire serve arith --on 'jsonrpc+http://:9092?replies=bare'
  curl localhost:9092/sum --json '{"jsonrpc":"2.0","method":"sum","params":[20,21],"id":1}'

  everywire serve kv --on any://:8080                    # every wire on one port

  everywire serve --lab :7700                            # for compare --server on another machine

  everywire serve kv --data ./kv --max-bytes 1GiB --on rest://:8080
  curl localhost:8080/kv --json '{"key":"a2V5","value":"aGk=","ttl":"60s"}'
  curl -X PUT localhost:8080/kv/a2V5 -H 'If-Match: "1"' --json '{"value":"aG8="}'
  curl 'localhost:8080/kv?prefix=a2U=&limit=10'
  curl -N localhost:8080/kv:watch

  everywire serve sample --delay 10ms --on grpc://:9090
  everywire serve relay --upstream grpc://localhost:9090 --attempts 3 --on rest://:8000
  curl localhost:8000/

  everywire auth --help                                  # accounts and keys come first
  everywire serve auth --users users.csv --keys keys.json --on any://localhost:8080
  everywire serve auth --users users.csv --keys keys.json --compat \
      --on jsonrpc+http://localhost:3000 --on rest://localhost:3030

  everywire serve kv --on rest://:8080 --admin localhost:9464 --log-calls
  curl localhost:9464/metrics
  go tool pprof http://localhost:9464/debug/pprof/profile?seconds=10

Keys and values of kv are bytes; in JSON they are base64. SIGINT or SIGTERM stops the server when
the calls in flight have ended, a second one stops it at once. "everywire targets" lists what a target may say.`
}

// Run serves until it is interrupted.
func (c *serveCmd) Run(a *app) (err error) {
	logger := c.logger(a)
	switch {
	case c.Lab != "" && (len(c.Services) > 0 || len(c.On) > 0):
		return usagef("--lab serves trials and nothing else: leave out services and --on")
	case c.Lab != "":
		return c.serve(a, logger)
	case len(c.Services) == 0:
		return usagef("which services? They are %s (everywire serve --help tells more)", builtinNames())
	case len(c.On) == 0:
		return usagef("serve %s where? Name a target, such as --on rest://:8080 (everywire serve --help tells more)", strings.Join(c.Services, " "))
	}
	if err := c.openOutbox(logger); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.closeOutbox()) }()
	if err := c.openStore(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.closeStore()) }()
	if c.auth, err = c.openAuth(c.Services, logger); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.auth.close()) }()
	seen, err := c.start(a.ctx, logger, c.Services)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, seen.close(a.ctx)) }()
	if c.upstream, err = c.openUpstream(c.Services, logger, seen.calls...); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.upstream.close()) }()
	reg, err := registryOf(c.Services, c, everywire.WithLogger(logger))
	if err != nil {
		return err
	}
	authOptions, err := c.auth.options(seen)
	if err != nil {
		return err
	}
	server, err := wire.Serve(a.ctx, reg, c.auth.targets(c.On, logger), append(append(seen.options, authOptions...),
		wire.WithLogger(logger), wire.WithDrainTimeout(c.Drain), wire.WithCodecs(codecs()...),
		wire.WithLimits(everywire.Limits{MaxMessage: int(c.MaxMessage)}))...)
	if err != nil {
		return err
	}
	for _, t := range server.Targets() {
		fmt.Fprintf(a.stdout, "serving %s on %v\n", strings.Join(c.Services, ", "), t)
	}
	if seen.admin != nil {
		fmt.Fprintf(a.stdout, "metrics, profiles and health on http://%v/\n", seen.admin.addr)
	}
	<-a.ctx.Done()
	seen.stopping()
	fmt.Fprintf(a.stderr, "stopping: calls in flight have %v to finish; a second signal stops at once\n", c.Drain)
	for _, stop := range c.stopping {
		stop()
	}
	if err := server.Wait(); err != nil {
		return errors.Join(errors.New("stopped, but not cleanly"), err)
	}
	return nil
}
