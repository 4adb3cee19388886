package everywire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/everywire/everywire/schema"
)

type ownPoint struct {
	X uint16 `wire:"1"`
	Y uint16 `wire:"2"`
}

type ownOther struct {
	Name string `wire:"1"`
}

var errOwn = errors.New("not four bytes")

func appendOwnPoint(dst []byte, p *ownPoint) ([]byte, error) {
	if p.X == 0 {
		return append(dst, "half"...), errOwn
	}
	return binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(dst, p.X), p.Y), nil
}

func decodeOwnPoint(data []byte, p *ownPoint) error {
	if len(data) != 4 {
		return errOwn
	}
	p.X += binary.BigEndian.Uint16(data)
	p.Y += binary.BigEndian.Uint16(data[2:])
	return nil
}

func pointCodec() *OwnCodec {
	c := NewCodec("point")
	Encode(c, appendOwnPoint, decodeOwnPoint)
	return c
}

func TestOwnCodec(t *testing.T) {
	var c PartialCodec = pointCodec()
	data, err := c.Append([]byte("x"), &ownPoint{1, 2})
	if err != nil || string(data) != "x\x00\x01\x00\x02" {
		t.Fatalf("%q, %v", data, err)
	}
	p := ownPoint{7, 7} // reset before it is read into
	if err := c.Decode(data[1:], &p); err != nil || p != (ownPoint{1, 2}) {
		t.Errorf("%v, %v", p, err)
	}
	for typ, want := range map[any]string{&ownPoint{}: "", &ownOther{}: "point: everywire.ownOther has no form"} {
		m, err := schema.For(typ)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Carries(m); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%T: %v", typ, err)
		}
	}
	if got := NewCodec("a").MediaTypes(); len(got) != 1 || got[0] != "application/a" {
		t.Errorf("media types %q", got)
	}
	if got := NewCodec("a", "b/c", "b/d").MediaTypes(); len(got) != 2 || got[0] != "b/c" {
		t.Errorf("media types %q", got)
	}
}

// Errors say which codec, which type, and what the function said.
func TestOwnCodecErrors(t *testing.T) {
	c := pointCodec()
	for name, tc := range map[string]struct {
		msg  any
		want string
	}{
		"the function's": {&ownPoint{}, "point: writing a *everywire.ownPoint: not four bytes"},
		"no form":        {&ownOther{}, "point: everywire.ownOther has no form: give it one with everywire.Encode"},
		"no pointer":     {ownPoint{}, "point: a everywire.ownPoint is no message: want a pointer to one"},
		"nil":            {(*ownPoint)(nil), "point: a nil *everywire.ownPoint is no message"},
		"nothing":        {nil, "point: a <nil> is no message: want a pointer to one"},
	} {
		dst, err := c.Append([]byte("kept"), tc.msg)
		if err == nil || err.Error() != tc.want || string(dst) != "kept" {
			t.Errorf("%s: %q, %v", name, dst, err)
		}
		if err := c.Decode([]byte("too long"), tc.msg); err == nil || !strings.HasPrefix(err.Error(), "point: ") {
			t.Errorf("%s: decoding: %v", name, err)
		}
	}
	if err := c.Decode(nil, new(ownPoint)); !errors.Is(err, errOwn) {
		t.Errorf("the function's error is lost: %v", err)
	}
	for name, f := range map[string]func(){
		"a second form": func() { Encode(c, appendOwnPoint, decodeOwnPoint) },
		"no function":   func() { Encode[ownOther](c, nil, nil) },
	} {
		if p := recovered(f); p == nil || !strings.HasPrefix(fmt.Sprint(p), "everywire: codec point: everywire.own") {
			t.Errorf("%s: %v", name, p)
		}
	}
}

func recovered(f func()) (p any) {
	defer func() { p = recover() }()
	f()
	return nil
}

// Types may be added while others are in use.
func TestOwnCodecConcurrent(t *testing.T) {
	c := pointCodec()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := range 200 {
				data, err := c.Append(nil, &ownPoint{1, uint16(i)})
				var p ownPoint
				if err == nil {
					err = c.Decode(data, &p)
				}
				if err != nil || p.Y != uint16(i) {
					t.Errorf("%v, %v", p, err)
				}
			}
		})
	}
	Encode(c, func(dst []byte, o *ownOther) ([]byte, error) { return append(dst, o.Name...), nil },
		func(data []byte, o *ownOther) error { o.Name = string(data); return nil })
	wg.Wait()
	var o ownOther
	if err := c.Decode([]byte("later"), &o); err != nil || o.Name != "later" {
		t.Errorf("%v, %v", o, err)
	}
}
