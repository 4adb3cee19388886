package codecs

import (
	"fmt"
	"sync"

	"capnproto.org/go/capnp/v3"
	flatbuffers "github.com/google/flatbuffers/go"

	"github.com/everywire/everywire/bench/codecs/benchcapnp"
	"github.com/everywire/everywire/bench/codecs/benchflatbuffers"
)

// FlatBuffers and Cap'n Proto need no decoding for a program that reads fields
// out of the bytes. These arms are what a program does that has structs: each
// field is taken from one, and put into one.

var builders = sync.Pool{New: func() any { return flatbuffers.NewBuilder(1024) }}

func appendGoogle(buf []byte, msg any) ([]byte, error) {
	b := builders.Get().(*flatbuffers.Builder)
	defer builders.Put(b)
	b.Reset()
	switch m := msg.(type) {
	case *Text:
		text := b.CreateString(m.Text)
		benchflatbuffers.TextStart(b)
		benchflatbuffers.TextAddText(b, text)
		b.Finish(benchflatbuffers.TextEnd(b))
	case *Data:
		data := b.CreateByteVector(m.Data)
		benchflatbuffers.DataStart(b)
		benchflatbuffers.DataAddData(b, data)
		b.Finish(benchflatbuffers.DataEnd(b))
	case *Sum:
		benchflatbuffers.SumStartNumbersVector(b, len(m.Numbers))
		for i := len(m.Numbers) - 1; i >= 0; i-- {
			b.PrependInt64(m.Numbers[i])
		}
		numbers := b.EndVector(len(m.Numbers))
		benchflatbuffers.SumStart(b)
		benchflatbuffers.SumAddNumbers(b, numbers)
		b.Finish(benchflatbuffers.SumEnd(b))
	case *Ten:
		appendTen(b, m)
	default:
		return buf, fmt.Errorf("no message for %T", msg)
	}
	return append(buf, b.FinishedBytes()...), nil
}

func appendTen(b *flatbuffers.Builder, m *Ten) {
	name, email := b.CreateString(m.Name), b.CreateString(m.Email)
	tags := make([]flatbuffers.UOffsetT, len(m.Tags))
	for i, tag := range m.Tags {
		tags[i] = b.CreateString(tag)
	}
	list := b.CreateVectorOfTables(tags)
	benchflatbuffers.PointStart(b)
	benchflatbuffers.PointAddX(b, m.Location.X)
	benchflatbuffers.PointAddY(b, m.Location.Y)
	location := benchflatbuffers.PointEnd(b)
	benchflatbuffers.TenStart(b)
	benchflatbuffers.TenAddId(b, m.ID)
	benchflatbuffers.TenAddScore(b, m.Score)
	if m.Parent != nil {
		benchflatbuffers.TenAddParent(b, *m.Parent)
	}
	benchflatbuffers.TenAddName(b, name)
	benchflatbuffers.TenAddEmail(b, email)
	benchflatbuffers.TenAddAge(b, m.Age)
	benchflatbuffers.TenAddFlags(b, m.Flags)
	benchflatbuffers.TenAddTags(b, list)
	benchflatbuffers.TenAddLocation(b, location)
	benchflatbuffers.TenAddActive(b, m.Active)
	b.Finish(benchflatbuffers.TenEnd(b))
}

func decodeGoogle(data []byte, msg any) error {
	switch m := msg.(type) {
	case *Text:
		m.Text = string(benchflatbuffers.GetRootAsText(data, 0).Text())
	case *Data:
		m.Data = append([]byte(nil), benchflatbuffers.GetRootAsData(data, 0).DataBytes()...)
	case *Sum:
		sum := benchflatbuffers.GetRootAsSum(data, 0)
		m.Numbers = make([]int64, sum.NumbersLength())
		for i := range m.Numbers {
			m.Numbers[i] = sum.Numbers(i)
		}
	case *Ten:
		ten := benchflatbuffers.GetRootAsTen(data, 0)
		location := ten.Location(nil)
		*m = Ten{
			ID: ten.Id(), Name: string(ten.Name()), Email: string(ten.Email()), Age: ten.Age(), Active: ten.Active(), Score: ten.Score(), Flags: ten.Flags(),
			Tags: make([]string, ten.TagsLength()), Parent: ten.Parent(), Location: Point{location.X(), location.Y()},
		}
		for i := range m.Tags {
			m.Tags[i] = string(ten.Tags(i))
		}
	default:
		return fmt.Errorf("no message for %T", msg)
	}
	return nil
}

