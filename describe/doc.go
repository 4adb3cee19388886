// Package describe writes documents that describe methods to programs of any
// language. They are made from the descriptions in a registry, so plain structs
// and generated messages are described alike, as docs/spec/types.md says that
// they look.
//
// There is OpenRPC 1.3.2 (https://spec.open-rpc.org), with the types in JSON
// Schema draft 7, and there is OpenAPI 3.1.1, with draft 2020-12, and 3.0.3
// (https://spec.openapis.org/oas), by the rules of docs/spec/openapi.md. And
// there are the schemas of encodings: .proto files, by docs/spec/describe.md,
// and those of docs/spec/codecs.md.
package describe
