package rpc

import (
	"context"
	"testing"
	"testing/synctest"
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
