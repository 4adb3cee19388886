package main

import (
	"strings"
	"testing"
)

func TestFailover(t *testing.T) {
	out, errs, status := command(t, "", "failover", "--behind", "round_robin", "--for", "400ms", "--callers", "4")
	if status != exitOK {
		t.Fatalf("status %d: %s", status, errs)
	}
	for _, want := range []string{"3 replicas of grpc behind round_robin, 4 callers for 400ms", "were answered", "began at replica 3"} {
		if !strings.Contains(out, want) {
			t.Errorf("it lacks %q:\n%s", want, out)
		}
	}
}

func TestFailoverFlags(t *testing.T) {
	for args, want := range map[string]string{
		"grpc+tls":              "without TLS",
		"grpc+unix":             "over TCP",
		"rest+h3":               "over TCP",
		"any":                   "for one wire",
		"smoke":                 `no wire "smoke"`,
		"grpc --replicas 1":     "--replicas 2 to 100",
		"grpc --callers 0":      "--callers 1 to",
		"grpc --for 1ms":        "--for 100ms or more",
		"grpc --behind haproxy": "nginx",
	} {
		if _, errs, status := command(t, "", append([]string{"failover"}, strings.Fields(args)...)...); status != exitUsage || !strings.Contains(errs, want) {
			t.Errorf("failover %s: status %d, %q; want %q", args, status, errs, want)
		}
	}
}
