package resilience

import (
	"errors"
	"sync/atomic"
)

// A bucket is a [Budget] in use. It counts thousandths of a token, as gRPC does.
type bucket struct {
	most, ratio int64 // most is below zero without a bound
	tokens      atomic.Int64
}

const token = 1000

func newBucket(b Budget) (*bucket, error) {
	if b.Tokens > 1_000_000 || !(b.Ratio >= 0 && b.Ratio <= 1_000_000) {
		return nil, errors.New("Budget: Tokens and Ratio are at most a million, and Ratio is not negative")
	}
	or(&b.Tokens, 100)
	or(&b.Ratio, 0.1)
	k := &bucket{most: int64(b.Tokens) * token, ratio: int64(b.Ratio * token)}
	k.tokens.Store(k.most)
	return k, nil
}

// take removes a token, if there is one, and reports whether more may be sent.
func (k *bucket) take() bool { return k.add(-token) }

// succeed adds what a success does. A bucket that is full stays as it is, which
// costs a load alone.
func (k *bucket) succeed() {
	if k.tokens.Load() < k.most {
		k.add(k.ratio)
	}
}

func (k *bucket) add(n int64) (enough bool) {
	if k.most < 0 {
		return true
	}
	for {
		old := k.tokens.Load()
		now := min(max(old+n, 0), k.most)
		if k.tokens.CompareAndSwap(old, now) {
			return now > k.most/2
		}
	}
}

// allows reports whether more may be sent.
func (k *bucket) allows() bool { return k.most < 0 || k.tokens.Load() > k.most/2 }
