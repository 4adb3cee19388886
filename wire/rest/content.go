package rest

import (
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"google.golang.org/grpc/codes"

	"github.com/everywire/everywire/wire/internal/httpbody"
)

const (
	jsonType    = "application/json"
	problemType = "application/problem+json"
)

// of returns the format that a Content-Type header names. JSON is UTF-8
// (RFC 8259, section 8.1), and the others are no text: another charset is
// another type.
func (fs *formats) of(h http.Header) (*format, error) {
	ct := h["Content-Type"]
	switch {
	case len(ct) == 0:
		return nil, fmt.Errorf("the body has no Content-Type: want one of %s", types(fs.all))
	case len(ct) > 1:
		return nil, errors.New("more than one Content-Type")
	case ct[0] == fs.json.mediaType:
		return fs.json, nil
	}
	typ, params, err := mime.ParseMediaType(ct[0])
	f := fs.named(typ)
	if err != nil || f == nil {
		return nil, fmt.Errorf("Content-Type %q is not one of %s", ct[0], types(fs.all))
	}
	if cs, ok := params["charset"]; ok && !strings.EqualFold(cs, "utf-8") {
		return nil, fmt.Errorf("charset %q is not utf-8", cs)
	}
	return f, nil
}

// acceptedFormat chooses a reply's format by the Accept header (RFC 9110,
// section 12.5.1): of those with the greatest weight that are fit the first. It is
// nil if none is accepted.
func acceptedFormat(h http.Header, formats []*format, fit func(*format) bool) *format {
	lines := h["Accept"]
	if len(lines) == 0 || len(lines) == 1 && (lines[0] == "*/*" || lines[0] == formats[0].mediaType) {
		return formats[0]
	}
	var best *format
	most, given := 0, false
	for _, f := range formats {
		weight, said := f.weight(lines)
		given = given || said
		if weight > most && fit(f) {
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
	fs := x.h.formats
	x.format = acceptedFormat(h, fs.all, func(f *format) bool { return f.writes(x.endpoint) == nil })
	if x.format == nil {
		code, want := codes.InvalidArgument, types(fs.all)
		if err := x.unfit(h); err != nil {
			code, want = codes.Unimplemented, types(fs.writable(x.endpoint))+": "+err.Error()
		}
		return refuse(http.StatusNotAcceptable, code, "Accept %s allows none of %s", quoted(h["Accept"]), want)
	}
	accept := h["Accept-Encoding"]
	if x.prefers = httpbody.Accepted(accept); x.prefers.Refuses() {
		return refuse(http.StatusNotAcceptable, codes.InvalidArgument, "Accept-Encoding %s allows none of %s, identity", quoted(accept), httpbody.Supported)
	}
	return nil
}

// unfit says why the endpoint's replies cannot be in a format that was asked for,
// though the server has it; nil if there is no such format.
func (x *exchange) unfit(h http.Header) error {
	for _, f := range x.h.formats.all {
		weight, _ := f.weight(h["Accept"])
		if err := f.writes(x.endpoint); err != nil && weight > 0 {
			return err
		}
	}
	return nil
}

func quoted(lines []string) string { return strconv.Quote(strings.Join(lines, ", ")) }
