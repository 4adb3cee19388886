package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/everywire/everywire/lab/plan"
	"github.com/everywire/everywire/lab/record"
	"github.com/everywire/everywire/lab/run"
	"github.com/everywire/everywire/lab/stats"
)

// measurePlan runs a plan and writes its record to a file. What is shown of its
// progress is the caller's business. The servers are far's, if it is not nil.
func measurePlan(a *app, p *plan.Plan, payload []byte, file string, far *farServer, show func(run.Progress)) (partial string, err error) {
	exe, err := os.Executable()
	if err != nil {
		return "", err
	}
	f, err := os.Create(file)
	if err != nil {
		return "", fmt.Errorf("cannot write the record: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	// Not buffered: a killed run leaves all its finished trials.
	header := record.Header{Started: time.Now(), Build: run.Build(), Machine: run.Machine(), Plan: *p}
	var agent *run.Agent
	if far != nil {
		agent, header.Server = &far.agent, far.machine
		header.Machine.ServerCores, header.Machine.ClientCores = "", ""
	}
	w, err := record.NewWriter(f, header)
	if err != nil {
		return "", err
	}
	partial, err = run.Run(a.ctx, p, run.Config{
		Exe: exe, ServerArgs: []string{"lab-server"}, GeneratorArgs: []string{"lab-generator"},
		Server: agent, Payload: payload, Sink: w, Progress: show,
		Spare: p.Blocks >= stats.BlocksNeeded(1), // fewer claim nothing
	})
	if err != nil {
		return "", err
	}
	return partial, w.End(record.End{Ended: time.Now(), Partial: partial})
}
