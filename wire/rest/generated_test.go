package rest

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/everywire/everywire"
	jsoncodec "github.com/everywire/everywire/codec/json"
	"github.com/everywire/everywire/schema"
)

// Generated messages are filled as plain structs are; enums go by name or
// number.
func TestGeneratedMessages(t *testing.T) {
	input, err := schema.For(&descriptorpb.FieldDescriptorProto{})
	if err != nil {
		t.Fatal(err)
	}
	m := &everywire.Method{Service: "t.T", Name: "M", Input: input, Output: input}
	e, err := newCompiler().compile(m, everywire.Route{Verb: "GET", Pattern: "/f/{type}", ResponseBody: "oneof_index"})
	if err != nil {
		t.Fatal(err)
	}
	want := &descriptorpb.FieldDescriptorProto{
		Name: proto.String("n"), Number: proto.Int32(3), Type: descriptorpb.FieldDescriptorProto_TYPE_STRING.Enum(),
		JsonName: proto.String("1"), Proto3Optional: proto.Bool(true),
	}
	for _, typ := range []string{"TYPE_STRING", "9"} {
		var b builder
		message, err := b.request(e, []string{typ}, "name=n&number=3&json_name=1&proto3Optional=true", nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		got := &descriptorpb.FieldDescriptorProto{}
		if err := (jsoncodec.Codec{}).Decode(message, got); err != nil || !proto.Equal(want, got) {
			t.Errorf("%s: %v, %v", message, got, err)
		}
	}
	var b builder
	message, err := b.request(e, []string{"TYPE_OTHER"}, "", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := (jsoncodec.Codec{}).Decode(message, &descriptorpb.FieldDescriptorProto{}); err == nil || !strings.Contains(err.Error(), "type") {
		t.Errorf("an unknown enum value: %v", err)
	}
	if _, err := b.request(e, []string{"9"}, "options=x", nil, nil); err == nil || !strings.Contains(err.Error(), "options") {
		t.Errorf("a message in a query: %v", err)
	}
	// The field that the response's body is has presence: absent, it is null.
	if v, err := memberOr([]byte(`{"name":"n"}`), e.responseField); err != nil || string(v) != "null" {
		t.Errorf("an absent field: %s, %v", v, err)
	}
	// The method's own descriptor stands in for a Go type that is not known.
	if f := newCompiler().fieldsOf(nil, input.Desc).byName["type"]; f.form != enumForm {
		t.Errorf("field type: %+v", f)
	}
	structType, err := schema.For(&descriptorpb.FileDescriptorSet{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := newCompiler().compile(&everywire.Method{Input: structType}, everywire.Route{Verb: "GET", Pattern: "/{file}"}); err == nil {
		t.Error("a list of messages in a path is accepted")
	}
}

// members and elements read what the codec writes.
func TestJSONText(t *testing.T) {
	var got []string
	collect := func(name, value []byte) bool {
		got = append(got, string(name)+"="+string(value))
		return true
	}
	text := `{"a":1,"b" : "x\"}\\" , "c":{"d":["]}",{}]},"e":[],"f":null,"g":-1.5e3 }`
	if err := members([]byte(text), collect); err != nil {
		t.Fatal(err)
	}
	want := `a=1|b="x\"}\\"|c={"d":["]}",{}]}|e=[]|f=null|g=-1.5e3`
	if s := strings.Join(got, "|"); s != want {
		t.Errorf("members %s\nwant    %s", s, want)
	}
	got = nil
	if err := elements([]byte(` [1, "a,]" ,[2,3], {"k":[]}]`), func(v []byte) bool { return collect(nil, v) }); err != nil {
		t.Fatal(err)
	}
	if s := strings.Join(got, "|"); s != `=1|="a,]"|=[2,3]|={"k":[]}` {
		t.Errorf("elements %s", s)
	}
	for _, text := range []string{"", "1", "[]", `"{}"`} {
		if err := members([]byte(text), collect); err == nil {
			t.Errorf("%q passes as an object", text)
		}
	}
	for text, want := range map[string]bool{
		"0": true, "-0": true, "12": true, "-1.5e+3": true, "1E5": true, "0.0": true,
		"": false, "-": false, "01": false, "+1": false, "1.": false, ".5": false, "1e": false, "1e+": false, "0x1": false, "1\n": false, "NaN": false, "1,2": false,
	} {
		if isNumber(text) != want {
			t.Errorf("isNumber(%q) = %v", text, !want)
		}
	}
}
