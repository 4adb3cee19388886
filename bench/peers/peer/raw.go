package peer

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
)

// raw is the limit: a bare socket that carries the same two fields in frames of
// known length. The caller writes and reads by itself, and the server answers
// on the goroutine that reads. Callers that share a connection are frames on
// their way at the same time, written and read by one goroutine in as few
// system calls as possible: no implementation with callers that are goroutines
// can do better on a socket.
var raw = Peer{
	Name: "raw", Kind: Limit, Form: "frames of known length", Shared: true,
	Serve: func(lis net.Listener) error { return accept(lis, rawEcho) },
	Dial: func(ctx context.Context, addr string) (Conn, error) {
		nc, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
		if err != nil {
			return nil, err
		}
		return &rawConn{Conn: nc}, nil
	},
}

// A frame is four bytes of length, of all that follows; eight bytes of number;
// and the text.
const (
	rawLength = 4
	rawHead   = rawLength + 8
)

func appendFrame(buf []byte, seq int64, text string) []byte {
	buf = binary.BigEndian.AppendUint32(buf, uint32(rawHead-rawLength+len(text)))
	buf = binary.BigEndian.AppendUint64(buf, uint64(seq))
	return append(buf, text...)
}

// whole returns how many bytes of buf are whole frames, and how many bytes the
// next one has, if its length has arrived.
func whole(buf []byte) (done, next int, err error) {
	for len(buf)-done >= rawLength {
		n := int(binary.BigEndian.Uint32(buf[done:]))
		if n < rawHead-rawLength || n > MaxMessage {
			return 0, 0, fmt.Errorf("a frame of %d bytes", n)
		}
		if len(buf)-done < rawLength+n {
			return done, rawLength + n, nil
		}
		done += rawLength + n
	}
	return done, 0, nil
}

// rawEcho sends back whole frames, all that one read has brought at a time.
func rawEcho(nc net.Conn) {
	defer func() { _ = nc.Close() }() // the client has gone, or said nonsense
	buf := make([]byte, 0, 64<<10)
	for {
		n, err := nc.Read(buf[len(buf):cap(buf)])
		if err != nil {
			return
		}
		buf = buf[:len(buf)+n]
		done, next, err := whole(buf)
		if err != nil {
			return
		}
		if done > 0 {
			if _, err := nc.Write(buf[:done]); err != nil {
				return
			}
			buf = buf[:copy(buf, buf[done:])]
		}
		buf = slices.Grow(buf, max(next-len(buf), 1))
	}
}

type rawConn struct {
	net.Conn
	mu        sync.Mutex // held through a call
	sent, got []byte
}

// Call writes one frame and reads it back.
func (c *rawConn) Call(_ context.Context, seq int64, text string) (int64, string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sent = appendFrame(c.sent[:0], seq, text)
	if _, err := c.Write(c.sent); err != nil {
		return 0, "", err
	}
	c.got = slices.Grow(c.got[:0], len(c.sent))[:len(c.sent)]
	if _, err := io.ReadFull(c.Conn, c.got); err != nil {
		return 0, "", err
	}
	if !bytes.Equal(c.sent, c.got) {
		return 0, "", errors.New("the echo is not what was sent")
	}
	return seq, text, nil
}

// directBytes is how much one goroutine may have on the way: what the sockets'
// buffers hold for certain. With more, both ends could wait in a write.
const directBytes = 48 << 10

// Pipeline keeps depth frames on their way. All of them are sent at least once.
func (c *rawConn) Pipeline(stop <-chan struct{}, depth int, text string) (back int64, err error) {
	frame := rawHead + len(text)
	write := func(frames []byte) error {
		_, err := c.Write(frames)
		return err
	}
	if depth*frame > directBytes {
		queue, finish := c.writer(depth)
		write = func(frames []byte) error {
			queue <- slices.Clone(frames)
			return nil
		}
		defer func() {
			if writeErr := finish(); writeErr != nil {
				err = writeErr // why the connection was closed for the reader
			}
		}()
	}
	var sent int64
	next := make([]byte, 0, depth*frame)
	got := make([]byte, 0, max(depth*frame, 64<<10))
	for fresh := depth; ; {
		select {
		case <-stop:
			if sent > 0 {
				fresh = 0
			}
		default:
		}
		if fresh > 0 {
			next = next[:0]
			for range fresh {
				sent++
				next = appendFrame(next, sent, text)
			}
			if err := write(next); err != nil {
				return back, err
			}
		}
		if back == sent {
			return back, nil
		}
		n, err := c.Read(got[len(got):cap(got)])
		if err != nil {
			return back, err
		}
		got = got[:len(got)+n]
		for fresh = 0; len(got) >= (fresh+1)*frame; fresh++ {
			f := got[fresh*frame:][:frame]
			if int64(binary.BigEndian.Uint64(f[rawLength:])) != back+1 || string(f[rawHead:]) != text {
				return back, errors.New("the echo is not what was sent")
			}
			back++
		}
		got = got[:copy(got, got[fresh*frame:])]
	}
}

// writer writes what is queued on a goroutine of its own. There is room for
// most elements: each holds at least one of the frames on their way. A write
// that fails closes the connection, which wakes its reader. finish ends the
// goroutine and returns its error.
func (c *rawConn) writer(most int) (queue chan<- []byte, finish func() error) {
	q := make(chan []byte, most)
	failed := make(chan error, 1)
	go func() {
		var err error
		for frames := range q {
			if err != nil {
				continue // the reader has not seen it yet
			}
			if _, err = c.Write(frames); err != nil {
				_ = c.Close() // err is what there is to tell
			}
		}
		failed <- err
	}()
	return q, func() error {
		close(q)
		return <-failed
	}
}
