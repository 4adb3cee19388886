package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"time"
)

// figures are what a generator said of one load, and what it cost.
type figures struct {
	calls  float64 // right ones
	rate   float64 // a second
	mean   float64 // ns
	p99    float64 // ns, 0 if it does not tell
	failed float64
	cpu    time.Duration // of the generator's process
}

// target is what both generators call.
type target struct {
	url  string // of ours
	ours []string
	args []string // of the other
}

// A tool is a generator to run beside.
type tool struct {
	name, protocol string
	// find returns the program.
	find func(ctx context.Context, dir string, stderr io.Writer) (string, error)
	// serve starts what is called.
	serve func(ctx context.Context, m *machine, s *settings) (*target, func(), error)
	read  func(out []byte) (figures, error)
}

var tools = []*tool{
	{
		name: "wrk", protocol: "HTTP/1.1", find: installed("wrk", "on Debian, apt-get install wrk"), read: readWrk,
		serve: func(ctx context.Context, m *machine, s *settings) (*target, func(), error) {
			url, stop, err := m.nginx(ctx, "")
			return &target{url: url, args: []string{"--latency", "-t1", fmt.Sprint("-c", s.callers), fmt.Sprintf("-d%ds", int(s.window.Seconds())), url}}, stop, err
		},
	},
	{
		name: "h2load", protocol: "HTTP/2", find: installed("h2load", "on Debian, apt-get install nghttp2-client"), read: readH2load,
		serve: func(ctx context.Context, m *machine, s *settings) (*target, func(), error) {
			url, stop, err := m.nginx(ctx, "http2")
			return &target{
				url: url, ours: []string{"--http2"},
				args: []string{"-t1", "-c1", fmt.Sprint("-m", s.callers), fmt.Sprint("-D", int(s.window.Seconds())), url},
			}, stop, err
		},
	},
	{
		name: "ghz", protocol: "gRPC", find: findGhz, read: readGhz,
		serve: func(ctx context.Context, m *machine, s *settings) (*target, func(), error) {
			addr, stop, err := m.interop(ctx)
			const method, body = "grpc.testing.TestService/UnaryCall", `{"responseSize":64,"payload":{"body":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}}`
			return &target{
				url: "grpc://" + addr, ours: []string{method, "--body", body},
				args: []string{
					"--insecure", "--call", method, "-d", body, "-c", strconv.Itoa(s.callers), "--connections", "1", "--duration-stop", "wait",
					"-z", s.window.String(), "--timeout", "10s", "-O", "json", addr,
				},
			}, stop, err
		},
	},
}

func toolNames() []string {
	var names []string
	for _, t := range tools {
		names = append(names, t.name)
	}
	return names
}

func installed(name, install string) func(context.Context, string, io.Writer) (string, error) {
	return func(context.Context, string, io.Writer) (string, error) {
		path, err := exec.LookPath(name)
		if err != nil {
			return "", fmt.Errorf("%s is not installed: %s", name, install)
		}
		return path, nil
	}
}

const ghzModule = "github.com/bojand/ghz/cmd/ghz@v0.120.0"

// findGhz takes the one that is installed, or installs one for this run.
func findGhz(ctx context.Context, dir string, stderr io.Writer) (string, error) {
	if path, err := exec.LookPath("ghz"); err == nil {
		return path, nil
	}
	fmt.Fprintln(stderr, "ghz is not installed: go install", ghzModule, "…")
	install := exec.CommandContext(ctx, "go", "install", ghzModule)
	install.Dir = dir // in no module
	install.Env = append(os.Environ(), "GOBIN="+dir)
	if out, err := install.CombinedOutput(); err != nil {
		return "", fmt.Errorf("ghz cannot be installed: %w: %s", err, bytes.TrimSpace(out))
	}
	return filepath.Join(dir, "ghz"), nil
}

// generate runs a generator to its end.
func (m *machine) generate(ctx context.Context, read func([]byte) (figures, error), program string, args ...string) (figures, error) {
	cmd := m.command(ctx, m.callers, program, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return figures{}, fmt.Errorf("%s: %w: %s", program, err, bytes.TrimSpace(stderr.Bytes()))
	}
	f, err := read(out)
	if err != nil {
		return f, fmt.Errorf("%s printed what this program does not read: %w: %s", program, err, out)
	}
	f.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	if f.failed > 0 || f.calls == 0 {
		return f, fmt.Errorf("%s: %g calls failed, %g were right", program, f.failed, f.calls)
	}
	return f, nil
}

