package failover_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/internal/needs"
	"github.com/everywire/everywire/lab/cluster"
	"github.com/everywire/everywire/lab/failover"
	"github.com/everywire/everywire/wire"
)

// The test's own program is the replicas', as the command is in the lab.
const asReplica = "EVERYWIRE_FAILOVER_REPLICA"

func TestMain(m *testing.M) {
	if os.Getenv(asReplica) != "" {
		if err := failover.Replica(os.Stdin, os.Stdout, wires); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Setenv(asReplica, "1") // children have it
	goleak.VerifyTestMain(m)
}

var wires = failover.Wires{
	Serve: func(ctx context.Context, reg *everywire.Registry, shape string) (string, func(context.Context) error, error) {
		s, err := wire.ParseShape(shape)
		if err != nil {
			return "", nil, err
		}
		server, err := wire.Serve(ctx, reg, []string{s.At("127.0.0.1:0").String()})
		if err != nil {
			return "", nil, err
		}
		return server.Targets()[0].Addrs[0], server.Shutdown, nil
	},
	Dial: func(shape string, addrs []string, methods *everywire.Registry) (failover.Conn, error) {
		s, err := wire.ParseShape(shape)
		if err != nil {
			return nil, err
		}
		if len(addrs) > 1 {
			s.Options = map[string]string{"lb": "round_robin"}
		}
		return wire.Dial(s.At(addrs...).String(), wire.WithMethods(methods))
	},
}

// A replica is killed while 16 callers call. Of the calls that may run twice none
// fails; of those that may not none runs twice; and what callers are told is so.
func TestReplicaIsKilled(t *testing.T) {
	for _, c := range []struct {
		shape string
		nginx cluster.Protocol
	}{
		{"grpc", ""},
		{"grpc", cluster.GRPC},
		{"rest", ""},
		{"rest", cluster.HTTP},
		{"jsonrpc+tcp", ""},
		{"jsonrpc+tcp", cluster.Stream},
	} {
		t.Run(c.shape+" "+string(c.nginx), func(t *testing.T) {
			t.Parallel() // they wait, most of the time
			report, err := failover.Run(t.Context(), failover.Config{
				Exe: os.Args[0], Wires: wires, Shape: c.shape, Nginx: c.nginx,
				Replicas: 3, Callers: 16, For: 1200 * time.Millisecond, KillAfter: 500 * time.Millisecond,
			})
			if errors.Is(err, cluster.ErrNoNginx) || errors.Is(err, cluster.ErrNoStream) {
				needs.Missing(t, err.Error()+": apt-get install nginx libnginx-mod-stream")
			}
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%+v", *report)
			if err := report.Err(); err != nil {
				t.Error(err)
			}
			if report.Answered+report.Reported != report.Calls || report.Answered == 0 {
				t.Errorf("calls do not add up: %+v", *report)
			}
			// One connection through a stream is pinned, to whichever replica; everything
			// else is spread.
			if c.nginx != cluster.Stream && (report.Replicas[0] == 0 || report.Replicas[1] == 0 || report.Replicas[2] == 0) {
				t.Errorf("a replica had no calls: %+v", *report)
			}
		})
	}
}

func TestConfigIsChecked(t *testing.T) {
	for _, c := range []failover.Config{
		{Replicas: 1, Callers: 1, For: 2, KillAfter: 1},
		{Replicas: 2, Callers: 0, For: 2, KillAfter: 1},
		{Replicas: 2, Callers: 1, For: 2, KillAfter: 2},
		{Replicas: 2, Callers: 1, For: 2, KillAfter: 0},
	} {
		if _, err := failover.Run(t.Context(), c); err == nil || !strings.Contains(err.Error(), "want two, one") {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
