package foreign

import (
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// wholeAndCut runs a test twice: via leaves an address as it is, or gives
// that of a cutter before it.
func wholeAndCut(t *testing.T, test func(t *testing.T, via func(addr string) string)) {
	t.Helper()
	t.Run("whole", func(t *testing.T) { test(t, func(addr string) string { return whole(t, addr) }) })
	t.Run("cut", func(t *testing.T) { test(t, func(addr string) string { return cutter(t, addr) }) })
}

// whole is a cutter that cuts nothing.
func whole(_ *testing.T, addr string) string { return addr }

// cutter starts a proxy in front of addr that cuts what passes, both ways, into
// pieces of changing sizes, and so puts the end of one message and the begin
// of the next into one piece too. It returns its address.
func cutter(t *testing.T, addr string) string {
	t.Helper()
	return listen(t, func(near net.Conn) {
		far, err := net.DialTimeout("tcp", addr, 10*time.Second)
		if err != nil {
			t.Error(err)
			_ = near.Close()
			return
		}
		var wg sync.WaitGroup
		wg.Go(func() { cut(t, far, near) })
		wg.Go(func() { cut(t, near, far) })
		wg.Wait()
		_ = near.Close()
		_ = far.Close()
	})
}

// cut copies until src ends or one of them is closed, which a peer may do at any
// time.
func cut(t *testing.T, dst, src net.Conn) {
	sizes := []int{1, 2, 3, 5, 8, 13, 4096, 1, 20000}
	buf := make([]byte, 20000)
	for i := 0; ; i++ {
		n, err := src.Read(buf[:sizes[i%len(sizes)]])
		if n > 0 {
			if _, err := dst.Write(buf[:n]); err != nil {
				_ = src.Close()
				return
			}
		}
		if err != nil {
			if !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) && !strings.Contains(err.Error(), "reset") {
				t.Error(err)
			}
			if w, ok := dst.(interface{ CloseWrite() error }); ok {
				_ = w.CloseWrite() // it may be closed already
			}
			return
		}
	}
}
