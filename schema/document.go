package schema

// Document is a message that holds whatever JSON can say: the whole message is
// the value, not an object around it. In Protocol Buffers it is a
// google.protobuf.Value, which holds every number as a double.
//
// Decoders set Value to one of: nil, bool, int64, uint64 (only for integers
// above the range of int64), float64, [Number], string, []any,
// map[string]any; the MessagePack and CBOR decoders also to []byte and
// time.Time, and MessagePack's to its own Extension. Encoders accept these,
// Extension in MessagePack only, and every other Go integer and float type.
type Document struct {
	Value any
}

// Number is the text of a JSON integer outside the ranges of int64 and uint64.
// It keeps its digits in JSON and is a bignum in CBOR; MessagePack and protobuf
// cannot carry it and refuse it when encoding.
type Number string
