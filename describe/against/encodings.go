package against

import (
	"slices"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// An encoding is how one reads what another wrote.
type encoding struct {
	name string
	// named is set if fields have their names, and not their numbers.
	named bool
	// plain is set if only plain structs have a form.
	plain bool
	// leavesOut is set if a zero that cannot be absent is not written: whoever
	// reads a field that can be takes it for absent.
	leavesOut bool
	// always is set if a value that cannot be absent is always written, so that
	// readers may count on it.
	always bool
	// boxed is set if what may be absent is stored elsewhere than what may not.
	boxed bool
	// placed is set if where a field is depends on those of lower numbers.
	placed bool
	// single is set if a list is read where a single value was written.
	single bool
	// reads reports whether a reader of r understands a writer of w. Of two
	// messages it is always true: their fields are looked at.
	reads func(in string, w, r element) bool
}

var encodings = []encoding{
	{name: "protobuf", leavesOut: true, single: true, reads: protobufReads},
	{name: "json", named: true, always: true, reads: jsonReads},
	{name: "msgpack", named: true, always: true, reads: msgpackReads},
	{name: "cbor", named: true, always: true, reads: cborReads},
	{name: "thrift", plain: true, reads: thriftReads},
	{name: "avro", named: true, plain: true, reads: avroReads},
	{name: "flatbuffers", plain: true, leavesOut: true, reads: sameKind},
	{name: "capnp", plain: true, boxed: true, placed: true, reads: sameKind},
}

// rank orders encodings as they stand in the table.
func rank(name string) int {
	return slices.IndexFunc(encodings, func(e encoding) bool { return e.name == name })
}

// fits reports whether a field of r is read where one of w was written.
func (e *encoding) fits(in string, w, r field) bool {
	switch {
	case w.isMap != r.isMap, w.isList && !r.isList, r.isList && !w.isList && !e.single:
		return false
	case w.isMap && !e.reads(in, w.key, r.key):
		return false
	case r.required && !w.required && in == InReplies: // old readers refuse what lacks it
		return false
	}
	return e.reads(in, w.element, r.element)
}

// keepsPresence reports whether zero and absent arrive as they were sent.
func (e *encoding) keepsPresence(in string, w, r field) bool {
	if w.isMap || w.isList || r.isMap || r.isList {
		return true
	}
	switch {
	case e.boxed && w.presence != r.presence:
		return false
	case !w.presence && r.presence:
		return !e.leavesOut
	case w.presence && !r.presence && in == InReplies:
		return !e.always
	}
	return true
}

// sameKind is for encodings without conversions.
func sameKind(_ string, w, r element) bool {
	return w.kind == r.kind && (w.kind != ownKind || w.name == r.name)
}

// protobufReads follows "Updating A Message Type" of the language's guide, and
// is stricter where values would be cut off.
func protobufReads(in string, w, r element) bool {
	if w.proto == r.proto {
		return sameKind(in, w, r)
	}
	switch w.proto {
	case protoreflect.BoolKind:
		return slices.Contains([]protoreflect.Kind{protoreflect.Int32Kind, protoreflect.Int64Kind, protoreflect.Uint32Kind, protoreflect.Uint64Kind}, r.proto)
	case protoreflect.Int32Kind:
		return r.proto == protoreflect.Int64Kind || r.proto == protoreflect.EnumKind
	case protoreflect.EnumKind:
		return r.proto == protoreflect.Int32Kind || r.proto == protoreflect.Int64Kind
	case protoreflect.Uint32Kind:
		return r.proto == protoreflect.Uint64Kind || r.proto == protoreflect.Int64Kind
	case protoreflect.Sint32Kind:
		return r.proto == protoreflect.Sint64Kind
	case protoreflect.StringKind:
		return r.proto == protoreflect.BytesKind
	}
	return false
}

// integers says which integers hold all of others.
var integers = map[kind][]kind{
	int32Kind: {int32Kind, int64Kind}, int64Kind: {int64Kind},
	uint32Kind: {uint32Kind, uint64Kind, int64Kind}, uint64Kind: {uint64Kind},
}

// namedReads has what JSON, MessagePack and CBOR have in common; types.md.
func namedReads(in string, w, r element) bool {
	switch r.kind {
	case anyKind:
		return true
	case int32Kind, int64Kind, uint32Kind, uint64Kind:
		return slices.Contains(integers[w.kind], r.kind)
	case doubleKind:
		return w.kind == doubleKind || w.kind == floatKind || w.kind == int32Kind || w.kind == uint32Kind
	case stringKind:
		return w.kind == stringKind || w.kind == durationKind || w.kind == enumKind
	case enumKind:
		return w.kind == enumKind || w.kind == int32Kind
	}
	return sameKind(in, w, r)
}

// jsonReads has times as text. Clients need not read integers as strings, nor
// strings as integers, as servers do.
func jsonReads(in string, w, r element) bool {
	if w.quoted != r.quoted && in == InReplies {
		return r.kind == anyKind
	}
	return namedReads(in, w, r) || w.kind == timeKind && r.kind == stringKind
}

func msgpackReads(in string, w, r element) bool {
	return namedReads(in, w, r) || w.kind == stringKind && r.kind == bytesKind
}

func cborReads(in string, w, r element) bool { return namedReads(in, w, r) }

// thriftReads has 64 bits for all integers but int32, doubles for floats, and one
// type for strings and bytes.
func thriftReads(in string, w, r element) bool {
	switch r.kind {
	case int64Kind, uint64Kind:
		return w.kind == r.kind || w.kind == uint32Kind
	case doubleKind:
		return w.kind == doubleKind || w.kind == floatKind
	case bytesKind:
		return w.kind == bytesKind || w.kind == stringKind
	}
	return sameKind(in, w, r)
}

// avroReads has the promotions of Avro's schema resolution. Unsigned integers
// are longs, and those of 64 bits are what fits.
func avroReads(in string, w, r element) bool {
	switch r.kind {
	case int64Kind:
		return w.kind == int32Kind || w.kind == uint32Kind || w.kind == int64Kind
	case doubleKind:
		return w.kind == int32Kind || w.kind == floatKind || w.kind == doubleKind
	case stringKind, bytesKind:
		return w.kind == stringKind && r.kind == bytesKind || w.kind == r.kind
	}
	return sameKind(in, w, r)
}
