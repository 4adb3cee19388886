package schema

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
)

type everything struct {
	_         struct{}               `wire:"name=test.Everything"`
	Bool      bool                   `wire:"1"`
	I8        int8                   `wire:"2"`
	I64       int64                  `wire:"3" json:"big,string"`
	U16       uint16                 `wire:"4"`
	U64       uint64                 `wire:"5"`
	F32       float32                `wire:"6"`
	F64       float64                `wire:"7"`
	Text      string                 `wire:"8"`
	Bytes     []byte                 `wire:"9"`
	At        time.Time              `wire:"10"`
	For       time.Duration          `wire:"11"`
	Node      *node                  `wire:"12"`
	Status    *status.Status         `wire:"13"`
	Any       any                    `wire:"14"`
	Doc       Document               `wire:"15"`
	Maybe     *int32                 `wire:"16"`
	When      *time.Time             `wire:"17"`
	Numbers   []int64                `wire:"18"`
	Nodes     map[string]node        `wire:"19"`
	ByFlag    map[bool]time.Duration `wire:"20"`
	Other     otherPackage           `wire:"21"`
	HTTP2Host string                 `wire:"22"`
}

type node struct {
	_     struct{} `wire:"name=test.Node"`
	Left  *node    `wire:"1"`
	Trees []*tree  `wire:"2"`
}

type tree struct {
	_    struct{} `wire:"name=test.Tree"`
	Root *node    `wire:"1"`
}

type otherPackage struct {
	_    struct{} `wire:"name=other.sub.Thing"`
	Name string   `wire:"1"`
}

func mustOf[T any](t *testing.T) *Message {
	t.Helper()
	m, err := Of(reflect.TypeFor[T]())
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestDescriptorOfEveryKind(t *testing.T) {
	desc, err := mustOf[everything](t).Descriptor()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"bool": "bool", "i8": "int32", "big": "int64", "u16": "uint32", "u64": "uint64", "f32": "float", "f64": "double",
		"text": "string", "bytes": "bytes", "at": "google.protobuf.Timestamp", "for": "google.protobuf.Duration",
		"node": "test.Node", "status": "google.rpc.Status", "any": "google.protobuf.Value", "doc": "google.protobuf.Value",
		"maybe": "optional int32", "when": "google.protobuf.Timestamp", "numbers": "packed int64",
		"nodes": "map<string, test.Node>", "by_flag": "map<bool, google.protobuf.Duration>", "other": "other.sub.Thing",
		"http2_host": "string",
	}
	fields := desc.Fields()
	if fields.Len() != len(want) {
		t.Errorf("%d fields, want %d", fields.Len(), len(want))
	}
	for i := range fields.Len() {
		f := fields.Get(i)
		if got := describe(f); got != want[string(f.Name())] {
			t.Errorf("%s is %q, want %q", f.Name(), got, want[string(f.Name())])
		}
	}
	if got := fields.ByName("http2_host").JSONName(); got != "http2Host" {
		t.Errorf("json_name of http2_host is %s", got)
	}
	opts := fields.ByName("big").Options().(*descriptorpb.FieldOptions)
	if opts.GetJstype() != descriptorpb.FieldOptions_JS_STRING {
		t.Errorf("jstype of big is %v, want JS_STRING", opts.GetJstype())
	}
	if got := fields.ByName("nodes").Message().FullName(); got != "test.Everything.NodesEntry" {
		t.Errorf("the map entry is %s", got)
	}
	// Recursion among messages of one package.
	left := desc.Fields().ByName("node").Message().Fields().ByName("left").Message()
	if left != desc.Fields().ByName("node").Message() {
		t.Error("test.Node.left is not test.Node")
	}
	again, err := mustOf[everything](t).Descriptor()
	if err != nil || again != desc {
		t.Errorf("the descriptor is not cached: %v", err)
	}
}

// describe writes a field's type as a .proto file does.
func describe(f protoreflect.FieldDescriptor) string {
	kind := f.Kind().String()
	if f.Message() != nil {
		kind = string(f.Message().FullName())
	}
	switch {
	case f.IsMap():
		return "map<" + describe(f.MapKey()) + ", " + describe(f.MapValue()) + ">"
	case f.IsPacked():
		return "packed " + kind
	case f.IsList():
		return "repeated " + kind
	case f.HasOptionalKeyword():
		return "optional " + kind
	}
	return kind
}

func TestDescriptorOfGenerated(t *testing.T) {
	desc, err := mustOf[status.Status](t).Descriptor()
	if err != nil || desc != (&status.Status{}).ProtoReflect().Descriptor() {
		t.Errorf("got %v, %v", desc, err)
	}
	desc, err = mustOf[Document](t).Descriptor()
	if err != nil || desc.FullName() != "google.protobuf.Value" {
		t.Errorf("a Document is %v, %v", desc, err)
	}
}

