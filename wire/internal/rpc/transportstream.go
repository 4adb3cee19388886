package rpc

import (
	"fmt"
	"strings"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// transportStream is the grpc.ServerTransportStream of a call: it keeps what the
// handler sets. A unary call sends headers, reply and trailers in one piece:
// SendHeader fixes the headers, and they travel with the reply. A stream has
// send.
type transportStream struct {
	method string
	// send writes the headers out before the stream's first message; nil for a
	// unary call.
	send func(metadata.MD) error

	mu      sync.Mutex
	header  metadata.MD
	trailer metadata.MD
	sent    bool // by SendHeader, or because the call is over
	done    bool
}

func (s *transportStream) Method() string { return s.method }

func (s *transportStream) SetHeader(md metadata.MD) error {
	return s.setHeader(md, false)
}

func (s *transportStream) SendHeader(md metadata.MD) error {
	return s.setHeader(md, true)
}

func (s *transportStream) setHeader(md metadata.MD, send bool) error {
	if err := ValidateMetadata(md); err != nil {
		return status.Error(codes.Internal, err.Error())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sent {
		return status.Error(codes.Internal, "the headers of this call have been sent")
	}
	s.sent = send
	if md.Len() > 0 {
		s.header = metadata.Join(s.header, md)
	}
	if send && s.send != nil {
		if s.header == nil {
			s.header = metadata.MD{} // not nil: the client is to have them now
		}
		return s.send(s.header) // under the lock: no message may overtake it
	}
	return nil
}

// beforeMessage sends the headers of a stream unless they have been sent.
func (s *transportStream) beforeMessage() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sent {
		return nil
	}
	s.sent = true
	return s.send(s.header)
}

func (s *transportStream) SetTrailer(md metadata.MD) error {
	if err := ValidateMetadata(md); err != nil {
		return status.Error(codes.Internal, err.Error())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.done {
		return status.Error(codes.Internal, "the call is over")
	}
	if md.Len() > 0 {
		s.trailer = metadata.Join(s.trailer, md)
	}
	return nil
}

// finish takes the metadata that has not been sent; later calls of the
// handler's goroutines fail.
func (s *transportStream) finish() (header, trailer metadata.MD) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.sent || s.send == nil {
		header = s.header
	}
	s.sent, s.done = true, true
	return header, s.trailer
}

// ValidateMetadata checks metadata against gRPC's rules: keys of [0-9a-z-_.],
// values of printable ASCII unless the key ends in -bin.
func ValidateMetadata(md metadata.MD) error {
	for k, vs := range md {
		if k == "" {
			return fmt.Errorf("metadata has an empty key")
		}
		if i := strings.IndexFunc(k, notKeyRune); i >= 0 && k[0] != ':' {
			return fmt.Errorf("metadata key %q contains a character outside [0-9a-z-_.]", k)
		}
		if strings.HasSuffix(k, "-bin") {
			continue
		}
		for _, v := range vs {
			for i := range len(v) {
				if v[i] < 0x20 || v[i] > 0x7e {
					return fmt.Errorf("metadata key %q has a value with non-printable ASCII characters; name it %q to send bytes", k, k+"-bin")
				}
			}
		}
	}
	return nil
}

func notKeyRune(r rune) bool {
	return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '.' && r != '-' && r != '_'
}

// SizeOf is the length in bytes of all names and values.
func SizeOf(md metadata.MD) int {
	n := 0
	for k, vs := range md {
		for _, v := range vs {
			n += len(k) + len(v)
		}
	}
	return n
}
