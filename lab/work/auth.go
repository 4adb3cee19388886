package work

import (
	"context"
	"errors"
	"log/slog"
	"strings"

	"google.golang.org/grpc/metadata"

	"github.com/everywire/everywire/lab/load"
	"github.com/everywire/everywire/lab/plan"
	"github.com/everywire/everywire/lab/target"
	"github.com/everywire/everywire/service/auth"
	"github.com/everywire/everywire/service/auth/token"
	"github.com/everywire/everywire/service/auth/users"
)

// Who logs in. The name and the password are those of the published services' test
// vector; neither is a secret of anybody's.
const (
	authUser     = "test"
	authPassword = "secret"
	// authChecks is how often a caller has its token checked after a login.
	authChecks = 20
)

// auth makes the work of the authentication service: a login, and checks of the
// token. Its hash is the published services', so that a login costs what it did
// there; nothing is limited, and nothing is logged.
func (w *Work) auth() error {
	quiet := slog.New(slog.DiscardHandler)
	accounts, err := users.New(users.Options{Hash: users.PBKDF2, MinPassword: len(authPassword), Logger: quiet})
	if err != nil {
		return err
	}
	if err := accounts.Put(context.Background(), users.User{Name: authUser, Enabled: true, Roles: []string{"user"}}, authPassword); err != nil {
		return err
	}
	key, err := token.NewKey(token.HS256)
	if err != nil {
		return err
	}
	keys, err := token.NewKeys(key)
	if err != nil {
		return err
	}
	tokens, err := token.NewIssuer(token.Config{Keys: keys, Logger: quiet})
	if err != nil {
		return err
	}
	service, err := auth.New(auth.Options{Users: accounts, Tokens: tokens, Limit: auth.Limit{Off: true}, Logger: quiet})
	if err != nil {
		return err
	}
	w.Register = service.Register
	w.client = func(arm plan.Arm, conn Conn) (*Client, error) {
		inParams := strings.HasPrefix(arm.Target, "jsonrpc")
		return &Client{target.Wrap(conn, 0), load.Sequence(func(uint64, int) []load.Operation {
			c := &authCaller{inParams: inParams}
			return []load.Operation{
				{Name: "Authenticate", Caller: (*login)(c), Count: 1},
				{Name: "Verify", Caller: (*check)(c), Count: authChecks},
			}
		}), conn.Close}, nil
	}
	return nil
}

// An authCaller is one caller of the authentication service, in two roles.
type authCaller struct {
	// inParams says that tokens are checked as JSON-RPC's callers do it: the token is
	// the parameter, and the reply says whether it is valid. For others it is the
	// call's metadata, and a reply without an error says so.
	inParams bool

	call   target.Call
	login  auth.Login
	token  auth.Token // that of the last login
	header metadata.MD
	valid  auth.Validity
	empty  auth.Empty
}

type login authCaller

func (c *login) Next() (path string, in, out any) {
	c.login = auth.Login{Username: authUser, Password: authPassword}
	c.token = auth.Token{}
	c.call = target.Call{Message: &c.login}
	return "/" + auth.Authenticate, &c.call, &c.token
}

func (c *login) Check() string {
	if strings.Count(c.token.Token, ".") != 2 {
		return "the reply has no token of three parts"
	}
	c.header = metadata.Pairs("authorization", "Bearer "+c.token.Token)
	return ""
}

type check authCaller

var errNoToken = errors.New("there is no token to check: the login has failed")

func (c *check) Next() (path string, in, out any) {
	c.call = target.Call{}
	if c.token.Token == "" {
		c.call.Broken = errNoToken
	}
	if c.inParams {
		c.call.Message, c.valid = &c.token, auth.Validity{}
		return "/" + auth.Validate, &c.call, &c.valid
	}
	c.call.Message, c.call.Header = &c.empty, c.header
	return "/" + auth.Verify, &c.call, &c.empty
}

func (c *check) Check() string {
	if c.inParams && !c.valid.Valid {
		return "a token that was just made is said to be invalid"
	}
	return ""
}
