package kv

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
)

// Scan sends the keys that begin with a prefix, in order, as they were when it
// began. It holds no lock, and no more of what has changed since than
// MaxStale allows.
func (s *Store) Scan(in *ScanRequest, stream grpc.ServerStreamingServer[Entry]) error {
	if err := s.checkLength("prefix", in.Prefix); err != nil {
		return err
	}
	if err := s.checkLength("after", in.After); err != nil {
		return err
	}
	if in.Limit < 0 {
		return violation("limit", "%d is negative", in.Limit)
	}
	if err := wait(stream.Context(), s.opts.ReadDelay); err != nil {
		return err
	}
	v := s.views.open(&s.now)
	defer s.views.close(v)
	if err := stream.SetHeader(metadata.Pairs(VersionHeader, itoa(v.version))); err != nil {
		return err
	}
	c := cursor{prefix: in.Prefix, next: in.Prefix, now: time.Now().UnixNano(), left: in.Limit}
	if len(in.After) > 0 {
		if after := successor(in.After); bytes.Compare(after, c.next) > 0 {
			c.next = after
		}
	}
	page := make([]*Item, 0, pageItems)
	for !c.end {
		st := v.state.Load()
		if st == nil {
			return s.views.revoked(c.sent)
		}
		page = c.page(st.root, page)
		for _, it := range page {
			e := &Entry{Key: it.Key, Version: it.Version, Expires: it.expiresAt()}
			if !in.KeysOnly {
				e.Value = it.Value
			}
			if err := stream.Send(e); err != nil {
				return err
			}
		}
	}
	return nil
}

// successor is the first key that sorts after key.
func successor(key []byte) []byte { return append(bytes.Clone(key), 0) }

// A scan goes over the tree in pages, for a goroutine that waits for its client
// in the middle of a tree would hold all of it.
const (
	pageItems = 64
	pageBytes = 1 << 20
)

// A cursor is how far a scan has come.
type cursor struct {
	prefix []byte
	next   []byte // the next page begins with the first key that is not less
	sent   []byte // the last key of the last page, nil before the first
	now    int64
	left   int64 // how many keys it may yet give; 0 at the beginning is all
	end    bool
}

// page returns the next items. An item that has expired by the time that the
// scan began is left out.
func (c *cursor) page(root *node, page []*Item) []*Item {
	page = page[:0]
	size := int64(0)
	c.end = true
	for it := range root.from(c.next) {
		if !bytes.HasPrefix(it.Key, c.prefix) {
			break
		}
		if it.expired(c.now) {
			continue
		}
		size += it.size()
		if len(page) == pageItems || size > pageBytes && len(page) > 0 {
			c.end = false
			break
		}
		page = append(page, it)
		if c.left == 1 {
			break
		}
		c.left = max(c.left-1, 0)
	}
	if len(page) > 0 {
		c.sent = page[len(page)-1].Key
		c.next = successor(c.sent)
	}
	return page
}

// views are the states that scans look at. Each keeps what has been replaced or
// removed since alive, so the oldest is taken away when that is too much.
type views struct {
	most int64 // bytes replaced or removed since

	mu  sync.Mutex
	all []*view // the oldest first
}

// A view is the state that one scan looks at. The pointer is nil when the view
// has been taken away.
type view struct {
	version, retired int64
	state            atomic.Pointer[state]
}

// open returns a view of the present state.
func (vs *views) open(now *atomic.Pointer[state]) *view {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	st := now.Load() // under the lock, so that views are in order
	v := &view{version: st.version, retired: st.retired}
	v.state.Store(st)
	vs.all = append(vs.all, v)
	return v
}

func (vs *views) close(v *view) {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	if i := slices.Index(vs.all, v); i >= 0 {
		vs.all = slices.Delete(vs.all, i, i+1)
	}
}

// revoke takes views away that keep too much.
func (vs *views) revoke(retired int64) {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	for len(vs.all) > 0 && retired-vs.all[0].retired > vs.most {
		vs.all[0].state.Store(nil)
		vs.all = slices.Delete(vs.all, 0, 1)
	}
}

// revoked is what a scan is told that has lost its view.
func (vs *views) revoked(sent []byte) error {
	return failure(codes.Aborted, ReasonTooSlow, nil,
		fmt.Sprintf("the scan takes too long: more than %d bytes have been replaced or removed since it began; the last key sent is %q: scan again after it", vs.most, short(sent)),
		"resume_after", base64.StdEncoding.EncodeToString(sent))
}
