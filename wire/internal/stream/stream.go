package stream

import (
	"fmt"
	"math"
	"time"

	"github.com/everywire/everywire"
)

// A Framer finds frames in the bytes of one connection. It has state: it goes
// on where it stopped, so that bytes which arrive one by one are not scanned
// again each time.
type Framer interface {
	// Next is called with all bytes that have arrived and are not consumed yet,
	// at least one. The frame is buf[from:to], to > 0; buf[:to] is consumed,
	// so that a header before from is dropped.
	//
	// If to is 0 the frame is not complete. Then buf[:from] is dropped, which
	// is for white space between frames: a connection on which nothing but
	// that has arrived is idle, while one that stops inside a frame is closed
	// after a timeout. The next call has the same bytes without those dropped,
	// and more behind them.
	//
	// Next may change the bytes: the next call has them as it left them.
	//
	// An error closes the connection, io.EOF as if the peer had ended it between
	// frames. The Framer is not used again after it.
	Next(buf []byte) (from, to int, err error)
}

// A Session is a protocol's state of one connection, at either end. The engine
// calls it from one goroutine at a time. Its methods must not block and run no
// user code.
type Session interface {
	Framer
	// Receive says what the next frame is for. An error closes the connection.
	// The frame's bytes do not change before the Task that Receive returned has
	// ended; without a Task they are not to be kept.
	Receive(frame []byte) (Frame, error)
	// RouteTooLong says which call of ours a frame is for that is longer than
	// the limit, from its first bytes, if it can. The call fails with
	// ResourceExhausted, and the connection is closed.
	RouteTooLong(head []byte) (id uint32, ok bool)
	// LastWords is called at a server when the connection is about to be closed
	// because of what the peer sent: err is a *[TooLargeError], or what Next or
	// Receive returned, and head what has arrived of the frame in question. What
	// it appends to dst is sent before the connection is closed.
	LastWords(head []byte, err error, dst []byte) []byte
}

// Parting is what a [Session] may also be, at either end, if its protocol does
// not let a connection go without a word.
type Parting interface {
	// Goodbye is called when the connection is about to be closed in good order,
	// behind all replies and LastWords. err is nil if this end has had enough, io.EOF
	// if the peer has, and else what LastWords gets. What is appended to dst is
	// sent if the peer takes it soon. Goodbye may be called during the Session's
	// other methods, and more than once.
	Goodbye(err error, dst []byte) []byte
}

// A Frame is what a [Session] says of the bytes of one frame.
type Frame struct {
	Kind Kind
	ID   uint32 // of our call, for Reply and Part
	Task Task   // for Request
	// Last is set for a Reply behind which the peer reads and sends nothing more, since
	// it cannot read the request. The replies to what was sent before that have come;
	// what was sent after it has not run.
	Last bool
	// Lasts is set for a request that goes on with more frames: it does not count
	// its own frame as held, for it may run for as long as the connection.
	Lasts bool
}

// Kind is what the engine does with a frame.
type Kind uint8

const (
	// Nothing is left to do: the session has done what there was.
	Nothing Kind = iota
	// Request is to be run: the frame has a Task.
	Request
	// Reply ends a call of ours.
	Reply
	// Part is for a call of ours, before its Reply.
	Part
)

// A Task is a request that the engine runs. Run or Refuse is called, once. The
// engine does not touch a task that has run, which may be used again.
type Task interface {
	// Pace tells how long such tasks take, so that the engine can choose where
	// to run this one. Nil is for tasks that always have a goroutine of their
	// own.
	Pace() *Pace
	// Run runs the request and appends the reply to dst, if there is one. What
	// is already in dst is not its own.
	Run(dst []byte) []byte
	// Refuse appends the reply to a request that is not run, because of why, a
	// status.
	Refuse(why error, dst []byte) []byte
	// Abort is called after Run or Refuse if that did not return: it panicked,
	// or its goroutine was ended (runtime.Goexit), as a program's code may do.
	// It appends the reply. What the other had appended is dropped.
	Abort(dst []byte) []byte
}

// An Exchange is one call: the request as it is sent and the reply as it is
// read. Its methods run on the goroutine that called Do.
type Exchange interface {
	// Append appends the request to dst. It may be several frames, which are
	// written as one unit. If it fails nothing is sent, and Do returns the
	// error as it is. A call that is tried again on a new connection is
	// appended again.
	Append(dst []byte, id uint32) ([]byte, error)
	// AppendCancel appends the frame that tells the peer that nobody waits any
	// more, if the protocol has one.
	AppendCancel(dst []byte, id uint32) []byte
	// Read reads the reply: the frames that Receive said are for id, one after
	// the other without what came before their beginning. It keeps no
	// reference to reply. Do returns its error as it is.
	Read(reply []byte) error
	// MaxFrame is the longest reply frame in bytes that this call takes, if
	// that is more than the configuration's.
	MaxFrame() int
	// MayRepeat reports whether the call may run twice.
	MayRepeat() bool
}

// A TooLargeError says that a frame is longer than the limit of its connection.
type TooLargeError struct{ Limit int }

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the frame is longer than the limit of %d bytes", e.Limit)
}

// MaxFrame returns the limit of a frame that carries a message of the given
// size: the message, its metadata in any encoding, and the envelope.
func MaxFrame(message int, limits everywire.Limits) int {
	const (
		envelope = 4 << 10
		most     = math.MaxInt / 8 // a limit that stands for none must not overflow
	)
	return min(message, most) + 2*min(limits.MaxMetadata, most) + envelope
}

// Timeouts bound how long a connection may stand still. Zero means the default,
// for Idle none.
type Timeouts struct {
	// Write is how long the peer may not read before the connection is closed.
	Write time.Duration
	// Read is how long the peer may stop inside a frame.
	Read time.Duration
	// Idle is how long a connection may have no call and no frame.
	Idle time.Duration
}

// DefaultTimeout is what a zero Write or Read timeout means.
const DefaultTimeout = 30 * time.Second

func (t Timeouts) withDefaults() Timeouts {
	if t.Write == 0 {
		t.Write = DefaultTimeout
	}
	if t.Read == 0 {
		t.Read = DefaultTimeout
	}
	return t
}
