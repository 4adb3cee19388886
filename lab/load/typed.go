package load

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// typedDifference is [Difference] for values of one struct type. Lists, maps and
// bytes that are nil equal empty ones, as in every codec.
func typedDifference(got, want reflect.Value) string {
	where, what := differTyped(got, want)
	if what == "" {
		return ""
	}
	if where == "" {
		where = "the whole message"
	}
	return where + ": " + what
}

func differTyped(got, want reflect.Value) (where, what string) {
	switch want.Kind() {
	case reflect.Struct:
		return differStructs(got, want)
	case reflect.Pointer:
		if got.IsNil() || want.IsNil() {
			if got.IsNil() != want.IsNil() {
				return "", fmt.Sprintf("is absent: %v, want absent: %v", got.IsNil(), want.IsNil())
			}
			return "", ""
		}
		return differTyped(got.Elem(), want.Elem())
	case reflect.Interface:
		return differ(got.Interface(), want.Interface())
	case reflect.Slice:
		if got.Len() != want.Len() {
			return "", fmt.Sprintf("has %d elements, want %d", got.Len(), want.Len())
		}
		for i := range want.Len() {
			if where, what := differTyped(got.Index(i), want.Index(i)); what != "" {
				return "/" + strconv.Itoa(i) + where, what
			}
		}
		return "", ""
	case reflect.Map:
		return differMaps(got, want)
	}
	if got.Equal(want) {
		return "", ""
	}
	return "", fmt.Sprintf("got %s, want %s", describe(got.Interface()), describe(want.Interface()))
}

func differStructs(got, want reflect.Value) (where, what string) {
	t := want.Type()
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.IsExported() {
			continue
		}
		if where, what := differTyped(got.Field(i), want.Field(i)); what != "" {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name == "" {
				name = f.Name
			}
			return "/" + escape(name) + where, what
		}
	}
	return "", ""
}

func differMaps(got, want reflect.Value) (where, what string) {
	if got.Len() != want.Len() {
		return "", fmt.Sprintf("has %d members, want %d", got.Len(), want.Len())
	}
	for entries := want.MapRange(); entries.Next(); {
		key := "/" + escape(fmt.Sprint(entries.Key()))
		value := got.MapIndex(entries.Key())
		if !value.IsValid() {
			return key, "is missing"
		}
		if where, what := differTyped(value, entries.Value()); what != "" {
			return key + where, what
		}
	}
	return "", ""
}
