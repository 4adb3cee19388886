package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/codec/cbor"
	"github.com/everywire/everywire/codec/json"
	"github.com/everywire/everywire/codec/msgpack"
	"github.com/everywire/everywire/codec/protobuf"
	"github.com/everywire/everywire/lab/plan"
	"github.com/everywire/everywire/lab/ref"
	"github.com/everywire/everywire/wire"
)

// readPayload reads a JSON document that is to be sent. One over the limit is
// refused here, not by every arm in turn.
func readPayload(file string, limit int) (*everywire.Document, *plan.Payload, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, nil, usageError{err}
	}
	if info.Size() > int64(limit) {
		return nil, nil, usagef("the payload %s is %s", file, overLimit(int(info.Size()), limit))
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, nil, usageError{err}
	}
	doc := new(everywire.Document)
	if err := (json.Codec{}).Decode(text, doc); err != nil {
		return nil, nil, usagef("the payload %s cannot be read: %w", file, err)
	}
	sum := sha256.Sum256(text)
	return doc, &plan.Payload{Name: filepath.Base(file), Bytes: len(text), SHA256: hex.EncodeToString(sum[:])}, nil
}

// overLimit says by how much a message is too large and what to do.
func overLimit(size, limit int) string {
	is, of := byteSize(size).String(), byteSize(limit).String()
	if is == of { // rounding hides the difference
		is, of = fmt.Sprintf("%d B", size), fmt.Sprintf("%d B", limit)
	}
	return fmt.Sprintf("%s, over the limit of %s for one message: raise it by --max-message %dMiB", is, of, size>>20+1)
}

// exclude takes out the arms that cannot carry the document, each with the
// reason.
func exclude(p *plan.Plan, doc *everywire.Document) error {
	var kept []plan.Arm
	for _, arm := range p.Arms {
		codec := codecOf(arm)
		if codec == nil {
			kept = append(kept, arm)
			continue
		}
		data, err := codec.Append(nil, doc)
		switch {
		case err == nil && len(data) <= p.MaxMessage:
			kept = append(kept, arm)
			continue
		case err == nil:
			err = fmt.Errorf("as %s it is %s", codec.Name(), overLimit(len(data), p.MaxMessage))
		}
		if arm.Name == p.Baseline {
			return usagef("the baseline %s cannot carry the payload: %w", arm.Name, err)
		}
		p.Excluded = append(p.Excluded, plan.Excluded{Arm: arm.Name, Reason: err.Error()})
	}
	p.Arms = kept
	return nil
}

// codecOf is the codec that an arm's messages go through; nil for the socket.
func codecOf(arm plan.Arm) everywire.Codec {
	if arm.Kind == plan.Ping {
		return nil
	}
	if arm.Kind == plan.Reference {
		if arm.Target == ref.GRPCGo {
			return protobuf.Codec{}
		}
		return json.Codec{}
	}
	shape, err := wire.ParseShape(arm.Target)
	if err != nil {
		return nil // the arm was made from a shape
	}
	name := shape.Options["codec"]
	switch {
	case name == "msgpack" || shape.Wire == "msgpackrpc":
		return msgpack.Codec{}
	case name == "cbor":
		return cbor.Codec{}
	case shape.Wire == "grpc" && (name == "" || name == "protobuf"):
		return protobuf.Codec{}
	default:
		return json.Codec{}
	}
}
