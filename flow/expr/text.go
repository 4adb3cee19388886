package expr

import (
	"encoding/base64"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/everywire/everywire/schema"
)

// maxValueDepth is how deeply a value may nest that becomes a text.
const maxValueDepth = schema.MaxDepth

// AppendText appends a value as it stands in texts: a text as it is, bytes in
// base64, times as RFC 3339 and durations as Go have them, all else as JSON. The
// error is of type [*Error], with the offset 0, if the text is larger than MaxText.
func AppendText(dst []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case string:
		dst = append(dst, v...)
	case []byte:
		dst = base64.StdEncoding.AppendEncode(dst, v)
	case time.Time:
		dst = v.UTC().AppendFormat(dst, time.RFC3339Nano)
	case time.Duration:
		dst = append(dst, v.String()...)
	default:
		return appendJSON(dst, v, 0)
	}
	if len(dst) > MaxText {
		return nil, tooLong()
	}
	return dst, nil
}

func tooLong() *Error { return errorf(0, "a text would have more than %d bytes", MaxText) }

func appendJSON(dst []byte, v any, depth int) ([]byte, error) {
	if depth > maxValueDepth {
		return nil, errorf(0, "a value nests more than %d deep", maxValueDepth)
	}
	if len(dst) > MaxText {
		return nil, tooLong()
	}
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...), nil
	case bool:
		return strconv.AppendBool(dst, v), nil
	case int64:
		return strconv.AppendInt(dst, v, 10), nil
	case uint64:
		return strconv.AppendUint(dst, v, 10), nil
	case schema.Number:
		return append(dst, v...), nil
	case float64:
		return appendFloat(dst, v), nil
	case string:
		return appendQuoted(dst, v), nil
	case []any:
		return appendList(dst, v, depth)
	case map[string]any:
		return appendObject(dst, v, depth)
	}
	text, err := AppendText(nil, v) // bytes, times, durations
	return appendQuoted(dst, string(text)), err
}

func appendList(dst []byte, list []any, depth int) (_ []byte, err error) {
	dst = append(dst, '[')
	for i, x := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = appendJSON(dst, x, depth+1); err != nil {
			return nil, err
		}
	}
	return append(dst, ']'), nil
}

// appendObject writes members in the order of their names.
func appendObject(dst []byte, object map[string]any, depth int) (_ []byte, err error) {
	dst = append(dst, '{')
	for i, name := range slices.Sorted(maps.Keys(object)) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendQuoted(dst, name), ':')
		if dst, err = appendJSON(dst, object[name], depth+1); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}

func appendFloat(dst []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, `"NaN"`...)
	case math.IsInf(f, 1):
		return append(dst, `"Infinity"`...)
	case math.IsInf(f, -1):
		return append(dst, `"-Infinity"`...)
	}
	format := byte('f')
	if abs := math.Abs(f); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	return strconv.AppendFloat(dst, f, format, -1, 64)
}

// appendQuoted writes a text as JSON, and what is not UTF-8 as U+FFFD.
func appendQuoted(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r == '\n':
			dst = append(dst, `\n`...)
		case r == '\r':
			dst = append(dst, `\r`...)
		case r == '\t':
			dst = append(dst, `\t`...)
		case r < 0x20:
			dst = append(dst, '\\', 'u', '0', '0', hex[r>>4], hex[r&15])
		default:
			dst = utf8.AppendRune(dst, r)
		}
	}
	return append(dst, '"')
}
