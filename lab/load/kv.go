package load

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"sync/atomic"

	"github.com/everywire/everywire/service/kv"
)

// KVMix says what the calls of [KV] are like. A field's zero value is its
// default, which is the article's.
type KVMix struct {
	// KeyMean and ValueMean are the means of the exponential distributions that
	// sizes have, in bytes: a size is 1 and what is drawn, rounded. Defaults 64
	// and 65536.
	KeyMean, ValueMean float64
	// MaxValue is the largest value. Default 1 MiB, which one value in ten
	// million would exceed, and whose bytes as an array of numbers in JSON are
	// within the usual limit for a message.
	MaxValue int
	// Held bounds the values that one caller has stored, but for its last: above
	// it, it deletes where it would store. Default 2 MiB.
	Held int
}

// KV creates, retrieves, updates and deletes, each as often as the others, and all
// but Create on a random one of the keys that are known to be there; when there is
// none, it creates. Every caller has keys of its own, so that it knows what
// must be answered: what it stored last, to the byte and with the version that it
// was told, and never that a key is there or is not there. Its keys begin with
// some 5 bytes that no other caller's have, so the shortest are a little longer than
// the distribution has them.
func KV(mix KVMix) Workload {
	if mix.KeyMean == 0 {
		mix.KeyMean = 64
	}
	if mix.ValueMean == 0 {
		mix.ValueMean = 64 << 10
	}
	if mix.MaxValue == 0 {
		mix.MaxValue = 1 << 20
	}
	if mix.Held == 0 {
		mix.Held = 2 << 20
	}
	w := &kvWork{mix: mix, pool: make([]byte, 2*mix.MaxValue)}
	random := rand.NewChaCha8([32]byte{})
	_, _ = random.Read(w.pool) // never fails
	return w
}

type kvWork struct {
	mix KVMix
	// pool is random. Every value is a part of it: making and keeping them costs
	// nothing, and comparing is a comparison of memory.
	pool    []byte
	callers atomic.Uint64
}

func (w *kvWork) Caller(seed uint64, i int) Caller {
	c := &kvCaller{mix: w.mix, pool: w.pool, rand: rand.New(rand.NewPCG(seed, uint64(i)))}
	// By its number a caller of a later run has other keys, by the seed one of
	// another process.
	c.prefix = binary.AppendUvarint(nil, w.callers.Add(1))
	c.prefix = binary.BigEndian.AppendUint16(c.prefix, uint16(seed^seed>>16^seed>>32^seed>>48)) //nolint:gosec // some bits of it
	return c
}

// A kvEntry is a key and what is stored there: a part of the pool.
type kvEntry struct {
	key     []byte
	value   []byte
	version int64
}

type kvOperation int

const (
	kvCreate kvOperation = iota
	kvRetrieve
	kvUpdate
	kvDelete
)

// kvNames are the operations as results call them.
var kvNames = [...]string{kvCreate: "create", kvRetrieve: "retrieve", kvUpdate: "update", kvDelete: "delete"}

type kvCaller struct {
	mix    KVMix
	pool   []byte
	rand   *rand.Rand
	prefix []byte
	made   uint64 // keys, ever

	known []kvEntry
	held  int      // bytes of their values
	spare [][]byte // the memory of keys that are gone

	// The last call, and whether its outcome is known. Its entry is known's last.
	operation kvOperation
	open      bool
	value     []byte // that it stores

	create    kv.CreateRequest
	created   kv.CreateResponse
	retrieve  kv.RetrieveRequest
	retrieved kv.RetrieveResponse
	update    kv.UpdateRequest
	updated   kv.UpdateResponse
	remove    kv.DeleteRequest
	removed   kv.DeleteResponse
}

func (c *kvCaller) Next() (path string, in, out any) {
	if c.open && c.operation != kvRetrieve {
		c.forget() // nobody knows what is there now
	}
	c.open = true
	c.operation = kvOperation(c.rand.IntN(4))
	if c.held >= c.mix.Held && (c.operation == kvCreate || c.operation == kvUpdate) {
		c.operation = kvDelete
	}
	if len(c.known) == 0 || c.operation == kvCreate {
		c.operation = kvCreate
		c.known = append(c.known, kvEntry{key: c.newKey()})
	} else {
		i, last := c.rand.IntN(len(c.known)), len(c.known)-1
		c.known[i], c.known[last] = c.known[last], c.known[i]
	}
	e := &c.known[len(c.known)-1]
	switch c.operation {
	case kvCreate:
		c.value = c.newValue()
		c.create = kv.CreateRequest{Key: e.key, Value: c.value}
		c.created = kv.CreateResponse{}
		return "/" + kv.Create, &c.create, &c.created
	case kvRetrieve:
		c.retrieve = kv.RetrieveRequest{Key: e.key}
		c.retrieved = kv.RetrieveResponse{}
		return "/" + kv.Retrieve, &c.retrieve, &c.retrieved
	case kvUpdate:
		c.value = c.newValue()
		c.update = kv.UpdateRequest{Key: e.key, Value: c.value}
		c.updated = kv.UpdateResponse{}
		return "/" + kv.Update, &c.update, &c.updated
	default:
		c.remove = kv.DeleteRequest{Key: e.key}
		c.removed = kv.DeleteResponse{}
		return "/" + kv.Delete, &c.remove, &c.removed
	}
}

func (c *kvCaller) Check() string {
	e := &c.known[len(c.known)-1]
	switch c.operation {
	case kvCreate, kvUpdate:
		version := c.created.Version
		if c.operation == kvUpdate {
			version = c.updated.Version
		}
		if version <= e.version {
			return fmt.Sprintf("key %x has version %d after version %d", e.key, version, e.version)
		}
		c.held += len(c.value) - len(e.value)
		e.value, e.version = c.value, version
	case kvRetrieve:
		if !bytes.Equal(c.retrieved.Value, e.value) {
			return fmt.Sprintf("key %x has another value: %d bytes, where %d were stored", e.key, len(c.retrieved.Value), len(e.value))
		}
		if c.retrieved.Version != e.version {
			return fmt.Sprintf("key %x has version %d, want %d", e.key, c.retrieved.Version, e.version)
		}
	case kvDelete:
		c.forget()
	}
	c.open = false
	return ""
}

// Op is the operation of the last Next.
func (c *kvCaller) Op() string { return kvNames[c.operation] }

// forget takes the last entry from what is known.
func (c *kvCaller) forget() {
	last := len(c.known) - 1
	e := c.known[last]
	c.held -= len(e.value)
	c.spare = append(c.spare, e.key)
	c.known[last] = kvEntry{}
	c.known = c.known[:last]
}

func (c *kvCaller) newKey() []byte {
	size := c.size(c.mix.KeyMean)
	var key []byte
	if n := len(c.spare); n > 0 {
		key, c.spare = c.spare[n-1][:0], c.spare[:n-1]
	}
	c.made++
	key = append(key, c.prefix...)
	key = binary.AppendUvarint(key, c.made)
	if fill := size - len(key); fill > 0 {
		key = append(key, c.part(min(fill, len(c.pool)))...)
	}
	return key
}

func (c *kvCaller) newValue() []byte { return c.part(min(c.size(c.mix.ValueMean), c.mix.MaxValue)) }

func (c *kvCaller) size(mean float64) int { return 1 + int(math.Round(c.rand.ExpFloat64()*mean)) }

// part is a random part of the pool.
func (c *kvCaller) part(size int) []byte {
	at := c.rand.IntN(len(c.pool) - size + 1)
	return c.pool[at : at+size : at+size]
}
