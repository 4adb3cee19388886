// Package infer makes a message type from JSON documents, so that documents of
// which no schema is known can travel as typed values: in protobuf, Avro or Thrift
// as a service of that type would send them, with no tree of maps at either end.
//
// docs/spec/infer.md has the rules.
package infer
