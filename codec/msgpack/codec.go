package msgpack

// Codec encodes and decodes messages; see docs/spec/types.md. It has no state.
type Codec struct{}

// Name returns "msgpack".
func (Codec) Name() string { return "msgpack" }

// MediaTypes are the one in use, and two that were there before it.
func (Codec) MediaTypes() []string {
	return []string{"application/msgpack", "application/x-msgpack", "application/vnd.msgpack"}
}

// Append appends the encoding of msg to dst and returns the extended slice.
// msg is a pointer to a generated message, to a plain struct or to a
// [schema.Document]. The fields of a message stand in the order of their
// numbers and the keys of maps are sorted, so equal messages have equal bytes.
//
// On error, an [*Error] that names the field, it returns dst as it was. Errors
// are: a string that is not UTF-8, a time or duration that protobuf cannot
// hold, a value that has no MessagePack form, and nesting deeper than
// [schema.MaxDepth].
func (Codec) Append(dst []byte, msg any) ([]byte, error) {
	e := encoders.Get().(*encoder)
	e.b = dst
	err := e.top(msg)
	b := e.b
	e.release()
	if err != nil {
		return dst, asError(err)
	}
	return b, nil
}

// Decode reads the message that data holds into msg, which is reset first. msg
// is as for [Codec.Append]. Members that the message does not know are
// skipped. Memory is reserved for what has arrived, not for what a length or
// count claims. Errors are of type [*Error]; after one, msg holds what was
// read until then.
func (Codec) Decode(data []byte, msg any) error {
	d := decoders.Get().(*decoder)
	d.data = data
	err := d.top(msg)
	if err == nil {
		err = d.End()
	}
	d.release()
	return asError(err)
}
