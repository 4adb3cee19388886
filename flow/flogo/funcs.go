package flogo

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// A function is one of Flogo's that package expr has as well, under its own name or
// as an operator.
type function struct {
	least, most int // numbers of arguments; most < 0 is any
	make        func(args []term) term
}

// named makes calls of a function of package expr. texts says that its arguments
// are texts.
func named(name string, result typ, texts int) func([]term) term {
	return func(args []term) term {
		all := make([]string, len(args))
		for i, a := range args {
			if i < texts {
				a = a.asText()
			}
			all[i] = a.text
		}
		return atom(name+"("+strings.Join(all, ", ")+")", result)
	}
}

func infix(op string, change func(term) string) func([]term) term {
	return func(args []term) term {
		return term{text: change(args[0]) + " " + op + " " + change(args[1]), level: compareLevel, typ: boolType}
	}
}

var (
	upper  = function{1, 1, named("upper", stringType, 1)}
	lower  = function{1, 1, named("lower", stringType, 1)}
	length = function{1, 1, named("length", intType, 0)}
	octets = function{1, 1, func(args []term) term { return atom("length(bytes("+args[0].asText().text+"))", intType) }}
	size   = function{1, 1, func(args []term) term {
		if args[0].typ == stringType {
			return octets.make(args)
		}
		return length.make(args)
	}}
	toText  = function{1, 1, func(args []term) term { return args[0].asText() }}
	toInt   = function{1, 1, named("int", intType, 0)}
	toFloat = function{1, 1, named("float", floatType, 0)}
	equal   = function{2, 2, infix("==", func(t term) string { return t.asText().in(addLevel) })}
	alike   = function{2, 2, infix("==", func(t term) string { return "lower(" + t.asText().text + ")" })}
	defined = function{1, 1, func(args []term) term {
		return term{text: args[0].in(addLevel) + " != null", level: compareLevel, typ: boolType}
	}}
	contains = function{2, 2, named("contains", boolType, 2)}
)

// functions are those that are read.
var functions = map[string]function{
	"string.concat": {1, -1, func(args []term) term { return joined(args...) }},
	"string.length": octets, "string.len": octets, "len": size, "array.count": length,
	"string.toUpper": upper, "string.toUpperCase": upper, "string.upperCase": upper,
	"string.toLower": lower, "string.toLowerCase": lower, "string.lowerCase": lower,
	"string.trim":     {1, 1, named("trim", stringType, 1)},
	"string.contains": contains,
	"string.repeat":   {2, 2, named("repeat", stringType, 1)},
	"string.equals":   equal, "string.equalsIgnoreCase": alike,
	"string.integer": toInt, "string.float": toFloat,
	"coerce.toString": toText, "coerce.toInt": toInt, "coerce.toInt32": toInt, "coerce.toInt64": toInt,
	"coerce.toFloat32": toFloat, "coerce.toFloat64": toFloat, "coerce.toBytes": {1, 1, named("bytes", anyType, 1)},
	"isDefined":    defined,
	"datetime.now": {0, 0, func([]term) term { return atom("string(now())", stringType) }},
}

// call makes a call of a function.
func call(name string, at int, args []term) (term, *problem) {
	f, ok := functions[name]
	if !ok {
		err := wrong(at, "the function %s is not read", shown(name))
		err.allowed = slices.Sorted(maps.Keys(functions))
		return term{}, err
	}
	if len(args) < f.least || f.most >= 0 && len(args) > f.most {
		want := strconv.Itoa(f.least)
		if f.most < 0 {
			want += " or more"
		}
		return term{}, wrong(at, "%s has %d arguments here: it takes %s", name, len(args), want)
	}
	return f.make(args), nil
}
