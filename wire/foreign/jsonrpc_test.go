package foreign

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
)

// commonWant is what checks.js must find at our server.
var commonWant = map[string]string{
	"sum": `41`, "noNumbers": `0`, "named": `{"sum":-3}`, "inOrder": `19`, "namedShort": `19`,
	"largest": `9007199254740991`, "smallest": `-9007199254740991`, "text": `true`, "document": `true`,
	"failed": `{"code":-32005,"message":"no such thing: ü","data":{"details":[` +
		`{"type":"google.protobuf.Value","value":"GgdiZWNhdXNl"}]}}`,
	"ownCode": `{"code":-32000,"message":"a code of its own","data":{"code":4242,"details":[` +
		`{"type":"google.protobuf.Value","value":"GgdiZWNhdXNl"}]}}`,
	"unknown": `-32601`, "internals": `[-32601,-32601,-32601,-32601]`, "wrongParams": `-32602`,
	"large": `true`, "inFlight": `100`,
}

// noteText is the note that checks.js leaves.
const noteText = "Grüße, 世界 🚀 \x00 \"\\/ \u2028"

// jaysonWant is what jayson-client.js finds beside.
var jaysonWant = map[string]string{
	"stringID": `3`, "zeroID": `3`, "batch": `{"errors":[[2,-32601]],"successes":[[1,3],[3,2]]}`,
	"emptyBatch": `-32600`, "noMethod": `-32600`,
}

// TestJaysonClient: every call over tcp and tls has a connection of its own.
func TestJaysonClient(t *testing.T) {
	cert, key := certificate(t)
	tls := "?cert=" + cert + "&key=" + key
	for transport, target := range map[string]string{
		"tcp": "jsonrpc+tcp://127.0.0.1:0", "tls": "jsonrpc+tcp+tls://127.0.0.1:0" + tls,
		"http": "jsonrpc+http://127.0.0.1:0", "https": "jsonrpc+http+tls://127.0.0.1:0" + tls,
	} {
		t.Run(transport, func(t *testing.T) {
			wholeAndCut(t, func(t *testing.T, via func(string) string) {
				s := newService()
				args := map[string]any{"transport": transport, "port": portOf(t, via(s.serve(t, target))), "version": 2}
				if strings.Contains(target, "tls") {
					args["ca"] = cert
				}
				check(t, runNode(t, "jayson-client.js", args), commonWant, jaysonWant)
				s.wantNotes(t, noteText, "in a batch")
			})
		})
	}
}

func TestJaysonClientUnix(t *testing.T) {
	s := newService()
	socket := s.serve(t, "jsonrpc+unix://"+filepath.Join(t.TempDir(), "s"))
	check(t, runNode(t, "jayson-client.js", map[string]any{"transport": "tcp", "socket": socket, "version": 2}), commonWant, jaysonWant)
	s.wantNotes(t, noteText, "in a batch")
}

// TestJaysonClientV1: errors of version 1.0 are texts, and lose what else there is.
// Over HTTP their status is 400, and jayson shows that and the whole reply.
func TestJaysonClientV1(t *testing.T) {
	for transport, failures := range map[string]map[string]string{
		"tcp": {
			"failed": `"no such thing: ü"`, "ownCode": `"a code of its own"`,
			"unknown": `"text"`, "internals": `["text","text","text","text"]`, "wrongParams": `"text"`,
		},
		"http": {
			"failed":  `{"code":400,"message":"{\"result\":null,\"error\":\"no such thing: ü\",\"id\":\"8\"}"}`,
			"ownCode": `{"code":400,"message":"{\"result\":null,\"error\":\"a code of its own\",\"id\":\"9\"}"}`,
			"unknown": `400`, "internals": `[400,400,400,400]`, "wrongParams": `400`,
		},
	} {
		t.Run(transport, func(t *testing.T) {
			s := newService()
			args := map[string]any{"transport": transport, "port": portOf(t, s.serve(t, "jsonrpc+"+transport+"://127.0.0.1:0?version=1.0")), "version": 1}
			check(t, runNode(t, "jayson-client.js", args), failures, map[string]string{
				"sum": `41`, "noNumbers": `0`, "inOrder": `19`, "largest": `9007199254740991`, "smallest": `-9007199254740991`,
				"text": `true`, "document": `true`, "large": `true`, "inFlight": `100`, "stringID": `3`, "zeroID": `3`,
			})
			s.wantNotes(t, noteText)
		})
	}
}

func TestJSONRPC20Client(t *testing.T) {
	want := map[string]string{"batch": `[["one",3],["two",-32601],[0,2]]`}
	for _, transport := range []string{"tcp", "http"} {
		t.Run(transport, func(t *testing.T) {
			wholeAndCut(t, func(t *testing.T, via func(string) string) {
				s := newService()
				args := map[string]any{"transport": transport, "port": portOf(t, via(s.serve(t, "jsonrpc+"+transport+"://127.0.0.1:0")))}
				check(t, runNode(t, "json-rpc-2.0-client.js", args), commonWant, want)
				s.wantNotes(t, noteText, "in a batch")
			})
		})
	}
}

func TestVSCodeClient(t *testing.T) {
	wholeAndCut(t, func(t *testing.T, via func(string) string) {
		s := newService()
		port := portOf(t, via(s.serve(t, "jsonrpc+tcp://127.0.0.1:0")))
		check(t, runNode(t, "vscode-client.js", map[string]any{"port": port}), commonWant, map[string]string{
			"cancelled": `-32001`, "afterCancel": `3`, "trouble": `[]`,
		})
		s.wantNotes(t, noteText)
		if err := <-s.ended; !errors.Is(err, context.Canceled) {
			t.Errorf("the handler's context ended with %v", err)
		}
	})
}
