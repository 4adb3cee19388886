package foreign

import "testing"

// What the playground's clients get, whatever they speak.
var playgroundWant = map[string]string{
	"wrong":    `0`,
	"first":    `{"jsonrpc":"2.0","result":41,"id":1}`,
	"stringID": `{"jsonrpc":"2.0","result":41,"id":"ü"}`,
	"noParams": `{"jsonrpc":"2.0","result":0,"id":2}`,
	"largest":  `{"jsonrpc":"2.0","result":9007199254740991,"id":3}`,
	"many":     `524288`,
}

// What they get over HTTP alone, where replies have no envelope.
var bareWant = map[string]string{
	"wrong":       `0`,
	"first":       `{"result":41}`,
	"stringID":    `{"result":41}`,
	"noParams":    `{"result":0}`,
	"largest":     `{"result":9007199254740991}`,
	"many":        `524288`,
	"unknown":     `{"status":400,"body":{"error":"method not found"}}`,
	"inherited":   `{"status":400,"body":{"error":"method not found"}}`,
	"wrongParams": `400`,
}

func unknownWant(name, id string) string {
	return `{"jsonrpc":"2.0","error":{"code":-32601,"message":"unknown method \"` + name + `\""},"id":` + id + `}`
}

// elsewhereWant is what a server with one path says of the path of another method.
func elsewhereWant(name string) string {
	return `{"status":404,"body":{"jsonrpc":"2.0","error":{"code":-32600,"message":"JSON-RPC is at /sum, not at /` + name + `"},"id":null}}`
}

func TestPlayground(t *testing.T) {
	for _, test := range []struct {
		name, target string
		want         []map[string]string
	}{
		{"json", "jsonrpc+tcp://127.0.0.1:0", []map[string]string{playgroundWant, {
			"unknown": unknownWant("nope", "5"), "inherited": unknownWant("toString", "7"), "wrongParams": `-32602`,
		}}},
		{"msgpack", "msgpackrpc+tcp://127.0.0.1:0", []map[string]string{playgroundWant, {
			"unknown": unknownWant("nope", "5"), "inherited": unknownWant("toString", "7"), "wrongParams": `-32602`,
		}}},
		{"http", "jsonrpc+http://127.0.0.1:0?replies=bare", []map[string]string{bareWant}},
		// With the envelope in replies too a server has one path.
		{"http", "jsonrpc+http://127.0.0.1:0/sum", []map[string]string{playgroundWant, {
			"unknown": elsewhereWant("nope"), "inherited": elsewhereWant("toString"), "wrongParams": `-32602`,
		}}},
	} {
		t.Run(test.target, func(t *testing.T) {
			port := portOf(t, newService().serve(t, test.target))
			results := runNode(t, "playground.js", map[string]any{"wire": test.name, "port": port, "calls": 500})
			check(t, results, test.want...)
		})
	}
}
