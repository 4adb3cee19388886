package codec_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/everywire/everywire/schema"
)

// Messages such as calls carry: plain structs of a few fields.
type (
	echoText struct {
		Text string `wire:"1"`
	}
	echoData struct {
		Data []byte `wire:"1"`
	}
	sumRequest struct {
		Numbers []int64 `wire:"1"`
	}
	sumReply struct {
		Sum int64 `wire:"1"`
	}
	tenFields struct {
		ID       int64    `wire:"1"`
		Name     string   `wire:"2"`
		Email    string   `wire:"3"`
		Age      int32    `wire:"4"`
		Active   bool     `wire:"5"`
		Score    float64  `wire:"6"`
		Flags    uint32   `wire:"7"`
		Tags     []string `wire:"8"`
		Parent   *int64   `wire:"9"`
		Location point    `wire:"10"`
	}
	point struct {
		X float64 `wire:"1"`
		Y float64 `wire:"2"`
	}
)

func theTenFields() *tenFields {
	parent := int64(41)
	return &tenFields{
		ID: 1234567, Name: "Ada Lovelace", Email: "ada@example.org", Age: 36, Active: true, Score: 0.75, Flags: 0x10,
		Tags: []string{"first", "program"}, Parent: &parent, Location: point{51.5, -0.125},
	}
}

// aDocument is a list of records, as payloads of REST services often are.
func aDocument() *schema.Document {
	list := make([]any, 0, 16)
	for i := range 16 {
		list = append(list, map[string]any{
			"id": int64(1000 + i), "name": fmt.Sprintf("item number %d", i), "price": float64(i) + 0.25,
			"tags": []any{"new", "blue"}, "stock": map[string]any{"here": int64(i), "there": nil}, "ok": true,
		})
	}
	return &schema.Document{Value: map[string]any{"items": list}}
}

var benchMessages = []struct {
	name  string
	msg   any
	out   any
	needs float64 // allocations that the decoded value itself is made of; -1 if they were not counted
}{
	{"Text64", &echoText{strings.Repeat("x", 64)}, new(echoText), 1},
	{"Data64", &echoData{make([]byte, 64)}, new(echoData), 1},
	{"SumRequest", &sumRequest{[]int64{1, 2, 300, 70000}}, new(sumRequest), 1},
	{"SumReply", &sumReply{70303}, new(sumReply), 0},
	{"TenFields", theTenFields(), new(tenFields), 6},
	{"Text1K", &echoText{strings.Repeat("x", 1<<10)}, new(echoText), 1},
	{"Data1K", &echoData{make([]byte, 1<<10)}, new(echoData), 1},
	{"Text64K", &echoText{strings.Repeat("x", 64<<10)}, new(echoText), 1},
	{"Data64K", &echoData{make([]byte, 64<<10)}, new(echoData), 1},
	{"Document", aDocument(), new(schema.Document), -1},
}

func BenchmarkCodecs(b *testing.B) {
	for _, m := range benchMessages {
		for _, c := range codecs {
			data, err := c.Append(nil, m.msg)
			if err != nil {
				b.Fatal(err)
			}
			b.Run(m.name+"/append/"+c.Name(), func(b *testing.B) {
				b.SetBytes(int64(len(data)))
				b.ReportAllocs()
				buf := make([]byte, 0, 2*len(data))
				for b.Loop() {
					if _, err := c.Append(buf, m.msg); err != nil {
						b.Fatal(err)
					}
				}
			})
			b.Run(m.name+"/decode/"+c.Name(), func(b *testing.B) {
				b.SetBytes(int64(len(data)))
				b.ReportAllocs()
				for b.Loop() {
					if err := c.Decode(data, m.out); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// A codec allocates what the decoded message is made of and nothing else, and
// to write a message nothing at all.
func TestAllocations(t *testing.T) {
	for _, m := range benchMessages {
		for _, c := range codecs {
			if c.Name() == "protobuf" || m.needs < 0 {
				continue
			}
			data, err := c.Append(nil, m.msg)
			if err != nil {
				t.Fatal(err)
			}
			buf := make([]byte, 0, 2*len(data))
			if n := testing.AllocsPerRun(100, func() { _, _ = c.Append(buf, m.msg) }); n > 0 {
				t.Errorf("%s: %s allocates %v times to write", m.name, c.Name(), n)
			}
			if n := testing.AllocsPerRun(100, func() { _ = c.Decode(data, m.out) }); n > m.needs {
				t.Errorf("%s: %s allocates %v times to read, the message is made of %v", m.name, c.Name(), n, m.needs)
			}
		}
	}
}
