package auth_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/service/auth"
	"github.com/everywire/everywire/service/auth/users"
	"github.com/everywire/everywire/wire"
)

// clients are connections on every wire to servers of one service.
func clients(t *testing.T, f *fixture) map[string]*wire.Conn {
	t.Helper()
	shapes := []string{"rest", "jsonrpc+http", "jsonrpc+tcp", "jsonrpc+ws", "msgpackrpc+tcp", "grpc", "connect"}
	var on []string
	for _, shape := range shapes {
		on = append(on, shape+"://127.0.0.1:0")
	}
	targets := f.serve(t, append(on, anyTarget)...)
	conns := map[string]*wire.Conn{}
	dial := func(name, target string) {
		c, err := wire.Dial(target, wire.WithMethods(f.registry()))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() }) // nothing is lost
		conns[name] = c
	}
	for i, shape := range shapes {
		options := ""
		if shape == "msgpackrpc+tcp" {
			options = "?meta=on"
		}
		dial(shape, shape+"://"+targets[on[i]].Addrs[0]+options)
		dial(shape+" on any", shape+"://"+targets[anyTarget].Addrs[0]+pathOnAny(shape)+options)
	}
	return conns
}

func pathOnAny(shape string) string {
	if shape == "jsonrpc+ws" {
		return "/rpc"
	}
	return ""
}

func bearer(ctx context.Context, token string) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token)
}

