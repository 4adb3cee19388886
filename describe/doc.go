// Package describe writes documents that describe methods to programs of any
// language. They are made from the descriptions in a registry, so plain structs
// and generated messages are described alike, as docs/spec/types.md says that
// they look.
//
// So far there is OpenRPC 1.3.2 (https://spec.open-rpc.org), with the types in
// JSON Schema draft 7.
package describe
