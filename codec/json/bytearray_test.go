package json

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// However an array of bytes is written, it is the same.
func TestByteArrays(t *testing.T) {
	type message struct {
		Data []byte `wire:"1"`
	}
	rapid.Check(t, func(t *rapid.T) {
		data := rapid.SliceOfN(rapid.Byte(), 1, 40).Draw(t, "data")
		text, err := Codec{BytesAsArray: true}.Append(nil, &message{data})
		if err != nil {
			t.Fatal(err)
		}
		signed, mixed := make([]string, len(data)), make([]string, len(data))
		for i, c := range data {
			signed[i] = strconv.Itoa(int(int8(c)))
			forms := []string{strconv.Itoa(int(int8(c))), strconv.Itoa(int(c)), fmt.Sprintf(" %d\n", c), fmt.Sprintf("%d.0", int8(c)), fmt.Sprintf("%de0", c), fmt.Sprintf("%q", strconv.Itoa(int(c)))}
			mixed[i] = rapid.SampledFrom(forms).Draw(t, "form")
		}
		if want := `{"data":[` + strings.Join(signed, ",") + `]}`; string(text) != want {
			t.Fatalf("%s, want %s", text, want)
		}
		for _, text := range []string{string(text), `{"data":[` + strings.Join(mixed, ",") + `]}`} {
			got := new(message)
			if err := (Codec{}).Decode([]byte(text), got); err != nil || !bytes.Equal(got.Data, data) {
				t.Fatalf("%s is read as %v, %v", text, got.Data, err)
			}
		}
	})
}

// What is wrong in an array of bytes is told with its place, wherever it stands.
func TestWrongByteArrays(t *testing.T) {
	type message struct {
		Data []byte `wire:"1"`
	}
	for _, wrong := range []string{"256", "-129", "1000", "01", "-", "x", "null", "1 2", "", "1.5", "+1", "--1"} {
		for before := range 3 {
			for _, after := range []string{"", ",7"} {
				text := `{"data":[` + strings.Repeat("5,", before) + wrong + after + `]}`
				if wrong == "" && before == 0 && after == "" {
					continue // an empty array
				}
				if err := (Codec{}).Decode([]byte(text), new(message)); err == nil {
					t.Errorf("%s is taken", text)
				} else if !strings.Contains(err.Error(), "line 1 column") {
					t.Errorf("%s: %v", text, err)
				}
			}
		}
	}
}