func appendCapnp(buf []byte, msg any) ([]byte, error) {
	m, s, err := capnp.NewMessage(capnp.SingleSegment(nil))
	if err != nil {
		return buf, err
	}
	defer m.Release()
	if err := fillCapnp(s, msg); err != nil {
		return buf, err
	}
	data, err := m.Marshal()
	return append(buf, data...), err
}

func fillCapnp(s *capnp.Segment, msg any) error {
	switch m := msg.(type) {
	case *Text:
		text, err := benchcapnp.NewRootTextMessage(s)
		if err != nil {
			return err
		}
		return text.SetText(m.Text)
	case *Data:
		data, err := benchcapnp.NewRootDataMessage(s)
		if err != nil {
			return err
		}
		return data.SetData(m.Data)
	case *Sum:
		sum, err := benchcapnp.NewRootSum(s)
		if err != nil {
			return err
		}
		list, err := sum.NewNumbers(int32(len(m.Numbers)))
		if err != nil {
			return err
		}
		for i, n := range m.Numbers {
			list.Set(i, n)
		}
		return nil
	case *Ten:
		return fillTen(s, m)
	}
	return fmt.Errorf("no message for %T", msg)
}

func fillTen(s *capnp.Segment, m *Ten) error {
	ten, err := benchcapnp.NewRootTen(s)
	if err != nil {
		return err
	}
	ten.SetId(m.ID)
	ten.SetAge(m.Age)
	ten.SetActive(m.Active)
	ten.SetScore(m.Score)
	ten.SetFlags(m.Flags)
	if err := ten.SetName(m.Name); err != nil {
		return err
	}
	if err := ten.SetEmail(m.Email); err != nil {
		return err
	}
	tags, err := ten.NewTags(int32(len(m.Tags)))
	if err != nil {
		return err
	}
	for i, tag := range m.Tags {
		if err := tags.Set(i, tag); err != nil {
			return err
		}
	}
	if m.Parent != nil {
		parent, err := ten.NewParent()
		if err != nil {
			return err
		}
		parent.SetValue(*m.Parent)
	}
	location, err := ten.NewLocation()
	if err != nil {
		return err
	}
	location.SetX(m.Location.X)
	location.SetY(m.Location.Y)
	return nil
}

func decodeCapnp(data []byte, msg any) error {
	c, err := capnp.Unmarshal(data)
	if err != nil {
		return err
	}
	defer c.Release()
	switch m := msg.(type) {
	case *Text:
		text, err := benchcapnp.ReadRootTextMessage(c)
		if err != nil {
			return err
		}
		m.Text, err = text.Text()
		return err
	case *Data:
		data, err := benchcapnp.ReadRootDataMessage(c)
		if err != nil {
			return err
		}
		b, err := data.Data()
		m.Data = append([]byte(nil), b...)
		return err
	case *Sum:
		sum, err := benchcapnp.ReadRootSum(c)
		if err != nil {
			return err
		}
		list, err := sum.Numbers()
		if err != nil {
			return err
		}
		m.Numbers = make([]int64, list.Len())
		for i := range m.Numbers {
			m.Numbers[i] = list.At(i)
		}
		return nil
	case *Ten:
		return readTen(c, m)
	}
	return fmt.Errorf("no message for %T", msg)
}

func readTen(c *capnp.Message, m *Ten) error {
	ten, err := benchcapnp.ReadRootTen(c)
	if err != nil {
		return err
	}
	m.ID, m.Age, m.Active, m.Score, m.Flags = ten.Id(), ten.Age(), ten.Active(), ten.Score(), ten.Flags()
	if m.Name, err = ten.Name(); err != nil {
		return err
	}
	if m.Email, err = ten.Email(); err != nil {
		return err
	}
	tags, err := ten.Tags()
	if err != nil {
		return err
	}
	m.Tags = make([]string, tags.Len())
	for i := range m.Tags {
		if m.Tags[i], err = tags.At(i); err != nil {
			return err
		}
	}
	if ten.HasParent() {
		parent, err := ten.Parent()
		if err != nil {
			return err
		}
		value := parent.Value()
		m.Parent = &value
	}
	location, err := ten.Location()
	if err != nil {
		return err
	}
	m.Location = Point{location.X(), location.Y()}
	return nil
}
