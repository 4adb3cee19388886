package flatbuffers

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	google "github.com/google/flatbuffers/go"
	"github.com/google/go-cmp/cmp"

	"github.com/everywire/everywire/codec/flatbuffers/internal/wideflatbuffers"
	"github.com/everywire/everywire/internal/needs"
	"github.com/everywire/everywire/schema/schematest"
	"github.com/everywire/everywire/service/kv"
	"github.com/everywire/everywire/service/kv/kvflatbuffers"
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

// Code that flatc generated reads the messages of kv.
func TestGeneratedReadsKV(t *testing.T) {
	tag, ttl, then := `"7", *`, 90*time.Second+5, time.Unix(1750000000, 42).UTC()
	update := kvflatbuffers.GetRootAsUpdateRequest(encode(t, &kv.UpdateRequest{Key: []byte("key"), Value: []byte{0, 0xff}, IfMatch: &tag, IfVersion: new(int64), TTL: &ttl}), 0)
	if string(update.KeyBytes()) != "key" || !bytes.Equal(update.ValueBytes(), []byte{0, 0xff}) || string(update.IfMatch()) != tag ||
		update.IfVersion() == nil || *update.IfVersion() != 0 || update.Ttl(nil).Seconds() != 90 || update.Ttl(nil).Nanos() != 5 {
		t.Error("the request reads otherwise")
	}
	update = kvflatbuffers.GetRootAsUpdateRequest(encode(t, &kv.UpdateRequest{IfMatch: new(string)}), 0)
	if update.KeyLength() != 0 || update.IfMatch() == nil || update.IfVersion() != nil || update.Ttl(nil) != nil {
		t.Error("the empty request reads otherwise")
	}
	value := kvflatbuffers.GetRootAsRetrieveResponse(encode(t, &kv.RetrieveResponse{Value: make([]byte, 300), Version: 1 << 40, Expires: &then}), 0)
	if value.ValueLength() != 300 || value.Version() != 1<<40 || value.Expires(nil).Seconds() != 1750000000 || value.Expires(nil).Nanos() != 42 {
		t.Error("the reply reads otherwise")
	}
	event := kvflatbuffers.GetRootAsEvent(encode(t, &kv.Event{Kind: "create", Key: []byte("k")}), 0)
	if string(event.Kind()) != "create" || string(event.KeyBytes()) != "k" || event.ValueBytes() != nil || event.Version() != 0 {
		t.Error("the event reads otherwise")
	}
	scan := kvflatbuffers.GetRootAsScanRequest(encode(t, &kv.ScanRequest{Prefix: []byte("a"), Limit: -1, KeysOnly: true}), 0)
	if string(scan.PrefixBytes()) != "a" || scan.Limit() != -1 || !scan.KeysOnly() {
		t.Error("the scan reads otherwise")
	}
}

// We read what code that flatc generated writes.
func TestGeneratedWritesKV(t *testing.T) {
	b := google.NewBuilder(0)
	key, value, tag := b.CreateByteVector([]byte("key")), b.CreateByteVector([]byte{1, 2}), b.CreateString("*")
	kvflatbuffers.UpdateRequestStart(b)
	kvflatbuffers.UpdateRequestAddIfVersion(b, 0)
	kvflatbuffers.UpdateRequestAddKey(b, key)
	kvflatbuffers.UpdateRequestAddValue(b, value)
	kvflatbuffers.UpdateRequestAddIfMatch(b, tag)
	kvflatbuffers.UpdateRequestAddTtl(b, kvflatbuffers.CreateDuration(b, -1, -5))
	b.Finish(kvflatbuffers.UpdateRequestEnd(b))
	star, ttl := "*", -time.Second-5
	want := &kv.UpdateRequest{Key: []byte("key"), Value: []byte{1, 2}, IfMatch: &star, IfVersion: new(int64), TTL: &ttl}
	if diff := cmp.Diff(want, decode[kv.UpdateRequest](t, b.FinishedBytes()), schematest.Equal, cmp.AllowUnexported(kv.UpdateRequest{})); diff != "" {
		t.Error(diff)
	}
	b.Reset()
	kvflatbuffers.DeleteResponseStart(b)
	b.Finish(kvflatbuffers.DeleteResponseEnd(b))
	decode[kv.DeleteResponse](t, b.FinishedBytes())
}

