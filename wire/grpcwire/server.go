package grpcwire

import (
	"context"
	"errors"
	"math"
	"net"
	"runtime"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/wire/internal/rpc"
)

// handshakeTimeout is how long a client may take for TLS and HTTP/2's preface.
const handshakeTimeout = 10 * time.Second

type server struct {
	grpc   *grpc.Server
	conns  connSet
	health *health.Server
	// stopWatches ends the health service's watches, which have no end of
	// their own and would hold up a graceful stop.
	stopWatches context.CancelFunc
	once        sync.Once
	err         error // of the shutdown
}

// NewServer makes a server for all of the registry's methods. Its options are
// keepalive, keepalivetimeout, keepalivemin, idle, maxage and maxagegrace (times).
func NewServer(cfg *rpc.ServerConfig) (rpc.Server, error) {
	var creds credentials.TransportCredentials = given{insecure.NewCredentials()}
	if cfg.TLS != nil {
		creds = credentials.NewTLS(cfg.TLS)
	}
	opts, err := serverTimes(cfg.Options)
	if err != nil {
		return nil, err
	}
	if streamsEnd(cfg.Registry) {
		opts = append(opts, grpc.InTapHandle(clampStreams(cfg.Registry)))
	}
	opts = append(opts, cfg.GRPC...)
	return newServer(cfg, false, append(opts, grpc.Creds(creds))), nil
}

// newServer makes a server for connections of its own, or for the requests of
// another server. The options given come after those of cfg, and replace them.
func newServer(cfg *rpc.ServerConfig, requests bool, more []grpc.ServerOption) *server {
	opts := []grpc.ServerOption{
		grpc.MaxRecvMsgSize(cfg.Limits.MaxMessage),
		grpc.MaxSendMsgSize(cfg.Limits.MaxMessage),
		grpc.ConnectionTimeout(handshakeTimeout),
		grpc.MaxHeaderListSize(headerListSize(cfg.Limits)),
		grpc.MaxConcurrentStreams(clampUint32(cfg.Limits.MaxInFlight)),
		// Goroutines whose stacks have grown already serve most calls; when all
		// are taken grpc-go starts one for the call. It pays for what we add.
		grpc.NumStreamWorkers(clampUint32(runtime.GOMAXPROCS(0))),
	}
	opts = append(opts, more...)
	opts = append(opts, grpc.ForceServerCodecV2(framesOnly{cfg.Logger}))
	for _, h := range cfg.Stats {
		opts = append(opts, grpc.StatsHandler(payloads{h}))
	}
	s := &server{grpc: grpc.NewServer(opts...), health: health.NewServer()}
	watches, stop := context.WithCancel(context.Background())
	s.stopWatches = stop
	cfg.Registry.RegisterTo(registrar{s.grpc, cfg, requests})
	registerHealth(cfg, s.grpc, s.health, watches)
	registerReflection(cfg, s.grpc)
	return s
}

// given are the credentials of connections that come as they are: cleartext, or
// with TLS that was done where wires share a port. Without any a peer would have
// no AuthInfo.
type given struct {
	credentials.TransportCredentials
}

// ServerHandshake is [credentials.TransportCredentials]'s.
func (given) ServerHandshake(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	inner := conn
	if tracked, ok := conn.(*trackedConn); ok {
		inner = tracked.Conn
	}
	return conn, rpc.PeerOf(inner).AuthInfo, nil
}

func (s *server) Serve(lis net.Listener) error {
	err := s.grpc.Serve(&trackingListener{lis, &s.conns})
	if errors.Is(err, grpc.ErrServerStopped) { // Shutdown came first
		return nil
	}
	return err
}

func (s *server) Shutdown(ctx context.Context) error {
	s.once.Do(func() {
		s.health.Shutdown()
		s.stopWatches()
		s.conns.closeSilent()
		drained := make(chan struct{})
		go func() {
			s.grpc.GracefulStop()
			close(drained)
		}()
		select {
		case <-drained:
		case <-ctx.Done():
			// A handler that ignores its context lives on, and so does the
			// goroutine above until it returns.
			// Stop, too, waits for clients in their handshakes.
			s.conns.closeAll()
			s.grpc.Stop()
			s.err = ctx.Err()
		}
	})
	return s.err
}

// headerListSize turns the limit on metadata into HTTP/2's: that counts 32
// bytes a field beside names and values (RFC 9113, section 6.5.2), base64 makes
// binary values a third longer, and gRPC has headers of its own.
func headerListSize(l everywire.Limits) uint32 {
	n := int64(clampUint32(l.MaxMetadata))
	return uint32(min(n+n/3+16<<10, math.MaxUint32))
}

func clampUint32(n int) uint32 {
	return uint32(min(max(int64(n), 0), math.MaxUint32))
}
