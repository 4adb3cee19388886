package schema_test

import (
	"encoding/json"
	"math/big"
	"net"
	"net/netip"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/everywire/everywire/schema"
)

type (
	celsius     int
	level       uint8
	tags        []string
	bitset      map[string]bool
	uuid        [16]byte
	blob        []byte
	letter      byte
	page[T any] struct {
		Items []T    `wire:"1"`
		Next  string `wire:"2"`
	}
	tree struct {
		Name  string           `wire:"1"`
		Left  *tree            `wire:"2"`
		Kids  []tree           `wire:"3"`
		Named map[string]*tree `wire:"4"`
		Other *forest          `wire:"5"`
	}
	forest struct {
		Trees []*tree `wire:"1"`
	}
)

// Four types that are written as text, each of another Go kind.
func (level) MarshalText() ([]byte, error)  { return nil, nil }
func (*level) UnmarshalText([]byte) error   { return nil }
func (tags) MarshalText() ([]byte, error)   { return nil, nil }
func (*tags) UnmarshalText([]byte) error    { return nil }
func (bitset) MarshalText() ([]byte, error) { return nil, nil }
func (*bitset) UnmarshalText([]byte) error  { return nil }
func (uuid) MarshalText() ([]byte, error)   { return nil, nil }
func (*uuid) UnmarshalText([]byte) error    { return nil }

// field is what a test compares of a schema.Field.
type field struct {
	Number         int
	Name, JSONName string
	Kind           schema.Kind
	Type           string
	Repeated       bool
	MapKey         schema.Kind
	Optional       bool
	Quoted, Text   bool
	Message        string
}

func fieldsOf(m *schema.Message) (out []field) {
	for _, f := range m.Fields {
		g := field{int(f.Number), f.Name, f.JSONName, f.Kind, f.Type.String(), f.Repeated, f.MapKey, f.Optional, f.Quoted, f.Text, ""}
		if f.Message != nil {
			g.Message = string(f.Message.Name)
		}
		out = append(out, g)
	}
	return out
}

