package msgpackrpc

import (
	"errors"
	"fmt"
	"math"

	"github.com/everywire/everywire/codec/msgpack"
	"github.com/everywire/everywire/wire/internal/stream"
)

// The first element of a message says its type.
const (
	typeRequest      = 0 // [0, msgid, method, params]
	typeResponse     = 1 // [1, msgid, error, result]
	typeNotification = 2 // [2, method, params]
)

// A framer finds the ends of messages: each is one MessagePack value.
type framer struct {
	scan msgpack.ScanState
	max  int
}

// Next is [stream.Framer]'s.
func (f *framer) Next(buf []byte) (from, to int, err error) {
	n, err := msgpack.Scan(buf, &f.scan, f.max)
	if err != nil {
		return 0, 0, f.tooLarge(err)
	}
	return 0, n, nil
}

// tooLarge makes the engine's error of Scan's.
func (f *framer) tooLarge(err error) error {
	var long *msgpack.TooLargeError
	if errors.As(err, &long) {
		return &stream.TooLargeError{Limit: f.max}
	}
	return err
}

// An envelope is the beginning of a message. The reader stands before the
// error of a response, before the method of the others.
type envelope struct {
	kind int
	id   uint32 // of requests and responses
	r    msgpack.Reader
}

// open reads a message up to and with its id, and checks its shape.
func open(frame []byte) (envelope, error) {
	e := envelope{r: *msgpack.NewReader(frame)}
	n, err := e.r.ArrayHeader()
	if err != nil {
		return e, fmt.Errorf("a message is an array: %w", err)
	}
	if n != 3 && n != 4 {
		return e, fmt.Errorf("a message is an array of 3 or 4 elements, not %d", n)
	}
	kind, err := e.r.Uint64()
	if err != nil {
		return e, fmt.Errorf("the type of a message: %w", err)
	}
	if kind > typeNotification {
		return e, fmt.Errorf("the type of a message is 0, 1 or 2, not %d", kind)
	}
	want := 4
	if kind == typeNotification {
		want = 3
	}
	if n != want {
		return e, fmt.Errorf("a message of type %d has %d elements, not %d", kind, want, n)
	}
	e.kind = int(kind)
	if e.kind != typeNotification {
		e.id, err = readID(&e.r)
	}
	return e, err
}

func readID(r *msgpack.Reader) (uint32, error) {
	id, err := r.Uint64()
	if err != nil {
		return 0, fmt.Errorf("a message id: %w", err)
	}
	if id > math.MaxUint32 {
		return 0, fmt.Errorf("a message id has 32 bits: %d", id)
	}
	return uint32(id), nil
}

func appendRequest(dst []byte, id uint32, method string) []byte {
	dst = msgpack.AppendArrayHeader(dst, 4)
	dst = msgpack.AppendUint(dst, typeRequest)
	dst = msgpack.AppendUint(dst, uint64(id))
	return msgpack.AppendString(dst, method)
}

func appendNotification(dst []byte, method string) []byte {
	dst = msgpack.AppendArrayHeader(dst, 3)
	dst = msgpack.AppendUint(dst, typeNotification)
	return msgpack.AppendString(dst, method)
}

// appendResponse appends a response up to its error.
func appendResponse(dst []byte, id uint32) []byte {
	dst = msgpack.AppendArrayHeader(dst, 4)
	dst = msgpack.AppendUint(dst, typeResponse)
	return msgpack.AppendUint(dst, uint64(id))
}

// appendSuccess appends a response up to its result.
func appendSuccess(dst []byte, id uint32) []byte {
	return msgpack.AppendNil(appendResponse(dst, id))
}

func appendCancel(dst []byte, id uint32) []byte {
	dst = appendNotification(dst, cancelName)
	dst = msgpack.AppendArrayHeader(dst, 1)
	return msgpack.AppendUint(dst, uint64(id))
}
