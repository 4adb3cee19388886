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

// Pipeline keeps depth frames on their way.
func (c *rawConn) Pipeline(stop <-chan struct{}, depth int, text string) (back int64, err error) {
	frame := rawHead + len(text)
	write := func(frames []byte) error {
		_, err := c.Write(frames)
		return err
	}
	if depth*frame > directBytes {
		// Large frames go out on a goroutine of their own.
		queue := make(chan []byte, depth) // there are never more than depth frames
		failed := make(chan error, 1)
		defer func() {
			close(queue)
			if writeErr := <-failed; writeErr != nil {
				err = writeErr // why the reader's connection was closed
			}
		}()
		go func() {
			var err error
			for frames := range queue {
				if err == nil {
					if _, err = c.Write(frames); err != nil {
						_ = c.Close() // wakes the reader
					}
				}
			}
			failed <- err
		}()
		write = func(frames []byte) error {
			queue <- slices.Clone(frames)
			return nil
		}
	}

	var seq int64
	next := make([]byte, 0, depth*frame)
	got := make([]byte, 0, max(depth*frame, 64<<10))
	for fresh := depth; ; {
		next = next[:0]
		select {
		case <-stop:
		default:
			for range fresh {
				seq++
				next = appendFrame(next, seq, text)
			}
		}
		if len(next) > 0 {
			if err := write(next); err != nil {
				return back, err
			}
		}
		if back == seq {
			return back, nil
		}
		n, err := c.Read(got[len(got):cap(got)])
		if err != nil {
			return back, err
		}
		got = got[:len(got)+n]
		fresh = 0
		for ; len(got) >= (fresh+1)*frame; fresh++ {
			f := got[fresh*frame:][:frame]
			if back++; int64(binary.BigEndian.Uint64(f[rawLength:])) != back || string(f[rawHead:]) != text {
				return back, errors.New("the echo is not what was sent")
			}
		}
		got = got[:copy(got, got[fresh*frame:])]
	}
}
