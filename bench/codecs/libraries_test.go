package codecs

import (
	"context"
	"fmt"
	"reflect"
	"sync"

	apache "github.com/apache/thrift/lib/go/thrift"
	hamba "github.com/hamba/avro/v2"
	"github.com/hamba/avro/v2/soe"

	"github.com/everywire/everywire/bench/codecs/benchthrift"
	"github.com/everywire/everywire/schema"
	"github.com/everywire/everywire/schema/avsc"
)

// apacheOf is the message as Thrift's compiler has it.
func apacheOf(msg any) any {
	switch m := msg.(type) {
	case *Text:
		return &benchthrift.Text{Text: m.Text}
	case *Data:
		return &benchthrift.Data{Data: m.Data}
	case *Sum:
		return &benchthrift.Sum{Numbers: m.Numbers}
	case *Ten:
		return &benchthrift.Ten{
			ID: m.ID, Name: m.Name, Email: m.Email, Age: m.Age, Active: m.Active, Score: m.Score, Flags: int64(m.Flags), Tags: m.Tags,
			Parent: m.Parent, Location: &benchthrift.Point{X: m.Location.X, Y: m.Location.Y},
		}
	}
	panic(fmt.Sprintf("no message for %T", msg))
}

// An apacheEnd is a protocol of Apache's library and the buffer that it reads and
// writes. They are kept, as a program that cares for speed keeps them.
type apacheEnd struct {
	buffer   *apache.TMemoryBuffer
	protocol apache.TProtocol
}

func newBinary() any {
	b := apache.NewTMemoryBuffer()
	return &apacheEnd{b, apache.NewTBinaryProtocolConf(b, nil)}
}

func newCompact() any {
	b := apache.NewTMemoryBuffer()
	return &apacheEnd{b, apache.NewTCompactProtocolConf(b, nil)}
}

func appendApache(fresh func() any) func(buf []byte, msg any) ([]byte, error) {
	pool := sync.Pool{New: fresh}
	return func(buf []byte, msg any) ([]byte, error) {
		end := pool.Get().(*apacheEnd)
		defer pool.Put(end)
		end.buffer.Reset()
		err := msg.(apache.TStruct).Write(context.Background(), end.protocol)
		return append(buf, end.buffer.Bytes()...), err
	}
}

func decodeApache(fresh func() any) func(data []byte, msg any) error {
	pool := sync.Pool{New: fresh}
	return func(data []byte, msg any) error {
		end := pool.Get().(*apacheEnd)
		defer pool.Put(end)
		end.buffer.Reset()
		end.buffer.Write(data)
		return msg.(apache.TStruct).Read(context.Background(), end.protocol)
	}
}

var (
	hambaAPI    = hamba.Config{TagKey: "json"}.Freeze()
	hambaCodecs sync.Map // reflect.Type -> *soe.Codec
)

// hambaCodec is hamba/avro with the schema that our codec has for the message.
func hambaCodec(msg any) *soe.Codec {
	t := reflect.TypeOf(msg)
	if c, ok := hambaCodecs.Load(t); ok {
		return c.(*soe.Codec)
	}
	m, err := schema.For(msg)
	if err != nil {
		panic(err)
	}
	s, err := avsc.Of(m)
	if err != nil {
		panic(err)
	}
	c, err := soe.NewCodecWithAPI(hamba.MustParse(string(s.Text())), hambaAPI)
	if err != nil {
		panic(err)
	}
	hambaCodecs.Store(t, c)
	return c
}

func appendHamba(_ []byte, msg any) ([]byte, error) { return hambaCodec(msg).Encode(msg) }

func decodeHamba(data []byte, msg any) error { return hambaCodec(msg).Decode(data, msg) }
