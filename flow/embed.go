package flow

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/everywire/everywire"
)

// An app may be part of a program that serves and starts by itself what the file
// declares, as the lab does to measure flows: it is then not run, but asked by Served
// and Fire, and closed. Where the file's targets lead is up to the program, which may
// serve and dial others; the example of New does.

// Served returns the methods that the file serves on a target, by the target's text.
// A program that serves them by itself needs no Run, unless their flows invoke: then
// it calls Connect first.
func (a *App) Served(target string) (*everywire.Registry, bool) {
	for _, s := range a.servers {
		if s.target == target {
			return s.reg, true
		}
	}
	return nil, false
}

// Connect makes the connections that invokes need, with Options.Dial. An app that is
// connected cannot be run; it is to be closed.
func (a *App) Connect() error {
	if a.ran.Swap(true) {
		return errors.New("flow: an App runs or connects once")
	}
	if err := a.dial(); err != nil {
		return errors.Join(err, a.hangUp())
	}
	return nil
}

// Fire runs the flow of a timer once, as a tick does, and waits until it has ended.
// The app must be connected.
func (a *App) Fire(ctx context.Context, timer string) error {
	for _, t := range a.triggers {
		if t.def.Name == timer && t.def.Timer != nil {
			_, err := a.run(ctx, t.flow, t.with, []any{t.fired.Add(1), time.Now()})
			return err
		}
	}
	var names []string
	for _, t := range a.triggers {
		if t.def.Timer != nil {
			names = append(names, t.def.Name)
		}
	}
	if names == nil {
		return fmt.Errorf("flow: %s has no timers, so no %q", a.file.Name, timer)
	}
	return fmt.Errorf("flow: %s has no timer %q: it has %s", a.file.Name, timer, strings.Join(names, ", "))
}

// Close closes what Connect has made.
func (a *App) Close() error { return a.hangUp() }
