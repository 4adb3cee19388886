# make generate makes all generated code and all schema files again. It needs
# Go, and the compilers of Debian's packages thrift-compiler.
generate: generate-proto generate-thrift
.PHONY: generate

generate-proto:
	go -C tools run ./gen
.PHONY: generate-proto

# Thrift's compiler names the Go package after the namespace, or else the file.
generate-thrift: tmp := $(shell mktemp -d)
generate-thrift:
	go run ./cmd/everywire describe kv --as thrift >service/kv/schemas/kv.thrift
	go test ./codec/thrift -run TestSchemaIsCurrent -update
	sed /^namespace/d service/kv/schemas/kv.thrift >$(tmp)/kvthrift.thrift
	sed /^namespace/d codec/thrift/testdata/wide.thrift >$(tmp)/widethrift.thrift
	thrift -out service/kv --gen go:skip_remote $(tmp)/kvthrift.thrift
	thrift -out codec/thrift/internal --gen go:skip_remote $(tmp)/widethrift.thrift
	gofmt -w service/kv/kvthrift codec/thrift/internal/widethrift
.PHONY: generate-thrift
