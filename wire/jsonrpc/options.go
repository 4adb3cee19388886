package jsonrpc

import (
	"fmt"

	"github.com/everywire/everywire/codec/json"
	"github.com/everywire/everywire/wire/internal/rpc"
)

// checkOption returns the value of an option that takes one of the known
// values; the first is the default.
func checkOption(options rpc.Options, name string, known ...string) (string, error) {
	v := options[name]
	if v == "" {
		return known[0], nil
	}
	for _, k := range known {
		if v == k {
			return v, nil
		}
	}
	return "", fmt.Errorf("%s: unknown value %q of option %s; known: %q", wireName, v, name, known)
}

// isVersion1 reports whether the target asks for JSON-RPC 1.0.
func isVersion1(options rpc.Options) (bool, error) {
	v, err := checkOption(options, "version", "2.0", "1.0")
	return v == "1.0", err
}

// codecOf is the encoding of messages within envelopes.
func codecOf(options rpc.Options) (json.Codec, error) {
	v, err := checkOption(options, "bytes", "base64", "array")
	return json.Codec{BytesAsArray: v == "array"}, err
}

// sendsCancel reports whether a client tells the server about calls that nobody
// waits for. Servers of version 1.0 know nothing of it, and some answer
// notifications that they do not know.
func sendsCancel(options rpc.Options, v1 bool) (bool, error) {
	v, err := checkOption(options, "cancel", "on", "off")
	if err == nil && v1 && options["cancel"] == "on" {
		err = fmt.Errorf("%s: cancel=on needs version=2.0", wireName)
	}
	return v == "on" && !v1, err
}

// sendsMeta reports whether a client sends the members meta and timeout_ms.
func sendsMeta(options rpc.Options) (bool, error) {
	v, err := checkOption(options, "meta", "on", "off")
	return v == "on", err
}
