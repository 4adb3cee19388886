package connectwire

import (
	"net/http"
	"strings"

	"google.golang.org/grpc/metadata"

	"github.com/everywire/everywire/wire/internal/httpmeta"
	"github.com/everywire/everywire/wire/internal/rpc"
)

// belongsToProtocol reports the keys, in lower case, that Connect, gRPC and
// gRPC-Web keep for themselves: they are no metadata, neither in nor out.
func belongsToProtocol(key string) bool {
	switch key {
	case "x-grpc-web", "x-user-agent":
		return true
	case rpc.PreviousAttempts: // a client's, not the protocol's
		return false
	}
	return strings.HasPrefix(key, "connect-") || strings.HasPrefix(key, "grpc-")
}

// putMetadata adds metadata to headers or trailers.
func putMetadata(h http.Header, md metadata.MD) {
	for k := range md {
		if belongsToProtocol(k) {
			md = md.Copy() // it may be the caller's
			for k := range md {
				if belongsToProtocol(k) {
					delete(md, k)
				}
			}
			break
		}
	}
	httpmeta.Put(h, "", md)
}

// takeMetadata returns the metadata in headers or trailers. An error names the
// header whose value is not base64.
func takeMetadata(h http.Header) (metadata.MD, error) {
	md, _, err := httpmeta.Take(h)
	for k := range md {
		if belongsToProtocol(k) {
			delete(md, k)
		}
	}
	return md, err
}
