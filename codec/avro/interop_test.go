package avro_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	hamba "github.com/hamba/avro/v2"
	"github.com/hamba/avro/v2/soe"
	"pgregory.net/rapid"

	"github.com/everywire/everywire/codec/avro"
	"github.com/everywire/everywire/schema"
	"github.com/everywire/everywire/schema/avsc"
	"github.com/everywire/everywire/schema/schematest"
	"github.com/everywire/everywire/service/kv"
)

// theirs is the schema of a message, as hamba/avro reads it.
func theirs(t rapid.TB, msg any) hamba.Schema {
	t.Helper()
	m, err := schema.For(msg)
	if err != nil {
		t.Fatal(err)
	}
	own, err := avsc.Of(m)
	if err != nil {
		t.Fatal(err)
	}
	s, err := hamba.ParseBytesWithCache(own.Text(), "", &hamba.SchemaCache{})
	if err != nil {
		t.Fatalf("%v\n%s", err, own.Text())
	}
	return s
}

func unframe(t rapid.TB, data []byte) []byte {
	t.Helper()
	_, datum, err := soe.ParseHeader(data)
	if err != nil {
		t.Fatal(err)
	}
	return datum
}

// Messages of kv as a program has them that uses hamba/avro.
type (
	hambaDuration struct {
		Seconds int64 `avro:"seconds"`
		Nanos   int   `avro:"nanos"`
	}
	hambaCreate struct {
		Key   []byte         `avro:"key"`
		Value []byte         `avro:"value"`
		TTL   *hambaDuration `avro:"ttl"`
	}
	hambaUpdate struct {
		Key       []byte         `avro:"key"`
		Value     []byte         `avro:"value"`
		IfMatch   *string        `avro:"ifMatch"`
		IfVersion *int64         `avro:"ifVersion"`
		TTL       *hambaDuration `avro:"ttl"`
	}
	hambaScan struct {
		Prefix   []byte `avro:"prefix"`
		After    []byte `avro:"after"`
		Limit    int64  `avro:"limit"`
		KeysOnly bool   `avro:"keysOnly"`
	}
)

func TestKVMessages(t *testing.T) {
	text, number, ttl := `"7"`, int64(-7), 90*time.Second+5
	for _, c := range []struct {
		ours, other, fresh any
	}{
		{&kv.CreateRequest{Key: []byte("key"), Value: []byte{0, 0xff}, TTL: &ttl}, &hambaCreate{[]byte("key"), []byte{0, 0xff}, &hambaDuration{90, 5}}, new(hambaCreate)},
		{&kv.CreateRequest{Key: []byte{}, Value: []byte{}}, &hambaCreate{Key: []byte{}, Value: []byte{}}, new(hambaCreate)},
		{&kv.UpdateRequest{Key: []byte("k"), Value: []byte("v"), IfMatch: &text, IfVersion: &number}, &hambaUpdate{Key: []byte("k"), Value: []byte("v"), IfMatch: &text, IfVersion: &number}, new(hambaUpdate)},
		{&kv.ScanRequest{Prefix: []byte("a"), After: []byte{}, Limit: 300, KeysOnly: true}, &hambaScan{[]byte("a"), []byte{}, 300, true}, new(hambaScan)},
	} {
		other, err := soe.NewCodec(theirs(t, c.ours))
		if err != nil {
			t.Fatal(err)
		}
		want, err := other.Encode(c.other)
		if err != nil {
			t.Fatal(err)
		}
		got, err := avro.Codec{}.Append(nil, c.ours)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%T: ours is\n%x, %v, hamba's\n%x", c.ours, got, err, want)
		}
		if err := other.Decode(got, c.fresh); err != nil {
			t.Errorf("%T: hamba: %v", c.ours, err)
		} else if diff := cmp.Diff(c.other, c.fresh); diff != "" {
			t.Error(diff)
		}
		back := newLike(c.ours)
		if err := (avro.Codec{}).Decode(want, back); err != nil {
			t.Errorf("%T: %v", c.ours, err)
		}
		again, err := avro.Codec{}.Append(nil, back)
		if err != nil || !bytes.Equal(again, want) {
			t.Errorf("%T: read and written again it is\n%x, %v, want\n%x", c.ours, again, err, want)
		}
	}
}

// What we write hamba reads by the schema alone, and what it writes of that we
// read as the same message.
func TestWideMessage(t *testing.T) {
	s := theirs(t, new(schematest.Wide))
	frame, err := soe.NewCodec(s)
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		w := schematest.Draw(t, 2, 3)
		ours, err := avro.Codec{}.Append(nil, w)
		if err != nil {
			t.Fatal(err)
		}
		var direct schematest.Wide
		if err := (avro.Codec{}).Decode(ours, &direct); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(w, &direct, schematest.Equal); diff != "" {
			t.Fatal(diff)
		}
		var between any
		if err := hamba.Unmarshal(s, unframe(t, ours), &between); err != nil {
			t.Fatalf("%v\n%x", err, ours)
		}
		back, err := frame.Encode(between)
		if err != nil {
			t.Fatalf("%v\n%v", err, between)
		}
		var got schematest.Wide
		if err := (avro.Codec{}).Decode(back, &got); err != nil {
			t.Fatalf("%v\n%x", err, back)
		}
		if diff := cmp.Diff(w, &got, schematest.Equal); diff != "" {
			t.Fatal(diff)
		}
	})
}

// The fingerprints are those that another implementation computes.
func TestFingerprints(t *testing.T) {
	for _, msg := range []any{new(schematest.Wide), new(schematest.Part), new(schematest.Nothing), new(schema.Document), new(kv.Entry), new(kv.WatchRequest)} {
		data, err := avro.Codec{}.Append(nil, msg)
		if err != nil {
			t.Fatal(err)
		}
		want, err := soe.BuildHeader(theirs(t, msg))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.HasPrefix(data, want) {
			t.Errorf("%T: ours is %x, hamba's header %x", msg, data[:10], want)
		}
	}
}
