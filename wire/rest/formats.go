package rest

import (
	"fmt"
	"strings"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/codec/json"
	"github.com/everywire/everywire/wire/internal/rpc"
)

// A format is an encoding of bodies under one of its names.
type format struct {
	mediaType string
	codec     everywire.Codec
	header    []string // Content-Type, shared by all messages
	isJSON    bool
	// isPlain is set if it is the JSON that the wire itself puts together and takes
	// apart, with bytes in base64.
	isPlain bool
	// isDocument is set if a message is written as the document that it is, as JSON,
	// MessagePack and CBOR do: then the wire can take one apart, and put one together
	// of what stands in several places, without knowing its type.
	isDocument bool
	partial    everywire.PartialCodec // nil if it has a form for every message
}

// plainJSON is the JSON of what the wire puts together and takes apart.
var plainJSON = json.Codec{}

func newFormat(mediaType string, codec everywire.Codec) *format {
	f := &format{mediaType: mediaType, codec: codec, header: []string{mediaType}, isJSON: codec.Name() == plainJSON.Name()}
	f.isDocument = f.isJSON || writesDocuments(codec)
	ours, isOurs := codec.(json.Codec)
	f.isPlain = isOurs && !ours.BytesAsArray
	f.partial, _ = codec.(everywire.PartialCodec)
	return f
}

// simpleTypes are those that a page of another origin can send without the browser
// asking the server first (Fetch, section 2.2.2, "CORS-safelisted request-header").
var simpleTypes = []string{"text/plain", "application/x-www-form-urlencoded", "multipart/form-data"}

// formats are those that one server or one connection has.
type formats struct {
	// all are those of messages. A reply is in the first that the client likes best.
	all  []*format
	json *format
	// streams are those of the replies of a server stream, the default first.
	streams []*format
}

func newFormats(codecs *rpc.Codecs) (*formats, error) {
	fs := new(formats)
	for _, c := range codecs.All() {
		for _, t := range rpc.MediaTypes(c) {
			f := newFormat(t, c)
			fs.all = append(fs.all, f)
			if f.isJSON && fs.json == nil {
				fs.json = f
			}
		}
	}
	for _, t := range simpleTypes {
		if taken := fs.named(t); taken != nil {
			return nil, fmt.Errorf("the codec %s has the media type %s, in which any web page may send requests unasked", taken.codec.Name(), t)
		}
	}
	for _, t := range streamTypes {
		fs.streams = append(fs.streams, newFormat(t, fs.json.codec))
	}
	for _, f := range fs.streams {
		if taken := fs.named(f.mediaType); taken != nil {
			return nil, fmt.Errorf("the codec %s has the media type %s, which is that of streams", taken.codec.Name(), f.mediaType)
		}
	}
	if taken := fs.named(problemType); taken != nil {
		return nil, fmt.Errorf("the codec %s has the media type %s, which is that of errors", taken.codec.Name(), problemType)
	}
	return fs, nil
}

// named returns the format of a media type in lower case, or nil.
func (fs *formats) named(mediaType string) *format {
	for _, f := range fs.all {
		if f.mediaType == mediaType {
			return f
		}
	}
	return nil
}

// ofCodec returns the first format with the codec of that name, or nil.
func (fs *formats) ofCodec(name string) *format {
	for _, f := range fs.all {
		if f.codec.Name() == name {
			return f
		}
	}
	return nil
}

// types lists media types for a header or a message.
func types(formats []*format) string {
	var names []string
	for _, f := range formats {
		names = append(names, f.mediaType)
	}
	return strings.Join(names, ", ")
}

// writesDocuments finds out whether a codec writes a document as it writes a
// message with those fields.
func writesDocuments(codec everywire.Codec) bool {
	data, err := codec.Append(nil, &everywire.Document{Value: map[string]any{"a": "b"}})
	var m struct {
		_ struct{} `wire:"name=everywire.rest.Probe"`
		A string   `wire:"1"`
	}
	return err == nil && codec.Decode(data, &m) == nil && m.A == "b"
}

// reads returns why bodies of the endpoint cannot be in the format, or nil.
func (f *format) reads(e *endpoint, query string) error {
	if !f.isDocument && (!e.plainBody || query != "") {
		return fmt.Errorf("%s %s has the request in several places, and %s is for a whole one", e.verb, e.pattern, f.mediaType)
	}
	if f.partial == nil || e.method.Input == nil {
		return nil
	}
	if err := f.partial.Carries(e.method.Input); err != nil {
		return fmt.Errorf("%s has no form for requests of %s: %w", f.mediaType, e.method.FullName(), err)
	}
	return nil
}

// writes returns why replies of the endpoint cannot be in the format, or nil.
func (f *format) writes(e *endpoint) error {
	if !f.isDocument && e.responseField != nil {
		return fmt.Errorf("%s %s has one field of the reply, and %s is for a whole one", e.verb, e.pattern, f.mediaType)
	}
	if f.partial == nil || e.method.Output == nil {
		return nil
	}
	if err := f.partial.Carries(e.method.Output); err != nil {
		return fmt.Errorf("%s has no form for replies of %s: %w", f.mediaType, e.method.FullName(), err)
	}
	return nil
}

// readable are the formats that the endpoint's bodies can be in.
func (fs *formats) readable(e *endpoint, query string) (good []*format) {
	for _, f := range fs.all {
		if f.reads(e, query) == nil {
			good = append(good, f)
		}
	}
	return good
}

// writable are the formats that the endpoint's replies can be in.
func (fs *formats) writable(e *endpoint) (good []*format) {
	for _, f := range fs.all {
		if f.writes(e) == nil {
			good = append(good, f)
		}
	}
	return good
}
