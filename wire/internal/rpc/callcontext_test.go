package rpc

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// Package context asks for a callback with a mutex held that the callback
// takes, as in context.WithCancel while the parent ends. So it has a goroutine
// of its own, also if the context has ended already.
func TestAfterFuncOfEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn, cancel := context.WithCancel(t.Context())
		cancel()
		ctx := NewFlights(conn, nil).Start(Key{})
		if ctx.Err() == nil {
			t.Fatal("a call of a connection that has ended goes on")
		}
		asked, ran := make(chan struct{}), make(chan struct{})
		stop := ctx.AfterFunc(func() {
			<-asked // or the bubble is deadlocked
			close(ran)
		})
		close(asked)
		<-ran
		if stop() {
			t.Error("a callback was taken back that runs already")
		}
	})
}

// Within another context it ends with that one, or before, and has its values.
func TestWithin(t *testing.T) {
	type key struct{}
	synctest.Test(t, func(t *testing.T) {
		for _, asked := range []bool{false, true} {
			parent, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "value"))
			c := newContext(parent)
			called := false
			if asked {
				_ = c.Done()
				context.AfterFunc(c, func() { called = true })
			}
			if c.Err() != nil || c.Value(key{}) != "value" {
				t.Error(c.Err(), c.Value(key{}))
			}
			cancel()
			synctest.Wait()
			<-c.Done()
			synctest.Wait()
			if c.Err() != context.Canceled || called != asked { //nolint:errorlint // as package context compares it
				t.Errorf("asked %v: %v, called %v", asked, c.Err(), called)
			}
		}
		parent, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		c := newContext(parent)
		c.ClampDeadline(time.Now().Add(time.Hour))
		if d, ok := c.Deadline(); !ok || time.Until(d) != time.Second {
			t.Error(d, ok)
		}
		<-c.Done()
		if c.Err() != context.DeadlineExceeded { //nolint:errorlint // as above
			t.Error(c.Err())
		}
	})
}
