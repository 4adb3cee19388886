package protobuf

import (
	"strings"
	"testing"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/everywire/everywire/schema"
)

// What is written of a generated message can be read again; what could not be,
// because it nests too deep, is refused when it is written.
func TestDepthOfGenerated(t *testing.T) {
	type holder struct {
		Rule  *annotations.HttpRule   `wire:"1"`
		Rules []*annotations.HttpRule `wire:"2"`
	}
	rules := func(n int) *annotations.HttpRule {
		m := &annotations.HttpRule{Selector: "x"}
		for range n - 1 {
			m = &annotations.HttpRule{AdditionalBindings: []*annotations.HttpRule{m}}
		}
		return m
	}
	for name, build := range map[string]func(n int) any{
		"list":        func(n int) any { return rules(n) },
		"in a struct": func(n int) any { return &holder{Rule: rules(n)} },
		"in a list":   func(n int) any { return &holder{Rules: []*annotations.HttpRule{rules(n)}} },
		"values, lists": func(n int) any {
			v := structpb.NewNullValue()
			for range n {
				v = structpb.NewListValue(&structpb.ListValue{Values: []*structpb.Value{v}})
			}
			return v
		},
		"values, objects": func(n int) any {
			v := structpb.NewNullValue()
			for range n {
				v = structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{"a": v}})
			}
			return v
		},
	} {
		written, refused := 0, 0
		for n := 1; n <= schema.MaxDepth+2; n++ {
			msg := build(n)
			data, err := Codec{}.Append(nil, msg)
			if err != nil {
				refused++
				if !strings.Contains(err.Error(), "nested deeper than 500 levels") {
					t.Fatalf("%s: %d levels: %v", name, n, err)
				}
				continue
			}
			written++
			if refused > 0 {
				t.Errorf("%s: %d levels are written and fewer are not", name, n)
			}
			switch msg.(type) {
			case *holder:
				err = Codec{}.Decode(data, new(holder))
			default:
				err = Codec{}.Decode(data, msg.(proto.Message).ProtoReflect().New().Interface())
			}
			if err != nil {
				t.Fatalf("%s: %d levels are written and cannot be read: %v", name, n, err)
			}
		}
		if refused == 0 || written < schema.MaxDepth/3-1 {
			t.Errorf("%s: %d depths were written and %d refused", name, written, refused)
		}
	}
	if recursive(new(timestamppb.Timestamp).ProtoReflect().Descriptor()) || recursive(new(annotations.CustomHttpPattern).ProtoReflect().Descriptor()) {
		t.Error("a message of scalars is taken for a recursive one")
	}
}

// A cycle of pointers among generated messages is an error, not the end of the
// process.
func TestCycleOfGenerated(t *testing.T) {
	rule := &annotations.HttpRule{}
	rule.AdditionalBindings = []*annotations.HttpRule{rule}
	object := &structpb.Struct{Fields: map[string]*structpb.Value{}}
	object.Fields["me"] = structpb.NewStructValue(object)
	message := &descriptorpb.DescriptorProto{}
	message.NestedType = []*descriptorpb.DescriptorProto{message}
	for _, m := range []proto.Message{rule, object, message} {
		if _, err := (Codec{}).Append(nil, m); err == nil || !strings.Contains(err.Error(), "nested deeper than 500 levels") {
			t.Errorf("%T: %v", m, err)
		}
	}
}
