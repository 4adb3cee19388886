package describe_test

import (
	"context"
	"encoding/json"
	"math"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/apipb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"google.golang.org/protobuf/types/known/typepb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/everywire/everywire"
	codec "github.com/everywire/everywire/codec/json"
	"github.com/everywire/everywire/describe"
)

type sumRequest struct {
	Numbers []int64 `wire:"1"`
}

type sumReply struct {
	Sum int64 `wire:"1"`
}

type pair struct {
	Minuend    int64 `wire:"1"`
	Subtrahend int64 `wire:"2"`
}

// everything has a field of every row of docs/spec/types.md.
type everything struct {
	Bool     bool                   `wire:"1"`
	I8       int8                   `wire:"2"`
	I16      int16                  `wire:"3"`
	I32      int32                  `wire:"4"`
	I64      int64                  `wire:"5"`
	U8       uint8                  `wire:"6"`
	U32      uint32                 `wire:"7"`
	U64      uint64                 `wire:"8"`
	ID       uint64                 `wire:"9" json:",string"`
	F32      float32                `wire:"11"`
	F64      float64                `wire:"12"`
	Text     string                 `wire:"13"`
	Addr     netip.Addr             `wire:"14"`
	Data     []byte                 `wire:"15"`
	Time     time.Time              `wire:"16"`
	Duration time.Duration          `wire:"17"`
	Note     *string                `wire:"18"`
	Self     *everything            `wire:"19"`
	Pairs    []pair                 `wire:"20"`
	Byname   map[string]pair        `wire:"21"`
	Bynumber map[int32][]byte       `wire:"22"`
	Byflag   map[bool]string        `wire:"23"`
	Bycount  map[uint64]float64     `wire:"24"`
	Any      any                    `wire:"25"`
	Doc      everywire.Document     `wire:"26"`
	Stamp    *timestamppb.Timestamp `wire:"27"`
	Type     *typepb.Type           `wire:"28"`
}

func handle[In, Out any](reg *everywire.Registry, name string, opts ...everywire.MethodOption) {
	everywire.Handle(reg, name, func(context.Context, *In) (*Out, error) { return new(Out), nil }, opts...)
}

func form(name string, p everywire.ParamsForm, field, result string) everywire.MethodOption {
	return everywire.WithJSONRPC(everywire.JSONRPCForm{Name: name, Params: p, Field: field, Result: result})
}

func document(t *testing.T, reg *everywire.Registry, o describe.Options) map[string]any {
	t.Helper()
	text, err := describe.OpenRPC(reg.Methods(), o)
	if err != nil {
		t.Fatal(err)
	}
	return checkOpenRPC(t, text)
}

// TestForms compares the whole document of methods in every form.
func TestForms(t *testing.T) {
	reg := everywire.NewRegistry()
	handle[sumRequest, sumReply](reg, "arith.Arith/Sum", form("sum", everywire.ParamsList, "numbers", "sum"), everywire.WithIdempotency(everywire.NoSideEffects))
	handle[pair, sumReply](reg, "arith.Arith/Subtract", form("subtract", everywire.ParamsInOrder, "", ""))
	handle[sumReply, pair](reg, "arith.Arith/Scalar", form("Arith.Scalar", everywire.ParamsScalar, "sum", ""))
	handle[pair, pair](reg, "arith.Arith/Object", form("object", everywire.ParamsObject, "", ""), everywire.WithIdempotency(everywire.Idempotent))
	handle[pair, pair](reg, "rpc.Reserved/Named", form("named", everywire.ParamsNamed, "", ""))
	handle[everywire.Document, structpb.Value](reg, "doc.Doc/Any")
	handle[structpb.Struct, anypb.Any](reg, "doc.Doc/Members")
	text, err := describe.OpenRPC(reg.Methods(), describe.Options{Title: "Test", Version: "1"})
	if err != nil {
		t.Fatal(err)
	}
	checkOpenRPC(t, text)
	const golden = "testdata/forms.json"
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	var compact json.RawMessage
	if err := json.Unmarshal(want, &compact); err != nil {
		t.Fatal(err)
	}
	if got, want := parse(t, text), parse(t, compact); !equal(got, want) {
		t.Errorf("the document is not that of %s:\n%s", golden, text)
	}
}