func mustOf[T any](t *testing.T) *schema.Message {
	t.Helper()
	m, err := schema.Of(reflect.TypeFor[T]())
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestKinds(t *testing.T) {
	type all struct {
		B   bool                       `wire:"1"`
		I8  int8                       `wire:"2"`
		I16 int16                      `wire:"3"`
		I32 int32                      `wire:"4"`
		I64 int64                      `wire:"5"`
		I   celsius                    `wire:"6"`
		U8  uint8                      `wire:"7"`
		U16 uint16                     `wire:"8"`
		U32 uint32                     `wire:"9"`
		U64 uint64                     `wire:"10" json:",string"`
		U   uint                       `wire:"11"`
		F32 float32                    `wire:"12"`
		F64 float64                    `wire:"13"`
		S   string                     `wire:"14"`
		Bs  []byte                     `wire:"15"`
		Bl  blob                       `wire:"16"`
		Bll []letter                   `wire:"17"`
		T   time.Time                  `wire:"18"`
		D   time.Duration              `wire:"19"`
		St  forest                     `wire:"20"`
		Stp *forest                    `wire:"21"`
		Pr  *timestamppb.Timestamp     `wire:"22"`
		A   any                        `wire:"23"`
		Doc schema.Document            `wire:"24"`
		Dop *schema.Document           `wire:"25"`
		Op  *int64                     `wire:"26"`
		Opb *[]byte                    `wire:"27"`
		Opt *time.Time                 `wire:"28"`
		Ls  [][]byte                   `wire:"29"`
		Lm  []*forest                  `wire:"30"`
		M   map[int8]time.Duration     `wire:"31"`
		Mb  map[bool]any               `wire:"32"`
		Mu  map[uint64]*structpb.Value `wire:"33"`
		IP  netip.Addr                 `wire:"34"`
		Nip net.IP                     `wire:"35"`
		Lv  []level                    `wire:"36"`
		Tg  tags                       `wire:"37"`
		Bt  bitset                     `wire:"38"`
		ID  uuid                       `wire:"39"`
		Mt  map[string]uuid            `wire:"40"`
		Ox  *uuid                      `wire:"41"`
		Mk  map[netip.Addr]bool        `wire:"43"`
		LQ  []int64                    `wire:"42" json:"l_q,string"` //nolint:staticcheck // here it is for the elements
	}
	b := func(n int, name string, kind schema.Kind, typ string) field {
		return field{Number: n, Name: name, JSONName: name, Kind: kind, Type: typ}
	}
	with := func(f field, set func(*field)) field { set(&f); return f }
	list := func(f field) field { f.Repeated = true; return f }
	opt := func(f field) field { f.Optional = true; return f }
	text := func(f field) field { f.Text = true; return f }
	key := func(k schema.Kind, f field) field { f.MapKey = k; return f }
	msg := func(name string, f field) field { f.Message = name; return f }
	want := []field{
		b(1, "b", schema.Bool, "bool"),
		b(2, "i8", schema.Int32, "int8"),
		b(3, "i16", schema.Int32, "int16"),
		b(4, "i32", schema.Int32, "int32"),
		b(5, "i64", schema.Int64, "int64"),
		b(6, "i", schema.Int64, "schema_test.celsius"),
		b(7, "u8", schema.Uint32, "uint8"),
		b(8, "u16", schema.Uint32, "uint16"),
		b(9, "u32", schema.Uint32, "uint32"),
		with(b(10, "u64", schema.Uint64, "uint64"), func(f *field) { f.Quoted = true }),
		b(11, "u", schema.Uint64, "uint"),
		b(12, "f32", schema.Float32, "float32"),
		b(13, "f64", schema.Float64, "float64"),
		b(14, "s", schema.String, "string"),
		b(15, "bs", schema.Bytes, "[]uint8"),
		b(16, "bl", schema.Bytes, "schema_test.blob"),
		b(17, "bll", schema.Bytes, "[]schema_test.letter"),
		b(18, "t", schema.Time, "time.Time"),
		b(19, "d", schema.Duration, "time.Duration"),
		msg("schema_test.forest", b(20, "st", schema.Struct, "schema_test.forest")),
		msg("schema_test.forest", b(21, "stp", schema.Struct, "*schema_test.forest")),
		msg("google.protobuf.Timestamp", b(22, "pr", schema.Proto, "*timestamppb.Timestamp")),
		b(23, "a", schema.Any, "interface {}"),
		b(24, "doc", schema.Any, "schema.Document"),
		b(25, "dop", schema.Any, "*schema.Document"),
		opt(b(26, "op", schema.Int64, "int64")),
		opt(b(27, "opb", schema.Bytes, "[]uint8")),
		opt(b(28, "opt", schema.Time, "time.Time")),
		list(b(29, "ls", schema.Bytes, "[]uint8")),
		list(msg("schema_test.forest", b(30, "lm", schema.Struct, "*schema_test.forest"))),
		key(schema.Int32, b(31, "m", schema.Duration, "time.Duration")),
		key(schema.Bool, b(32, "mb", schema.Any, "interface {}")),
		key(schema.Uint64, msg("google.protobuf.Value", b(33, "mu", schema.Proto, "*structpb.Value"))),
		text(b(34, "ip", schema.String, "netip.Addr")),
		text(b(35, "nip", schema.String, "net.IP")),
		list(text(b(36, "lv", schema.String, "schema_test.level"))),
		text(b(37, "tg", schema.String, "schema_test.tags")),
		text(b(38, "bt", schema.String, "schema_test.bitset")),
		text(b(39, "id", schema.String, "schema_test.uuid")),
		key(schema.String, text(b(40, "mt", schema.String, "schema_test.uuid"))),
		opt(text(b(41, "ox", schema.String, "schema_test.uuid"))),
		list(with(b(42, "l_q", schema.Int64, "int64"), func(f *field) { f.Quoted = true })),
		key(schema.String, b(43, "mk", schema.Bool, "bool")),
	}
	if diff := cmp.Diff(want, fieldsOf(mustOf[all](t))); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
}

func TestNames(t *testing.T) {
	type names struct {
		PageSize  int `wire:"1"`
		HTTPPort  int `wire:"2"`
		UserID    int `wire:"3"`
		X         int `wire:"4"`
		A1B       int `wire:"5"`
		Under_Bar int `wire:"6"` //nolint:revive,staticcheck // the case is the point
		Given     int `wire:"7" json:"order_no"`
		Camel     int `wire:"8" json:"orderNumber,omitempty"`
		Upper     int `wire:"9" json:"URL,omitzero"`
	}
	want := [][2]string{
		{"page_size", "pageSize"},
		{"http_port", "httpPort"},
		{"user_id", "userId"},
		{"x", "x"},
		{"a1_b", "a1B"},
		{"under_bar", "underBar"},
		{"order_no", "order_no"},
		{"order_number", "orderNumber"},
		{"url", "URL"},
	}
	m := mustOf[names](t)
	for i, f := range m.Fields {
		if got := [2]string{f.Name, f.JSONName}; got != want[i] {
			t.Errorf("field %d: names %q, want %q", f.Number, got, want[i])
		}
		for _, name := range want[i] {
			if m.ByName(name) != f || m.ByNameBytes([]byte(name)) != f {
				t.Errorf("ByName(%q) is not field %d", name, f.Number)
			}
		}
		if m.ByNumber(f.Number) != f {
			t.Errorf("ByNumber(%d) is another field", f.Number)
		}
	}
	if m.ByName("PageSize") != nil || m.ByNameBytes([]byte("pagesize")) != nil || m.ByNumber(99) != nil {
		t.Error("found a field that is not there")
	}
}

func TestByOrder(t *testing.T) {
	type ordered struct {
		_       struct{} `wire:"by-order,name=io.test.Ordered"`
		First   int
		hidden  int
		Skipped int `wire:"-"`
		Second  int
		Tenth   int `wire:"10"`
		Next    int
		Fifth   int `wire:"5"`
	}
	_ = ordered{hidden: 0}
	m := mustOf[*ordered](t)
	if m.Name != "io.test.Ordered" {
		t.Errorf("Name = %s", m.Name)
	}
	got := make([]string, 0, len(m.Fields))
	numbers := make([]int, 0, len(m.Fields))
	for _, f := range m.Fields {
		got = append(got, m.Type.Field(f.Index).Name)
		numbers = append(numbers, int(f.Number))
	}
	if diff := cmp.Diff([]string{"First", "Second", "Fifth", "Tenth", "Next"}, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]int{1, 2, 5, 10, 11}, numbers); diff != "" {
		t.Error(diff)
	}
}

