package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"

	"github.com/everywire/everywire/lab/proc"
	"github.com/everywire/everywire/lab/record"
	"github.com/everywire/everywire/lab/run"
)

// A farServer is the agent of another machine, and what it said of that.
type farServer struct {
	agent   run.Agent
	machine *record.Machine
}

// far asks the agent of the flags, if they name one.
func (c *compareCmd) far(ctx context.Context) (*farServer, error) {
	switch {
	case c.Server == "" && c.Token != "" && os.Getenv("EVERYWIRE_LAB_TOKEN") == "":
		return nil, usagef("--token is for the agent of another machine: name it by --server")
	case c.Server == "":
		return nil, nil //nolint:nilnil // the servers are here
	case c.Token == "":
		return nil, usagef("--server needs --token, which everywire serve --lab prints on that machine")
	}
	if _, _, err := net.SplitHostPort(c.Server); err != nil {
		return nil, usagef("--server %s is not HOST:PORT", c.Server)
	}
	f := &farServer{agent: run.Agent{Addr: c.Server, Token: c.Token}}
	var err error
	f.machine, err = run.Ask(ctx, f.agent)
	return f, err
}

// labFlags make serve an agent of the lab.
type labFlags struct {
	Lab      string `placeholder:"HOST:PORT" help:"Serve no services but the servers of trials, for compare --server on another machine."`
	LabToken string `env:"EVERYWIRE_LAB_TOKEN" placeholder:"TOKEN" help:"What compare must know (default a new one, which is printed)."`
}

// serve is an agent until it is interrupted.
func (c *labFlags) serve(a *app, logger *slog.Logger) error {
	lis, err := new(net.ListenConfig).Listen(a.ctx, "tcp", c.Lab)
	if err != nil {
		return err
	}
	exe, err := os.Executable()
	if err != nil {
		return errors.Join(err, lis.Close())
	}
	token, say := c.LabToken, "its token"
	if token == "" {
		token = strings.ToLower(rand.Text())
		say = token
	}
	fmt.Fprintf(a.stdout, "ready for trials on %v\non the other machine: everywire compare --server %s --token %s\n", lis.Addr(), reachable(lis.Addr()), say)
	agent := &proc.Agent{
		Exe: exe, Args: func(host string) []string { return []string{"lab-server", "--host", host} },
		Token: token, About: run.Remote{Build: run.Build(), Machine: run.Machine()}, Logger: logger,
	}
	return agent.Serve(a.ctx, lis)
}

// reachable is an address that another machine may use.
func reachable(at net.Addr) string {
	host, port, err := net.SplitHostPort(at.String())
	if err != nil {
		return at.String()
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsUnspecified() {
		return at.String()
	}
	if name, err := os.Hostname(); err == nil {
		return net.JoinHostPort(name, port)
	}
	return "HOST:" + port
}
