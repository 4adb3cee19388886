// Package outbox sends e-mail later: whoever adds a message does not wait for
// the server that takes it. Messages are those of RFC 5322; they are delivered
// to an SMTP server (RFC 5321, with STARTTLS of RFC 3207) or written to a
// folder.
//
// The queue is in memory: what has not been delivered when the process ends is
// lost, and [Outbox.Close] says how much that is.
package outbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// ErrFull is the error for a message when the queue holds as many as it may.
var ErrFull = errors.New("the outbox is full")

// ErrClosed is the error for a message after [Outbox.Close].
var ErrClosed = errors.New("the outbox is closed")

// A Transport delivers one message, or fails. It should end when ctx does.
type Transport interface {
	Deliver(ctx context.Context, m *Mail) error
}

// Permanent marks an error of a transport that another attempt would have, too.
func Permanent(err error) error { return &permanentError{err} }

type permanentError struct{ error }

func (e *permanentError) Unwrap() error { return e.error }

// Options set up an outbox. Zero values are the defaults.
type Options struct {
	// From is the sender of all messages. Default is the address
	// "everywire@localhost".
	From Address
	// MaxQueue is how many messages may wait. Default 1000.
	MaxQueue int
	// MaxAttempts is how often a delivery is tried before the message is given
	// up. Default 8.
	MaxAttempts int
	// Backoff is the time before the second attempt; it doubles for each one
	// that follows, up to MaxBackoff. Defaults 2 s and 5 min.
	Backoff, MaxBackoff time.Duration
	// Timeout is how long one attempt may take. Default 1 min.
	Timeout time.Duration
	// Logger gets what happens to messages. Default slog.Default().
	Logger *slog.Logger
}

func (o Options) withDefaults() Options {
	if o.From.Address == "" {
		o.From.Address = "everywire@localhost"
	}
	o.MaxQueue = orDefault(o.MaxQueue, 1000)
	o.MaxAttempts = orDefault(o.MaxAttempts, 8)
	o.Backoff = orDefault(o.Backoff, 2*time.Second)
	o.MaxBackoff = orDefault(o.MaxBackoff, 5*time.Minute)
	o.Timeout = orDefault(o.Timeout, time.Minute)
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return o
}

func orDefault[T int | time.Duration](v, def T) T {
	if v <= 0 {
		return def
	}
	return v
}

// An Outbox queues messages and delivers them one after the other. It is safe
// for concurrent use.
type Outbox struct {
	transport Transport
	opts      Options
	wake      chan struct{} // of one element: something has changed
	done      chan struct{} // closed when the goroutine has ended
	abort     context.CancelFunc

	mu      sync.Mutex
	waiting []*letter
	closed  bool
}

// A letter is a message on its way.
type letter struct {
	mail     *Mail
	attempts int
	due      time.Time
}

// New starts an outbox. It runs until [Outbox.Close].
func New(t Transport, opts Options) (*Outbox, error) {
	opts = opts.withDefaults()
	if err := opts.From.check(); err != nil {
		return nil, fmt.Errorf("the sender: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	o := &Outbox{transport: t, opts: opts, wake: make(chan struct{}, 1), done: make(chan struct{}), abort: cancel}
	go o.run(ctx)
	return o, nil
}

// Add queues a message and returns its Message-ID. A message that could not be
// a mail is an error here and not later.
func (o *Outbox) Add(m Message) (id string, err error) {
	mail, err := compose(o.opts.From, m, time.Now())
	if err != nil {
		return "", err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.closed:
		return "", ErrClosed
	case len(o.waiting) >= o.opts.MaxQueue:
		return "", ErrFull
	}
	o.waiting = append(o.waiting, &letter{mail: mail, due: time.Now()})
	o.poke()
	return mail.ID, nil
}

// Close takes no more messages and waits until those that wait are delivered or
// given up, or until ctx ends. Then it says how many were lost.
func (o *Outbox) Close(ctx context.Context) error {
	o.mu.Lock()
	o.closed = true
	o.poke()
	o.mu.Unlock()
	select {
	case <-o.done:
	case <-ctx.Done():
		o.abort()
		<-o.done
	}
	o.abort()
	o.mu.Lock()
	defer o.mu.Unlock()
	if n := len(o.waiting); n > 0 {
		return fmt.Errorf("the outbox has e-mails that were not delivered: %d", n)
	}
	return nil
}

// poke wakes the goroutine, which may be awake.
func (o *Outbox) poke() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

func (o *Outbox) run(ctx context.Context) {
	defer close(o.done)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		l, end := o.next()
		if end {
			return
		}
		var expired <-chan time.Time
		if l != nil {
			timer.Reset(time.Until(l.due))
			expired = timer.C
		}
		select {
		case <-ctx.Done():
			return
		case <-o.wake: // perhaps something is due earlier
		case <-expired:
			o.attempt(ctx, l)
		}
	}
}

// next returns the letter that is due first, nil if none waits. It says end when
// none will come.
func (o *Outbox) next() (first *letter, end bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, l := range o.waiting {
		if first == nil || l.due.Before(first.due) {
			first = l
		}
	}
	return first, first == nil && o.closed
}

func (o *Outbox) attempt(ctx context.Context, l *letter) {
	attempt, cancel := context.WithTimeout(ctx, o.opts.Timeout)
	err := o.transport.Deliver(attempt, l.mail)
	cancel()
	if err != nil && ctx.Err() != nil {
		return // the outbox is being closed: the letter stays what is lost
	}
	l.attempts++
	log := o.opts.Logger.With("message", l.mail.ID, "attempt", l.attempts)
	var permanent *permanentError
	switch {
	case err == nil:
		log.Info("outbox: delivered")
	case errors.As(err, &permanent), l.attempts >= o.opts.MaxAttempts:
		log.Error("outbox: given up", "error", err)
	default:
		wait := o.opts.backoff(l.attempts)
		log.Warn("outbox: not delivered yet", "error", err, "again", wait)
		o.mu.Lock()
		l.due = time.Now().Add(wait)
		o.mu.Unlock()
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for i := range o.waiting {
		if o.waiting[i] == l {
			o.waiting = append(o.waiting[:i], o.waiting[i+1:]...)
			break
		}
	}
}

// backoff is the time after so many attempts.
func (o Options) backoff(attempts int) time.Duration {
	wait := o.Backoff
	for range attempts - 1 {
		if wait *= 2; wait >= o.MaxBackoff {
			break
		}
	}
	return min(wait, o.MaxBackoff)
}
