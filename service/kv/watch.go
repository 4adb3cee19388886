package kv

import (
	"bytes"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// VersionHeader is the metadata in which Scan says which version it shows, and
// Watch after which one it begins.
const VersionHeader = "kv-version"

// Watch tells of every change of a key that begins with a prefix.
func (s *Store) Watch(in *WatchRequest, stream grpc.ServerStreamingServer[Event]) error {
	if err := s.checkLength("prefix", in.Prefix); err != nil {
		return err
	}
	w, err := s.feed.watch(in.After)
	if err != nil {
		return err
	}
	// Sent at once, so that the client knows that nothing is missed from here on.
	if err := stream.SendHeader(metadata.Pairs(VersionHeader, itoa(w.at))); err != nil {
		return err
	}
	buf := make([]Change, 0, takeChanges)
	for {
		changes, more, err := w.take(buf)
		if err != nil {
			return err
		}
		if more != nil {
			clear(buf[:cap(buf)]) // do not keep values while there is nothing to do
			select {
			case <-more:
			case <-stream.Context().Done():
				return status.FromContextError(stream.Context().Err()).Err()
			}
		}
		for _, c := range changes {
			if !bytes.HasPrefix(c.Item.Key, in.Prefix) {
				continue
			}
			if err := stream.Send(eventOf(c, in.KeysOnly)); err != nil {
				return err
			}
		}
	}
}

func eventOf(c Change, keyOnly bool) *Event {
	e := &Event{Kind: c.Kind.String(), Key: c.Item.Key, Version: c.Item.Version, Expires: c.Item.expiresAt()}
	if !keyOnly {
		e.Value = c.Item.Value
	}
	return e
}
