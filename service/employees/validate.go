package employees

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire/service/employees/outbox"
)

// violations are what is wrong with a request: all of it, so that a form can be
// corrected at once.
type violations []*errdetails.BadRequest_FieldViolation

func (v *violations) add(field, format string, args ...any) {
	*v = append(*v, &errdetails.BadRequest_FieldViolation{Field: field, Description: fmt.Sprintf(format, args...)})
}

// err is nil if nothing is wrong.
func (v violations) err() error {
	if len(v) == 0 {
		return nil
	}
	texts := make([]string, len(v))
	for i, f := range v {
		texts[i] = f.Field + ": " + f.Description
	}
	s := status.New(codes.InvalidArgument, strings.Join(texts, "; "))
	if detailed, err := s.WithDetails(&errdetails.BadRequest{FieldViolations: v}); err == nil {
		s = detailed
	}
	return s.Err()
}

// line checks a text of one line. Control characters would be line breaks in a
// mail's header, or worse.
func (v *violations) line(field, s string, most int) {
	switch {
	case utf8.RuneCountInString(s) > most:
		v.add(field, "has %d characters, more than %d", utf8.RuneCountInString(s), most)
	case strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' }):
		v.add(field, "has a line break or another control character")
	}
}

const (
	maxName    = 100
	maxSubject = 200
	maxText    = 64 << 10
)

func (v *violations) name(field, s string) string {
	s = strings.TrimSpace(s)
	if s == "" {
		v.add(field, "is empty")
	}
	v.line(field, s, maxName)
	return s
}

func (v *violations) email(field, s string) string {
	if s == "" {
		v.add(field, "is empty")
	} else if err := outbox.CheckAddress(s); err != nil {
		v.add(field, "%v", err)
	}
	return s
}

// languageTag is the form of most tags of RFC 5646.
var languageTag = regexp.MustCompile(`^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8}){0,3}$`)

// filter checks a language that a request need not name.
func (v *violations) filter(field, s string) string {
	if s != "" && !languageTag.MatchString(s) {
		v.add(field, "%q is not a language tag such as en or pt-BR", short(s))
	}
	return s
}

// language is filter for one who must have a language.
func (v *violations) language(field, s string) string {
	if s == "" {
		return "en"
	}
	return v.filter(field, s)
}

// short keeps messages readable.
func short(s string) string {
	if len(s) <= 64 {
		return s
	}
	return strings.ToValidUTF8(s[:64], "") + "…"
}

// versions are those that a change is for; nil is any.
type versions []int64

// versions reads what If-Match says: entity tags, as RFC 9110 has them in
// section 13.1.1, or bare numbers as others will write them. A weak tag names no
// version, and neither does one that this service never made: both match
// nothing.
func (v *violations) versions(field, s string) versions {
	if s = strings.TrimSpace(s); s == "" || s == "*" {
		return nil
	}
	match := versions{}
	for part := range strings.SplitSeq(s, ",") {
		part = strings.TrimSpace(part)
		bare, quoted := strings.CutPrefix(part, `"`)
		if quoted {
			bare, quoted = strings.CutSuffix(bare, `"`)
		}
		n, err := strconv.ParseInt(bare, 10, 64)
		switch {
		case err == nil:
			match = append(match, n)
		case !quoted && !strings.HasPrefix(part, "W/"):
			v.add(field, `%q is not a version such as "3"`, short(part))
			return match
		}
	}
	return match
}

func (m versions) check(e *Employee) error {
	if m == nil || slices.Contains(m, e.Version) {
		return nil
	}
	return status.Errorf(codes.Aborted, "employee %d has changed: its version is %d", e.ID, e.Version)
}
