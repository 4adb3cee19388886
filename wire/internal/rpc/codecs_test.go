package rpc

import (
	"context"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/everywire/everywire"
)

// wide is a codec of nothing, with media types and without.
type wide struct{ name string }

func (c wide) Name() string                           { return c.name }
func (wide) Append(dst []byte, _ any) ([]byte, error) { return dst, nil }
func (wide) Decode([]byte, any) error                 { return nil }

func TestCodecs(t *testing.T) {
	first, second, third := wide{"protobuf"}, everywire.NewCodec("b-2.x_y"), everywire.NewCodec("protobuf", "x/y")
	s, err := NewCodecs(first, second)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]everywire.Codec{"protobuf": first, "proto": first, "b-2.x_y": second, "": nil, "PROTO": nil, "b": nil} {
		if c, ok := s.Find(name); c != want || ok != (want != nil) {
			t.Errorf("%q is %v", name, c)
		}
	}
	if s.Names() != "b-2.x_y, protobuf" {
		t.Errorf("names %q", s.Names())
	}
	// One that comes later takes the place of one of its name.
	s, err = NewCodecs(first, second, third)
	if err != nil {
		t.Fatal(err)
	}
	if c, _ := s.Find("proto"); c != third || len(s.All()) != 2 || s.All()[0] != everywire.Codec(third) {
		t.Errorf("%v, %v", c, s.All())
	}
	if types := MediaTypes(first); len(types) != 1 || types[0] != "application/protobuf" {
		t.Errorf("media types %q", types)
	}
}

func TestCodecsRefused(t *testing.T) {
	for want, c := range map[string]everywire.Codec{
		"a codec has no name":                  wide{""},
		`"J" has a 'J'`:                        wide{"J"},
		`"a+b" has a '+'`:                      wide{"a+b"},
		`"a;b" has a ';'`:                      wide{"a;b"},
		`"a b" has a ' '`:                      wide{"a b"},
		`"-a" has a '-'`:                       wide{"-a"},
		`"é" has a`:                            wide{"é"},
		"proto is another name of protobuf":    wide{"proto"},
		"application/grpc-web is a protocol":   wide{"grpc-web"},
		"application/connect is a protocol":    wide{"connect"},
		`the media type "X/y"`:                 everywire.NewCodec("a", "X/y"),
		`the media type "x"`:                   everywire.NewCodec("a", "x"),
		`the media type "x/y;z=1"`:             everywire.NewCodec("a", "x/y;z=1"),
		`the media type ""`:                    everywire.NewCodec("a", ""),
		"json and a have the same media type":  everywire.NewCodec("a", "application/json"),
		"a and a have the same media type x/y": everywire.NewCodec("a", "x/y", "x/y"),
	} {
		if _, err := NewCodecs(wide{"json"}, c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q: %v", want, err)
		}
	}
}

func TestClientCodec(t *testing.T) {
	s, err := NewCodecs(wide{"json"}, wide{"protobuf"})
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		options Options
		want    string // a name, or what the error says
	}{
		{nil, "protobuf"},
		{Options{"codec": "proto"}, "protobuf"},
		{Options{"codec": "json"}, "json"},
		{Options{"codec": "json", "bytes": "array"}, "json"},
		{Options{"bytes": "base64"}, "protobuf"},
		{Options{"codec": ""}, `unknown codec "": it is one of json, protobuf`},
		{Options{"codec": "JSON"}, `unknown codec "JSON": it is one of json, protobuf`},
		{Options{"bytes": "array"}, "the option bytes is about JSON, and the codec is protobuf: add codec=json"},
	} {
		cfg := &ClientConfig{Codecs: s, Options: tc.options}
		c, err := cfg.Codec(Protobuf)
		if err != nil && err.Error() != tc.want || err == nil && c.Name() != tc.want {
			t.Errorf("%v: %v, %v", tc.options, c, err)
		}
	}
}

func unary[In, Out any](context.Context, *In) (*Out, error) { return new(Out), nil }

type carried struct {
	N int `wire:"1"`
}

type uncarried struct {
	N int `wire:"1"`
}

func TestCarries(t *testing.T) {
	c := everywire.NewCodec("own")
	everywire.Encode(c, func(dst []byte, _ *carried) ([]byte, error) { return dst, nil }, func([]byte, *carried) error { return nil })
	reg := everywire.NewRegistry()
	everywire.Handle(reg, "a.A/Both", unary[carried, carried])
	everywire.Handle(reg, "a.A/Request", unary[carried, uncarried])
	everywire.Handle(reg, "a.A/Reply", unary[uncarried, carried])
	for name, want := range map[string]string{
		"Both":    "",
		"Request": "the codec own has no form for replies of a.A/Request: own: rpc.uncarried has no form",
		"Reply":   "the codec own has no form for requests of a.A/Reply: own: rpc.uncarried has no form",
	} {
		m, _ := reg.Lookup("/a.A/" + name)
		err := Carries(c, m)
		if s := StatusOf(err); want == "" && err != nil || want != "" && (s.Code() != codes.Unimplemented || !strings.HasPrefix(s.Message(), want)) {
			t.Errorf("%s: %v", name, err)
		}
		if err := Carries(wide{"wide"}, m); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := Carries(c, &everywire.Method{}); err != nil {
		t.Errorf("a method whose types are not known: %v", err)
	}
	for v, ok := range map[any]bool{&carried{}: true, &uncarried{}: false, new(int): false} {
		if err := HasForm(c, v); (err == nil) != ok {
			t.Errorf("%T: %v", v, err)
		}
		if err := HasForm(wide{"wide"}, v); err != nil {
			t.Errorf("%T: %v", v, err)
		}
	}
}
