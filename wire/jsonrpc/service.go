package jsonrpc

import (
	"context"
	"fmt"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/codec/json"
	"github.com/everywire/everywire/wire/internal/code"
	"github.com/everywire/everywire/wire/internal/form"
	"github.com/everywire/everywire/wire/internal/rpc"
	"github.com/everywire/everywire/wire/internal/stream"
)

// A service answers requests, whatever they came by.
type service struct {
	cfg     *rpc.ServerConfig
	names   *form.Names
	grammar grammar
	codec   json.Codec
	// discovery is nil if rpc.discover is not answered.
	discovery *discovery
	// nobody stands for a request that could not be read.
	nobody request
}

func newService(cfg *rpc.ServerConfig) (*service, error) {
	v1, err := isVersion1(cfg.Options)
	if err != nil {
		return nil, err
	}
	codec, err := codecOf(cfg.Options)
	if err != nil {
		return nil, err
	}
	d, err := discoveryOf(cfg, codec.BytesAsArray)
	if err != nil {
		return nil, err
	}
	n, err := form.NewNames(cfg)
	if err != nil {
		return nil, err
	}
	return &service{
		cfg: cfg, names: n, codec: codec, discovery: d,
		grammar: grammar{maxBatch: cfg.Limits.MaxBatch, v1: v1},
		nobody:  request{v1: v1, invalid: "it could not be read"},
	}, nil
}

// A caller is what a transport knows about the sender of a request.
type caller struct {
	peer *peer.Peer
	// metadata and timeout as the transport carries them; members of the
	// request come before them.
	metadata metadata.MD
	timeout  time.Duration
}

// A call is one request being answered. It is reused.
type call struct {
	service *service
	req     *request
	form    *form.Entry
	in      rpc.Incoming

	out   []byte // the reply so far
	start int    // where it begins in out

	decodes func(any) error // decode and encode, bound to the call once
	encodes func(any) (int, error)
}

var calls = sync.Pool{New: func() any {
	c := new(call)
	c.decodes, c.encodes = c.decode, c.encode
	return c
}}

func (s *service) newCall(who *caller, r *request, dst []byte) *call {
	c := calls.Get().(*call)
	c.service, c.req, c.out, c.start = s, r, dst, len(dst)
	c.in = rpc.Incoming{Metadata: who.metadata, Timeout: who.timeout, Peer: who.peer, Size: len(r.params), Decode: c.decodes, Encode: c.encodes}
	return c
}

func (c *call) free() {
	*c = call{decodes: c.decodes, encodes: c.encodes}
	calls.Put(c)
}

// answer runs a request and appends its reply to dst, nothing for a
// notification. The outcome is nil if no handler was asked.
func (s *service) answer(ctx context.Context, who *caller, r *request, dst []byte) ([]byte, *rpc.Outcome) {
	if r.invalid != "" {
		return r.appendFailure(dst, code.InvalidRequest, r.invalid), nil
	}
	c := s.newCall(who, r, dst)
	dst, outcome := c.answer(ctx)
	c.free() // not if its handler ended the goroutine
	return dst, outcome
}

func (c *call) answer(ctx context.Context) ([]byte, *rpc.Outcome) {
	s, r, in, dst := c.service, c.req, &c.in, c.out
	if why := readMembers(in, r); why != "" {
		if r.notification() {
			return dst, nil
		}
		return r.appendFailure(dst, code.InvalidRequest, why), nil
	}
	if s.discovery != nil && string(r.method) == discoverMethod {
		return c.discover()
	}
	s.resolve(r)
	if r.unknown != nil {
		return c.fail(status.Convert(r.unknown)), nil
	}
	c.form = r.entry
	in.Method = c.form.Form.Method
	switch {
	case in.Method.Kind != everywire.Unary && !r.opensStream():
		return c.fail(status.Newf(codes.Unimplemented, `method %s is %s: it takes a request with "stream":true, on a connection`,
			in.Method.FullName(), in.Method.Kind)), nil
	case r.opensStream():
		if r.notification() {
			return dst, nil
		}
		return r.appendFailure(dst, code.InvalidRequest, "a stream is opened by a single request on a connection, not in a batch nor over HTTP"), nil
	}
	outcome := s.cfg.Unary(ctx, in)
	if outcome.Status.Code() != codes.OK {
		c.fail(outcome.Status)
	} else {
		c.finish()
	}
	if r.meta != nil && !r.notification() {
		c.out = appendReplyMeta(c.out[:len(c.out)-1], outcome.Header, outcome.Trailer)
		c.out = append(c.out, '}')
	}
	return c.out, outcome
}

