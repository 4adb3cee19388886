package foreign

import (
	"context"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/wire"
)

type (
	variable struct {
		Name  string             `wire:"1"`
		Value everywire.Document `wire:"2"`
	}
	nvimCall struct {
		Function string               `wire:"1"`
		Args     []everywire.Document `wire:"2"`
	}
)

// nvimMethods describes some of Neovim's functions. Their params are positional,
// and their results may be any value.
func nvimMethods() *everywire.Registry {
	reg := everywire.NewRegistry()
	everywire.Handle(reg, "nvim.Nvim/Eval", noReply[text], form("nvim_eval", everywire.ParamsInOrder, "", ""))
	everywire.Handle(reg, "nvim.Nvim/Strwidth", noReply[text], form("nvim_strwidth", everywire.ParamsScalar, "text", ""))
	everywire.Handle(reg, "nvim.Nvim/GetAPIInfo", noReply[empty], form("nvim_get_api_info", everywire.ParamsInOrder, "", ""))
	everywire.Handle(reg, "nvim.Nvim/SetVar", noReply[variable], form("nvim_set_var", everywire.ParamsInOrder, "", ""))
	everywire.Handle(reg, "nvim.Nvim/CallFunction", noReply[nvimCall], form("nvim_call_function", everywire.ParamsInOrder, "", ""))
	everywire.Handle(reg, "nvim.Nvim/Nope", noReply[empty], form("nvim_nope", everywire.ParamsInOrder, "", ""))
	return reg
}

// noReply stands for a method of a foreign server.
func noReply[In any](context.Context, *In) (*everywire.Document, error) {
	return nil, status.Error(codes.Unimplemented, "a foreign server's")
}

// startNvim starts a Neovim that listens on addr, and returns where it does.
// It ends when its stdin does.
func startNvim(t *testing.T, addr string) string {
	t.Helper()
	cmd := nvimCommand(t, "--embed", "--listen", addr, "--cmd", `lua io.stdout:write(vim.v.servername .. "\n") io.stdout:flush()`)
	return strings.TrimSpace(string(startProcess(t, cmd)))
}

func TestNeovimServer(t *testing.T) {
	for name, target := range map[string]struct {
		listen, target string
		via            func(t *testing.T, addr string) string
	}{
		"tcp":      {"127.0.0.1:0", "msgpackrpc+tcp://", whole},
		"tcp, cut": {"127.0.0.1:0", "msgpackrpc+tcp://", cutter},
		"unix":     {filepath.Join(t.TempDir(), "s"), "msgpackrpc+unix://", whole},
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := wire.Dial(target.target+target.via(t, startNvim(t, target.listen)), wire.WithMethods(nvimMethods()))
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := conn.Close(); err != nil {
					t.Errorf("Close: %v", err)
				}
			}()
			checkNvim(t, conn)
		})
	}
}

func checkNvim(t *testing.T, conn grpc.ClientConnInterface) {
	t.Helper()
	ctx := testContext(t)
	eval := func(expr string) any {
		t.Helper()
		out, err := everywire.Call[everywire.Document](ctx, conn, "nvim.Nvim/Eval", &text{expr})
		if err != nil {
			t.Errorf("nvim_eval(%.40q): %v", expr, err)
			return nil
		}
		return out.Value
	}
	for expr, want := range map[string]any{
		"6 * 7":                  int64(42),
		"9223372036854775807":    int64(1<<63 - 1),
		"-9223372036854775807-1": int64(-1 << 63),
		"-129":                   int64(-129),
		"v:null":                 nil,
		"v:true":                 true,
		"1.5":                    1.5,
		"'Grüße, 世界 🚀'":          "Grüße, 世界 🚀",
		"[1, {'a': ['b']}]":      []any{int64(1), map[string]any{"a": []any{"b"}}},
		"strlen('" + strings.Repeat("é", 512<<10) + "')": int64(1 << 20),
		"repeat('é', 524288)":                            strings.Repeat("é", 512<<10),
	} {
		if got := eval(expr); !reflect.DeepEqual(got, want) {
			t.Errorf("nvim_eval(%.40q) = %.100v", expr, got)
		}
	}
	info, err := everywire.Call[everywire.Document](ctx, conn, "nvim.Nvim/GetAPIInfo", &empty{})
	if err != nil {
		t.Fatal(err)
	}
	list, _ := info.Value.([]any)
	if len(list) != 2 {
		t.Fatalf("nvim_get_api_info gives %.100v", info.Value)
	}
	if functions, _ := list[1].(map[string]any)["functions"].([]any); len(functions) < 100 {
		t.Errorf("nvim_get_api_info lists %d functions", len(functions))
	}
	if _, err := everywire.Call[everywire.Document](ctx, conn, "nvim.Nvim/SetVar", &variable{"x", everywire.Document{Value: []any{"ü", int64(-1)}}}); err != nil {
		t.Errorf("nvim_set_var: %v", err)
	}
	if got := eval("g:x"); !reflect.DeepEqual(got, []any{"ü", int64(-1)}) {
		t.Errorf("g:x is %v", got)
	}
	out, err := everywire.Call[everywire.Document](ctx, conn, "nvim.Nvim/CallFunction", &nvimCall{"max", []everywire.Document{{Value: []any{int64(3), int64(9)}}}})
	if err != nil || out.Value != int64(9) {
		t.Errorf("nvim_call_function: %v, %v", out, err)
	}
	checkNvimErrors(t, conn)

	futures := make([]*everywire.Future[everywire.Document], 100)
	for i := range futures {
		futures[i] = everywire.Start[everywire.Document](ctx, conn, "nvim.Nvim/Strwidth", &text{strings.Repeat("x", i)})
	}
	for i, f := range futures {
		if out, err := f.Wait(ctx); err != nil || out.Value != int64(i) {
			t.Errorf("nvim_strwidth of %d: %v, %v", i, out, err)
		}
	}
	if err := everywire.Notify(ctx, conn, "nvim.Nvim/SetVar", &variable{"noted", everywire.Document{Value: true}}); err != nil {
		t.Error(err)
	}
	if got := eval("g:noted"); got != true { // in order, says Neovim
		t.Errorf("g:noted is %v", got)
	}
}

// checkNvimErrors: Neovim's errors are arrays of a kind and a text.
func checkNvimErrors(t *testing.T, conn grpc.ClientConnInterface) {
	t.Helper()
	ctx := testContext(t)
	for expr, want := range map[string]string{"nope()": "E117: Unknown function: nope", "1 +": "E15: Invalid expression"} {
		_, err := everywire.Call[everywire.Document](ctx, conn, "nvim.Nvim/Eval", &text{expr})
		if s := status.Convert(err); s.Code() != codes.Unknown || !strings.Contains(s.Message(), want) {
			t.Errorf("nvim_eval(%q): %v", expr, err)
		}
	}
	_, err := everywire.Call[everywire.Document](ctx, conn, "nvim.Nvim/Nope", &empty{})
	if s := status.Convert(err); s.Code() != codes.Unknown || s.Message() != "Invalid method: nvim_nope" {
		t.Errorf("nvim_nope: %v", err)
	}
}
