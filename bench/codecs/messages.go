// Package codecs measures this project's codecs beside others, on messages such
// as calls carry:
//
//	go test -bench . -benchmem
//
// It is a module of its own, so that who imports the library gets none of the
// others. All of them write the same members under the same names.
package codecs

//go:generate go run github.com/tinylib/msgp@v1.6.5 -file messages.go -o messages_msgp.go -tests=false -io=false
//go:generate thrift -out . --gen go:skip_remote benchthrift.thrift
//go:generate flatc --go --go-namespace benchflatbuffers -o . bench.fbs
//go:generate sh -c "go install capnproto.org/go/capnp/v3/capnpc-go && capnp compile -I$(go list -m -f {{.Dir}} capnproto.org/go/capnp/v3)/std -o$(go env GOPATH)/bin/capnpc-go:benchcapnp bench.capnp"
//go:generate gofmt -w benchthrift benchflatbuffers

// Text is an echo of text.
type Text struct {
	Text string `wire:"1" json:"text" msg:"text" msgpack:"text"`
}

// Data is an echo of bytes.
type Data struct {
	Data []byte `wire:"1" json:"data" msg:"data" msgpack:"data"`
}

// Sum asks for a sum.
type Sum struct {
	Numbers []int64 `wire:"1" json:"numbers" msg:"numbers" msgpack:"numbers"`
}

// Ten has ten fields of several kinds.
type Ten struct {
	ID       int64    `wire:"1" json:"id" msg:"id" msgpack:"id"`
	Name     string   `wire:"2" json:"name" msg:"name" msgpack:"name"`
	Email    string   `wire:"3" json:"email" msg:"email" msgpack:"email"`
	Age      int32    `wire:"4" json:"age" msg:"age" msgpack:"age"`
	Active   bool     `wire:"5" json:"active" msg:"active" msgpack:"active"`
	Score    float64  `wire:"6" json:"score" msg:"score" msgpack:"score"`
	Flags    uint32   `wire:"7" json:"flags" msg:"flags" msgpack:"flags"`
	Tags     []string `wire:"8" json:"tags" msg:"tags" msgpack:"tags"`
	Parent   *int64   `wire:"9" json:"parent" msg:"parent" msgpack:"parent"`
	Location Point    `wire:"10" json:"location" msg:"location" msgpack:"location"`
}

// Point is a message inside another.
type Point struct {
	X float64 `wire:"1" json:"x" msg:"x" msgpack:"x"`
	Y float64 `wire:"2" json:"y" msg:"y" msgpack:"y"`
}
