package describe

// problem is the response of everything that failed: a problem document of RFC
// 9457 with the code and the details of the status.
func (ts *types) problem() *response {
	detail := &jsonSchema{
		Type: "object", Description: "A protobuf message.",
		Properties: ordered[*jsonSchema]{
			{"type", described(&jsonSchema{Type: "string"}, "The message's full name, such as google.rpc.ErrorInfo.")},
			{"value", described(&jsonSchema{Type: "string", ContentEncoding: "base64"}, "The message in protobuf.")},
		},
		Required: []string{"type", "value"},
	}
	fault := &jsonSchema{
		Type: "object", Description: "One thing that is wrong with the request.",
		Properties: ordered[*jsonSchema]{
			{"field", described(&jsonSchema{Type: "string"}, "The field's path in the request, such as where.name.")},
			{"detail", &jsonSchema{Type: "string"}},
		},
		Required: []string{"field", "detail"},
	}
	ref := ts.reference("problem", "Problem", func(s *jsonSchema) {
		s.Description = "A problem document (RFC 9457)."
		s.Properties = ordered[*jsonSchema]{
			{"type", &jsonSchema{Type: "string"}},
			{"title", &jsonSchema{Type: "string"}},
			{"status", described(&jsonSchema{Type: "integer", Format: "int32"}, "The HTTP status.")},
			{"detail", described(&jsonSchema{Type: "string"}, "What went wrong, for people.")},
			{"code", described(&jsonSchema{Type: "string"}, "gRPC's name of the code, such as NOT_FOUND; a number in decimal if it has none.")},
			{"details", listOf(detail)},
			{"errors", listOf(fault)},
		}
		s.always = []string{"type", "title", "status", "detail", "code"}
	})
	return &response{
		Description: "The call failed.",
		Content:     ordered[mediaType]{{"application/problem+json", mediaType{Schema: ref}}},
	}
}

// openAPI30 turns a schema into the dialect of OpenAPI 3.0, which is a part of
// an old draft of JSON Schema with words of its own: bytes are a format, null
// is no type, and the names of a map's members cannot be described.
func openAPI30(s *jsonSchema) {
	s.each(openAPI30)
	if s.ContentEncoding == "base64" {
		s.ContentEncoding, s.Format = "", "byte"
	}
	s.PropertyNames = nil
	if s.Type == "null" {
		s.Type, s.Nullable, s.Enum = "string", true, []any{nil}
	}
	if len(s.AnyOf) == 2 && s.AnyOf[1].Nullable {
		// A value or null. Beside a reference nullable has no meaning.
		if one := s.AnyOf[0]; one.Ref == "" {
			*s = *one
		} else {
			*s = jsonSchema{AllOf: []*jsonSchema{one}, Type: "object", Description: s.Description}
		}
		s.Nullable = true
	}
}
