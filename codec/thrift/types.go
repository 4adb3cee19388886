package thrift

import "fmt"

// A wireType is a type as the binary protocol numbers it. The compact protocol
// numbers types otherwise, and for it these are translated.
type wireType uint8

const (
	typeStop   wireType = 0
	typeBool   wireType = 2
	typeI8     wireType = 3
	typeDouble wireType = 4
	typeI16    wireType = 6
	typeI32    wireType = 8
	typeI64    wireType = 10
	typeString wireType = 11 // and binary
	typeStruct wireType = 12
	typeMap    wireType = 13
	typeSet    wireType = 14
	typeList   wireType = 15
	typeUUID   wireType = 16
)

// A typeInfo is what both protocols need to know of a type.
type typeInfo struct {
	name    string
	compact byte // its number in the compact protocol, 0 if the type is none
	// fixed is the size of every value in the binary protocol, and in the
	// compact one; 0 if values differ.
	fixed, fixedCompact int
	// least is the smallest size of a value in the binary protocol. In the
	// compact one it is 1 if it is not fixed.
	least int
}

var types = [...]typeInfo{
	typeStop:   {name: "the end of a struct"},
	typeBool:   {name: "bool", compact: compactTrue, fixed: 1, fixedCompact: 1, least: 1},
	typeI8:     {name: "i8", compact: 3, fixed: 1, fixedCompact: 1, least: 1},
	typeDouble: {name: "double", compact: 7, fixed: 8, fixedCompact: 8, least: 8},
	typeI16:    {name: "i16", compact: 4, fixed: 2, least: 2},
	typeI32:    {name: "i32", compact: 5, fixed: 4, least: 4},
	typeI64:    {name: "i64", compact: 6, fixed: 8, least: 8},
	typeString: {name: "string", compact: 8, least: 4},
	typeStruct: {name: "struct", compact: 12, least: 1},
	typeMap:    {name: "map", compact: 11, least: 6},
	typeSet:    {name: "set", compact: 10, least: 5},
	typeList:   {name: "list", compact: 9, least: 5},
	typeUUID:   {name: "uuid", compact: 13, fixed: 16, fixedCompact: 16, least: 16},
}

// In the compact protocol a bool that is a field is in the field's type. In lists
// and maps it is a byte of the same values, and their type is 1 or 2: the
// specification once said 2, but libraries write 1.
const (
	compactTrue  = 1
	compactFalse = 2
)

// fromCompact are the types by their numbers in the compact protocol.
var fromCompact = [16]wireType{
	compactTrue: typeBool, compactFalse: typeBool, 3: typeI8, 4: typeI16, 5: typeI32, 6: typeI64, 7: typeDouble, 8: typeString,
	9: typeList, 10: typeSet, 11: typeMap, 12: typeStruct, 13: typeUUID,
}

func (t wireType) known() bool { return int(t) < len(types) && types[t].compact != 0 }

func (t wireType) String() string {
	if t.known() {
		return types[t].name
	}
	return fmt.Sprintf("the unknown type %d", uint8(t))
}

// fixed returns the size of every value of the type, or 0.
func (t wireType) fixed(compact bool) int {
	if compact {
		return types[t].fixedCompact
	}
	return types[t].fixed
}

// least returns the smallest size of a value of the type.
func (t wireType) least(compact bool) int {
	if compact {
		return max(1, types[t].fixedCompact)
	}
	return types[t].least
}