func readOurs(out []byte) (f figures, err error) {
	var d struct {
		Total struct {
			Right   float64 `json:"right"`
			Failed  float64 `json:"failed"`
			Rate    float64 `json:"right_per_second"`
			Average float64 `json:"average_ns"`
			Service struct {
				P99 float64 `json:"p99"`
			} `json:"service_ns"`
		} `json:"total"`
	}
	err = json.Unmarshal(out, &d)
	t := d.Total
	return figures{calls: t.Right, rate: t.Rate, mean: t.Average, p99: t.Service.P99, failed: t.Failed}, err
}

func readGhz(out []byte) (f figures, err error) {
	var d struct {
		Count        float64            `json:"count"`
		Average      float64            `json:"average"`
		RPS          float64            `json:"rps"`
		Statuses     map[string]float64 `json:"statusCodeDistribution"`
		Distribution []struct {
			Percentage int     `json:"percentage"`
			Latency    float64 `json:"latency"`
		} `json:"latencyDistribution"`
	}
	if err := json.Unmarshal(out, &d); err != nil {
		return f, err
	}
	f = figures{calls: d.Statuses["OK"], failed: d.Count - d.Statuses["OK"], rate: d.RPS, mean: d.Average}
	for _, p := range d.Distribution {
		if p.Percentage == 99 {
			f.p99 = p.Latency
		}
	}
	return f, nil
}

var (
	wrkCalls  = regexp.MustCompile(`(\d+) requests in `)
	wrkRate   = regexp.MustCompile(`Requests/sec:\s+([\d.]+)`)
	wrkMean   = regexp.MustCompile(`Latency\s+([\d.]+\w+)\s+[\d.]+\w+\s+[\d.]+\w+`)
	wrkP99    = regexp.MustCompile(`\s99%\s+([\d.]+\w+)`)
	wrkErrors = regexp.MustCompile(`Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)|Non-2xx or 3xx responses: (\d+)`)
)

func readWrk(out []byte) (f figures, err error) {
	f.calls, err = number(out, wrkCalls)
	rate, err2 := number(out, wrkRate)
	mean, err3 := duration(out, wrkMean)
	p99, err4 := duration(out, wrkP99)
	f.rate, f.mean, f.p99 = rate, mean, p99
	for _, match := range wrkErrors.FindAllSubmatch(out, -1) {
		for _, n := range match[1:] {
			count, _ := strconv.Atoi(string(n)) // an alternative that is not there is empty
			f.failed += float64(count)
		}
	}
	return f, errors.Join(err, err2, err3, err4)
}

var (
	h2Rate   = regexp.MustCompile(`finished in [\d.]+\w+, ([\d.]+) req/s`)
	h2Calls  = regexp.MustCompile(`requests: .* (\d+) succeeded`)
	h2Failed = regexp.MustCompile(`requests: .* (\d+) failed`)
	h2Mean   = regexp.MustCompile(`time for request:\s+\S+\s+\S+\s+([\d.]+\w+)`)
)

func readH2load(out []byte) (f figures, err error) {
	f.calls, err = number(out, h2Calls)
	rate, err2 := number(out, h2Rate)
	failed, err3 := number(out, h2Failed)
	mean, err4 := duration(out, h2Mean)
	f.rate, f.failed, f.mean = rate, failed, mean
	return f, errors.Join(err, err2, err3, err4)
}

func number(out []byte, what *regexp.Regexp) (float64, error) {
	match := what.FindSubmatch(out)
	if match == nil {
		return 0, fmt.Errorf("no %s", what)
	}
	return strconv.ParseFloat(string(match[1]), 64)
}

// duration is in ns.
func duration(out []byte, what *regexp.Regexp) (float64, error) {
	match := what.FindSubmatch(out)
	if match == nil {
		return 0, fmt.Errorf("no %s", what)
	}
	d, err := time.ParseDuration(string(match[1]))
	return float64(d), err
}
