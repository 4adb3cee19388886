package rest

import (
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"google.golang.org/grpc/codes"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/codec/cbor"
	"github.com/everywire/everywire/codec/json"
	"github.com/everywire/everywire/codec/msgpack"
	"github.com/everywire/everywire/wire/internal/httpbody"
)

const (
	jsonType    = "application/json"
	problemType = "application/problem+json"
)

// A format is an encoding of bodies under one of its names.
type format struct {
	mediaType string
	codec     everywire.Codec
	header    []string // Content-Type, shared by all messages
}

func newFormat(mediaType string, codec everywire.Codec) *format {
	return &format{mediaType, codec, []string{mediaType}}
}

var jsonFormat = newFormat(jsonType, json.Codec{})

// formats are what both ends read and write. A reply is in the first that the
// client likes best.
var formats = []*format{
	jsonFormat,
	newFormat("application/msgpack", msgpack.Codec{}),
	newFormat("application/x-msgpack", msgpack.Codec{}),
	newFormat("application/vnd.msgpack", msgpack.Codec{}),
	newFormat("application/cbor", cbor.Codec{}),
}

// mediaTypes lists the formats for a header or a message.
var mediaTypes = typesOf(formats)

func typesOf(formats []*format) string {
	var names []string
	for _, f := range formats {
		names = append(names, f.mediaType)
	}
	return strings.Join(names, ", ")
}

// formatOf returns the format that a Content-Type header names. JSON is UTF-8
// (RFC 8259, section 8.1), and the others are no text: another charset is
// another type.
func formatOf(h http.Header) (*format, error) {
	ct := h["Content-Type"]
	switch {
	case len(ct) == 0:
		return nil, fmt.Errorf("the body has no Content-Type: want one of %s", mediaTypes)
	case len(ct) > 1:
		return nil, errors.New("more than one Content-Type")
	case ct[0] == jsonType:
		return jsonFormat, nil
	}
	typ, params, err := mime.ParseMediaType(ct[0])
	f := formatNamed(typ)
	if err != nil || f == nil {
		return nil, fmt.Errorf("Content-Type %q is not one of %s", ct[0], mediaTypes)
	}
	if cs, ok := params["charset"]; ok && !strings.EqualFold(cs, "utf-8") {
		return nil, fmt.Errorf("charset %q is not utf-8", cs)
	}
	return f, nil
}

// formatNamed returns the format of a media type in lower case, or nil.
func formatNamed(mediaType string) *format {
	for _, f := range formats {
		if f.mediaType == mediaType {
			return f
		}
	}
	return nil
}

// formatOfCodec returns the first format with the codec of that name, or nil.
func formatOfCodec(name string) *format {
	for _, f := range formats {
		if f.codec.Name() == name {
			return f
		}
	}
	return nil
}

// acceptedFormat chooses a reply's format by the Accept header (RFC 9110,
// section 12.5.1): of those with the greatest weight the first. It is nil if
// none is accepted.
func acceptedFormat(h http.Header, formats []*format) *format {
	lines := h["Accept"]
	if len(lines) == 0 || len(lines) == 1 && (lines[0] == "*/*" || lines[0] == formats[0].mediaType) {
		return formats[0]
	}
	var best *format
	most, given := 0, false
	for _, f := range formats {
		weight, said := f.weight(lines)
		given = given || said
		if weight > most {
			best, most = f, weight
		}
	}
	if !given {
		return formats[0]
	}
	return best
}

// weight returns what the lines of an Accept header give the format: the most
// specific range that matches decides. Parameters other than q are ignored.
// given is false if the lines are empty.
func (f *format) weight(lines []string) (weight int, given bool) {
	best := 0
	family := f.mediaType[:strings.IndexByte(f.mediaType, '/')+1]
	for _, line := range lines {
		for item := range strings.SplitSeq(line, ",") {
			rng, params, _ := strings.Cut(item, ";")
			rng = strings.TrimSpace(rng)
			given = given || rng != ""
			specific := 0
			switch {
			case strings.EqualFold(rng, f.mediaType):
				specific = 3
			case strings.HasSuffix(rng, "/*") && strings.EqualFold(rng[:len(rng)-1], family):
				specific = 2
			case rng == "*/*":
				specific = 1
			}
			if specific == 0 || specific < best {
				continue
			}
			w := httpbody.Weight(params)
			if specific > best || w > weight {
				best, weight = specific, w
			}
		}
	}
	return weight, given
}

// negotiate chooses the format and the coding of the reply.
func (x *exchange) negotiate(h http.Header) *refusal {
	if x.format = acceptedFormat(h, formats); x.format == nil {
		return refuse(http.StatusNotAcceptable, codes.InvalidArgument, "Accept %s allows none of %s", quoted(h["Accept"]), mediaTypes)
	}
	accept := h["Accept-Encoding"]
	if x.prefers = httpbody.Accepted(accept); x.prefers.Refuses() {
		return refuse(http.StatusNotAcceptable, codes.InvalidArgument, "Accept-Encoding %s allows none of %s, identity", quoted(accept), httpbody.Supported)
	}
	return nil
}

func quoted(lines []string) string { return strconv.Quote(strings.Join(lines, ", ")) }
