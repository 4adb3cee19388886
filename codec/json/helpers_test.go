package json_test

import (
	"math"
	"testing"

	"github.com/everywire/everywire/schema"
)

func mustMessage(t testing.TB, msg any) *schema.Message {
	t.Helper()
	m, err := schema.For(msg)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// wide has more fields than a word has bits.
type wide struct {
	_ struct{} `wire:"by-order"`

	F1  int
	F2  int
	F3  int
	F4  int
	F5  int
	F6  int
	F7  int
	F8  int
	F9  int
	F10 int
	F11 int
	F12 int
	F13 int
	F14 int
	F15 int
	F16 int
	F17 int
	F18 int
	F19 int
	F20 int
	F21 int
	F22 int
	F23 int
	F24 int
	F25 int
	F26 int
	F27 int
	F28 int
	F29 int
	F30 int
	F31 int
	F32 int
	F33 int
	F34 int
	F35 int
	F36 int
	F37 int
	F38 int
	F39 int
	F40 int
	F41 int
	F42 int
	F43 int
	F44 int
	F45 int
	F46 int
	F47 int
	F48 int
	F49 int
	F50 int
	F51 int
	F52 int
	F53 int
	F54 int
	F55 int
	F56 int
	F57 int
	F58 int
	F59 int
	F60 int
	F61 int
	F62 int
	F63 int
	F64 int
	F65 int
	F66 int
	F67 int
	F68 int
	F69 int
	F70 int
}

func inf() float64 { return math.Inf(1) }
