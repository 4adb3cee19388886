package capnp

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"testing"
	"time"

	library "capnproto.org/go/capnp/v3"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/codec/capnp/internal/widecapnp"
	"github.com/everywire/everywire/describe"
	"github.com/everywire/everywire/internal/needs"
	"github.com/everywire/everywire/schema"
	"github.com/everywire/everywire/schema/schematest"
	"github.com/everywire/everywire/service/kv"
	"github.com/everywire/everywire/service/kv/kvcapnp"
)

func encode(t testing.TB, msg any) []byte {
	t.Helper()
	data, err := Codec{}.Append(nil, msg)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func decode[T any](t testing.TB, data []byte) *T {
	t.Helper()
	msg := new(T)
	if err := (Codec{}).Decode(data, msg); err != nil {
		t.Fatalf("%v\n%x", err, data)
	}
	return msg
}

// open has the library read a message.
func open(t testing.TB, data []byte) *library.Message {
	t.Helper()
	m, err := library.Unmarshal(data)
	if err != nil {
		t.Fatalf("%v\n%x", err, data)
	}
	return m
}

func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// Code that capnpc-go generated reads the messages of kv.
func TestGeneratedReadsKV(t *testing.T) {
	tag, ttl, then := `"7", *`, 90*time.Second+5, time.Unix(1750000000, 42).UTC()
	data, text, span := must[[]byte](t), must[string](t), must[kvcapnp.Duration](t)
	update := must[kvcapnp.UpdateRequest](t)(kvcapnp.ReadRootUpdateRequest(open(t, encode(t,
		&kv.UpdateRequest{Key: []byte("key"), Value: []byte{0, 0xff}, IfMatch: &tag, IfVersion: new(int64), TTL: &ttl}))))
	if string(data(update.Key())) != "key" || !bytes.Equal(data(update.Value()), []byte{0, 0xff}) || text(update.IfMatch()) != tag ||
		!update.HasIfVersion() || span(update.Ttl()).Seconds() != 90 || span(update.Ttl()).Nanos() != 5 {
		t.Error("the request reads otherwise")
	}
	update = must[kvcapnp.UpdateRequest](t)(kvcapnp.ReadRootUpdateRequest(open(t, encode(t, &kv.UpdateRequest{IfMatch: new(string)}))))
	if update.HasKey() || !update.HasIfMatch() || update.HasIfVersion() || update.HasTtl() {
		t.Error("the empty request reads otherwise")
	}
	value := must[kvcapnp.RetrieveResponse](t)(kvcapnp.ReadRootRetrieveResponse(open(t, encode(t, &kv.RetrieveResponse{Value: make([]byte, 300), Version: 1 << 40, Expires: &then}))))
	expires := must[kvcapnp.Timestamp](t)(value.Expires())
	if len(data(value.Value())) != 300 || value.Version() != 1<<40 || expires.Seconds() != 1750000000 || expires.Nanos() != 42 {
		t.Error("the reply reads otherwise")
	}
	scan := must[kvcapnp.ScanRequest](t)(kvcapnp.ReadRootScanRequest(open(t, encode(t, &kv.ScanRequest{Prefix: []byte("a"), Limit: -1, KeysOnly: true}))))
	if string(data(scan.Prefix())) != "a" || scan.Limit() != -1 || !scan.KeysOnly() {
		t.Error("the scan reads otherwise")
	}
}

// build has the library write a message, in one segment or in many.
func build(t testing.TB, many bool, fill func(*library.Segment) error) []byte {
	t.Helper()
	arena := library.SingleSegment(nil)
	if many {
		arena = library.MultiSegment(nil)
	}
	m, s, err := library.NewMessage(arena)
	if err == nil {
		err = fill(s)
	}
	if err != nil {
		t.Fatal(err)
	}
	data, err := m.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// We read what code that capnpc-go generated writes, also with far pointers.
func TestGeneratedWritesKV(t *testing.T) {
	big := bytes.Repeat([]byte("v"), 20000)
	for _, many := range []bool{false, true} {
		data := build(t, many, func(s *library.Segment) error {
			r, err := kvcapnp.NewRootUpdateRequest(s)
			if err != nil {
				return err
			}
			ttl, err := r.NewTtl()
			if err != nil {
				return err
			}
			ttl.SetSeconds(-1)
			ttl.SetNanos(-5)
			if _, err := r.NewIfVersion(); err != nil {
				return err
			}
			if err := r.SetKey([]byte("key")); err != nil {
				return err
			}
			if err := r.SetValue(big); err != nil {
				return err
			}
			return r.SetIfMatch("*")
		})
		if segments := int(data[0]) + 1; many != (segments > 1) {
			t.Errorf("the library wrote %d segments", segments)
		}
		star, ttl := "*", -time.Second-5
		want := &kv.UpdateRequest{Key: []byte("key"), Value: big, IfMatch: &star, IfVersion: new(int64), TTL: &ttl}
		if diff := cmp.Diff(want, decode[kv.UpdateRequest](t, data), schematest.Equal, cmp.AllowUnexported(kv.UpdateRequest{})); diff != "" {
			t.Error(diff)
		}
	}
	decode[kv.DeleteResponse](t, build(t, false, func(s *library.Segment) error {
		_, err := kvcapnp.NewRootDeleteResponse(s)
		return err
	}))
}

// The generated code reads lists, maps and nested messages.
func TestGeneratedReadsWide(t *testing.T) {
	w := must[widecapnp.Wide](t)(widecapnp.ReadRootWide(open(t, encode(t, schematest.Full()))))
	if w.Tiny() != -128 || w.Long() != -1<<63 || w.Single() != 1.5 || w.Real() != -0.25 || w.ULong() != 1<<64-1 ||
		must[widecapnp.OptionalFloat64](t)(w.RealP()).Value() != 0.5 || must[string](t)(w.Last()) != "last" || !w.HasTextP() || !w.HasNothing() {
		t.Error("single values read otherwise")
	}
	flags, blobs := must[library.BitList](t)(w.Flags()), must[library.DataList](t)(w.Blobs())
	if flags.Len() != 9 || !flags.At(8) || flags.At(1) || blobs.Len() != 3 || !bytes.Equal(must[[]byte](t)(blobs.At(2)), []byte{2, 3}) {
		t.Error("lists read otherwise")
	}
	parts := must[widecapnp.Part_List](t)(w.Parts())
	if parts.Len() != 3 || parts.At(2).PageSize() != 5 || must[string](t)(must[widecapnp.Part_LabelsEntry_List](t)(parts.At(2).Labels()).At(1).Key()) != "b" {
		t.Error("a list of structs reads otherwise")
	}
	texts := must[widecapnp.Wide_TextMapEntry_List](t)(w.TextMap())
	if texts.Len() != 2 || must[string](t)(texts.At(0).Key()) != "a" || must[string](t)(texts.At(1).Value()) != "v" {
		t.Error("a map reads otherwise")
	}
	if n := must[widecapnp.Nothing_List](t)(w.Nothings()).Len(); n != 3 {
		t.Errorf("%d structs without fields", n)
	}
}

func capnpTool(t testing.TB, stdin []byte, args ...string) []byte {
	t.Helper()
	c := exec.Command(needs.Program(t, "capnp", "apt-get install capnproto"), args...)
	c.Stdin = bytes.NewReader(stdin)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		t.Fatalf("capnp %s: %v\n%s", strings.Join(args, " "), err, stderr.Bytes())
	}
	return out
}

// The reference implementation reads our bytes into text and writes that again,
// each by the schema: so it finds every field in its place, and we find what it
// wrote.
func TestReferenceReadsAndWrites(t *testing.T) {
	in := schematest.Full()
	text := capnpTool(t, encode(t, in), "decode", "testdata/wide.capnp", "Wide")
	for _, want := range []string{`last = "last"`, `uLong = 18446744073709551615`, `textP = ""`, `realP = (value = 0.5)`, `otherName = "gr`, `seconds = 1514862245`} {
		if !bytes.Contains(text, []byte(want)) {
			t.Errorf("capnp does not say %s:\n%.3000s", want, text)
		}
	}
	data := capnpTool(t, text, "encode", "testdata/wide.capnp", "Wide")
	if diff := cmp.Diff(in, decode[schematest.Wide](t, data), schematest.Equal); diff != "" {
		t.Error(diff)
	}
}

// The capnp compiler lays structs out as we do, whatever fields they have. It
// says so when it prints a schema.
func TestLayoutIsTheCompilers(t *testing.T) {
	types := []reflect.Type{
		reflect.TypeFor[bool](), reflect.TypeFor[int32](), reflect.TypeFor[uint64](), reflect.TypeFor[float32](), reflect.TypeFor[float64](),
		reflect.TypeFor[string](), reflect.TypeFor[[]int64](), reflect.TypeFor[*int32](), reflect.TypeFor[time.Duration](), reflect.TypeFor[map[string]bool](),
	}
	for seed := range 8 {
		kinds := rapid.SliceOfN(rapid.IntRange(0, len(types)-1), 1, 60).Example(seed)
		fields := []reflect.StructField{{Name: "_", PkgPath: "a", Type: reflect.TypeFor[struct{}](), Tag: `wire:"name=a.Drawn"`}}
		number := 0
		for i, k := range kinds {
			number += 1 + i%7/6 // with gaps
			fields = append(fields, reflect.StructField{
				Name: fmt.Sprintf("F%d", i), Type: types[k], Tag: reflect.StructTag(fmt.Sprintf(`wire:"%d"`, number)),
			})
		}
		m, err := schema.Of(reflect.StructOf(fields))
		if err != nil {
			t.Fatal(err)
		}
		p, err := plans.Of(m, compile)
		if err != nil {
			t.Fatal(err)
		}
		text, err := describe.CapnProto([]*everywire.Method{{Service: "a.B", Name: "C", Input: m, Output: m}}, describe.Options{})
		if err != nil {
			t.Fatal(err)
		}
		file := t.TempDir() + "/layout.capnp"
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		printed := string(capnpTool(t, nil, "compile", "-ocapnp", file))
		_, printed, _ = strings.Cut(printed, "struct Drawn ")
		if want := fmt.Sprintf("# %d bytes, %d ptrs", 8*p.data, p.pointers); !strings.Contains(printed, want) {
			t.Errorf("no struct of %s:\n%s", want, printed)
		}
		for i, f := range p.fields {
			want := fmt.Sprintf("# bits[%d, %d)", f.place, f.place+f.bits)
			if f.pointer {
				want = fmt.Sprintf("# ptr[%d]", f.place)
			}
			_, line, _ := strings.Cut(printed, fmt.Sprintf("\n  f%d @%d ", i, m.Fields[i].Number-1))
			line, _, _ = strings.Cut(line, "\n")
			if !strings.HasSuffix(line, want) {
				t.Errorf("f%d is %s and should be %s", i, line, want)
			}
		}
	}
}
