package main

import (
	"strings"
	"testing"
)

// The article's two services by the command: the one calls the other on any wire,
// and both answer calls.
func TestServeRelay(t *testing.T) {
	const want = `{"id":1,"name":"Ada Lovelace","enjoysCoding":true}` + "\n"
	for _, args := range [][]string{{}, {"--fan-out"}, {"--attempts", "3"}} {
		for _, on := range []string{"grpc://127.0.0.1:0", "rest://127.0.0.1:0", "jsonrpc+tcp://127.0.0.1:0"} {
			behind := serve(t, "sample", "--delay", "1ms", "--on", on)[0]
			fronts := serve(t, append([]string{"relay", "--upstream", behind.String(), "--on", "rest://127.0.0.1:0", "--on", "grpc://127.0.0.1:0"}, args...)...)
			for target, method := range map[string]string{
				behind.String(): "SampleDataService/GetSampleData", fronts[0].String(): "relay.Relay/Get", fronts[1].String(): "relay.Relay/Get",
			} {
				if out, errs, status := command(t, "", "call", target, method); status != exitOK || out != want {
					t.Errorf("%v: %s of %s: status %d, %q, %q", args, method, target, status, out, errs)
				}
			}
		}
	}
}

// A relay whose upstream is away answers, and says what is away and not where.
func TestServeRelayAlone(t *testing.T) {
	front := serve(t, "relay", "--upstream", "grpc://127.0.0.1:1", "--on", "rest://127.0.0.1:0")[0]
	_, errs, status := command(t, "", "call", front.String(), "relay.Relay/Get")
	if status != exitFailure || !strings.Contains(errs, ": the upstream SampleDataService/GetSampleData is not available") ||
		strings.Contains(errs, "127.0.0.1") {
		t.Errorf("status %d, %q", status, errs)
	}
}

func TestRelayFlags(t *testing.T) {
	for want, args := range map[string]string{
		"--upstream TARGET":                 "relay",
		"--upstream, --fan-out and":         "sample --fan-out",
		"--attempts 101":                    "relay --upstream grpc://localhost:1 --attempts 101",
		"--delay is for the service sample": "arith --delay 1ms",
		"want none, 0s, or more":            "sample --delay=-1s",
		"--upstream: target":                "relay --upstream grpc://localhost",
		`the option "lb" cannot be "x"`:     "relay --upstream grpc://localhost:1?lb=x",
		"route GET / of relay.Relay/Get conflicts with GET / of Sample": "sample relay --upstream grpc://localhost:1",
	} {
		_, errs, status := command(t, "", append([]string{"serve", "--on", "rest://127.0.0.1:0"}, strings.Fields(args)...)...)
		if status != exitUsage || !strings.Contains(errs, want) {
			t.Errorf("serve %s: status %d, %q; want %q", args, status, errs, want)
		}
	}
}