// Many fields stay in the order of their numbers, which are compared as such
// also where they differ by much.
func TestFieldOrder(t *testing.T) {
	type wide struct {
		Last  int `wire:"536870911"`
		First int `wire:"1"`
		Mid   int `wire:"20000"`
	}
	m := mustOf[wide](t)
	for i, want := range []protoreflect.FieldNumber{1, 20000, 536870911} {
		if got := m.Fields[i].Number; got != want {
			t.Errorf("field %d has number %d, want %d", i, got, want)
		}
	}
}

func TestRecursion(t *testing.T) {
	m := mustOf[tree](t)
	for _, name := range []string{"left", "kids", "named"} {
		if m.ByName(name).Message != m {
			t.Errorf("%s refers to another description of tree", name)
		}
	}
	other := m.ByName("other").Message
	if other.ByName("trees").Message != m {
		t.Error("forest refers to another description of tree")
	}
	if mustOf[forest](t) != other {
		t.Error("forest is described twice")
	}
}

func TestGenerics(t *testing.T) {
	a, b := mustOf[page[int]](t), mustOf[page[string]](t)
	if a == b || a.Fields[0].Kind != schema.Int64 || b.Fields[0].Kind != schema.String {
		t.Errorf("page[int] and page[string]: %v and %v", fieldsOf(a), fieldsOf(b))
	}
	if a.Name != "schema_test.page_int_" {
		t.Errorf("Name = %s", a.Name)
	}
	for _, m := range []*schema.Message{a, b, mustOf[page[tree]](t), mustOf[struct {
		A int `wire:"1"`
	}](t)} {
		if !m.Name.IsValid() {
			t.Errorf("the name %q is not valid", m.Name)
		}
	}
}

