package grpcwire

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/wire/internal/rpc"
	"github.com/everywire/everywire/wire/wiretest/probepb"
)

func write(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestClientOptionErrors(t *testing.T) {
	broken := write(t, "broken.json", `{"methodConfig": [`)
	unknown := write(t, "unknown.json", `{"loadBalancingConfig": [{"nearest": {}}]}`)
	balanced := write(t, "balanced.json", `{"loadBalancingConfig": [{"round_robin": {}}]}`)
	for _, test := range []struct {
		options rpc.Options
		want    string
	}{
		{rpc.Options{"lb": "nearest"}, `unknown lb "nearest"`},
		{rpc.Options{"compression": "br"}, `unknown compression "br"`},
		{rpc.Options{"keepalive": "often"}, `option keepalive: "often" is not a time of 10s or more`},
		{rpc.Options{"keepalive": "9s"}, `option keepalive: "9s" is not a time of 10s or more`},
		{rpc.Options{"keepalive": "1m", "keepalivetimeout": "0s"}, `option keepalivetimeout: "0s"`},
		{rpc.Options{"keepalivetimeout": "5s"}, "a client needs keepalive"},
		{rpc.Options{"idle": "-1s"}, `option idle: "-1s"`},
		{rpc.Options{"serviceconfig": ""}, "option serviceconfig"},
		{rpc.Options{"serviceconfig": "/nowhere/config.json"}, "no such file"},
		{rpc.Options{"serviceconfig": broken}, "option serviceconfig: " + broken},
		{rpc.Options{"serviceconfig": unknown}, "service config"},
		{rpc.Options{"serviceconfig": balanced, "lb": "pick_first"}, "the option lb contradicts loadBalancingConfig"},
	} {
		conn, err := NewConn(clientConfig(test.options, "127.0.0.1:1"))
		if err == nil {
			_ = conn.Close()
		}
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v: got %v, want %q in it", test.options, err, test.want)
		}
	}
}

func TestServerOptionErrors(t *testing.T) {
	for _, test := range []struct {
		options rpc.Options
		want    string
	}{
		{rpc.Options{"keepalive": "1ms"}, `option keepalive: "1ms" is not a time of 1s or more`},
		{rpc.Options{"keepalivetimeout": "x"}, "option keepalivetimeout"},
		{rpc.Options{"keepalivemin": "0s"}, "option keepalivemin"},
		{rpc.Options{"idle": ""}, "option idle"},
		{rpc.Options{"maxage": "1"}, "option maxage"},
		{rpc.Options{"maxage": "1m", "maxagegrace": "soon"}, "option maxagegrace"},
		{rpc.Options{"maxagegrace": "1m"}, "it needs maxage"},
	} {
		_, err := NewServer(&rpc.ServerConfig{Registry: testRegistry(), Codecs: testCodecs, Limits: everywire.Limits{}.WithDefaults(), Logger: slog.Default(), Options: test.options})
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v: got %v, want %q in it", test.options, err, test.want)
		}
	}
}

// Times that nobody lives to see are not too long.
func TestLongTimes(t *testing.T) {
	long := "2500000h"
	addr, _ := start(t, testRegistry(), func(c *rpc.ServerConfig) {
		c.Options = rpc.Options{"keepalive": long, "keepalivetimeout": long, "keepalivemin": long, "idle": long, "maxage": long, "maxagegrace": long}
	})
	conn := connect(t, clientConfig(rpc.Options{"keepalive": long, "keepalivetimeout": long, "idle": long}, addr))
	if _, err := everywire.Call[sumReply](testContext(t), conn, sumMethod, &sumRequest{}); err != nil {
		t.Error(err)
	}
}

// The service config is gRPC's own: its retry policy counts, and with it the balancer
// of the option lb.
func TestServiceConfig(t *testing.T) {
	calls := map[string]int{}
	flaky := probeFunc(func(in *probepb.RunRequest) error {
		calls[in.GetName()]++
		if calls[in.GetName()] < 3 {
			return status.Error(codes.Unavailable, "not yet")
		}
		return nil
	})
	addr, _ := start(t, flaky)
	file := write(t, "retries.json", `{"methodConfig": [{
		"name": [{"service": "everywire.wiretest.Probe"}],
		"retryPolicy": {"maxAttempts": 3, "initialBackoff": "0.01s", "maxBackoff": "0.01s", "backoffMultiplier": 1, "retryableStatusCodes": ["UNAVAILABLE"]}
	}]}`)
	policy, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		options rpc.Options
		grpc    []grpc.DialOption
		want    codes.Code
		calls   int
	}{
		"none":           {nil, nil, codes.Unavailable, 1},
		"file":           {rpc.Options{"serviceconfig": file}, nil, codes.OK, 3},
		"file and lb":    {rpc.Options{"serviceconfig": file, "lb": "round_robin"}, nil, codes.OK, 3},
		"grpc-go option": {nil, []grpc.DialOption{grpc.WithDefaultServiceConfig(string(policy))}, codes.OK, 3},
	} {
		cfg := clientConfig(test.options, addr)
		cfg.GRPC = test.grpc
		_, err := probepb.NewProbeClient(connect(t, cfg)).Run(testContext(t), &probepb.RunRequest{Name: name})
		wantCode(t, err, test.want)
		if calls[name] != test.calls {
			t.Errorf("%s: %d calls came in, want %d", name, calls[name], test.calls)
		}
	}
}

// What a target says is not for grpc-go's options to change.
func TestOptionsOfTheTargetHold(t *testing.T) {
	cert, pool := certificate(t)
	addr, _ := start(t, testRegistry(), func(c *rpc.ServerConfig) {
		c.TLS = serverTLS(cert)
		c.GRPC = []grpc.ServerOption{grpc.Creds(insecureCredentials()), grpc.ForceServerCodec(rawCodec{"x"}), grpc.MaxRecvMsgSize(100)}
	})
	cfg := clientConfig(rpc.Options{"codec": "json"}, addr)
	cfg.TLS = clientTLS(pool)
	cfg.GRPC = []grpc.DialOption{grpc.WithTransportCredentials(insecureCredentials()), grpc.WithDefaultCallOptions(grpc.ForceCodec(rawCodec{"x"}))}
	conn := connect(t, cfg)
	out, err := everywire.Call[sumReply](testContext(t), conn, sumMethod, &sumRequest{Numbers: []int64{1, 2}})
	if err != nil || out.Sum != 3 {
		t.Errorf("got %v, %v", out, err)
	}
	_, err = everywire.Call[sumReply](testContext(t), conn, sumMethod, &sumRequest{Numbers: make([]int64, 100)})
	wantCode(t, err, codes.ResourceExhausted) // by MaxRecvMsgSize, which the target says nothing of
}
