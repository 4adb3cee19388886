package httpmeta

import (
	"encoding/base64"
	"fmt"
	"strings"

	"google.golang.org/grpc/metadata"
)

// ToJSON returns metadata as it stands in JSON, a list of values for each key:
// with the same keys, and the same base64, as in headers.
func ToJSON(md metadata.MD) map[string][]string {
	out := make(map[string][]string, len(md))
	for k, vs := range md {
		if k == "" || k[0] == ':' || reserved[k] || len(vs) == 0 {
			continue
		}
		if strings.HasSuffix(k, "-bin") {
			encoded := make([]string, len(vs))
			for i, v := range vs {
				encoded[i] = base64.RawStdEncoding.EncodeToString([]byte(v))
			}
			vs = encoded
		}
		out[k] = vs
	}
	return out
}

// FromJSON is the inverse of [ToJSON].
func FromJSON(in map[string][]string) (metadata.MD, error) {
	md := make(metadata.MD, len(in))
	for name, vs := range in {
		key := lower(name)
		if hidden(key) {
			continue
		}
		if _, twice := md[key]; twice {
			return nil, fmt.Errorf("metadata key %q appears twice", key)
		}
		if strings.HasSuffix(key, "-bin") {
			var err error
			if vs, err = decodeAll(vs); err != nil {
				return nil, fmt.Errorf("metadata key %q is not base64: %w", key, err)
			}
		}
		md[key] = vs
	}
	return md, nil
}