func TestGeneratedAndDocument(t *testing.T) {
	m := mustOf[timestamppb.Timestamp](t)
	if m.Desc == nil || m.Document || m.Fields != nil || m.Name != "google.protobuf.Timestamp" {
		t.Errorf("Timestamp: %+v", m)
	}
	if _, ok := m.New().(*timestamppb.Timestamp); !ok {
		t.Errorf("New() is a %T", m.New())
	}
	d := mustOf[schema.Document](t)
	if d.Desc != nil || !d.Document || d.Name != "google.protobuf.Value" {
		t.Errorf("Document: %+v", d)
	}
	for _, tt := range []struct {
		m    *schema.Message
		want bool
	}{
		{m, false},
		{d, false},
		{mustOf[structpb.Value](t), false},
		{mustOf[structpb.ListValue](t), false},
		{mustOf[structpb.Struct](t), true},
		{mustOf[tree](t), true},
	} {
		if got := tt.m.IsObject(); got != tt.want {
			t.Errorf("%s: IsObject() = %v", tt.m.Name, got)
		}
	}
	for _, tt := range []struct {
		m    *schema.Message
		want bool
	}{
		{d, true},
		{mustOf[tree](t), true},
		{mustOf[structpb.Struct](t), true},
		{mustOf[emptypb.Empty](t), false},
		{mustOf[struct{}](t), false},
	} {
		if got := tt.m.HasFields(); got != tt.want {
			t.Errorf("%s: HasFields() = %v", tt.m.Name, got)
		}
	}
}

func TestFor(t *testing.T) {
	m, err := schema.For(&tree{})
	if err != nil || m != mustOf[tree](t) {
		t.Errorf("For(&tree{}) = %v, %v", m, err)
	}
	for _, v := range []any{nil, tree{}, 1} {
		if _, err := schema.For(v); err == nil || !strings.Contains(err.Error(), "is not a pointer to a message") {
			t.Errorf("For(%T): %v", v, err)
		}
	}
}

