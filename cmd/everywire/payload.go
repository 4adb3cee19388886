package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/codec/cbor"
	"github.com/everywire/everywire/codec/json"
	"github.com/everywire/everywire/codec/msgpack"
	"github.com/everywire/everywire/codec/protobuf"
	"github.com/everywire/everywire/lab/plan"
	"github.com/everywire/everywire/lab/ref"
	"github.com/everywire/everywire/lab/work"
	"github.com/everywire/everywire/schema/infer"
	"github.com/everywire/everywire/service/arith"
	"github.com/everywire/everywire/service/kv"
	"github.com/everywire/everywire/wire"
)

// payloads are the documents that are to be sent.
type payloads struct {
	docs  []any
	texts [][]byte
	plan  *plan.Payload
}

// readPayloads reads JSON documents. One over the limit is refused here, not by
// every arm in turn.
func readPayloads(files []string, limit int) (*payloads, error) {
	p := &payloads{plan: &plan.Payload{}}
	sum := sha256.New()
	var names []string
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil {
			return nil, usageError{err}
		}
		if info.Size() > int64(limit) {
			return nil, usagef("the payload %s is %s", file, overLimit(int(info.Size()), limit))
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, usageError{err}
		}
		doc := new(everywire.Document)
		if err := (json.Codec{}).Decode(text, doc); err != nil {
			return nil, usagef("the payload %s cannot be read: %w", file, err)
		}
		p.docs, p.texts = append(p.docs, doc.Value), append(p.texts, text)
		p.plan.Bytes += len(text)
		sum.Write(text)
		names = append(names, filepath.Base(file))
	}
	p.plan.Name, p.plan.SHA256 = strings.Join(names, ","), hex.EncodeToString(sum.Sum(nil))
	return p, nil
}

// inferType gives the documents a type, and says of what is left without.
func (p *payloads) inferType() error {
	inferred, err := infer.From(p.docs...)
	if err != nil {
		return usagef("%w: send them as they are, by --documents", err)
	}
	p.plan.Typed, p.plan.Wrapped = true, inferred.Wrapped
	for _, u := range inferred.Untyped {
		p.plan.Untyped = append(p.plan.Untyped, plan.Untyped(u))
	}
	return nil
}

// overLimit says by how much a message is too large and what to do.
func overLimit(size, limit int) string {
	is, of := byteSize(size).String(), byteSize(limit).String()
	if is == of { // rounding hides the difference
		is, of = fmt.Sprintf("%d B", size), fmt.Sprintf("%d B", limit)
	}
	return fmt.Sprintf("%s, over the limit of %s for one message: raise it by --max-message %dMiB", is, of, size>>20+1)
}

// exclude takes out the arms that cannot do the work, each with the reason.
func exclude(w *work.Work) error {
	p := w.Plan
	var kept []plan.Arm
	for _, arm := range p.Arms {
		err := unfit(arm, w)
		if err == nil {
			kept = append(kept, arm)
			continue
		}
		if arm.Name == p.Baseline {
			return usagef("the baseline %s cannot carry %s: %w", arm.Name, carried(p), err)
		}
		p.Excluded = append(p.Excluded, plan.Excluded{Arm: arm.Name, Reason: err.Error()})
	}
	p.Arms = kept
	return nil
}

// carried is what arms carry, in words.
func carried(p *plan.Plan) string {
	if p.Payload == nil {
		return "the messages of " + p.Service
	}
	return "the payload"
}

// unfit says why an arm cannot do the work, or nil.
func unfit(arm plan.Arm, w *work.Work) error {
	if arm.Kind == plan.Ping {
		return nil
	}
	if arm.Kind == plan.Reference {
		if err := ref.Serves(arm.Target, ref.Options{Service: w.Plan.Service, Type: w.Type}); err != nil {
			return err
		}
	}
	codec, _ := codecOf(arm) // known, or there would be no arm
	for _, message := range emptyMessages(w.Plan.Service) {
		if _, err := codec.Append(nil, message); err != nil {
			return err
		}
	}
	for _, message := range w.Messages {
		data, err := codec.Append(nil, message)
		if err != nil {
			return err
		}
		if len(data) > w.Plan.MaxMessage {
			return fmt.Errorf("as %s it is %s", codec.Name(), overLimit(len(data), w.Plan.MaxMessage))
		}
	}
	return nil
}

// emptyMessages are those of services that make their own requests: whether a codec
// has a form for them can be told from empty ones.
func emptyMessages(service string) []any {
	switch service {
	case "arith":
		return []any{new(arith.SumRequest), new(arith.SumReply)}
	case "kv":
		return []any{
			new(kv.CreateRequest), new(kv.CreateResponse), new(kv.RetrieveRequest), new(kv.RetrieveResponse),
			new(kv.UpdateRequest), new(kv.UpdateResponse), new(kv.DeleteRequest), new(kv.DeleteResponse),
		}
	}
	return nil
}

// codecOf is the codec that an arm's messages go through, and its name also if the
// command has none of the name.
func codecOf(arm plan.Arm) (codec everywire.Codec, name string) {
	name = "json"
	if arm.Kind == plan.Reference {
		if strings.HasPrefix(arm.Target, ref.GRPCGo) {
			name = "protobuf"
		}
	} else if shape, err := wire.ParseShape(arm.Target); err == nil { // the arm was made from a shape
		switch {
		case shape.Options["codec"] != "":
			name = shape.Options["codec"]
		case shape.Wire == "msgpackrpc":
			name = "msgpack"
		case shape.Wire == "grpc" || shape.Wire == "connect":
			name = "protobuf"
		}
	}
	all := knownCodecs()
	if i := slices.IndexFunc(all, func(c everywire.Codec) bool { return c.Name() == name }); i >= 0 {
		return all[i], name
	}
	return nil, name
}

// knownCodecs are all that arms can have.
func knownCodecs() []everywire.Codec {
	return append([]everywire.Codec{json.Codec{}, msgpack.Codec{}, cbor.Codec{}, protobuf.Codec{}}, codecs()...)
}