// flatc reads our bytes into JSON and writes that again, each by the schema: so
// it finds every field in its place, and we find what it wrote.
func TestReferenceReadsAndWrites(t *testing.T) {
	program := needs.Program(t, "flatc", "apt-get install flatbuffers-compiler")
	dir := t.TempDir()
	file := filepath.Join(dir, "wide.bin")
	in := schematest.Full()
	if err := os.WriteFile(file, encode(t, in), 0o600); err != nil {
		t.Fatal(err)
	}
	flatc := func(args ...string) {
		t.Helper()
		args = append([]string{"-o", dir, "--root-type", "wide.Wide", "--raw-binary", "--strict-json"}, args...)
		if out, err := exec.Command(program, args...).CombinedOutput(); err != nil {
			t.Fatalf("flatc: %v\n%s", err, out)
		}
	}
	flatc("--json", "testdata/wide.fbs", "--", file)
	text, err := os.ReadFile(filepath.Join(dir, "wide.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"last": "last"`, `"u_long": 18446744073709551615`, `"text_p": ""`, `"real_p": 0.5`, `"other_name": "gr`, `"seconds": 1514862245`} {
		if !bytes.Contains(text, []byte(want)) {
			t.Errorf("flatc does not say %s:\n%.3000s", want, text)
		}
	}
	flatc("--binary", "testdata/wide.fbs", filepath.Join(dir, "wide.json"))
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(in, decode[schematest.Wide](t, data), schematest.Equal); diff != "" {
		t.Error(diff)
	}
}

// The generated code finds the entries of a map by their keys, which it takes
// to be sorted, and the values in tables.
func TestGeneratedReadsWide(t *testing.T) {
	in := schematest.Full()
	w := wideflatbuffers.GetRootAsWide(encode(t, in), 0)
	if w.FlagP() == nil || !*w.FlagP() || w.LongP() == nil || *w.LongP() != -1<<63 || w.Single() != 1.5 || *w.RealP() != 0.5 || string(w.Last()) != "last" {
		t.Error("scalars read otherwise")
	}
	var (
		blob    wideflatbuffers.Bytes
		part    wideflatbuffers.Part
		label   wideflatbuffers.PartLabelsEntry
		entry   wideflatbuffers.WideTextMapEntry
		instant wideflatbuffers.Timestamp
	)
	if w.BlobsLength() != 3 || !w.Blobs(&blob, 2) || !bytes.Equal(blob.ValueBytes(), []byte{2, 3}) {
		t.Error("a list of bytes reads otherwise")
	}
	if w.PartsLength() != 3 || !w.Parts(&part, 2) || part.PageSize() != 5 || !part.Labels(&label, 0) || string(label.Key()) != "" || string(label.Value()) != "empty" {
		t.Error("a list of tables reads otherwise")
	}
	if w.TextMapLength() != 2 || !w.TextMap(&entry, 0) || string(entry.Key()) != "a" || !w.TextMap(&entry, 1) || string(entry.Value()) != "v" {
		t.Error("a map reads otherwise")
	}
	if w.InstantsLength() != 2 || !w.Instants(&instant, 0) || instant.Seconds() != 1514862245 || instant.Nanos() != 678901234 {
		t.Error("a list of structs reads otherwise")
	}
	if w.Flags(8) != true || w.Longs(0) != 1<<62 || w.ULongs(0) != 1<<63 || w.Reals(0) != 0.125 || string(w.Texts(2)) != "a longer one" || string(w.Any()) != `{"a":[null,1,2.5]}` {
		t.Error("lists read otherwise")
	}
}

// We read what the generated code writes of the rarer forms.
func TestGeneratedWritesWide(t *testing.T) {
	b := google.NewBuilder(0)
	shared := b.CreateSharedString("twice")
	texts := b.StartVector(4, 2, 4)
	b.PrependUOffsetT(b.CreateSharedString("twice"))
	_ = texts
	b.PrependUOffsetT(shared)
	list := b.EndVector(2)
	wideflatbuffers.WideTextMapEntryStart(b)
	wideflatbuffers.WideTextMapEntryAddKey(b, shared)
	entry := wideflatbuffers.WideTextMapEntryEnd(b)
	wideflatbuffers.WideStartTextMapVector(b, 1)
	b.PrependUOffsetT(entry)
	entries := b.EndVector(1)
	wideflatbuffers.WideStartInstantsVector(b, 1)
	wideflatbuffers.CreateTimestamp(b, -1, 5)
	instants := b.EndVector(1)
	wideflatbuffers.WideStart(b)
	wideflatbuffers.WideAddTexts(b, list)
	wideflatbuffers.WideAddTextMap(b, entries)
	wideflatbuffers.WideAddInstants(b, instants)
	wideflatbuffers.WideAddRealP(b, 0)
	wideflatbuffers.WideAddLast(b, shared)
	b.Finish(wideflatbuffers.WideEnd(b))
	want := &schematest.Wide{
		Texts: []string{"twice", "twice"}, TextMap: map[string]string{"twice": ""}, Instants: []time.Time{time.Unix(-1, 5).UTC()},
		RealP: new(float64), Last: "twice",
	}
	if diff := cmp.Diff(want, decode[schematest.Wide](t, b.FinishedBytes()), schematest.Equal); diff != "" {
		t.Error(diff)
	}
}