// A token of any wire is good on every wire; revoked by any, it is good on none; and
// what is refused is refused with the same status everywhere.
func TestEveryWire(t *testing.T) {
	f := newFixture(t, false, auth.Options{})
	conns := clients(t, f)
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	admin := bearer(ctx, login(t, conns["rest"], "root", "toor-passphrase"))
	for name, conn := range conns {
		code := func(what string, err error, want codes.Code) {
			t.Helper()
			if status.Code(err) != want {
				t.Errorf("%s: %s: %v, want %v", name, what, err, want)
			}
		}
		text := login(t, conn, "test", "secret")
		with := bearer(ctx, text)
		for other, conn := range conns {
			if _, err := everywire.Call[auth.Empty](with, conn, auth.Verify, &auth.Empty{}); err != nil {
				t.Errorf("of %s on %s: %v", name, other, err)
			}
		}
		session, err := everywire.Call[auth.Session](with, conn, auth.Details, &auth.DetailsRequest{})
		if err != nil || session.User != "test" || !slices.Equal(session.Roles, []string{"user"}) || session.Expires < time.Now().Unix() {
			t.Errorf("%s: details %+v, %v", name, session, err)
		}
		if v, err := everywire.Call[auth.Validity](ctx, conn, auth.Validate, &auth.Token{Token: text}); err != nil || !v.Valid {
			t.Errorf("%s: validate: %v, %v", name, v, err)
		}
		_, err = everywire.Call[auth.Token](ctx, conn, auth.Authenticate, &auth.Login{Username: "test", Password: "wrong"})
		code("a wrong password", err, codes.Unauthenticated)
		wrong := status.Convert(err).Message()
		_, err = everywire.Call[auth.Token](ctx, conn, auth.Authenticate, &auth.Login{Username: "nobody", Password: "wrong"})
		code("a wrong name", err, codes.Unauthenticated)
		if got := status.Convert(err).Message(); got != wrong {
			t.Errorf("%s: a wrong name is told %q, and a wrong password %q", name, got, wrong)
		}
		_, err = everywire.Call[auth.Token](ctx, conn, auth.Authenticate, &auth.Login{Username: "test"})
		code("no password", err, codes.InvalidArgument)
		_, err = everywire.Call[auth.Empty](ctx, conn, auth.Verify, &auth.Empty{})
		code("no token", err, codes.Unauthenticated)
		_, err = everywire.Call[auth.Empty](bearer(ctx, text+"x"), conn, auth.Verify, &auth.Empty{})
		code("a bad token", err, codes.Unauthenticated)
		_, err = everywire.Call[auth.Empty](bearer(with, text), conn, auth.Verify, &auth.Empty{})
		code("two tokens", err, codes.Unauthenticated)
		// What administrators may.
		request := &auth.TokenRequest{User: "robot", Roles: []string{"reader"}, For: time.Hour, Name: "test"}
		_, err = everywire.Call[auth.Token](with, conn, auth.CreateToken, request)
		code("a token made by a user", err, codes.PermissionDenied)
		_, err = everywire.Call[auth.Empty](with, conn, auth.Revoke, &auth.Revocation{ID: session.ID})
		code("another's token revoked by a user", err, codes.PermissionDenied)
		made, err := everywire.Call[auth.Token](admin, conn, auth.CreateToken, request)
		if err != nil {
			t.Errorf("%s: a token for a program: %v", name, err)
			continue
		}
		robot, err := everywire.Call[auth.Session](bearer(ctx, made.Token), conn, auth.Details, &auth.DetailsRequest{})
		if err != nil || robot.User != "robot" || !slices.Equal(robot.Roles, []string{"reader"}) {
			t.Errorf("%s: of a program: %+v, %v", name, robot, err)
		}
		// Revoked by its owner, by itself and by its id.
		for what, revoke := range map[string]struct {
			ctx context.Context
			in  auth.Revocation
		}{text: {with, auth.Revocation{}}, made.Token: {admin, auth.Revocation{ID: robot.ID, Expires: robot.Expires}}} {
			if _, err := everywire.Call[auth.Empty](revoke.ctx, conn, auth.Revoke, &revoke.in); err != nil {
				t.Errorf("%s: revoke: %v", name, err)
			}
			for other, conn := range conns {
				_, err := everywire.Call[auth.Empty](bearer(ctx, what), conn, auth.Verify, &auth.Empty{})
				if status.Code(err) != codes.Unauthenticated {
					t.Errorf("revoked on %s, it is good on %s: %v", name, other, err)
				}
			}
		}
		for what, in := range map[string]auth.Revocation{"both": {ID: "x", Token: "y"}, "a bad token": {Token: "y"}} {
			_, err := everywire.Call[auth.Empty](admin, conn, auth.Revoke, &in)
			if c := status.Code(err); c != codes.InvalidArgument && c != codes.Unauthenticated {
				t.Errorf("%s: revoke %s: %v", name, what, err)
			}
		}
		var header metadata.MD
		st, err := everywire.Call[auth.Status](ctx, conn, auth.Health, &auth.Empty{}, grpc.Header(&header))
		if err != nil || st.Status != "up" || !slices.Equal(header.Get("x-worker"), []string{"w1"}) || !slices.Equal(header.Get("x-worker-version"), []string{"v2"}) {
			t.Errorf("%s: health %v, %v, %v", name, st, header, err)
		}
		numbers, err := everywire.Call[auth.Statistics](ctx, conn, auth.Stats, &auth.Empty{})
		if err != nil || numbers.Worker != "w1" || numbers.Logins[0].Result != "ok" || numbers.Logins[0].Count == 0 || numbers.Revoked == 0 || numbers.Hashes == 0 {
			t.Errorf("%s: statistics %+v, %v", name, numbers, err)
		}
	}
}

func login(t testing.TB, conn *wire.Conn, user, password string) string {
	t.Helper()
	out, err := everywire.Call[auth.Token](t.Context(), conn, auth.Authenticate, &auth.Login{Username: user, Password: password})
	if err != nil || strings.Count(out.Token, ".") != 2 {
		t.Fatalf("login: %v, %v", out, err)
	}
	return out.Token
}

