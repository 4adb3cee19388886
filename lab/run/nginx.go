package run

import (
	"context"
	"strings"

	"github.com/everywire/everywire/lab/cluster"
	"github.com/everywire/everywire/lab/plan"
)

// startNginx puts NGINX in front of an arm's replicas. It ends with ctx at the latest.
func startNginx(ctx context.Context, arm plan.Arm, behind Endpoint, cores []int) (balancer, Endpoint, error) {
	n, err := cluster.StartNginx(ctx, cluster.Config{
		Protocol: protocolOf(arm), Backends: behind.Addrs, BackendCA: behind.CA,
		KeepAlive: arm.Cluster.KeepAlive, TLS: arm.Cluster.TLS, Cores: cores,
	})
	if err != nil {
		return nil, Endpoint{}, err
	}
	return n, Endpoint{Addrs: []string{n.Addr()}, CA: n.CA()}, nil
}

// protocolOf is what NGINX understands of the calls of an arm.
func protocolOf(arm plan.Arm) cluster.Protocol {
	wire, _, _ := strings.Cut(arm.Target, "?")
	switch wire, _, _ := strings.Cut(wire, "+"); {
	case wire == "grpc":
		return cluster.GRPC
	case wire == "rest" || wire == "connect" || strings.HasPrefix(arm.Target, "jsonrpc+http"):
		return cluster.HTTP
	}
	return cluster.Stream
}
