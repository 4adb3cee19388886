package jsonrpc

import (
	"strings"
	"testing"

	"github.com/everywire/everywire"
)

// A text like those of web APIs: short strings, some numbers, shallow.
var benchText = []byte(`{"jsonrpc":"2.0","method":"t.Echo/Any","params":[[` + strings.Repeat(
	`{"id":123456,"name":"somebody or other","url":"https://example.org/users/somebody","site_admin":false,"score":12.5},`, 100) + `null]],"id":1}`)

func BenchmarkFramer(b *testing.B) {
	b.SetBytes(int64(len(benchText)))
	var f lineFramer
	for b.Loop() {
		if _, to, err := f.Next(benchText); to == 0 || err != nil {
			b.Fatal(to, err)
		}
	}
}

func BenchmarkParse(b *testing.B) {
	b.SetBytes(int64(len(benchText)))
	var tx text
	for b.Loop() {
		if err := tx.parse(benchText, grammar{maxBatch: 1000}); err != nil {
			b.Fatal(err)
		}
	}
}

// A small request from the stream: framed and parsed, in the quick way and, as
// it is for peers that write in another order, in the other.
func BenchmarkSmallRequest(b *testing.B) {
	for name, line := range map[string]string{"common": sumRequestLine, "other": `{"id":1,"method":"sum","params":[20,21],"jsonrpc":"2.0"}`} {
		b.Run(name, func(b *testing.B) {
			frame := []byte(line + "\n")
			s := &serverSession{service: &service{grammar: grammar{maxBatch: 10}}}
			s.line.quick = s.readAhead
			var tx text
			b.ReportAllocs()
			for b.Loop() {
				from, to, err := s.line.Next(frame)
				if err != nil || s.parse(&tx, frame[from:to]) != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkSmallResponse(b *testing.B) {
	frame := []byte(`{"jsonrpc":"2.0","result":41,"id":1}`)
	var r response
	b.ReportAllocs()
	for b.Loop() {
		if err := r.parse(frame); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSum(b *testing.B) {
	for _, tr := range transports {
		b.Run(tr.name, func(b *testing.B) {
			f := newFixture()
			conn := dial(b, tr.conn, clientConfig(serve(b, tr.server, serverConfig(f.reg, everywire.Limits{})), f.reg))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := everywire.Call[sumReply](b.Context(), conn, "arith.Arith/Sum", &sumRequest{[]int64{20, 21}}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