func equal(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}

// TestSchemasFitWhatIsWritten: whatever the codec writes for a message is what
// the document says of it.
func TestSchemasFitWhatIsWritten(t *testing.T) {
	note := "note"
	full := &everything{
		Bool: true, I8: -128, I16: 32767, I32: math.MinInt32, I64: math.MaxInt64, U8: 255, U32: math.MaxUint32, U64: math.MaxUint64, ID: math.MaxUint64,
		F32: 1.5, F64: math.Inf(-1), Text: "x", Addr: netip.MustParseAddr("::1"), Data: []byte{0, 255}, Time: time.Unix(1, 5),
		Duration: -time.Millisecond, Note: &note, Self: &everything{F64: math.NaN()}, Pairs: []pair{{1, 2}}, Byname: map[string]pair{"a b": {}},
		Bynumber: map[int32][]byte{-1: {128}}, Byflag: map[bool]string{true: ""}, Bycount: map[uint64]float64{math.MaxUint64: 1}, Any: []any{nil},
		Doc: everywire.Document{Value: "x"}, Stamp: timestamppb.Now(), Type: &typepb.Type{Syntax: 1, Fields: []*typepb.Field{{Kind: 3}, {Kind: 99}}},
	}
	api := &apipb.Api{Name: "x", Options: []*typepb.Option{{Value: mustAny(t, durationpb.New(1))}}}
	for _, o := range []describe.Options{{}, {BytesAsArray: true}} {
		reg := everywire.NewRegistry()
		c := codec.Codec{BytesAsArray: o.BytesAsArray}
		check := func(name string, msgs ...any) {
			t.Helper()
			doc := document(t, reg, o)
			for _, m := range doc["methods"].([]any) {
				m := m.(map[string]any)
				if m["name"] != name {
					continue
				}
				for _, msg := range msgs {
					text, err := c.Append(nil, msg)
					if err != nil {
						t.Fatal(err)
					}
					v := parse(t, []byte(`{"v":`+string(text)+`}`))["v"]
					if err := fits(doc, m["result"].(map[string]any)["schema"].(map[string]any), v); err != nil {
						t.Errorf("%s: %v\n%s", name, err, text)
					}
				}
				return
			}
			t.Errorf("no method %s", name)
		}
		handle[sumRequest, everything](reg, "t.T/Everything")
		check("t.T/Everything", &everything{}, full)
		handle[apipb.Api, apipb.Api](reg, "t.T/Api")
		check("t.T/Api", &apipb.Api{}, api)
		handle[emptypb.Empty, structpb.Value](reg, "t.T/Value")
		check("t.T/Value", structpb.NewNullValue(), structpb.NewStringValue("x"))
		handle[emptypb.Empty, structpb.Struct](reg, "t.T/Struct")
		check("t.T/Struct", &structpb.Struct{Fields: map[string]*structpb.Value{"a": structpb.NewNullValue()}})
		handle[emptypb.Empty, structpb.ListValue](reg, "t.T/ListValue")
		check("t.T/ListValue", &structpb.ListValue{})
		handle[emptypb.Empty, emptypb.Empty](reg, "t.T/Empty")
		check("t.T/Empty", &emptypb.Empty{})
		handle[emptypb.Empty, durationpb.Duration](reg, "t.T/Duration")
		check("t.T/Duration", durationpb.New(-5), durationpb.New(time.Hour))
		handle[emptypb.Empty, fieldmaskpb.FieldMask](reg, "t.T/FieldMask")
		check("t.T/FieldMask", &fieldmaskpb.FieldMask{Paths: []string{"a_b"}})
		handle[emptypb.Empty, wrapperspb.BytesValue](reg, "t.T/BytesValue")
		check("t.T/BytesValue", wrapperspb.Bytes([]byte{0xff}))
		handle[emptypb.Empty, wrapperspb.UInt64Value](reg, "t.T/UInt64Value")
		check("t.T/UInt64Value", wrapperspb.UInt64(math.MaxUint64))
		handle[emptypb.Empty, anypb.Any](reg, "t.T/Any")
		check("t.T/Any", mustAny(t, &emptypb.Empty{}))
		handle[emptypb.Empty, descriptorpb.FileDescriptorSet](reg, "t.T/Descriptor")
		check("t.T/Descriptor", &descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{{
			Name: proto.String("x"), Options: &descriptorpb.FileOptions{OptimizeFor: descriptorpb.FileOptions_SPEED.Enum(), UninterpretedOption: []*descriptorpb.UninterpretedOption{{StringValue: []byte{1}}}},
		}}})
	}
}

