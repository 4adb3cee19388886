package json_test

import (
	stdjson "encoding/json"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/everywire/everywire/schema"
)

// A sum is the size of message that `everywire compare` sends by default.
type sum struct {
	Numbers []int64 `wire:"1" json:"numbers"`
}

const sumText = `{"numbers":[1,2,3,4,5,6,7,8,9,1000000]}`

// benchDocument is a document of about 2 KB.
var benchDocument = func() string {
	var b strings.Builder
	for i := range 16 {
		fmt.Fprintf(&b, `,{"id":%d,"name":"item number %d","price":%d.25,"tags":["new","blue"],"stock":{"here":%d,"there":null},"ok":true}`, 1000+i, i, i*3, i)
	}
	return `{"items":[` + b.String()[1:] + `]}`
}()

func benchmark(b *testing.B, text string, decode func([]byte) error, encode func([]byte) ([]byte, error)) {
	b.Helper()
	data := []byte(text)
	b.Run("decode", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			if err := decode(data); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("encode", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(data)))
		var buf []byte
		var err error
		for b.Loop() {
			if buf, err = encode(buf[:0]); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func benchCodec(b *testing.B, text string, msg any) {
	benchmark(b, text,
		func(data []byte) error { return codec.Decode(data, msg) },
		func(buf []byte) ([]byte, error) { return codec.Append(buf, msg) })
}

func BenchmarkSum(b *testing.B) { benchCodec(b, sumText, new(sum)) }

func BenchmarkSumStd(b *testing.B) {
	msg := new(sum)
	benchmark(b, sumText,
		func(data []byte) error { *msg = sum{}; return stdjson.Unmarshal(data, msg) },
		func([]byte) ([]byte, error) { return stdjson.Marshal(msg) })
}

func BenchmarkDocument(b *testing.B) { benchCodec(b, benchDocument, new(schema.Document)) }

func BenchmarkDocumentStd(b *testing.B) {
	var v any
	benchmark(b, benchDocument,
		func(data []byte) error { v = nil; return stdjson.Unmarshal(data, &v) },
		func([]byte) ([]byte, error) { return stdjson.Marshal(v) })
}

const ruleText = `{"selector":"a.B.C","get":"/v1/{name}","body":"*","additionalBindings":[{"selector":"x","post":"/v2","body":"","additionalBindings":[],"responseBody":""}],"responseBody":"r"}`

func BenchmarkGenerated(b *testing.B) { benchCodec(b, ruleText, new(annotations.HttpRule)) }

func BenchmarkGeneratedProtojson(b *testing.B) {
	msg := new(annotations.HttpRule)
	benchmark(b, ruleText,
		func(data []byte) error { proto.Reset(msg); return protojson.Unmarshal(data, msg) },
		func(buf []byte) ([]byte, error) { return protojson.MarshalOptions{}.MarshalAppend(buf, msg) })
}
