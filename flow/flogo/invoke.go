package flogo

import (
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// rest makes an invoke of a REST activity, and declares the method that it calls.
func (s *flowScope) rest(t *task, settings, in *node) *made {
	r := s.r
	r.fields(settings, "a REST activity", []string{"method", "uri", "headers", "timeout", "sslConfig", "caFile", "CAFile", "certFile", "keyFile"}, []string{"proxy", "skipSSLVerify"})
	r.fields(in, "a REST activity", []string{"pathParams", "queryParams", "headers", "content"}, nil)
	if p := settings.get("proxy"); p != nil && !empty(p) {
		r.bad(p.at, "a proxy is not read: call the service itself")
	}
	verb := r.verb(settings.get("method"), settings)
	uri, ok := s.uri(settings)
	if !ok || verb == "" {
		return nil
	}
	req := &request{s: s, members: obj(in.at), whole: -1}
	req.params(in, "pathParams", uri.params)
	for _, name := range slices.Sorted(maps.Keys(uri.query)) {
		req.text(name, settings.get("uri").at, textTerm(strings.Join(uri.query[name], ",")))
	}
	req.params(in, "queryParams", nil)
	req.content(in.get("content"), verb)
	at := t.activity.at
	method := r.declare(r.pkg+"."+camel(s.v.name), camel(t.id))
	def := obj(at)
	switch {
	case req.whole < 0:
		def.put("request", at, say(at, r.requestMessage(method, at, req.texts, req.anys)))
	case len(req.texts) > 0:
		r.bad(req.whole, "a content that is no object of mappings cannot go with parameters of the path or the query: map its members")
	}
	def.put("route", at, say(at, verb+" "+uri.path))
	if word := idempotency(verb); word != "" {
		def.put("idempotency", at, say(at, word))
	}
	r.methods.put(method, at, def)
	out := obj(at).put("target", at, say(settings.get("uri").at, uri.target+s.tls(settings, uri))).put("method", at, say(at, method))
	switch {
	case req.document != nil:
		out.put("request", in.at, req.document)
	case len(req.members.members) > 0:
		out.put("request", in.at, req.members)
	}
	headers := in.get("headers")
	if headers == nil || empty(headers) {
		headers = settings.get("headers")
	}
	if md := s.metadata(headers); len(md.members) > 0 {
		out.put("metadata", md.at, md)
	}
	if v := settings.get("timeout"); v != nil {
		text, ok := r.constText(v)
		if n, err := strconv.Atoi(text); ok && (err != nil || n < 0) {
			r.bad(v.at, "the timeout is a whole number of seconds, not %v", v)
		} else if n > 0 {
			out.put("deadline", v.at, word(v.at, strconv.Itoa(n)+"s"))
		}
	}
	return out
}

// tls are the options of a target with TLS.
func (s *flowScope) tls(settings *node, uri restURI) string {
	ssl := settings.get("sslConfig")
	if ssl == nil {
		ssl = settings
	} else if !s.r.fields(ssl, "sslConfig", []string{"caFile", "certFile", "keyFile", "skipVerify", "useSystemCert"}, nil) {
		return ""
	}
	if !strings.HasPrefix(uri.target, "rest+tls") {
		return ""
	}
	for _, key := range []string{"skipVerify", "skipSSLVerify"} {
		if s.r.flag(ssl, key) {
			s.r.bad(ssl.get(key).at, "certificates are always verified: name the authority that has signed the server's (\"caFile\")")
		}
	}
	options := url.Values{}
	for _, o := range [][2]string{{"caFile", "ca"}, {"CAFile", "ca"}, {"certFile", "cert"}, {"keyFile", "key"}} {
		if v := ssl.get(o[0]); v != nil && !empty(v) {
			if text, ok := s.r.constText(v); ok {
				options.Set(o[1], text)
			}
		}
	}
	if len(options) == 0 {
		return ""
	}
	return "?" + options.Encode()
}

// metadata are headers, without those that HTTP has anyway.
func (s *flowScope) metadata(n *node) *made {
	out := obj(0)
	if n == nil {
		return out
	}
	out.at = n.at
	for _, m := range s.r.mapped(n, "headers") {
		key := strings.ToLower(m.key)
		if key == "content-type" || key == "accept" {
			if !strings.Contains(strings.ToLower(m.value.text), "json") && m.value.text != "*/*" {
				s.r.bad(m.value.at, "only JSON is sent and accepted, not %v", m.value)
			}
			continue
		}
		if t, ok := s.r.term(m.value, s.scope); ok {
			out.put(key, m.at, emit(t.as(stringType), m.value.at))
		}
	}
	return out
}

// A request is what an activity sends.
type request struct {
	s           *flowScope
	members     *made
	texts, anys []string // the fields of the message
	document    *made    // set instead, for a content that is no object of mappings
	whole       int      // where that is
}

// text puts a member that is a text.
func (q *request) text(name string, at int, t term) {
	if !fieldName(name) || contained(q.texts, name) {
		q.s.r.bad(at, "%s cannot be the name of a parameter: it has letters, digits and '_', and is there once", shown(name))
		return
	}
	q.texts = append(q.texts, name)
	if t.typ == anyType && !t.literal && t.whole == nil {
		t = t.asText()
	}
	q.members.put(name, at, emit(t.as(stringType), at))
}

// mapped are the members of an object of mappings.
func (r *reader) mapped(n *node, what string) []member {
	if m := n.get("mapping"); m != nil && len(n.members) == 1 {
		n = m
	}
	if n != nil && n.kind != object {
		r.bad(n.at, "%q is an object of mappings, not %v: map each member", what, n)
		return nil
	}
	if n == nil {
		return nil
	}
	return n.members
}

// params puts those of the path, which all must be there, or of the query.
func (q *request) params(in *node, key string, needed []string) {
	r := q.s.r
	given := map[string]bool{}
	for _, m := range r.mapped(in.get(key), key) {
		given[m.key] = true
		if key == "pathParams" && !contained(needed, m.key) {
			r.bad(m.at, "the path of the uri has no parameter %s", shown(m.key)).Allowed = needed
			continue
		}
		if t, ok := r.term(m.value, q.s.scope); ok {
			q.text(m.key, m.at, t)
		}
	}
	for _, name := range needed {
		if !given[name] {
			r.bad(in.at, "the path of the uri has a parameter %s, which \"pathParams\" does not give", shown(name))
		}
	}
}

// content puts the members of the content, or the content as it is.
func (q *request) content(n *node, verb string) {
	r := q.s.r
	if n == nil || empty(n) {
		return
	}
	if !hasBody(verb) {
		r.bad(n.at, "a %s has no content: only POST, PUT and PATCH do", verb)
		return
	}
	t, ok := r.term(n, q.s.scope)
	switch {
	case !ok:
		return
	case t.typ == stringType:
		r.bad(n.at, "a text is sent as it is by Flogo, and not as JSON: make the content an object, {\"mapping\": {…}}")
	case t.whole == nil || t.whole.kind != object || slices.ContainsFunc(t.whole.members, func(m madeMember) bool { return !fieldName(m.key) }):
		q.whole, q.document = n.at, emit(t, n.at)
	default:
		for _, m := range t.whole.members {
			if contained(q.texts, m.key) {
				r.bad(m.at, "%s is a parameter of the path or the query already", shown(m.key))
				continue
			}
			q.anys = append(q.anys, m.key)
			q.members.put(m.key, m.at, m.value)
		}
	}
}

// restURI is what the URI of a REST activity says.
type restURI struct {
	target string
	path   string
	params []string
	query  url.Values
}

func (s *flowScope) uri(settings *node) (restURI, bool) {
	r, out := s.r, restURI{}
	n := settings.get("uri")
	text, ok := r.constText(n)
	if n == nil {
		r.bad(settings.at, "a REST activity needs a \"uri\" such as http://localhost:8080/greet/:name")
		return out, false
	}
	if !ok {
		return out, false
	}
	scheme, rest, _ := strings.Cut(text, "://")
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	host, path := rest[:end], rest[end:]
	path, query, _ := strings.Cut(path, "?")
	out.target = "rest://"
	port := ":80"
	switch {
	case scheme == "https":
		out.target, port = "rest+tls://", ":443"
	case scheme != "http" || host == "" || strings.ContainsAny(host, "@ {}\\$") || strings.Contains(path+query, "#"):
		r.bad(n.at, "the uri is of the form http://host:port/path or https://…, not %s", shown(text))
		return out, false
	}
	if u, err := url.Parse(scheme + "://" + host); err != nil || u.Hostname() == "" {
		r.bad(n.at, "%s is no host", shown(host))
		return out, false
	} else if u.Port() != "" {
		port = ""
	}
	out.target += host + port
	var err error
	if out.query, err = url.ParseQuery(query); err != nil {
		r.bad(n.at, "the query of the uri cannot be read: %v", err)
		return out, false
	}
	out.path, out.params, ok = r.route(n, path)
	return out, ok
}