// resolve finds the method of a request, unless that is done.
func (s *service) resolve(r *request) {
	if r.invalid == "" && r.entry == nil && r.unknown == nil {
		r.entry, r.unknown = s.names.Lookup(r.method)
	}
}

// readMembers reads meta and timeout_ms, which this wire adds to the
// specification. It returns what is wrong with them.
func readMembers(in *rpc.Incoming, r *request) string {
	if r.meta != nil {
		md, err := parseMeta(r.meta)
		if err != nil {
			return fmt.Sprintf(`member "meta": %v`, err)
		}
		if len(in.Metadata) > 0 {
			joined := in.Metadata.Copy()
			for k, vs := range md {
				joined[k] = vs
			}
			md = joined
		}
		in.Metadata = md
	}
	if r.timeout != nil {
		d, err := parseTimeout(r.timeout)
		if err != nil {
			return fmt.Sprintf(`member "timeout_ms" %v`, err)
		}
		in.Timeout = d
	}
	return ""
}

// scratches hold messages that a form had to make.
var scratches = sync.Pool{New: func() any { return new([]byte) }}

// keep is the largest capacity that pools keep.
const keep = 64 << 10

func (c *call) decode(v any) error {
	scratch := scratches.Get().(*[]byte)
	how := c.form.Form.Params
	if c.req.v1 && (how == everywire.ParamsNamed || !c.form.Short) {
		// Version 1.0 has no named params. What the full name takes by name, it
		// takes there as an array of one.
		how = everywire.ParamsObject
	}
	msg, err := (*textForm)(c.form.Form).message(c.req.params, how, scratch)
	if err == nil {
		err = c.service.codec.Decode(msg, v)
	}
	keepScratch(scratch)
	c.req.misfit = err != nil
	return err
}

func (c *call) encode(v any) (int, error) {
	if c.req.notification() {
		return 0, nil
	}
	c.out = c.req.appendResultHead(c.out)
	result := len(c.out)
	var err error
	if c.out, err = c.service.codec.Append(c.out, v); err != nil {
		return 0, err
	}
	if c.form.Short {
		c.out = (*textForm)(c.form.Form).bare(c.out, result)
	}
	return len(c.out) - result, nil
}

// finish completes a reply with a result.
func (c *call) finish() {
	if !c.req.notification() {
		c.out = c.req.appendResultEnd(c.out)
	}
}

// fail makes the reply an error, whatever it was before.
func (c *call) fail(s *status.Status) []byte {
	if c.out = c.out[:c.start]; c.req.notification() {
		return c.out
	}
	c.out = c.req.appendStatus(c.out, s)
	if n, most := len(c.out)-c.start, c.service.maxText(); n > most {
		tooLarge := status.Newf(codes.ResourceExhausted, "error %s of %d bytes is larger than the limit of %d", code.Name(s.Code()), n, most)
		c.out = c.req.appendStatus(c.out[:c.start], tooLarge)
	}
	return c.out
}

// maxText is the limit of one HTTP body or frame: a message, its metadata in
// base64, and an envelope.
func (s *service) maxText() int { return stream.MaxFrame(s.cfg.Limits.MaxMessage, s.cfg.Limits) }
