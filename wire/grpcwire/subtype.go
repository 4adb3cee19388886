package grpcwire

import (
	"context"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/wire/internal/rpc"
)

const contentType = "application/grpc"

// codecOf returns the codec that a call's content-type asks for. grpc-go would
// read an unknown one as protobuf; it is Unimplemented here.
func codecOf(ctx context.Context, known *rpc.Codecs) (everywire.Codec, error) {
	ct := metadata.ValueFromIncomingContext(ctx, "content-type")
	if len(ct) != 1 {
		return nil, status.Errorf(codes.InvalidArgument, "the call has %d content-type headers, not one", len(ct))
	}
	subtype := subtypeOf(ct[0])
	if subtype == "" {
		subtype = rpc.Protobuf // what a bare application/grpc means
	}
	c, ok := known.Find(subtype)
	if !ok {
		return nil, status.Errorf(codes.Unimplemented, "unknown content-subtype %q in %q: it is one of %s", subtype, ct[0], known.Names())
	}
	return c, nil
}

// subtypeOf returns the content-subtype in lower case, "" if there is none.
//
// PROTOCOL-HTTP2 writes it after "+", and parameters may follow as in every
// media type (RFC 9110, section 8.3.1). Old clients wrote it after ";", where
// it looks like a parameter without a value.
func subtypeOf(ct string) string {
	if len(ct) <= len(contentType) {
		return ""
	}
	separator, rest := ct[len(contentType)], ct[len(contentType)+1:]
	name, _, _ := strings.Cut(rest, ";")
	name = strings.ToLower(strings.TrimSpace(name))
	if separator == ';' && strings.Contains(name, "=") {
		return ""
	}
	return name
}
