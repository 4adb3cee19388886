package kv

import (
	"bytes"
	"encoding/binary"
	"errors"

	"github.com/everywire/everywire"
)

// OwnCodec returns an encoder of this service's own, named kv-raw, as a program
// brings one: a key's length, the key, and the value as it is; a version before the
// value in replies. It has the article's four operations and no room for what came
// later: conditions and times to live are errors in it, scans and watches have no form.
func OwnCodec() *everywire.OwnCodec {
	c := everywire.NewCodec("kv-raw")
	everywire.Encode(c, func(b []byte, m *CreateRequest) ([]byte, error) {
		return appendPair(b, m.Key, m.Value), onlyIf(m.TTL == nil)
	}, func(b []byte, m *CreateRequest) (err error) {
		m.Key, m.Value, err = readPair(b)
		return err
	})
	everywire.Encode(c, func(b []byte, m *UpdateRequest) ([]byte, error) {
		return appendPair(b, m.Key, m.Value), onlyIf(m.TTL == nil && m.IfMatch == nil && m.IfVersion == nil)
	}, func(b []byte, m *UpdateRequest) (err error) {
		m.Key, m.Value, err = readPair(b)
		return err
	})
	everywire.Encode(c, func(b []byte, m *RetrieveRequest) ([]byte, error) {
		return append(b, m.Key...), nil
	}, func(b []byte, m *RetrieveRequest) error {
		m.Key = bytes.Clone(b)
		return nil
	})
	everywire.Encode(c, func(b []byte, m *DeleteRequest) ([]byte, error) {
		return append(b, m.Key...), onlyIf(m.IfMatch == nil && m.IfVersion == nil)
	}, func(b []byte, m *DeleteRequest) error {
		m.Key = bytes.Clone(b)
		return nil
	})
	everywire.Encode(c, func(b []byte, m *RetrieveResponse) ([]byte, error) {
		return append(binary.AppendVarint(b, m.Version), m.Value...), onlyIf(m.Expires == nil)
	}, func(b []byte, m *RetrieveResponse) (err error) {
		if b, m.Version, err = readVersion(b); err == nil {
			m.Value = bytes.Clone(b)
		}
		return err
	})
	everywire.Encode(c, func(b []byte, m *CreateResponse) ([]byte, error) {
		return binary.AppendVarint(b, m.Version), nil
	}, func(b []byte, m *CreateResponse) (err error) {
		m.Version, err = readOnlyVersion(b)
		return err
	})
	everywire.Encode(c, func(b []byte, m *UpdateResponse) ([]byte, error) {
		return binary.AppendVarint(b, m.Version), nil
	}, func(b []byte, m *UpdateResponse) (err error) {
		m.Version, err = readOnlyVersion(b)
		return err
	})
	everywire.Encode(c, func(b []byte, _ *DeleteResponse) ([]byte, error) {
		return b, nil
	}, func(b []byte, _ *DeleteResponse) error {
		return nothingAfter(b)
	})
	return c
}

// onlyIf refuses what the form has no room for.
func onlyIf(fits bool) error {
	if !fits {
		return errors.New("conditions and times to live have no form")
	}
	return nil
}

func appendPair(b, key, value []byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(key)))
	return append(append(b, key...), value...)
}

func readPair(b []byte) (key, value []byte, err error) {
	n, size := binary.Uvarint(b)
	if size <= 0 || n > uint64(len(b)-size) {
		return nil, nil, errors.New("the key ends outside the message")
	}
	b = b[size:]
	return bytes.Clone(b[:n]), bytes.Clone(b[n:]), nil
}

func readVersion(b []byte) (rest []byte, version int64, err error) {
	version, size := binary.Varint(b)
	if size <= 0 {
		return nil, 0, errors.New("the version is cut off")
	}
	return b[size:], version, nil
}

func readOnlyVersion(b []byte) (int64, error) {
	rest, version, err := readVersion(b)
	if err == nil {
		err = nothingAfter(rest)
	}
	return version, err
}

func nothingAfter(b []byte) error {
	if len(b) > 0 {
		return errors.New("bytes after the message")
	}
	return nil
}