func TestErrors(t *testing.T) {
	type embedded struct{ A int }
	type inner struct {
		Bad chan int `wire:"1"`
	}
	for _, tt := range []struct {
		name string
		typ  reflect.Type
		want string
	}{
		{"two for unknown fields", reflect.TypeFor[struct {
			A []byte `wire:"unknown"`
			B []byte `wire:"unknown"`
		}](), "B: keeps unknown fields, and so does A: there can be one such field"},
		{"unknown fields in a string", reflect.TypeFor[struct {
			A string `wire:"unknown"`
		}](), "A: keeps unknown fields, so it must be a []byte, not string"},
		{"unknown fields in a type of its own", reflect.TypeFor[struct {
			A json.RawMessage `wire:"unknown"`
		}](), "A: keeps unknown fields, so it must be a []byte, not json.RawMessage"},
		{"unknown fields in HTTP", reflect.TypeFor[struct {
			A []byte `wire:"unknown" http:"header=A"`
		}](), `A: has the tag http:"header=A" but keeps unknown fields`},
		{"unknown fields with a name", reflect.TypeFor[struct {
			A []byte `wire:"unknown" json:"a"`
		}](), `A: has the json name "a" but keeps unknown fields`},
		{"unknown fields that are hidden", reflect.TypeFor[struct {
			a []byte `wire:"unknown"`
		}](), "a: has a wire tag but is not exported"},
		{"not a struct", reflect.TypeFor[int](), "schema: int is not a struct: a message is a struct or a generated message"},
		{"untagged", reflect.TypeFor[struct{ A int }](), "A: has no number: tag it `wire:\"N\"`, exclude it by `wire:\"-\"`, or number all by a field _ struct{} tagged `wire:\"by-order\"`"},
		{"embedded", reflect.TypeFor[struct{ tree }](), "tree: is embedded and not exported, so its fields would be lost: give it a name and a number, or exclude it by `wire:\"-\"`"},
		{"tagged but hidden", reflect.TypeFor[struct {
			a int `wire:"1"`
		}](), "a: has a wire tag but is not exported"},
		{"no number", reflect.TypeFor[struct {
			A int `wire:"one"`
		}](), `A: the tag wire:"one" is not a field number`},
		{"number and more", reflect.TypeFor[struct {
			A int `wire:"1,omitempty"`
		}](), `A: the tag wire:"1,omitempty" is not a field number`},
		{"number beyond 32 bits", reflect.TypeFor[struct {
			A int `wire:"4294967297"`
		}](), `A: the tag wire:"4294967297" is not a field number`},
		{"zero", reflect.TypeFor[struct {
			A int `wire:"0"`
		}](), "A: the number 0 is not allowed (1 to 536870911, without 19000 to 19999)"},
		{"too large", reflect.TypeFor[struct {
			A int `wire:"536870912"`
		}](), "A: the number 536870912 is not allowed"},
		{"reserved", reflect.TypeFor[struct {
			A int `wire:"19000"`
		}](), "A: the number 19000 is not allowed"},
		{"number twice", reflect.TypeFor[struct {
			A int `wire:"1"`
			B int `wire:"1"`
		}](), "B: has the number 1 of field A"},
		{"by order onto a taken number", reflect.TypeFor[struct {
			_ struct{} `wire:"by-order"`
			A int      `wire:"2"`
			B int      `wire:"1"`
			C int
		}](), "C: has the number 2 of field A"},
		{"JSON name twice", reflect.TypeFor[struct {
			A int `wire:"1" json:"b"`
			B int `wire:"2"`
		}](), `B: has the name "b" of field A`},
		{"protobuf name is a JSON name", reflect.TypeFor[struct {
			A int `wire:"1" json:"page_size"`
			B int `wire:"2" json:"pageSize"`
		}](), `B: has the name "page_size" of field A`},
		{"unknown blank tag", reflect.TypeFor[struct {
			_ struct{} `wire:"in-order"`
		}](), `unknown wire tag "in-order" on the blank field: want by-order or name=FULL.NAME`},
		{"bad message name", reflect.TypeFor[struct {
			_ struct{} `wire:"name=a..b"`
		}](), `unknown wire tag "name=a..b" on the blank field`},
		{"json option", reflect.TypeFor[struct {
			A int `wire:"1" json:",inline"`
		}](), `A: the json tag's option "inline" has no meaning here`},
		{"string option", reflect.TypeFor[struct {
			A int32 `wire:"1" json:",string"`
		}](), `A: the json tag's option "string" is for 64-bit integers, not for int32`},
		{"string option on a message", reflect.TypeFor[struct {
			A *tree `wire:"1" json:",string"` //nolint:staticcheck // the mistake is the point
		}](), `A: the json tag's option "string" is for 64-bit integers, not for *schema_test.tree`},
		{"json excluded", reflect.TypeFor[struct {
			A int `wire:"1" json:"-"`
		}](), "A: is excluded by its json tag but not by its wire tag: write `wire:\"-\"`"},
		{"json name", reflect.TypeFor[struct {
			A int `wire:"1" json:"a-b"`
		}](), `A: the json name "a-b" is not an identifier of letters, digits and _`},
		{"Go name", reflect.TypeFor[struct {
			Größe int `wire:"1"`
		}](), "Größe: the Go name is not made of ASCII letters, digits and _: give it another by `json:\"NAME\"`"},
		{"float key", reflect.TypeFor[struct {
			A map[float64]int `wire:"1"`
		}](), "A: a map's key must be a string, an integer or a bool, not float64"},
		{"time key", reflect.TypeFor[struct {
			A map[time.Time]int `wire:"1"`
		}](), "A: a map's key must be a string, an integer or a bool, not time.Time"},
		{"array", reflect.TypeFor[struct {
			A [2]int `wire:"1"`
		}](), "A: arrays are not supported: use a slice"},
		{"list of lists", reflect.TypeFor[struct {
			A [][]int `wire:"1"`
		}](), "A: the type [][]int has no wire form: see docs/spec/types.md"},
		{"map of maps", reflect.TypeFor[struct {
			A map[string]map[string]int `wire:"1"`
		}](), "A: the type map[string]map[string]int has no wire form"},
		{"list of optionals", reflect.TypeFor[struct {
			A []*int `wire:"1"`
		}](), "A: the type []*int has no wire form"},
		{"pointer to a list", reflect.TypeFor[struct {
			A *[]int `wire:"1"`
		}](), "A: the type *[]int has no wire form"},
		{"pointer to any", reflect.TypeFor[struct {
			A *any `wire:"1"`
		}](), "A: the type *interface {} has no wire form"},
		{"pointer to pointer", reflect.TypeFor[struct {
			A **tree `wire:"1"`
		}](), "A: the type **schema_test.tree has no wire form"},
		{"func", reflect.TypeFor[struct {
			A func() `wire:"1"`
		}](), "A: the type func() has no wire form"},
		{"complex", reflect.TypeFor[struct {
			A complex128 `wire:"1"`
		}](), "A: the type complex128 has no wire form"},
		{"other interface", reflect.TypeFor[struct {
			A proto.Message `wire:"1"`
		}](), "A: the type protoreflect.ProtoMessage has no wire form"},
		{"generated by value", reflect.TypeFor[struct {
			A timestamppb.Timestamp `wire:"1"`
		}](), "A: a generated message is held by a pointer: use *timestamppb.Timestamp"},
		{"only hidden fields", reflect.TypeFor[struct {
			A *big.Int `wire:"1"`
		}](), "schema: big.Int has only unexported fields, so nothing of it would be written"},
		{"dynamic", reflect.TypeFor[dynamicpb.Message](), "schema: the Go type dynamicpb.Message stands for no message of its own: its values have descriptors, the type has not"},
		{"inside", reflect.TypeFor[struct {
			A []inner `wire:"1"`
		}](), "schema: schema_test.inner.Bad: the type chan int has no wire form"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for range 2 { // an error is not cached as a success
				m, err := schema.Of(tt.typ)
				if err == nil {
					t.Fatalf("no error: %+v", m)
				}
				if !strings.HasPrefix(err.Error(), "schema: ") || !strings.Contains(err.Error(), tt.want) {
					t.Fatalf("error:\n%v\nwant:\n%s", err, tt.want)
				}
			}
		})
	}
	_ = embedded{}
}

