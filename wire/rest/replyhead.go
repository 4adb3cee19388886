package rest

import (
	"net/http"

	"github.com/everywire/everywire/schema"
)

// A replyHead is what a response's head takes from the reply itself.
type replyHead struct {
	location string // the path of what was created
	etag     string // an entity tag, "" if the reply has none
}

// placeReply notes what responses of the endpoint take from the reply.
func (e *endpoint) placeReply(reply *fields) {
	e.noReply = e.method.Output != nil && !e.method.Output.HasFields()
	for _, f := range reply.all {
		if f.place.In == schema.ETag {
			e.etag = f
		}
	}
}

// bindsHeader reports whether a field of the request is filled by the header.
func (e *endpoint) bindsHeader(name string) bool {
	for _, b := range e.headers {
		if b.name == name {
			return true
		}
	}
	return false
}

// readHead takes from a reply what the response's head has of it.
func (x *exchange) readHead(v any) (err error) {
	x.head = replyHead{}
	e := x.endpoint
	if e.created == nil && e.etag == nil {
		return nil
	}
	message := x.reply
	if !x.format.isPlain {
		if x.scratch, err = plainJSON.Append(x.scratch[:0], v); err != nil {
			return err
		}
		message = x.scratch
	}
	if e.created != nil {
		if x.head.location, err = e.created.of(message); err != nil {
			return err
		}
	}
	if e.etag == nil {
		return nil
	}
	text, err := textAt(message, []*field{e.etag})
	x.head.etag = entityTagOf(text)
	return err
}

// successStatus is HTTP's status for a call that went well.
func (e *endpoint) successStatus() int {
	switch {
	case e.created != nil:
		return http.StatusCreated
	case e.noReply && !e.emptyOK:
		return http.StatusNoContent
	}
	return http.StatusOK
}
