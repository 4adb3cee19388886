package wire_test

import (
	"context"
	"crypto/tls"
	"net"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/link"
	"github.com/everywire/everywire/service/arith"
	"github.com/everywire/everywire/wire"
)

// BenchmarkLondon shows how many round trips a call takes on a link of 142.5 ms:
// one on an open connection, two with a connection for each call, three if that
// is one of TLS 1.3. The median is over at least nine calls:
//
//	go test ./wire -run - -bench London -benchtime 9x
func BenchmarkLondon(b *testing.B) {
	cert := testCertificate()
	for _, shape := range []struct{ name, target, options string }{
		{"open", "", ""}, {"per_call", "", "?reconnect"}, {"per_call_TLS", "+tls", "?reconnect"},
	} {
		for _, name := range []string{"jsonrpc+tcp", "msgpackrpc+tcp"} {
			b.Run(shape.name+"/"+name, func(b *testing.B) {
				spec, err := link.Parse("london")
				if err != nil {
					b.Fatal(err)
				}
				l, err := link.New(spec)
				if err != nil {
					b.Fatal(err)
				}
				defer l.Close()
				reg := everywire.NewRegistry()
				arith.Register(reg)
				srv, err := wire.Serve(context.Background(), reg,
					[]string{name + shape.target + "://" + net.JoinHostPort(l.A.Addr().String(), "0")},
					wire.WithListener(l.A.Listen), wire.WithTLSConfig(&tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS13}))
				if err != nil {
					b.Fatal(err)
				}
				defer srv.Shutdown(context.Background())
				conn, err := wire.Dial(srv.Targets()[0].String()+shape.options, wire.WithDialer(l.B.DialContext),
					wire.WithTLSConfig(&tls.Config{InsecureSkipVerify: true})) //nolint:gosec // what is measured is the time
				if err != nil {
					b.Fatal(err)
				}
				defer conn.Close()
				call := func() {
					if _, err := everywire.Call[arith.SumReply](b.Context(), conn, arith.Sum, &arith.SumRequest{Numbers: []int64{20, 21}}); err != nil {
						b.Fatal(err)
					}
				}
				call() // opens the connection, and warms the code up
				var rtts, times []time.Duration
				for b.Loop() {
					rtt, err := l.B.Ping(b.Context())
					if err != nil {
						b.Fatal(err)
					}
					begin := time.Now()
					call()
					times = append(times, time.Since(begin))
					rtts = append(rtts, rtt)
				}
				b.ReportMetric(float64(median(times))/float64(median(rtts)), "RTT/call")
				b.ReportMetric(median(rtts).Seconds()*1000, "ms-RTT")
			})
		}
	}
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

func testCertificate() tls.Certificate {
	web := httptest.NewUnstartedServer(nil)
	web.StartTLS()
	defer web.Close()
	return web.TLS.Certificates[0]
}
