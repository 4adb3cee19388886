package msgpackrpc

import (
	"fmt"
	"math"
	"strings"
	"time"

	"google.golang.org/grpc/metadata"

	"github.com/everywire/everywire/codec/msgpack"
	"github.com/everywire/everywire/wire/internal/rpc"
)

// A meta is the content of an rpc.meta notification:
//
//	[2, "rpc.meta", [msgid, {"header": {key: [value]}, …}]]
//
// From a client it has header, timeout_ms and want, from a server header and
// trailer. The message id is nil before a notification.
type meta struct {
	id      uint32
	noID    bool
	header  metadata.MD
	trailer metadata.MD
	timeout time.Duration // 0 if there is none; negative if it has passed
	want    bool
}

func (m *meta) append(dst []byte) []byte {
	dst = appendNotification(dst, metaName)
	dst = msgpack.AppendArrayHeader(dst, 2)
	if m.noID {
		dst = msgpack.AppendNil(dst)
	} else {
		dst = msgpack.AppendUint(dst, uint64(m.id))
	}
	members := 0
	for _, has := range []bool{len(m.header) > 0, len(m.trailer) > 0, m.timeout != 0, m.want} {
		if has {
			members++
		}
	}
	dst = msgpack.AppendMapHeader(dst, members)
	dst = appendMD(dst, "header", m.header)
	dst = appendMD(dst, "trailer", m.trailer)
	if m.timeout != 0 {
		dst = msgpack.AppendString(dst, "timeout_ms")
		dst = msgpack.AppendInt(dst, milliseconds(m.timeout))
	}
	if m.want {
		dst = msgpack.AppendString(dst, "want")
		dst = msgpack.AppendBool(dst, true)
	}
	return dst
}

// milliseconds rounds up, so that a server does not give up before its client.
func milliseconds(d time.Duration) int64 {
	if d <= 0 {
		return 0
	}
	return int64((d-1)/time.Millisecond) + 1
}

func appendMD(dst []byte, name string, md metadata.MD) []byte {
	if len(md) == 0 {
		return dst
	}
	return appendMDMap(msgpack.AppendString(dst, name), md)
}

func appendMDMap(dst []byte, md metadata.MD) []byte {
	dst = msgpack.AppendMapHeader(dst, len(md))
	for k, vs := range md {
		dst = msgpack.AppendString(dst, k)
		dst = msgpack.AppendArrayHeader(dst, len(vs))
		binary := strings.HasSuffix(k, "-bin")
		for _, v := range vs {
			if binary {
				dst = msgpack.AppendBinary(dst, []byte(v))
			} else {
				dst = msgpack.AppendString(dst, v)
			}
		}
	}
	return dst
}

// readMeta reads the params of an rpc.meta notification, to the end of the
// frame. Members that are not known are skipped.
func readMeta(r *msgpack.Reader) (*meta, error) {
	if n, err := r.ArrayHeader(); err != nil {
		return nil, fmt.Errorf("params of %s: %w", metaName, err)
	} else if n != 2 {
		return nil, fmt.Errorf("params of %s has 2 elements, not %d", metaName, n)
	}
	m := new(meta)
	typ, err := r.Type()
	if err != nil {
		return nil, err
	}
	if m.noID = typ == msgpack.Nil; m.noID {
		err = r.Nil()
	} else {
		m.id, err = readID(r)
	}
	if err != nil {
		return nil, err
	}
	if err := m.members(r); err != nil {
		return nil, fmt.Errorf("params of %s: %w", metaName, err)
	}
	return m, r.End()
}

// members reads a map of what a meta holds.
func (m *meta) members(r *msgpack.Reader) error {
	n, err := r.MapHeader()
	if err != nil {
		return err
	}
	for range n {
		name, err := r.Str()
		if err != nil {
			return err
		}
		if err := m.member(r, string(name)); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func (m *meta) member(r *msgpack.Reader, name string) (err error) {
	switch name {
	case "header":
		m.header, err = readMD(r)
	case "trailer":
		m.trailer, err = readMD(r)
	case "timeout_ms":
		var ms int64
		ms, err = r.Int64()
		switch {
		case ms <= 0:
			m.timeout = -1
		case ms > math.MaxInt64/int64(time.Millisecond):
			m.timeout = math.MaxInt64
		default:
			m.timeout = time.Duration(ms) * time.Millisecond
		}
	case "want":
		m.want, err = r.Bool()
	default:
		err = r.Skip()
	}
	return err
}

// readMD reads a map of metadata. Keys are made lower-case, as in gRPC.
func readMD(r *msgpack.Reader) (metadata.MD, error) {
	keys, err := r.MapHeader()
	if err != nil {
		return nil, err
	}
	md := metadata.MD{}
	for range keys {
		name, err := r.Str()
		if err != nil {
			return nil, err
		}
		key := strings.ToLower(string(name))
		values, err := r.ArrayHeader()
		if err != nil {
			return nil, fmt.Errorf("%q: %w", key, err)
		}
		read := r.Str
		if strings.HasSuffix(key, "-bin") {
			read = r.Binary
		}
		for range values {
			v, err := read()
			if err != nil {
				return nil, fmt.Errorf("%q: %w", key, err)
			}
			md[key] = append(md[key], string(v))
		}
	}
	return md, rpc.ValidateMetadata(md)
}
