package protobuf

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/everywire/everywire/schema"
)

// refuser is a text type that refuses.
type refuser string

func (r refuser) MarshalText() ([]byte, error) {
	if r == "bad" {
		return nil, errors.New("refused")
	}
	return []byte(r), nil
}

func (r *refuser) UnmarshalText(b []byte) error {
	if string(b) == "bad" {
		return errors.New("refused")
	}
	*r = refuser(b)
	return nil
}

type item struct {
	Numbers []int64         `wire:"1"`
	At      time.Time       `wire:"2"`
	Doc     schema.Document `wire:"3"`
	Text    refuser         `wire:"4"`
	Any     any             `wire:"5"`
}

type items struct {
	Items map[string]item             `wire:"1"`
	Docs  map[int32]schema.Document   `wire:"2"`
	Ptrs  map[string]*schema.Document `wire:"3"`
	Texts map[refuser]refuser         `wire:"4"`
}

// Values of maps cannot be addressed, which matters to what avoids reflection.
func TestStructsInMaps(t *testing.T) {
	in := &items{
		Items: map[string]item{"a": {Numbers: []int64{1, -1}, At: time.Unix(5, 0).UTC(), Doc: schema.Document{Value: "x"}, Text: "t", Any: true}},
		Docs:  map[int32]schema.Document{-1: {Value: int64(1)}, 2: {}},
		Ptrs:  map[string]*schema.Document{"p": {Value: "y"}},
		Texts: map[refuser]refuser{"k": "v", "": ""},
	}
	data, err := Codec{}.Append(nil, in)
	if err != nil {
		t.Fatal(err)
	}
	var out items
	if err := (Codec{}).Decode(data, &out); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(in, &out); diff != "" {
		t.Errorf("%s", diff)
	}
}

func TestTextErrors(t *testing.T) {
	for _, tt := range []struct {
		msg  any
		want string
	}{
		{&item{Text: "bad"}, "protobuf: text: refused"},
		{&item{Text: "\xff"}, "protobuf: text: a string is not valid UTF-8"},
		{&items{Texts: map[refuser]refuser{"bad": ""}}, `protobuf: texts["bad"]: refused`},
		{&items{Items: map[string]item{"\xff": {}}}, "a string is not valid UTF-8"},
		{&items{Ptrs: map[string]*schema.Document{"p": nil}}, `protobuf: ptrs["p"]: a nil pointer in a list or map`},
		{&items{Items: map[string]item{strings.Repeat("ü", 100): {Text: "bad"}}}, `…"].text: refused`},
	} {
		if _, err := (Codec{}).Append(nil, tt.msg); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("got %v, want %s", err, tt.want)
		}
	}
	if err := (Codec{}).Decode(unhex(t, "22 03 626164"), new(item)); err == nil || err.Error() != "protobuf: text: refused" {
		t.Errorf("got %v", err)
	}
}

// Unknown records inside the well-known types are skipped, broken ones refused.
func TestUnknownInside(t *testing.T) {
	var got item
	if err := (Codec{}).Decode(unhex(t, "12 09 0d01020304 1801 0805 1a 07 3801 1a0178 4000"), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(item{At: time.Unix(5, 0).UTC(), Doc: schema.Document{Value: "x"}}, got); diff != "" {
		t.Errorf("%s", diff)
	}
	for _, data := range []string{"12 01 80", "12 01 0d", "12 02 0880", "1a 01 80", "1a 02 2a01", "2a 04 2a02 0a05", "2a 03 3201 80", "0a 02 0180", "0a 01 80"} {
		if err := (Codec{}).Decode(unhex(t, data), new(item)); err == nil {
			t.Errorf("%s is accepted", data)
		}
	}
	for _, data := range []string{"0a 01 80", "0a 02 0a05", "0a 02 1205", "0a 02 1d00"} {
		if err := (Codec{}).Decode(unhex(t, data), new(items)); err == nil {
			t.Errorf("%s is accepted as a map entry", data)
		}
	}
}

// Plans are made once, also by several goroutines at the same time.
func TestConcurrentFirstUse(t *testing.T) {
	type inner struct {
		Text string `wire:"1"`
	}
	type fresh struct {
		Inner []inner `wire:"1"`
		Self  *fresh  `wire:"2"`
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			data, err := Codec{}.Append(nil, &fresh{Inner: []inner{{Text: "x"}}, Self: &fresh{}})
			if err != nil {
				t.Error(err)
			}
			var out fresh
			if err := (Codec{}).Decode(data, &out); err != nil || len(out.Inner) != 1 || out.Self == nil {
				t.Errorf("got %+v, %v", out, err)
			}
		})
	}
	wg.Wait()
}

// halfText can be written as text but not read back: it is a string.
type halfText string

func (halfText) MarshalText() ([]byte, error) { return []byte("never"), nil }

func TestHalfTextKeys(t *testing.T) {
	type msg struct {
		By map[halfText]halfText `wire:"1"`
	}
	in, out := &msg{By: map[halfText]halfText{"k": "v"}}, new(msg)
	data, err := Codec{}.Append(nil, in)
	if err != nil {
		t.Fatal(err)
	}
	if err := (Codec{}).Decode(data, out); err != nil || out.By["k"] != "v" {
		t.Errorf("got %v, %v", out, err)
	}
}
