# make generate makes all generated code and all schema files again. It needs
# Go, and the compilers of Debian's packages thrift-compiler,
# flatbuffers-compiler and capnproto.
generate: generate-proto generate-thrift generate-avro generate-flatbuffers generate-capnp
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

generate-avro:
	go run ./cmd/everywire describe kv --as avro >service/kv/schemas/kv.avsc
.PHONY: generate-avro

# flatc would make a package of each namespace, and those need paths.
generate-flatbuffers: tmp := $(shell mktemp -d)
generate-flatbuffers:
	go run ./cmd/everywire describe kv --as flatbuffers >service/kv/schemas/kv.fbs
	go test ./codec/flatbuffers -run TestSchemaIsCurrent -update
	sed -E '/^namespace/d; s/(everywire|io[.]grpc)[.]//g' service/kv/schemas/kv.fbs >$(tmp)/kv.fbs
	sed -E '/^namespace/d; s/(everywire|wide)[.]//g' codec/flatbuffers/testdata/wide.fbs >$(tmp)/wide.fbs
	flatc --go --go-namespace kvflatbuffers -o service/kv $(tmp)/kv.fbs
	flatc --go --go-namespace wideflatbuffers -o codec/flatbuffers/internal $(tmp)/wide.fbs
	gofmt -w service/kv/kvflatbuffers codec/flatbuffers/internal/wideflatbuffers
.PHONY: generate-flatbuffers

# The plugin for Go takes the package's name from the schema alone.
generate-capnp: tmp := $(shell mktemp -d)
generate-capnp: capnp = $(shell go list -m -f '{{.Dir}}' capnproto.org/go/capnp/v3)
generate-capnp: go = using Go = import "/go.capnp"; $$Go.package("$(1)"); $$Go.import("$(1)");
generate-capnp:
	go build -o $(tmp)/capnpc-go capnproto.org/go/capnp/v3/capnpc-go
	go run ./cmd/everywire describe kv --as capnp >service/kv/schemas/kv.capnp
	go test ./codec/capnp -run TestSchemaIsCurrent -update
	(cat service/kv/schemas/kv.capnp; echo '$(call go,kvcapnp)') >$(tmp)/kv.capnp
	(cat codec/capnp/testdata/wide.capnp; echo '$(call go,widecapnp)') >$(tmp)/wide.capnp
	mkdir -p service/kv/kvcapnp codec/capnp/internal/widecapnp
	capnp compile -I$(capnp)/std --src-prefix=$(tmp) -o$(tmp)/capnpc-go:service/kv/kvcapnp $(tmp)/kv.capnp
	capnp compile -I$(capnp)/std --src-prefix=$(tmp) -o$(tmp)/capnpc-go:codec/capnp/internal/widecapnp $(tmp)/wide.capnp
.PHONY: generate-capnp