// A guard lets through whoever has a token with the role, on every wire, and tells the
// handler who it is.
func TestGuard(t *testing.T) {
	f := newFixture(t, false, auth.Options{})
	guard := auth.Require(f.tokens, "staff", "admin").On("test.Private")
	reg := everywire.NewRegistry(everywire.ChainUnary(guard.Unary), everywire.ChainStream(guard.Stream))
	who := func(ctx context.Context, _ *auth.Empty) (*auth.Token, error) {
		caller, ok := auth.Caller(ctx)
		if !ok {
			return &auth.Token{Token: "nobody"}, nil
		}
		return &auth.Token{Token: caller.User}, nil
	}
	everywire.Handle(reg, "test.Private/Who", who)
	everywire.Handle(reg, "test.Public/Who", who)
	everywire.HandleServerStream(reg, "test.Private/Watch", func(in *auth.Empty, s grpc.ServerStreamingServer[auth.Token]) error {
		out, err := who(s.Context(), in)
		if err != nil {
			return err
		}
		return s.Send(out)
	})
	s, err := wire.Serve(context.WithoutCancel(t.Context()), reg, []string{"rest://127.0.0.1:0", "grpc://127.0.0.1:0", "jsonrpc+tcp://127.0.0.1:0"}, wire.WithLogger(f.logger))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Shutdown(context.WithoutCancel(t.Context())) }() // nothing is in flight
	token := func(roles ...string) string {
		text, _, err := f.tokens.Issue("ada", roles)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	for _, target := range s.Targets() {
		conn, err := wire.Dial(target.String(), wire.WithMethods(reg))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		for _, c := range []struct {
			method, token string
			want          codes.Code
			user          string
		}{
			{"test.Private/Who", "", codes.Unauthenticated, ""},
			{"test.Private/Who", "x", codes.Unauthenticated, ""},
			{"test.Private/Who", token(), codes.PermissionDenied, ""},
			{"test.Private/Who", token("user", "Staff"), codes.PermissionDenied, ""},
			{"test.Private/Who", token("user", "staff"), codes.OK, "ada"},
			{"test.Private/Who", token("admin"), codes.OK, "ada"},
			{"test.Public/Who", "", codes.OK, "nobody"},
			{"test.Public/Who", "x", codes.OK, "nobody"},
		} {
			ctx := t.Context()
			if c.token != "" {
				ctx = bearer(ctx, c.token)
			}
			out, err := everywire.Call[auth.Token](ctx, conn, c.method, &auth.Empty{})
			if status.Code(err) != c.want || err == nil && out.Token != c.user {
				t.Errorf("%v: %s with %.10q: %v, %v", target, c.method, c.token, out, err)
			}
		}
		for text, want := range map[string]codes.Code{token(): codes.PermissionDenied, token("staff"): codes.OK} {
			stream, err := everywire.CallServerStream[auth.Token](bearer(t.Context(), text), conn, "test.Private/Watch", &auth.Empty{})
			var got *auth.Token
			if err == nil {
				got, err = stream.Recv()
			}
			if status.Code(err) != want || err == nil && got.Token != "ada" {
				t.Errorf("%v: a stream: %v, %v", target, got, err)
			}
		}
	}
}

// A user who is disabled, or loses a role, does so at the next login.
func TestChangesOfUsers(t *testing.T) {
	f := newFixture(t, false, auth.Options{})
	conn := clients(t, f)["grpc"]
	login(t, conn, "test", "secret")
	if err := f.users.SetEnabled("test", false); err != nil {
		t.Fatal(err)
	}
	_, err := everywire.Call[auth.Token](t.Context(), conn, auth.Authenticate, &auth.Login{Username: "test", Password: "secret"})
	if status.Code(err) != codes.Unauthenticated {
		t.Errorf("disabled: %v", err)
	}
	if err := f.users.Put(t.Context(), users.User{Name: "test", Enabled: true, Roles: []string{"less"}}, "other"); err != nil {
		t.Fatal(err)
	}
	text := login(t, conn, "test", "other")
	session, err := everywire.Call[auth.Session](bearer(t.Context(), text), conn, auth.Details, &auth.DetailsRequest{})
	if err != nil || !slices.Equal(session.Roles, []string{"less"}) {
		t.Errorf("%+v, %v", session, err)
	}
}
