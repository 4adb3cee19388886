package target

import (
	"fmt"
	"strconv"
	"strings"

	codepb "google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/grpc/codes"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/codec/json"
	"github.com/everywire/everywire/lab/data"
	"github.com/everywire/everywire/lab/load"
	"github.com/everywire/everywire/lab/scenario"
)

// Statuses are statuses of HTTP, by ranges.
type Statuses []statusRange

type statusRange struct{ from, to int }

func (s Statuses) has(code int) bool {
	for _, r := range s {
		if code >= r.from && code <= r.to {
			return true
		}
	}
	return false
}

func (s Statuses) String() string {
	var all []string
	for _, r := range s {
		if r.from == r.to {
			all = append(all, strconv.Itoa(r.from))
		} else {
			all = append(all, strconv.Itoa(r.from/100)+"xx")
		}
	}
	return strings.Join(all, ", ")
}

// httpStatuses reads 200, 2xx; none stands for 2xx.
func httpStatuses(texts []scenario.Text) (Statuses, error) {
	if len(texts) == 0 {
		return Statuses{{200, 299}}, nil
	}
	var all Statuses
	for _, t := range texts {
		if class, ok := strings.CutSuffix(t.Text, "xx"); ok && len(class) == 1 && class >= "1" && class <= "5" {
			first := int(class[0]-'0') * 100
			all = append(all, statusRange{first, first + 99})
			continue
		}
		n, err := strconv.Atoi(t.Text)
		if err != nil || n < 100 || n > 599 {
			return nil, t.From.At(t.Text, 0, "the status %q is none of HTTP: it is like 200, or 2xx", t.Text)
		}
		all = append(all, statusRange{n, n})
	}
	return all, nil
}

// statusCodes reads NOT_FOUND.
func statusCodes(texts []scenario.Text) ([]codes.Code, error) {
	var all []codes.Code
	for _, t := range texts {
		n, ok := codepb.Code_value[t.Text]
		if !ok {
			return nil, t.From.At(t.Text, 0, "the status %q is none: they are OK, NOT_FOUND and so on, as gRPC has them", t.Text)
		}
		all = append(all, codes.Code(n)) //nolint:gosec // 17 values
	}
	return all, nil
}

// CodeName is the name of a status code as gRPC's specification writes it:
// NOT_FOUND.
func CodeName(c codes.Code) string { return codepb.Code(c).String() } //nolint:gosec // 17 codes; others print as a number

// documentOf is a reply as a document.
func documentOf(reply any) (any, error) {
	if doc, ok := reply.(*everywire.Document); ok {
		return doc.Value, nil
	}
	text, ok := reply.([]byte)
	if !ok {
		var err error
		if text, err = (json.Codec{}).Append(nil, reply); err != nil {
			return nil, err
		}
	}
	var doc everywire.Document
	if err := (json.Codec{}).Decode(text, &doc); err != nil {
		return nil, fmt.Errorf("the reply is no JSON: %w", err)
	}
	return doc.Value, nil
}

// differs says how a value of the reply is not the one that is wanted. A cell, of
// which nobody has said what it is, is the text of its characters, too.
func differs(doc any, path data.Path, want data.Value) string {
	got, err := path.Find(doc)
	if err != nil {
		return err.Error()
	}
	if want.Kind == data.Cell && got == want.Text {
		return ""
	}
	if text := load.Difference(got, want.Document()); text != "" {
		return path.String() + ": " + text
	}
	return ""
}
