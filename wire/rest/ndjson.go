package rest

import (
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire/wire/internal/code"
)

// ndjson is the format of one JSON text a line. The codec writes no line feed
// within one: in strings they are escaped.
type ndjson struct{}

func (ndjson) message(dst, _, body []byte) []byte { return append(append(dst, body...), '\n') }

func (ndjson) idle(dst []byte) []byte { return dst }

// end appends the line of an error, whose member has a name that no field can
// have. A good end has no line: it would be one more object to those who expect
// replies.
func (ndjson) end(dst []byte, s *status.Status, _, _ metadata.MD) []byte {
	if s.Code() == codes.OK {
		return dst
	}
	dst = append(dst, `{"@error":`...)
	dst = append(dst, encodeProblem(code.HTTP(s.Code()), s)...)
	return append(dst, "}\n"...)
}
