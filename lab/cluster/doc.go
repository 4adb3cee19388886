// Package cluster puts NGINX in front of several servers of the same, to measure
// what a proxy adds and who balances by what: by request, or by connection.
//
//	n, err := cluster.StartNginx(ctx, cluster.Config{Protocol: cluster.GRPC, Backends: addrs, KeepAlive: 64})
//	if errors.Is(err, cluster.ErrNoNginx) {
//		// leave it out, and say so
//	}
//	defer n.Stop()
//	conn, err := wire.Dial("grpc://" + n.Addr())
//
// The configuration is made here, checked by NGINX itself, and all that NGINX
// writes is in a folder of its own, which goes with it. No setting, file or process
// of an NGINX that the machine runs already is touched. What the configuration says
// and why is in docs/spec/relay.md.
package cluster
