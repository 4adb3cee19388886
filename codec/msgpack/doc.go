// Package msgpack is the codec of MessagePack, by the specification of
// https://github.com/msgpack/msgpack/blob/master/spec.md, version 2017-08-09,
// with the timestamp extension and without any other.
//
// Messages are maps keyed by the names that their fields have in JSON. What
// each Go type looks like is the table of docs/spec/types.md.
//
// Beside [Codec] the package has what a MessagePack protocol needs for its
// envelope: the Append functions, [Reader], and [Scan], which finds the end of
// a value that is still arriving.
package msgpack
