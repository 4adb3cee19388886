package rpc

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"time"
)

// Accept gives every connection of lis to start, which must not block, until
// stopping ends; then it returns nil. Whoever ends it closes lis.
func Accept(stopping context.Context, lis net.Listener, logger *slog.Logger, start func(net.Conn)) error {
	for delay := time.Duration(0); ; {
		conn, err := lis.Accept()
		if err == nil {
			delay = 0
			start(conn)
			continue
		}
		if stopping.Err() != nil {
			return nil //nolint:nilerr // the error is what ended it
		}
		// Too many open files and the like pass; other errors do not.
		var temporary interface{ Temporary() bool }
		if !errors.As(err, &temporary) || !temporary.Temporary() {
			return err
		}
		delay = min(max(2*delay, 5*time.Millisecond), time.Second)
		logger.LogAttrs(stopping, slog.LevelWarn, "accepting failed; trying again",
			slog.String("error", err.Error()), slog.Duration("after", delay))
		select {
		case <-time.After(delay):
		case <-stopping.Done():
			return nil
		}
	}
}
