package describe

// thriftIdent makes a name one that Thrift's compiler takes. It refuses its own
// keywords and those of the languages that it generates. Names are not on the
// wire, so one more character does no harm.
func thriftIdent(name string) string {
	if thriftWords[name] {
		return name + "_"
	}
	return name
}

var thriftWords = setOf(
	// Keywords of the language: https://thrift.apache.org/docs/idl.
	"async", "binary", "bool", "byte", "const", "cpp_include", "cpp_type", "double", "enum", "exception", "extends", "false", "i16", "i32", "i64",
	"i8", "include", "list", "map", "namespace", "oneway", "optional", "reference", "required", "service", "set", "string", "struct",
	"throws", "true", "typedef", "union", "uuid", "void", "xsd_all", "xsd_attrs", "xsd_nillable", "xsd_optional",
	// Reserved for the sake of other languages: https://thrift.apache.org/docs/idl#reserved-keywords.
	"BEGIN", "END", "__CLASS__", "__DIR__", "__FILE__", "__FUNCTION__", "__LINE__", "__METHOD__", "__NAMESPACE__",
	"abstract", "alias", "and", "args", "as", "assert", "begin", "break", "case", "catch", "class", "clone", "continue",
	"declare", "def", "default", "del", "delete", "do", "dynamic", "elif", "else", "elseif", "elsif", "end", "enddeclare",
	"endfor", "endforeach", "endif", "endswitch", "endwhile", "ensure", "except", "exec", "finally", "float", "for", "foreach",
	"from", "function", "global", "goto", "if", "implements", "import", "in", "inline", "instanceof", "interface", "is", "lambda",
	"module", "native", "new", "next", "nil", "not", "or", "package", "pass", "print", "private", "protected", "public", "raise",
	"redo", "rescue", "retry", "register", "return", "self", "sizeof", "static", "super", "switch", "synchronized", "then", "this",
	"throw", "transient", "try", "undef", "unless", "unsigned", "until", "use", "var", "virtual", "volatile", "when", "while",
	"with", "xor", "yield",
)

func setOf(words ...string) map[string]bool {
	set := make(map[string]bool, len(words))
	for _, w := range words {
		set[w] = true
	}
	return set
}
