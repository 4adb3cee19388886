package link

import (
	"net"
	"testing"

	"go.uber.org/goleak"
	"golang.org/x/net/nettest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newLink(t testing.TB, spec string, opts ...Option) *Link {
	t.Helper()
	s, err := Parse(spec)
	if err != nil {
		t.Fatal(err)
	}
	l, err := New(s, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// connect makes a connection from one end to the other.
func connect(t testing.TB, from, to *End) (dialled, accepted net.Conn) {
	t.Helper()
	lis, err := to.Listen(t.Context(), "tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	defer lis.Close()
	dialled, accepted, err = pair(t, from, lis)
	if err != nil {
		t.Fatal(err)
	}
	return dialled, accepted
}

func pair(t testing.TB, from *End, lis net.Listener) (dialled, accepted net.Conn, err error) {
	type result struct {
		nc  net.Conn
		err error
	}
	ch := make(chan result, 1)
	go func() {
		nc, err := from.DialContext(t.Context(), "tcp", lis.Addr().String())
		ch <- result{nc, err}
	}()
	r := <-ch
	if r.err != nil {
		return nil, nil, r.err
	}
	accepted, err = lis.Accept()
	return r.nc, accepted, err
}

func TestConn(t *testing.T) {
	for _, spec := range []string{"rtt=0ms", "rtt=1ms", "rtt=1ms,loss=1%,jitter=0.5ms", "rtt=0.5ms,rate=100mbit"} {
		t.Run(spec, func(t *testing.T) {
			nettest.TestConn(t, func() (c1, c2 net.Conn, stop func(), err error) {
				l, err := New(must(Parse(spec)))
				if err != nil {
					return nil, nil, nil, err
				}
				lis, err := l.B.Listen(t.Context(), "tcp", ":0")
				if err != nil {
					return nil, nil, nil, err
				}
				c1, c2, err = pair(t, l.A, lis)
				return c1, c2, func() { lis.Close(); c1.Close(); c2.Close(); l.Close() }, err
			})
		})
	}
}

func must(s Spec, err error) Spec {
	if err != nil {
		panic(err)
	}
	return s
}
