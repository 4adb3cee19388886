package wire_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/link"
	"github.com/everywire/everywire/service/arith"
	"github.com/everywire/everywire/wire"
)

// TestLondon measures what TestRoundTrips counts, in real time on an emulated link of
// 142.5 ms with a TCP: the median call is as many round trips as it should be, and 3 % of
// them longer at most. It takes four minutes, and a machine that does nothing else:
//
//	EVERYWIRE_LONG=1 go test ./wire -run London -v -timeout 10m
func TestLondon(t *testing.T) {
	if os.Getenv("EVERYWIRE_LONG") == "" {
		t.Skip("takes four minutes: EVERYWIRE_LONG=1 runs it")
	}
	spec, err := link.Parse("london")
	if err != nil {
		t.Fatal(err)
	}
	cert := testCertificate()
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "wire\topen\tper call\topen, TLS 1.3\tper call, TLS 1.3\tRTT\t\n")
	for _, wireOf := range trips {
		fmt.Fprintf(w, "%s\t", wireOf.shape)
		var achieved time.Duration
		for extra, secure := range []bool{false, true} {
			l, err := link.New(spec)
			if err != nil {
				t.Fatal(err)
			}
			m := &distant{link: l, cert: cert, secure: secure, calls: 9}
			for _, each := range []bool{false, true} {
				want := 1
				if each {
					want = wireOf.opened + extra
				}
				took, rtt := m.median(t, wireOf.shape, each)
				achieved = rtt
				ratio := trip(took, rtt)
				fmt.Fprintf(w, "%.3f\t", ratio)
				if n := float64(want); ratio < 0.995*n || ratio > 1.03*n {
					t.Errorf("%s, TLS %v, a connection for each call %v: a call takes %.3f RTT, want %d.00 to %.2f", wireOf.shape, secure, each, ratio, want, 1.03*n)
				}
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		}
		fmt.Fprintf(w, "%.1f ms\t\n", achieved.Seconds()*1000)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	t.Logf("round trips of the median call at %v:\n%s", spec, &table)
}

// distant is a link to measure over.
type distant struct {
	link   *link.Link
	cert   tls.Certificate
	secure bool
	calls  int
}

// median is how long the median call takes, and the median round trip meanwhile.
func (m *distant) median(t *testing.T, shape string, each bool) (call, rtt time.Duration) {
	t.Helper()
	target, err := wire.ParseShape(shape)
	if err != nil {
		t.Fatal(err)
	}
	target.TLS = m.secure
	served := target
	served.Options = nil
	reg := everywire.NewRegistry()
	arith.Register(reg)
	opts := []wire.ServeOption{wire.WithListener(m.link.A.Listen)}
	dials := []wire.DialOption{wire.WithDialer(m.link.B.DialContext), wire.WithMethods(reg)}
	if m.secure {
		opts = append(opts, wire.WithTLSConfig(&tls.Config{Certificates: []tls.Certificate{m.cert}, MinVersion: tls.VersionTLS13}))
		dials = append(dials, wire.WithTLSConfig(&tls.Config{InsecureSkipVerify: true})) //nolint:gosec // what is measured is the time
	}
	server, err := wire.Serve(context.Background(), reg, []string{served.At(net.JoinHostPort(m.link.A.Addr().String(), "0")).String()}, opts...)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Shutdown(context.Background()) // nothing is in flight
	to := target.At(server.Targets()[0].Addrs...).String()
	if each {
		to = withOption(to, "reconnect")
	}
	conn, err := wire.Dial(to, dials...)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var calls, rtts []time.Duration
	for i := range m.calls + 1 {
		ping, err := m.link.B.Ping(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		out, err := everywire.Call[arith.SumReply](t.Context(), conn, arith.Sum, &arith.SumRequest{Numbers: []int64{20, 21}})
		if err != nil || out.Sum != 41 {
			t.Fatalf("%s: %v, %v", to, out, err)
		}
		if i == 0 {
			continue // it opened the connection, and warmed the code up
		}
		calls, rtts = append(calls, time.Since(begin)), append(rtts, ping)
	}
	return median(calls), median(rtts)
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