func TestFiles(t *testing.T) {
	set, err := Files(
		ServiceDesc{Name: "test.Service", Methods: []MethodDesc{
			{Name: "Do", Input: mustOf[everything](t), Output: mustOf[Document](t), Options: &descriptorpb.MethodOptions{IdempotencyLevel: descriptorpb.MethodOptions_IDEMPOTENT.Enum()}},
			{Name: "Watch", Input: mustOf[node](t), Output: mustOf[status.Status](t), ServerStreaming: true},
			{Name: "Unknown"},
		}},
		ServiceDesc{Name: "Bare", Methods: []MethodDesc{{Name: "Do", Input: mustOf[tree](t), Output: mustOf[tree](t)}}},
	)
	if err != nil {
		t.Fatal(err)
	}
	paths := make([]string, 0, len(set.Derived))
	for _, f := range set.Derived {
		paths = append(paths, f.Path())
	}
	if got, want := strings.Join(paths, " "), "everywire/other/sub.proto everywire/test.proto everywire/_.proto"; got != want {
		t.Errorf("derived %s, want %s", got, want)
	}
	for _, path := range []string{"google/rpc/status.proto", "google/protobuf/any.proto", "google/protobuf/struct.proto"} {
		if _, err := set.Files.FindFileByPath(path); err != nil {
			t.Errorf("%s is not in the set: %v", path, err)
		}
	}
	d, err := set.Files.FindDescriptorByName("test.Service")
	if err != nil {
		t.Fatal(err)
	}
	methods := d.(protoreflect.ServiceDescriptor).Methods()
	if methods.Len() != 2 {
		t.Fatalf("%d methods, want 2", methods.Len())
	}
	do, watch := methods.ByName("Do"), methods.ByName("Watch")
	if do.Output().FullName() != "google.protobuf.Value" || do.IsStreamingServer() {
		t.Errorf("Do is %v", do)
	}
	if level := do.Options().(*descriptorpb.MethodOptions).GetIdempotencyLevel(); level != descriptorpb.MethodOptions_IDEMPOTENT {
		t.Errorf("Do is %v", level)
	}
	if watch.Input().FullName() != "test.Node" || !watch.IsStreamingServer() || watch.IsStreamingClient() {
		t.Errorf("Watch is %v", watch)
	}
	// What a reflection client does: files as messages, and back.
	for _, f := range set.Derived {
		if _, err := protodesc.NewFile(protodesc.ToFileDescriptorProto(f), set.Files); err != nil {
			t.Errorf("%s: %v", f.Path(), err)
		}
	}
}

type shadowStatus struct {
	_    struct{} `wire:"name=google.rpc.Status"`
	Code int32    `wire:"1"`
}

func TestFilesShadowGlobalNames(t *testing.T) {
	shadow := mustOf[shadowStatus](t)
	desc, err := shadow.Descriptor()
	if err != nil {
		t.Fatal(err)
	}
	if desc.Fields().Len() != 1 {
		t.Errorf("got the generated descriptor %v", desc)
	}
}

func TestFilesOfGeneratedService(t *testing.T) {
	health := grpc_health_v1.File_grpc_health_v1_health_proto.Services().ByName("Health")
	set, err := Files(ServiceDesc{Name: "grpc.health.v1.Health", Desc: health})
	if err != nil {
		t.Fatal(err)
	}
	if len(set.Derived) != 0 || set.Files.NumFiles() != 1 {
		t.Errorf("%d derived, %d files, want 0 and 1", len(set.Derived), set.Files.NumFiles())
	}
	if d, err := set.Files.FindDescriptorByName("grpc.health.v1.Health"); err != nil || d != health {
		t.Errorf("got %v, %v, want the generated descriptor", d, err)
	}
}

type twinA struct {
	_ struct{} `wire:"name=test.Twin"`
}

type twinB struct {
	_ struct{} `wire:"name=test.Twin"`
}

type cycleA struct {
	_ struct{} `wire:"name=cycle.a.A"`
	B *cycleB  `wire:"1"`
}

type cycleB struct {
	_ struct{} `wire:"name=cycle.b.B"`
	A *cycleA  `wire:"1"`
}

func TestFilesErrors(t *testing.T) {
	n := mustOf[node](t)
	tests := []struct {
		name string
		svc  ServiceDesc
		want []string
	}{
		{"two types of one name", ServiceDesc{Name: "test.S", Methods: []MethodDesc{{Name: "Do", Input: mustOf[twinA](t), Output: mustOf[twinB](t)}}},
			[]string{"schema.twinA", "schema.twinB", "test.Twin", "name="}},
		{"plain and generated of one name", ServiceDesc{Name: "test.S", Methods: []MethodDesc{{Name: "Do", Input: mustOf[shadowStatus](t), Output: mustOf[status.Status](t)}}},
			[]string{"schema.shadowStatus", "status.Status", "google.rpc.Status"}},
		{"packages in a cycle", ServiceDesc{Name: "test.S", Methods: []MethodDesc{{Name: "Do", Input: mustOf[cycleA](t), Output: n}}},
			[]string{"cycle.a", "cycle.b", "name="}},
		{"service name", ServiceDesc{Name: "a-b.C"}, []string{`"a-b.C"`}},
		{"method name", ServiceDesc{Name: "a.B", Methods: []MethodDesc{{Name: "do-it", Input: n, Output: n}}}, []string{`"do-it"`, "a.B"}},
		{"service named as a message", ServiceDesc{Name: "test.Node", Methods: []MethodDesc{{Name: "Do", Input: n, Output: n}}}, []string{"test.Node"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Files(tt.svc)
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%v\ndoes not name %s", err, want)
				}
			}
		})
	}
}
