package text

import "google.golang.org/protobuf/reflect/protoreflect"

// CamelPath turns a field mask's path a_b.c_d into aB.cD, its text form. It
// fails if [SnakePath] would not turn that back.
func CamelPath(path string) (string, bool) {
	if !protoreflect.FullName(path).IsValid() {
		return "", false
	}
	var b []byte
	for i := 0; i < len(path); i++ {
		c := path[i]
		switch {
		case c >= 'A' && c <= 'Z':
			return "", false
		case c != '_':
			b = append(b, c)
		default:
			i++
			if i == len(path) || path[i] < 'a' || path[i] > 'z' {
				return "", false
			}
			b = append(b, path[i]-'a'+'A')
		}
	}
	return string(b), true
}

// SnakePath turns aB.cD into a_b.c_d. It fails if that is no path.
func SnakePath(path string) (string, bool) {
	var b []byte
	for i := range len(path) {
		c := path[i]
		switch {
		case c == '_':
			return "", false
		case c >= 'A' && c <= 'Z':
			b = append(b, '_', c-'A'+'a')
		default:
			b = append(b, c)
		}
	}
	return string(b), protoreflect.FullName(b).IsValid()
}
