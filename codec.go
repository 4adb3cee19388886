package everywire

import "github.com/everywire/everywire/schema"

// A Codec turns messages into bytes and back. A message is a pointer to a
// generated message, to a plain struct, or to a [Document]. Codecs are safe
// for concurrent use.
type Codec interface {
	// Name is the codec's name in targets and content types: "json". It is of
	// lower-case letters, digits, "-", "." and "_".
	Name() string
	// Append appends the encoding of msg to dst and returns the extended
	// slice; on error it returns dst as it was. It fails for what the codec has
	// no form for, such as a string that is not UTF-8, for nesting beyond
	// schema.MaxDepth, and for a cycle of pointers.
	Append(dst []byte, msg any) ([]byte, error)
	// Decode reads exactly one message from data into msg, which is reset
	// first. Trailing bytes are an error. It keeps no reference to data. An
	// error says what was wrong and where; msg then holds anything.
	Decode(data []byte, msg any) error
}

// A MediaTyper is a [Codec] that says under which media types HTTP carries its
// messages. The first is the one that is written; all are read. A codec that is
// none has the one type "application/" and its name.
type MediaTyper interface {
	MediaTypes() []string
}

// A PartialCodec is a [Codec] that has no form for some types of messages. Servers
// ask it before they run a call, whose client is told so (UNIMPLEMENTED; by HTTP 415
// or 406): a handler that ran and whose reply nobody can read would be worse.
type PartialCodec interface {
	Codec
	// Carries returns nil if the codec has a form for messages of the type, and
	// else what in it has none. It is asked for each call and must be quick.
	Carries(m *schema.Message) error
}

// Document is a message that is any JSON-like value. See [schema.Document].
type Document = schema.Document
