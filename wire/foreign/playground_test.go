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

func TestPlayground(t *testing.T) {
	for _, test := range []struct {
		name, target string
		want         map[string]string
	}{
		{"json", "jsonrpc+tcp://127.0.0.1:0", map[string]string{
			"unknown": `{"jsonrpc":"2.0","error":{"code":-32601,"message":"unknown method \"nope\""},"id":5}`, "wrongParams": `-32602`,
		}},
		{"msgpack", "msgpackrpc+tcp://127.0.0.1:0", map[string]string{
			"unknown": `{"jsonrpc":"2.0","error":{"code":-32601,"message":"unknown method \"nope\""},"id":5}`, "wrongParams": `-32602`,
		}},
		// The path is the method's name; a server of ours has one path.
		{"http", "jsonrpc+http://127.0.0.1:0/sum", map[string]string{"unknown": `{"status":404}`, "wrongParams": `-32602`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			port := portOf(t, newService().serve(t, test.target))
			results := runNode(t, "playground.js", map[string]any{"wire": test.name, "port": port, "calls": 500})
			check(t, results, playgroundWant, test.want)
		})
	}
}
