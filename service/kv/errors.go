package kv

import (
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Domain is the domain of the service's google.rpc.ErrorInfo, and these are the
// reasons that they give. docs/spec/kv.md says what metadata goes with each.
const (
	Domain = "kv.everywire"

	ReasonKeyExists       = "KEY_EXISTS"
	ReasonKeyNotFound     = "KEY_NOT_FOUND"
	ReasonVersionMismatch = "VERSION_MISMATCH"
	ReasonStoreFull       = "STORE_FULL"
	ReasonDiskFull        = "DISK_FULL"
	ReasonDiskFailed      = "DISK_FAILED"
	ReasonTooSlow         = "TOO_SLOW"
	ReasonNotKept         = "NOT_KEPT"
	ReasonClosed          = "CLOSED"
)

// ErrNoSpace is what a [Durable]'s error is if the disk has no room: nothing
// has changed, and what is asked may succeed when there is some.
var ErrNoSpace = errors.New("there is no space left on the disk")

// violation says what is wrong with a field of the request.
func violation(field, format string, args ...any) error {
	text := fmt.Sprintf(format, args...)
	s := status.New(codes.InvalidArgument, field+": "+text)
	if d, err := s.WithDetails(&errdetails.BadRequest{
		FieldViolations: []*errdetails.BadRequest_FieldViolation{{Field: field, Description: text}},
	}); err == nil {
		s = d
	}
	return s.Err()
}

// failure is an error with a reason, and metadata as pairs of name and value.
// With a key it says which one it is about.
func failure(code codes.Code, reason string, key []byte, text string, pairs ...string) error {
	info := &errdetails.ErrorInfo{Reason: reason, Domain: Domain}
	for i := 0; i+1 < len(pairs); i += 2 {
		if info.Metadata == nil {
			info.Metadata = map[string]string{}
		}
		info.Metadata[pairs[i]] = pairs[i+1]
	}
	s := status.New(code, text)
	d, err := s.WithDetails(info)
	if key != nil && err == nil {
		d, err = d.WithDetails(&errdetails.ResourceInfo{ResourceType: "key", ResourceName: nameOf(key), Description: text})
	}
	if err == nil {
		s = d
	}
	return s.Err()
}

func keyExists(key []byte, version int64) error {
	return failure(codes.AlreadyExists, ReasonKeyExists, key, fmt.Sprintf("key %q exists", short(key)), "version", itoa(version))
}

func notFound(key []byte) error {
	return failure(codes.NotFound, ReasonKeyNotFound, key, fmt.Sprintf("key %q does not exist", short(key)))
}

func mismatch(key []byte, version int64) error {
	return failure(codes.Aborted, ReasonVersionMismatch, key,
		fmt.Sprintf("the value of key %q has changed: its version is %d", short(key), version), "version", itoa(version))
}

func storeFull(key []byte, held, more, most int64) error {
	return failure(codes.ResourceExhausted, ReasonStoreFull, key,
		fmt.Sprintf("the store is full: it holds %d bytes of at most %d, and key %q needs %d more", held, most, short(key), more),
		"limit", itoa(most), "held", itoa(held), "needed", itoa(more))
}

// commitFailed is what a Durable's error is to those whose changes it did not
// take.
func commitFailed(key []byte, err error) error {
	if errors.Is(err, ErrNoSpace) {
		return failure(codes.ResourceExhausted, ReasonDiskFull, key,
			fmt.Sprintf("key %q is not stored: %v", short(key), err))
	}
	return failure(codes.Internal, ReasonDiskFailed, key,
		fmt.Sprintf("whether key %q is stored is not known, and nothing more will be until the store is opened again: %v", short(key), err))
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// short keeps messages readable when a key is long.
func short(key []byte) []byte { return key[:min(len(key), 64)] }

// nameOf is a key as text: as it is if it is text, else with escapes as in Go.
func nameOf(key []byte) string {
	key = short(key)
	if utf8.Valid(key) {
		return string(key)
	}
	quoted := strconv.QuoteToASCII(string(key))
	return quoted[1 : len(quoted)-1]
}
