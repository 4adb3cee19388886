package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/everywire/everywire/bench/peers/peer"
	"github.com/everywire/everywire/lab/proc"
)

// An environment is where and with what a run was made.
type environment struct {
	Time     string            `json:"time"`
	CPU      string            `json:"cpu"`
	Cores    int               `json:"cores"`
	System   string            `json:"system"`
	Go       string            `json:"go"`
	Load     string            `json:"load_average,omitempty"`
	Pinned   string            `json:"pinned"`
	Versions map[string]string `json:"versions"`
}

func describe(on cores, peers []string) environment {
	e := environment{
		Time:     time.Now().UTC().Format(time.RFC3339),
		CPU:      cpuModel(),
		Cores:    runtime.NumCPU(),
		System:   runtime.GOOS + "/" + runtime.GOARCH,
		Go:       runtime.Version(),
		Pinned:   "nothing is pinned: the two ends may take CPU time from each other",
		Versions: map[string]string{},
	}
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		e.Load, _, _ = strings.Cut(string(text), " ")
	}
	if len(on.server) > 0 {
		e.Pinned = fmt.Sprintf("servers on core %s, clients on core %s", proc.FormatCores(on.server), proc.FormatCores(on.client))
	}
	for _, name := range peers {
		if p, ok := peer.Find(name); ok && p.Version() != "" {
			e.Versions[name] = p.Version()
		}
	}
	return e
}

// cpuModel is the name of the processor, where the system tells it.
func cpuModel() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return "unknown processor"
	}
	defer func() { _ = f.Close() }() // it was only read
	for s := bufio.NewScanner(f); s.Scan(); {
		if name, value, ok := strings.Cut(s.Text(), ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown processor"
}