func mustAny(t *testing.T, m proto.Message) *anypb.Any {
	t.Helper()
	a, err := anypb.New(m)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestTwoTypesOfOneName: a document must not mix up what two packages call the
// same.
func TestTwoTypesOfOneName(t *testing.T) {
	type other struct {
		_ struct{} `wire:"name=x.Same"`
		A string   `wire:"1"`
	}
	type same struct {
		_ struct{} `wire:"name=x.Same"`
		B int64    `wire:"1"`
	}
	reg := everywire.NewRegistry()
	handle[sumRequest, other](reg, "t.T/Other")
	handle[sumRequest, same](reg, "t.T/Same")
	doc := document(t, reg, describe.Options{})
	for name, field := range map[string]string{"x.Same": "a", "x.Same-2": "b"} {
		s := resolve(doc, "#/components/schemas/"+name)
		if p, _ := s["properties"].(map[string]any); p[field] == nil {
			t.Errorf("%s is %v", name, s)
		}
	}
}

func TestFaultyForms(t *testing.T) {
	for want, option := range map[string]everywire.MethodOption{
		`JSON-RPC form of t.T/M: the request has no field "nope"`: form("m", everywire.ParamsList, "nope", ""),
		`field "minuend" is not repeated`:                         form("m", everywire.ParamsList, "minuend", ""),
		`the request has no field ""`:                             form("m", everywire.ParamsScalar, "", ""),
		`the reply has no field "nope"`:                           form("m", everywire.ParamsNamed, "", "nope"),
		`unknown form of params 99`:                               form("m", 99, "", ""),
	} {
		reg := everywire.NewRegistry()
		handle[pair, pair](reg, "t.T/M", option)
		text, err := describe.OpenRPC(reg.Methods(), describe.Options{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
		if doc := checkOpenRPC(t, text); len(doc["methods"].([]any)) != 1 {
			t.Errorf("the full name is missing: %s", text)
		}
	}
	reg := everywire.NewRegistry()
	handle[everywire.Document, pair](reg, "t.T/A", form("m", everywire.ParamsInOrder, "", ""))
	if _, err := describe.OpenRPC(reg.Methods(), describe.Options{}); err == nil || !strings.Contains(err.Error(), "is no object") {
		t.Error(err)
	}
	reg = everywire.NewRegistry()
	handle[pair, pair](reg, "t.T/A", form("m", everywire.ParamsNamed, "", ""))
	handle[pair, pair](reg, "t.T/B", form("m", everywire.ParamsNamed, "", ""))
	if _, err := describe.OpenRPC(reg.Methods(), describe.Options{}); err == nil || !strings.Contains(err.Error(), `"m" is taken`) {
		t.Error(err)
	}
}

// TestUnknownMessages: of a hand-written service nothing is known but names, and
// its streams have no place in the document.
func TestUnknownMessages(t *testing.T) {
	reg := everywire.NewRegistry()
	reg.RegisterService(&grpc.ServiceDesc{
		ServiceName: "hand.Written",
		Methods:     []grpc.MethodDesc{{MethodName: "Do"}},
		Streams:     []grpc.StreamDesc{{StreamName: "Watch", ServerStreams: true}},
	}, nil)
	doc := document(t, reg, describe.Options{})
	if methods := doc["methods"].([]any); len(methods) != 1 || methods[0].(map[string]any)["name"] != "hand.Written/Do" {
		t.Errorf("methods %v", methods)
	}
	if title := doc["info"].(map[string]any)["title"]; title != "hand.Written" {
		t.Errorf("title %v", title)
	}
	document(t, everywire.NewRegistry(), describe.Options{})
}
