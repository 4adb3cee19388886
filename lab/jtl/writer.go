package jtl

import (
	"bufio"
	"encoding/csv"
	"fmt"
	"io"
	"runtime"
	"sync"
	"time"

	"github.com/everywire/everywire/lab/load"
)

// Config is what all lines have in common.
type Config struct {
	// Start is when the load began; samples count from it.
	Start time.Time
	// Label is the label of calls whose workload has one operation.
	Label string
	// URL is what was called. It stands in every line: it must hold no secret.
	URL     string
	Callers int
}

const (
	// batchSize is how many samples are handed over together.
	batchSize = 256
	// queued is how many batches wait for the disk at most.
	queued = 64
	// every is how long a sample waits for others of its batch.
	every = time.Second
)

// A Writer writes the lines. Its Sample is for load.Config's: many callers may be
// in it at once. Lines are written by one goroutine. About 16,000 samples may wait
// for it; when the disk is slower than that, Sample waits, and so the callers are
// slower, too, rather than memory growing or lines being lost: [Writer.Waited] says
// for how long.
//
// A caller's lines come in the order of its calls; those of several callers are
// mixed.
type Writer struct {
	config Config
	shards []shard
	queue  chan []load.Sample
	free   chan []load.Sample // batches to use again
	ended  chan struct{}      // the goroutine is

	out  *csv.Writer
	row  []string
	err  error // read after ended
	done int64 // lines that were written before err

	mu     sync.Mutex
	waited time.Duration
}

// shard is the batch of some of the callers.
type shard struct {
	mu    sync.Mutex
	batch []load.Sample
	_     [64]byte // the next shard is in another line of the processor's cache
}

// New begins a file with the names of the columns. The Writer must be closed.
func New(w io.Writer, c Config) *Writer {
	j := &Writer{
		config: c, shards: make([]shard, min(max(1, c.Callers), 2*runtime.GOMAXPROCS(0), 32)),
		queue: make(chan []load.Sample, queued), free: make(chan []load.Sample, queued), ended: make(chan struct{}),
		out: csv.NewWriter(bufio.NewWriterSize(w, 64<<10)),
	}
	go j.run()
	return j
}

// Sample writes a line for a call, soon.
func (j *Writer) Sample(s load.Sample) {
	sh := &j.shards[s.Caller%len(j.shards)]
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if sh.batch == nil {
		sh.batch = j.empty()
	}
	if sh.batch = append(sh.batch, s); len(sh.batch) == batchSize {
		j.hand(sh)
	}
}

// hand gives a batch to the goroutine that writes, and waits if it has too many.
// The shard's lock is held.
func (j *Writer) hand(sh *shard) {
	select {
	case j.queue <- sh.batch:
	default:
		begin := time.Now()
		j.queue <- sh.batch
		j.mu.Lock()
		j.waited += time.Since(begin)
		j.mu.Unlock()
	}
	sh.batch = nil
}

func (j *Writer) empty() []load.Sample {
	select {
	case batch := <-j.free:
		return batch[:0]
	default:
		return make([]load.Sample, 0, batchSize)
	}
}

// run writes until the queue is closed.
func (j *Writer) run() {
	defer close(j.ended)
	j.keep(j.out.Write(Columns))
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case batch, more := <-j.queue:
			if !more {
				j.flush()
				return
			}
			j.write(batch)
		case <-tick.C:
			j.gather()
			j.flush()
		}
	}
}

// gather writes batches that are not full, after what their callers handed over
// before. A shard that is in use may be so because it waits for this goroutine: it
// is left alone.
func (j *Writer) gather() {
	var partial [][]load.Sample
	for i := range j.shards {
		if sh := &j.shards[i]; sh.mu.TryLock() {
			partial = append(partial, sh.batch)
			sh.batch = nil
			sh.mu.Unlock()
		}
	}
	for range len(j.queue) {
		j.write(<-j.queue)
	}
	for _, batch := range partial {
		j.write(batch)
	}
}

// write writes a batch. After an error nothing more is written, but batches are
// taken, so that nobody waits.
func (j *Writer) write(batch []load.Sample) {
	for i := range batch {
		if j.err != nil {
			break
		}
		j.row = j.config.row(j.row, &batch[i])
		j.keep(j.out.Write(j.row))
		j.done++
	}
	if batch != nil {
		clear(batch) // texts of errors
		select {
		case j.free <- batch:
		default:
		}
	}
}

func (j *Writer) flush() {
	j.out.Flush()
	j.keep(j.out.Error())
}

// keep keeps the first error.
func (j *Writer) keep(err error) {
	if j.err == nil {
		j.err = err
	}
}

// Close writes what is left. No Sample may come with it or after it. It returns the
// first error of the writer, of which the load itself has not been told.
func (j *Writer) Close() error {
	for i := range j.shards {
		sh := &j.shards[i]
		sh.mu.Lock()
		if sh.batch != nil {
			j.hand(sh)
		}
		sh.mu.Unlock()
	}
	close(j.queue)
	<-j.ended
	if j.err != nil {
		return fmt.Errorf("jtl: after about %d lines, the rest is missing: %w", j.done, j.err)
	}
	return nil
}

// Waited is how long callers waited for the disk, together: if it is more than
// some milliseconds, the file has slowed the load.
func (j *Writer) Waited() time.Duration {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.waited
}
