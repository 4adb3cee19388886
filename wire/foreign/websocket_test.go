package foreign

import (
	"testing"

	"github.com/everywire/everywire"
)

func TestWSClient(t *testing.T) {
	cert, key := certificate(t)
	for name, test := range map[string]struct {
		target    string
		ca        string
		fragments bool
	}{
		"ws":        {"jsonrpc+ws://127.0.0.1:0/rpc?origins=good.example", "", false},
		"wss":       {"jsonrpc+ws+tls://127.0.0.1:0/rpc?origins=good.example&cert=" + cert + "&key=" + key, cert, false},
		"fragments": {"jsonrpc+ws://127.0.0.1:0/rpc?origins=good.example", "", true},
	} {
		t.Run(name, func(t *testing.T) {
			wholeAndCut(t, func(t *testing.T, via func(string) string) {
				s := newService()
				args := map[string]any{"port": portOf(t, via(s.serve(t, test.target))), "path": "/rpc", "ca": test.ca, "fragments": test.fragments}
				check(t, runNode(t, "ws-client.js", args), commonWant, map[string]string{
					"protocol": `"jsonrpc"`, "extensions": `""`, "closed": `4000`, "trouble": `0`, "refused": `[404,403,101]`,
				})
				s.wantNotes(t, noteText)
			})
		})
	}
}

func TestWSServer(t *testing.T) {
	cert, key := certificate(t)
	for name, test := range map[string]struct {
		target string
		args   map[string]any
	}{
		"ws":  {"jsonrpc+ws://%s/rpc", map[string]any{}},
		"wss": {"jsonrpc+ws+tls://%s/rpc?ca=" + cert, map[string]any{"cert": cert, "key": key}},
	} {
		t.Run(name, func(t *testing.T) {
			wholeAndCut(t, func(t *testing.T, via func(string) string) {
				s, addr := newService(), via(startNode(t, "ws-server.js", test.args))
				first := s.dial(t, test.target, addr)
				checkServer(t, first)
				if err := first.Close(); err != nil {
					t.Error(err)
				}
				ctx, second := testContext(t), s.dial(t, test.target, addr)
				for {
					got, err := everywire.Call[texts](ctx, second, "peer.Peer/Closed", &empty{})
					switch {
					case err != nil:
						t.Fatal(err)
					case len(got.Texts) == 0:
						continue // the server has not seen it yet
					case got.Texts[0] != "1000 with pongs":
						t.Errorf("the first connection was closed so: %s", got.Texts[0])
					}
					return
				}
			})
		})
	}
}
