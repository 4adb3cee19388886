package describe_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// parse reads JSON with numbers kept as they are written.
func parse(t testing.TB, text []byte) map[string]any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v map[string]any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return v
}

// A shape is what the OpenRPC meta-schema (1.3.2) says of the members of one
// kind of object: name to JSON type; those with a star are required.
type shape map[string]string

var (
	documentShape = shape{"openrpc*": "string", "info*": "object", "methods*": "array", "components": "object", "servers": "array", "externalDocs": "object", "$schema": "string"}
	infoShape     = shape{"title*": "string", "version*": "string", "description": "string", "termsOfService": "string", "contact": "object", "license": "object"}
	methodShape   = shape{
		"name*": "string", "params*": "array", "description": "string", "summary": "string", "servers": "array", "tags": "array", "paramStructure": "string",
		"result": "object", "errors": "array", "links": "array", "examples": "array", "deprecated": "boolean", "externalDocs": "object",
	}
	descriptorShape = shape{"name*": "string", "schema*": "object", "description": "string", "summary": "string", "required": "boolean", "deprecated": "boolean"}
)

func (s shape) check(t testing.TB, where string, v any) map[string]any {
	t.Helper()
	object, ok := v.(map[string]any)
	if !ok {
		t.Fatalf("%s is no object: %v", where, v)
	}
	for name, want := range s {
		name, required := strings.CutSuffix(name, "*")
		value, has := object[name]
		if required && !has {
			t.Errorf("%s lacks %q", where, name)
		}
		if has && !isType(value, want) {
			t.Errorf("%s: %q is not of type %s: %v", where, name, want, value)
		}
	}
	for name := range object {
		if s[name] == "" && s[name+"*"] == "" && !strings.HasPrefix(name, "x-") {
			t.Errorf("%s has the member %q, which OpenRPC does not know", where, name)
		}
	}
	return object
}

// checkOpenRPC makes the checks of the meta-schema, and those that the
// specification states in words: names are unique, references lead somewhere.
func checkOpenRPC(t testing.TB, text []byte) map[string]any {
	t.Helper()
	doc := documentShape.check(t, "the document", parse(t, text))
	if doc["openrpc"] != "1.3.2" {
		t.Errorf("version %v", doc["openrpc"])
	}
	infoShape.check(t, "info", doc["info"])
	methods := map[string]bool{}
	for _, m := range doc["methods"].([]any) {
		m := methodShape.check(t, "a method", m)
		name := m["name"].(string)
		if name == "" || methods[name] {
			t.Errorf("the method name %q is empty or not unique", name)
		}
		methods[name] = true
		if s := m["paramStructure"]; s != nil && !slices.Contains([]any{"by-position", "by-name", "either"}, s) {
			t.Errorf("%s: paramStructure %v", name, s)
		}
		params := map[string]bool{}
		optional := false
		for _, p := range m["params"].([]any) {
			p := descriptorShape.check(t, "a param of "+name, p)
			if n := p["name"].(string); n == "" || params[n] {
				t.Errorf("%s: the param name %q is empty or not unique", name, n)
			} else {
				params[n] = true
			}
			required := p["required"] == true
			if required && optional && m["paramStructure"] != "by-name" {
				t.Errorf("%s: a required param behind an optional one", name)
			}
			optional = optional || !required
		}
		descriptorShape.check(t, "the result of "+name, m["result"])
	}
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			if ref, ok := v["$ref"].(string); ok && resolve(doc, ref) == nil {
				t.Errorf("the reference %s leads nowhere", ref)
			}
			for _, e := range v {
				walk(e)
			}
		}
	}
	walk(doc)
	return doc
}

func resolve(doc map[string]any, ref string) map[string]any {
	name, ok := strings.CutPrefix(ref, "#/components/schemas/")
	if !ok {
		return nil
	}
	schemas, _ := doc["components"].(map[string]any)["schemas"].(map[string]any)
	s, _ := schemas[name].(map[string]any)
	return s
}

func isType(v any, want string) bool {
	switch v := v.(type) {
	case nil:
		return want == "null"
	case bool:
		return want == "boolean"
	case string:
		return want == "string"
	case json.Number:
		return want == "number" || want == "integer" && !strings.ContainsAny(v.String(), ".eE")
	case []any:
		return want == "array"
	}
	return want == "object"
}

// fits reports why v is not what a schema of draft 7 allows, for the keywords
// that documents of this package use; others are an error too.
func fits(doc, s map[string]any, v any) error {
	if ref, ok := s["$ref"].(string); ok {
		return fits(doc, resolve(doc, ref), v)
	}
	for key, want := range s {
		if err := keyword(doc, s, key, want, v); err != nil {
			return err
		}
	}
	return nil
}

func keyword(doc, s map[string]any, key string, want, v any) error {
	object, _ := v.(map[string]any)
	switch key {
	case "description", "format", "contentEncoding":
	case "properties":
		known := want.(map[string]any)
		for name, e := range object {
			one, ok := known[name].(map[string]any)
			if !ok && s["additionalProperties"] != nil {
				continue
			}
			if !ok {
				return fmt.Errorf("the member %q is not described", name)
			}
			if err := fits(doc, one, e); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	case "type":
		if !isType(v, want.(string)) {
			return fmt.Errorf("%v is not of type %v", v, want)
		}
	case "enum":
		if !slices.Contains(want.([]any), v) {
			return fmt.Errorf("%v is none of %v", v, want)
		}
	case "pattern":
		if text, ok := v.(string); ok && !regexp.MustCompile(want.(string)).MatchString(text) {
			return fmt.Errorf("%q does not match %v", text, want)
		}
	case "minimum", "maximum":
		if n, ok := v.(json.Number); ok && (key == "minimum" && less(n, want.(json.Number)) || key == "maximum" && less(want.(json.Number), n)) {
			return fmt.Errorf("%v is beyond the %s %v", n, key, want)
		}
	case "anyOf":
		var all []error
		for _, one := range want.([]any) {
			err := fits(doc, one.(map[string]any), v)
			if err == nil {
				return nil
			}
			all = append(all, err)
		}
		return fmt.Errorf("none of the alternatives fits: %v", all)
	case "items":
		list, _ := v.([]any)
		for i, e := range list {
			if err := fits(doc, want.(map[string]any), e); err != nil {
				return fmt.Errorf("%d: %w", i, err)
			}
		}
	case "propertyNames":
		for name := range object {
			if err := fits(doc, want.(map[string]any), name); err != nil {
				return err
			}
		}
	case "additionalProperties":
		for name, e := range object {
			if err := fits(doc, want.(map[string]any), e); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	case "required":
		for _, name := range want.([]any) {
			if _, has := object[name.(string)]; !has {
				return fmt.Errorf("%v is missing", name)
			}
		}
	default:
		return fmt.Errorf("the test does not know the keyword %q", key)
	}
	return nil
}

func less(a, b json.Number) bool {
	x, okX := new(big.Rat).SetString(a.String())
	y, okY := new(big.Rat).SetString(b.String())
	return okX && okY && x.Cmp(y) < 0
}
