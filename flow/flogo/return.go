package flogo

import (
	"slices"
	"strconv"
)

// statuses are the codes of HTTP that a flow may answer with, as docs/spec/status.md
// has them.
var statuses = map[int64]string{
	400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND", 409: "ALREADY_EXISTS", 429: "RESOURCE_EXHAUSTED",
	499: "CANCELLED", 500: "INTERNAL", 501: "UNIMPLEMENTED", 503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED",
}

// ret makes the reply of a return: what the trigger makes of its mappings.
func (s *flowScope) ret(t *task, settings, in *node) *made {
	r := s.r
	m := s.mappings(settings, in, "a return activity")
	results := &replyTerms{terms: map[string]term{}, outputs: slices.Clone(s.v.res.outputs)}
	whole, good := obj(t.activity.at), true
	if m != nil {
		whole.at = m.at
		for _, one := range m.members {
			v, ok := r.term(one.value, s.scope)
			if good = good && ok; !ok {
				continue
			}
			results.terms[one.key] = v
			if !contained(results.outputs, one.key) {
				results.outputs = append(results.outputs, one.key)
			}
			whole.put(one.key, one.at, emit(v, one.value.at))
		}
	}
	slices.Sort(results.outputs)
	p := s.v.reply
	switch {
	case !good:
		return nil
	case p == nil:
		return obj(t.activity.at)
	case p.whole:
		return obj(t.activity.at).put("reply", whole.at, whole)
	}
	code, data, ok := s.answer(t, p, results)
	if !ok {
		return nil
	}
	return s.coded(t, code, data)
}

// An answered is a part of an answer, and where it comes from.
type answered struct {
	term
	at int
}

// answer applies the output mapping of a trigger.
func (s *flowScope) answer(t *task, p *reply, results *replyTerms) (code, data answered, ok bool) {
	r := s.r
	code.at, data.at = t.activity.at, t.activity.at
	if p.out == nil {
		code.term, data.term = results.terms["code"], results.terms["data"]
		for name := range results.terms {
			if name != "code" && name != "data" {
				r.bad(t.activity.at, "the trigger has no \"output\" that says what becomes of %s: only code and data are answered without one", shown(name))
				return code, data, false
			}
		}
		return code, data, true
	}
	if !r.fields(p.out, "the output of an action", []string{"code", "data"}, nil) {
		return code, data, false
	}
	ok = true
	for key, out := range map[string]*answered{"code": &code, "data": &data} {
		v := p.out.get(key)
		if v == nil {
			continue
		}
		var good bool
		out.at = v.at
		if out.term, good = r.term(v, results.scope(r)); !good {
			ok = false
		}
	}
	return code, data, ok
}

// coded is a return with an HTTP status.
func (s *flowScope) coded(t *task, code, data answered) *made {
	out := obj(t.activity.at)
	status := code.as(intType)
	if w := code.whole; w != nil && w.kind == number { // a constant in an object
		status = literal(nil)
		if n, err := strconv.ParseInt(w.word, 10, 64); err == nil {
			status = literal(n)
		}
	}
	n, isInt := status.value.(int64)
	switch {
	case code.text == "" && code.whole == nil, status.literal && status.value == nil, isInt && (n == 200 || n == 0):
		if data.text != "" || data.whole != nil {
			out.put("reply", data.at, emit(data.term, data.at))
		}
		return out
	case !isInt:
		s.r.bad(code.at, "the code of an answer must be a constant: have a task for each, with links that have conditions")
		return nil
	case n >= 200 && n < 400:
		s.r.bad(code.at, "an answer has the code 200 or that of an error, not %d", n)
		return nil
	case statuses[n] == "":
		e := s.r.bad(code.at, "the code %d is not read", n)
		for n := range statuses {
			e.Allowed = append(e.Allowed, strconv.FormatInt(n, 10))
		}
		e.Allowed = append(e.Allowed, "200")
		slices.Sort(e.Allowed)
		return nil
	}
	message := say(code.at, "the flow answers with "+strconv.FormatInt(n, 10))
	if data.text != "" || data.whole != nil {
		message = emit(data.term, data.at)
	}
	return failed(code.at, statuses[n], message)
}
