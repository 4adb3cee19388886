package wiretest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/codec/json"
	"github.com/everywire/everywire/wire"
	"github.com/everywire/everywire/wire/wiretest/probepb"
)

// A spoiler is a codec whose messages get spoiled on their way.
type spoiler struct {
	everywire.Codec
	spoil atomic.Pointer[func([]byte) []byte] // nil leaves them as they are
}

// Append is [everywire.Codec]'s.
func (c *spoiler) Append(dst []byte, msg any) ([]byte, error) {
	data, err := c.Codec.Append(nil, msg)
	if err != nil {
		return dst, err
	}
	if spoil := c.spoil.Load(); spoil != nil {
		data = (*spoil)(data)
	}
	return append(dst, data...), nil
}

// MediaTypes is [everywire.MediaTyper]'s.
func (c *spoiler) MediaTypes() []string { return mediaTypes(c.Codec) }

func mediaTypes(c everywire.Codec) []string {
	if m, ok := c.(everywire.MediaTyper); ok {
		return m.MediaTypes()
	}
	return []string{"application/" + c.Name()}
}

// spoilt are ways to spoil a message. The dice are the same in every run.
func spoilt() map[string]func([]byte) []byte {
	all := map[string]func([]byte) []byte{
		"nothing":       func([]byte) []byte { return nil },
		"one byte more": func(data []byte) []byte { return append(data, 0) },
		"twice":         func(data []byte) []byte { return append(data, data...) },
		"only 0xff":     func(data []byte) []byte { return []byte(strings.Repeat("\xff", len(data))) },
		"only zeros":    func(data []byte) []byte { return make([]byte, len(data)) },
		"huge numbers":  func([]byte) []byte { return []byte(strings.Repeat("\xff\xff\xff\x7f", 16)) },
	}
	dice := rand.New(rand.NewPCG(1, 2))
	for range 6 {
		at := dice.Float64()
		all[fmt.Sprintf("cut off at %.3f", at)] = func(data []byte) []byte { return data[:int(at*float64(len(data)))] }
	}
	for range 12 {
		at, bit := dice.Float64(), byte(1)<<dice.IntN(8)
		all[fmt.Sprintf("bit %#x flipped at %.3f", bit, at)] = func(data []byte) []byte {
			data[int(at*float64(len(data)))] ^= bit
			return data
		}
	}
	for i := range 4 {
		all[fmt.Sprintf("random %d", i)] = func([]byte) []byte {
			data := make([]byte, 8<<i)
			for i := range data {
				data[i] = byte(dice.Uint32())
			}
			return data
		}
	}
	return all
}

// calledWith are calls whose messages are to be spoiled.
func (s *encodingSuite) calledWith() map[string]func(ctx context.Context, conn grpc.ClientConnInterface) error {
	calls := map[string]func(ctx context.Context, conn grpc.ClientConnInterface) error{
		lineMethod: func(ctx context.Context, conn grpc.ClientConnInterface) error {
			_, err := everywire.Call[Line](ctx, conn, lineMethod, &Line{"some text é"})
			return err
		},
	}
	if s.carries != onlyBytes {
		calls[kindsMethod] = func(ctx context.Context, conn grpc.ClientConnInterface) error {
			_, err := everywire.Call[Kinds](ctx, conn, kindsMethod, fullKinds())
			return err
		}
	}
	return calls
}

// spoiledRequests: what is no message is the client's fault, and is told so; what
// by chance is one is answered.
func (s *encodingSuite) spoiledRequests(t *testing.T, p *pair, c *spoiler) {
	conn := s.dial(t, s.withoutBytes().At(p.server.Targets()[0].Addrs...), wire.WithCodecs(c))
	for method, call := range s.calledWith() {
		refused := 0
		for name, spoil := range spoilt() {
			c.spoil.Store(&spoil)
			switch err := call(within(t), conn); status.Code(err) {
			case codes.OK:
			case codes.InvalidArgument:
				refused++
			default:
				t.Errorf("%s, %s: %v", method, name, err)
			}
		}
		if refused == 0 {
			t.Errorf("%s: no request was refused", method)
		}
		c.spoil.Store(nil)
		if err := call(within(t), conn); err != nil {
			t.Errorf("%s: the call after those: %v", method, err)
		}
	}
}

// withoutBytes is the shape without the option bytes, whose codec a spoiler takes
// the place of.
func (s *encodingSuite) withoutBytes() *wire.Target {
	shape := s.shape
	shape.Options = map[string]string{}
	for name, value := range s.shape.Options {
		if name != "bytes" {
			shape.Options[name] = value
		}
	}
	return &shape
}

// spoiledReplies: what is no message is for the client INTERNAL.
func (s *encodingSuite) spoiledReplies(t *testing.T) {
	c := &spoiler{Codec: s.codec}
	bare := *s
	bare.shape = *s.withoutBytes()
	p := bare.start(t, s.register, options{
		serve: []wire.ServeOption{wire.WithCodecs(c)},
		dial:  s.dialOptions(s.codec),
	})
	for method, call := range s.calledWith() {
		refused := 0
		for name, spoil := range spoilt() {
			c.spoil.Store(&spoil)
			switch err := call(within(t), p.conn); status.Code(err) {
			case codes.OK:
			case codes.Internal:
				refused++
			default:
				t.Errorf("%s, %s: %v", method, name, err)
			}
		}
		if refused == 0 {
			t.Errorf("%s: no reply was refused", method)
		}
		c.spoil.Store(nil)
		if err := call(within(t), p.conn); err != nil {
			t.Errorf("%s: the call after those: %v", method, err)
		}
	}
}

// A liar is a codec that has a form for everything, under the name of one that has
// not.
type liar struct {
	everywire.Codec
	as everywire.Codec
}

// Name is [everywire.Codec]'s.
func (c liar) Name() string { return c.as.Name() }

// MediaTypes is [everywire.MediaTyper]'s.
func (c liar) MediaTypes() []string { return mediaTypes(c.as) }

// noForm: a call in a codec that has no form for the request or the reply is
// refused before it runs.
func (s *encodingSuite) noForm(t *testing.T, p *pair) {
	if s.carries == everything {
		return
	}
	conn := s.dial(t, s.shape.At(p.server.Targets()[0].Addrs...), wire.WithCodecs(liar{json.Codec{}, s.codec}))
	_, err := everywire.Call[probepb.GetRequest](within(t), conn, mixedMethod, &Blob{[]byte("x")})
	wantCode(t, "a reply without a form", err, codes.Unimplemented)
	if !strings.Contains(status.Convert(err).Message(), "no form") {
		t.Errorf("the message does not say so: %v", err)
	}
	if s.carries == onlyBytes {
		_, err = everywire.Call[RunReply](within(t), conn, runMethod, &RunRequest{})
		wantCode(t, "a request without a form", err, codes.Unimplemented)
	}
	if _, err := everywire.Call[Blob](within(t), p.conn, blobMethod, &Blob{}); err != nil {
		t.Errorf("the call after those: %v", err)
	}
}
