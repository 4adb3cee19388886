package link_test

import (
	"context"
	"fmt"
	"io"

	"github.com/everywire/everywire/link"
)

// A test of a client over a network with delay and loss. wire.WithListener and
// wire.WithDialer take the ends' Listen and DialContext as they are.
func Example() {
	if err := overALink(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Output: 198.18.0.2 true
}

func overALink(ctx context.Context) error {
	spec, err := link.Parse("rtt=4.364ms,rate=1gbit,loss=0.1%")
	if err != nil {
		return err
	}
	l, err := link.New(spec, link.WithSeed(1))
	if err != nil {
		return err
	}
	defer l.Close()

	lis, err := l.B.Listen(ctx, "tcp", ":7070")
	if err != nil {
		return err
	}
	go func() {
		conn, err := lis.Accept()
		if err != nil {
			return
		}
		_, _ = io.Copy(conn, conn)
		conn.Close()
	}()

	conn, err := l.A.DialContext(ctx, "tcp", lis.Addr().String())
	if err != nil {
		return err
	}
	defer conn.Close()
	fmt.Fprintf(conn, "across %v\n", l.A.Peer())
	var line string
	if _, err := fmt.Fscanln(conn, new(string), &line); err != nil {
		return err
	}
	fmt.Println(line, l.A.Stats().Out.PayloadBytes >= 18)
	return nil
}
