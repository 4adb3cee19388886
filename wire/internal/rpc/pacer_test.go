package rpc

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

var errRefused = errors.New("connection refused")

// A server that is not there is tried at once, once more, and then less and
// less often, however many call.
func TestPacer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p Pacer
		var tried []time.Time
		there := false
		dial := func(context.Context) (net.Conn, error) {
			tried = append(tried, time.Now())
			if there {
				return nil, nil
			}
			return nil, errRefused
		}
		begin := time.Now()
		for time.Since(begin) < 10*time.Second {
			for range 64 {
				if _, err := p.Dial(t.Context(), dial); !errors.Is(err, errRefused) {
					t.Fatal(err)
				}
			}
			time.Sleep(time.Millisecond)
		}
		if n := len(tried); n < 10 || n > 40 {
			t.Errorf("%d attempts in 10 s", n)
		}
		if tried[0] != begin || tried[1] != begin {
			t.Error("the first two were not made at once")
		}
		for i := 12; i < len(tried); i++ {
			if pause := tried[i].Sub(tried[i-1]); pause < maxPause/2 || pause > maxPause+time.Millisecond {
				t.Errorf("attempt %d came after %v", i, pause)
			}
		}
		there = true
		time.Sleep(maxPause)
		for range 3 { // and from now on it is not kept waiting
			if _, err := p.Dial(t.Context(), dial); err != nil {
				t.Fatal(err)
			}
		}
		there = false
		tried = nil
		for range 3 {
			_, _ = p.Dial(t.Context(), dial)
		}
		if len(tried) != 2 {
			t.Errorf("%d attempts after the server had been there", len(tried))
		}
	})
}

// After failures one attempt is made at a time, and the end of a call's context
// is no failure of the server.
func TestPacerAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p Pacer
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		for range 5 {
			_, err := p.Dial(ended, func(ctx context.Context) (net.Conn, error) { return nil, ctx.Err() })
			if !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
		}
		p.End(errRefused)
		p.End(errRefused)
		time.Sleep(time.Second)
		var running sync.WaitGroup
		begun, release := 0, make(chan struct{})
		for range 8 {
			running.Go(func() {
				_, _ = p.Dial(t.Context(), func(context.Context) (net.Conn, error) {
					begun++ // alone: the race detector would see another
					<-release
					return nil, errRefused
				})
			})
		}
		synctest.Wait()
		if begun != 1 {
			t.Errorf("%d attempts at a time", begun)
		}
		close(release)
		running.Wait()
	})
}