// An error deep inside must leave nothing of the outer types behind.
// The field that keeps unknown fields is no field of the message.
func TestUnknown(t *testing.T) {
	type keeps struct {
		_    struct{} `wire:"by-order"`
		A    int
		Rest []byte `wire:"unknown" json:"-"`
		B    int
	}
	m, err := schema.Of(reflect.TypeFor[keeps]())
	if err != nil {
		t.Fatal(err)
	}
	if m.Unknown != 2 || len(m.Fields) != 2 || m.Fields[1].Number != 2 || m.ByName("rest") != nil {
		t.Errorf("the index %d, fields %v", m.Unknown, m.Fields)
	}
	if desc, err := m.Descriptor(); err != nil || desc.Fields().Len() != 2 {
		t.Errorf("%v, %v", desc, err)
	}
	type only struct {
		hidden int
		Rest   []byte `wire:"unknown"`
	}
	for _, typ := range []reflect.Type{reflect.TypeFor[only](), reflect.TypeFor[tree](), reflect.TypeFor[schema.Document](), reflect.TypeFor[structpb.Value]()} {
		m, err := schema.Of(typ)
		if err != nil {
			t.Fatal(err)
		}
		if want := map[bool]int{true: 1, false: -1}[typ == reflect.TypeFor[only]()]; m.Unknown != want {
			t.Errorf("%s: the index %d, not %d", typ, m.Unknown, want)
		}
	}
	_ = only{}.hidden
}

func TestErrorLeavesNothing(t *testing.T) {
	type bad struct {
		C chan int `wire:"1"`
	}
	type middle struct {
		B bad `wire:"1"`
	}
	type outer struct {
		M *middle `wire:"1"`
	}
	for _, typ := range []reflect.Type{reflect.TypeFor[outer](), reflect.TypeFor[middle](), reflect.TypeFor[bad]()} {
		if _, err := schema.Of(typ); err == nil {
			t.Errorf("Of(%s): no error", typ)
		}
	}
}

func TestEmptyStruct(t *testing.T) {
	type none struct{}
	type excluded struct {
		mu sync.Mutex
		A  int `wire:"-"`
	}
	if f := mustOf[none](t).Fields; len(f) != 0 {
		t.Errorf("fields: %v", f)
	}
	e := excluded{}
	e.mu.Lock()
	if f := mustOf[excluded](t).Fields; len(f) != 0 {
		t.Errorf("fields: %v", f)
	}
}

// All callers get the same description, whole, however many ask at once.
func TestConcurrent(t *testing.T) {
	type leaf struct {
		V int `wire:"1"`
	}
	type branch struct {
		Leaves []leaf             `wire:"1"`
		Named  map[string]*branch `wire:"2"`
	}
	type root struct {
		B *branch `wire:"1"`
	}
	types := []reflect.Type{reflect.TypeFor[root](), reflect.TypeFor[branch](), reflect.TypeFor[leaf]()}
	const callers = 24
	got := make([]*schema.Message, callers)
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			m, err := schema.Of(types[i%len(types)])
			if err != nil {
				t.Error(err)
				return
			}
			got[i] = m
			for _, f := range m.Fields {
				if f.Kind == schema.Struct && len(f.Message.Fields) == 0 {
					t.Errorf("%s.%s: seen before it was ready", m.Name, f.Name)
				}
			}
		})
	}
	wg.Wait()
	for i, m := range got {
		if m != got[i%len(types)] {
			t.Errorf("caller %d got another description of %s", i, types[i%len(types)])
		}
	}
}
