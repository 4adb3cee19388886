package raw

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/everywire/everywire/schema"
)

type (
	blob struct {
		Data []byte `wire:"3"`
	}
	line struct {
		Text string `wire:"1"`
	}
	named string
	label struct {
		Name named `wire:"1"`
	}
	none struct{}
	// both has two fields, and a form of its own, which counts.
	both struct {
		A uint8  `wire:"1"`
		B uint16 `wire:"2"`
	}
	// marshaler has the older of the two interfaces.
	marshaler struct {
		A uint8 `wire:"1"`
	}
	two struct {
		A, B []byte `wire:"-"`
		C    []byte `wire:"1"`
		D    []byte `wire:"2"`
	}
	list struct {
		Data [][]byte `wire:"1"`
	}
	table struct {
		Data map[string][]byte `wire:"1"`
	}
	number struct {
		N int64 `wire:"1"`
	}
	optional struct {
		Text *string `wire:"1"`
	}
	text struct {
		Addr netip.Addr `wire:"1"`
	}
	nested struct {
		Inner *blob `wire:"1"`
	}
	later struct {
		At time.Time `wire:"1"`
	}
	wrong struct {
		N int
	}
)

func (b *both) AppendBinary(dst []byte) ([]byte, error) {
	if b.A == 0 {
		return append(dst, "half"...), errors.New("no A")
	}
	return binary.BigEndian.AppendUint16(append(dst, b.A), b.B), nil
}

func (b *both) UnmarshalBinary(data []byte) error {
	if len(data) != 3 {
		return errors.New("want three bytes")
	}
	b.A, b.B = b.A+data[0], b.B+binary.BigEndian.Uint16(data[1:])
	return nil
}

func (m marshaler) MarshalBinary() ([]byte, error) { return []byte{m.A}, nil }

func (m *marshaler) UnmarshalBinary(data []byte) error {
	m.A = data[0]
	return nil
}

func TestForms(t *testing.T) {
	for _, tc := range []struct {
		msg  any
		want string
	}{
		{&blob{[]byte("\x00\xff")}, "\x00\xff"},
		{&blob{}, ""},
		{&line{"é"}, "é"},
		{&line{}, ""},
		{&label{"n"}, "n"},
		{&none{}, ""},
		{&both{1, 2}, "\x01\x00\x02"},
		{&marshaler{7}, "\x07"},
		{&emptypb.Empty{}, ""},
		{wrapperspb.Bytes([]byte("\xfe")), "\xfe"},
		{wrapperspb.String("s"), "s"},
	} {
		data, err := Codec{}.Append([]byte("before"), tc.msg)
		if err != nil || string(data) != "before"+tc.want {
			t.Errorf("%T: %q, %v", tc.msg, data, err)
			continue
		}
		// What was there before is gone.
		back := reflect.New(reflect.TypeOf(tc.msg).Elem())
		if f := back.Elem(); f.NumField() > 0 && f.Field(0).CanSet() {
			switch f := f.Field(0); f.Kind() {
			case reflect.String:
				f.SetString("old")
			case reflect.Uint8:
				f.SetUint(9)
			case reflect.Slice:
				f.SetBytes([]byte("old"))
			}
		}
		body := []byte(tc.want)
		if err := (Codec{}).Decode(body, back.Interface()); err != nil {
			t.Errorf("%T: %v", tc.msg, err)
		}
		clear(body) // it is not kept
		if m, ok := tc.msg.(proto.Message); ok {
			if !proto.Equal(m, back.Interface().(proto.Message)) {
				t.Errorf("%T: got %v", m, back)
			}
		} else if !reflect.DeepEqual(back.Interface(), tc.msg) {
			t.Errorf("%T: got %+v", tc.msg, back.Elem())
		}
		m, err := schema.For(tc.msg)
		if err != nil {
			t.Fatal(err)
		}
		if err := (Codec{}).Carries(m); err != nil {
			t.Error(err)
		}
	}
}

// What has no form is refused by name, by whichever way it comes.
func TestRefused(t *testing.T) {
	for want, msg := range map[string]any{
		"raw: raw.two has no form: it has 2 fields, and raw bytes are one":                      &two{},
		"raw: raw.list has no form: its field data is neither a string nor bytes":               &list{},
		"raw: raw.table has no form: its field data is neither a string nor bytes":              &table{},
		"raw: raw.number has no form: its field n is neither a string nor bytes":                &number{},
		"raw: raw.nested has no form: its field inner is neither a string nor bytes":            &nested{},
		"raw: raw.later has no form: its field at is neither a string nor bytes":                &later{},
		"raw: raw.optional has no form: text may be absent, which bytes cannot say":             &optional{},
		"raw: raw.text has no form: addr is a string by its MarshalText only":                   &text{},
		"raw: schema.Document has no form: it is a document":                                    &schema.Document{},
		"raw: wrapperspb.Int32Value has no form: its field value is neither a string nor bytes": &wrapperspb.Int32Value{},
		"raw: structpb.ListValue has no form: its field values is neither a string nor bytes":   &structpb.ListValue{},
		"raw: structpb.Value has no form: it has 6 fields, and raw bytes are one":               &structpb.Value{},
	} {
		dst, err := Codec{}.Append([]byte("kept"), msg)
		if err == nil || err.Error() != want || string(dst) != "kept" {
			t.Errorf("%T: %q, %v", msg, dst, err)
		}
		if err := (Codec{}).Decode([]byte("x"), msg); err == nil || err.Error() != want {
			t.Errorf("%T: decoding: %v", msg, err)
		}
		m, err := schema.For(msg)
		if err != nil {
			t.Fatal(err)
		}
		if err := (Codec{}).Carries(m); err == nil || err.Error() != want {
			t.Errorf("%T: %v", msg, err)
		}
	}
	for want, msg := range map[string]any{
		"a raw.blob is no message":      blob{},
		"a <nil> is no message":         nil,
		"a nil *raw.blob is no message": (*blob)(nil),
		"has no number":                 &wrong{},
	} {
		if _, err := (Codec{}).Append(nil, msg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%T: %v", msg, err)
		}
		if err := (Codec{}).Decode(nil, msg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%T: %v", msg, err)
		}
	}
}

// Bytes that are no message of the type.
func TestMalformed(t *testing.T) {
	for want, tc := range map[string]struct {
		data string
		msg  any
	}{
		"raw: raw.none: 1 bytes for a message without fields":         {"x", &none{}},
		"raw: emptypb.Empty: 2 bytes for a message without fields":    {"xy", &emptypb.Empty{}},
		"raw: raw.line: text: the string is not UTF-8":                {"\xff", &line{}},
		"raw: wrapperspb.StringValue: value: the string is not UTF-8": {"\xff", &wrapperspb.StringValue{}},
		"raw: raw.both: want three bytes":                             {"\xff", &both{}},
	} {
		if err := (Codec{}).Decode([]byte(tc.data), tc.msg); err == nil || err.Error() != want {
			t.Errorf("%q into %T: %v", tc.data, tc.msg, err)
		}
	}
	for want, msg := range map[string]any{
		"raw: raw.line: text: the string is not UTF-8": &line{"\xff"},
		"raw: raw.both: no A":                          &both{},
	} {
		if dst, err := (Codec{}).Append([]byte("kept"), msg); err == nil || err.Error() != want || string(dst) != "kept" {
			t.Errorf("%T: %q, %v", msg, dst, err)
		}
	}
}
