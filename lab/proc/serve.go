package proc

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
)

// A Handler does one operation in a child. Its context ends when the parent
// has gone or has given up.
type Handler func(ctx context.Context, arg json.RawMessage) (any, error)

// Handle makes a handler of a function with a typed argument.
func Handle[In, Out any](f func(context.Context, In) (Out, error)) Handler {
	return func(ctx context.Context, arg json.RawMessage) (any, error) {
		var in In
		if err := json.Unmarshal(arg, &in); err != nil {
			return nil, fmt.Errorf("malformed argument: %w", err)
		}
		return f(ctx, in)
	}
}

// IgnoreInterrupt keeps a child alive when a terminal sends SIGINT to the
// whole process group: the parent decides when its children end.
func IgnoreInterrupt() { signal.Ignore(os.Interrupt) }

// Serve is the loop of a child: it answers requests from in to out until in
// ends, which is not an error. An operation under way then has its context
// cancelled and is waited for.
func Serve(in io.Reader, out io.Writer, ops map[string]Handler) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	lines := make(chan []byte)
	ended := make(chan error, 1)
	// Reading goes on while an operation runs, to see the end of in.
	go func() {
		defer cancel()
		defer close(lines)
		s := bufio.NewScanner(in)
		s.Buffer(nil, maxLine)
		for s.Scan() {
			select {
			case lines <- append([]byte(nil), s.Bytes()...):
			case <-ctx.Done():
				return
			}
		}
		ended <- s.Err()
	}()
	for line := range lines {
		if err := answer(ctx, line, out, ops); err != nil {
			return fmt.Errorf("proc: cannot answer: %w", err)
		}
	}
	return <-ended
}

func answer(ctx context.Context, line []byte, out io.Writer, ops map[string]Handler) error {
	var req request
	var rep reply
	if err := json.Unmarshal(line, &req); err != nil {
		rep.Error = "malformed request: " + err.Error()
	} else {
		rep.N = req.N
		result, err := perform(ctx, req, ops)
		if err == nil {
			rep.OK, err = json.Marshal(result)
		}
		if err != nil {
			rep.OK, rep.Error = nil, err.Error()
			if rep.Error == "" {
				rep.Error = fmt.Sprintf("%T", err)
			}
		}
	}
	data, err := json.Marshal(rep)
	if err != nil {
		return err
	}
	_, err = out.Write(append(data, '\n'))
	return err
}

func perform(ctx context.Context, req request, ops map[string]Handler) (any, error) {
	if req.Op == usageOp {
		cpu, err := CPUTime()
		return usage{CPU: cpu.Nanoseconds()}, err
	}
	op, ok := ops[req.Op]
	if !ok {
		return nil, fmt.Errorf("unknown operation %q", req.Op)
	}
	return op(ctx, req.Arg)
}
