package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/everywire/everywire/bench/peers/peer"
)

// A load is what is asked of every peer: so many callers, each with one call
// under way at a time, on so many connections, with texts of so many bytes.
type load struct {
	Callers int `json:"callers"`
	Conns   int `json:"connections"`
	// Size is the length of the text; or document.
	Size int `json:"bytes"`
}

// document is the size that stands for [peer.PushEvent] in place of a text.
const document = -1

func (l load) String() string {
	return fmt.Sprintf("%s, %s on %s", formatSize(l.Size), count(l.Callers, "caller"), count(l.Conns, "connection"))
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func formatSize(n int) string {
	if n == document {
		return "8 KB document"
	}
	if n >= 1<<20 && n%(1<<20) == 0 {
		return strconv.Itoa(n>>20) + " MiB"
	}
	if n >= 1<<10 && n%(1<<10) == 0 {
		return strconv.Itoa(n>>10) + " KiB"
	}
	return strconv.Itoa(n) + " B"
}

// parseSizes reads "64,1K,64K,document".
func parseSizes(list string) ([]int, error) {
	var sizes []int
	for field := range strings.SplitSeq(list, ",") {
		if field == "document" {
			sizes = append(sizes, document)
			continue
		}
		digits, kilo := strings.CutSuffix(field, "K")
		n, err := strconv.Atoi(digits)
		if kilo {
			n <<= 10
		}
		// Half of the limit, so that no encoding of the text reaches it.
		if err != nil || n < 0 || n > peer.MaxMessage/2 {
			return nil, fmt.Errorf("%q is not a size: write bytes such as 64, or 64K, up to %dK; or document", field, peer.MaxMessage/2>>10)
		}
		sizes = append(sizes, n)
	}
	return sizes, nil
}

// parseCallers reads "1,8,64,64x64": callers, or callers x connections.
func parseCallers(list string) ([]load, error) {
	const most = 4096
	var loads []load
	for field := range strings.SplitSeq(list, ",") {
		callers, conns, both := strings.Cut(field, "x")
		l := load{Conns: 1}
		var err error
		if l.Callers, err = strconv.Atoi(callers); err == nil && both {
			l.Conns, err = strconv.Atoi(conns)
		}
		if err != nil || l.Callers < 1 || l.Conns < 1 || l.Conns > l.Callers || l.Callers > most {
			return nil, fmt.Errorf("%q is not a number of callers: write 8 for eight callers on one connection, "+
				"64x64 for 64 on 64; at most %d, and no more connections than callers", field, most)
		}
		loads = append(loads, l)
	}
	return loads, nil
}

// text is what a caller sends: characters that no encoding has to escape,
// different for each caller.
func text(caller, size int) string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789 -"
	rng := rand.New(rand.NewPCG(uint64(caller), 1))
	b := make([]byte, size)
	for i := range b {
		b[i] = letters[rng.IntN(len(letters))]
	}
	return string(b)
}

// clients are the connections of one load, and what its callers send.
type clients struct {
	load  load
	conns []peer.Conn
	texts []string
	// documents are the calls of each connection, if that is the load.
	documents []func(context.Context) error
	seqs      []int64 // of each caller; they go on from window to window
}

// dialAll opens the load's connections.
func dialAll(ctx context.Context, p peer.Peer, addr string, l load) (*clients, error) {
	if !p.Shared {
		l.Conns = l.Callers
	}
	c := &clients{load: l, seqs: make([]int64, l.Callers)}
	for i := range l.Callers {
		c.seqs[i] = int64(i) << 32
		c.texts = append(c.texts, text(i, max(l.Size, 0)))
	}
	for range l.Conns {
		conn, err := p.Dial(ctx, addr)
		if err != nil {
			c.close()
			return nil, fmt.Errorf("dial: %w", err)
		}
		c.conns = append(c.conns, conn)
		if l.Size != document {
			continue
		}
		call, err := conn.(peer.Documenter).Document(peer.PushEvent)
		if err != nil {
			c.close()
			return nil, fmt.Errorf("document: %w", err)
		}
		c.documents = append(c.documents, call)
	}
	return c, nil
}

func (c *clients) close() {
	for _, conn := range c.conns {
		_ = conn.Close() // nothing is under way on it
	}
}

// run lets all callers call for the length of a window and returns how many
// calls succeeded and how long that took, to the end of the last. A reply that
// is not the echo is an error. No call has a deadline or can be cancelled: that
// is the cheapest call of every peer, and the parent ends a process that hangs.
func (c *clients) run(window time.Duration) (calls int64, took time.Duration, err error) {
	start := time.Now()
	if _, ok := c.conns[0].(peer.Pipeliner); ok && c.load.Callers > c.load.Conns {
		calls, err = c.pipeline(window)
		return calls, time.Since(start), err
	}
	var (
		wg    sync.WaitGroup
		stop  atomic.Bool
		total atomic.Int64
		errs  = make([]error, c.load.Callers)
	)
	timer := time.AfterFunc(window, func() { stop.Store(true) })
	defer timer.Stop()
	for i := range c.load.Callers {
		wg.Go(func() {
			n := int64(0)
			for conn := c.conns[i%len(c.conns)]; !stop.Load(); n++ {
				if errs[i] = c.call(conn, i); errs[i] != nil {
					stop.Store(true)
					break
				}
			}
			total.Add(n)
		})
	}
	wg.Wait()
	return total.Load(), time.Since(start), errors.Join(errs...)
}

func (c *clients) call(conn peer.Conn, caller int) error {
	if c.load.Size == document {
		return c.documents[caller%len(c.conns)](context.Background())
	}
	c.seqs[caller]++
	seq, text, err := conn.Call(context.Background(), c.seqs[caller], c.texts[caller])
	if err != nil {
		return fmt.Errorf("caller %d: %w", caller, err)
	}
	if seq != c.seqs[caller] || text != c.texts[caller] {
		return fmt.Errorf("caller %d: wrong reply: number %d for %d, %d bytes for %d", caller, seq, c.seqs[caller], len(text), len(c.texts[caller]))
	}
	return nil
}

// pipeline spreads the callers over connections that keep messages on their
// way by themselves.
func (c *clients) pipeline(window time.Duration) (int64, error) {
	stop := make(chan struct{})
	timer := time.AfterFunc(window, func() { close(stop) })
	defer timer.Stop()
	var (
		wg    sync.WaitGroup
		total atomic.Int64
		errs  = make([]error, len(c.conns))
	)
	for i, conn := range c.conns {
		depth := (c.load.Callers + i) / len(c.conns) // these add up to all callers
		wg.Go(func() {
			var n int64
			n, errs[i] = conn.(peer.Pipeliner).Pipeline(stop, depth, c.texts[i])
			total.Add(n)
		})
	}
	wg.Wait()
	return total.Load(), errors.Join(errs...)
}
