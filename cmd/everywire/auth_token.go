package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/everywire/everywire/service/auth/token"
)

type authTokenCmd struct {
	Make   authTokenMakeCmd   `cmd:"" help:"Make a long-lived token for a program."`
	Decode authTokenDecodeCmd `cmd:"" help:"Show what is in a token, and with --keys whether it is good."`
	List   authTokenListCmd   `cmd:"" help:"List the API tokens."`
	Revoke authTokenRevokeCmd `cmd:"" help:"Take tokens back."`
}

// openIssuer opens keys and register as a server does.
func (f *keysFlag) openIssuer(c token.Config) (*token.Issuer, error) {
	keys, err := loadKeys(f.Keys)
	if err != nil {
		return nil, err
	}
	c.Keys = keys
	if c.Register, err = token.OpenRegister(f.registerPath(), c.Logger); err != nil {
		return nil, err
	}
	return token.NewIssuer(c)
}

type authTokenMakeCmd struct {
	User string        `arg:"" help:"Whose calls those with the token are. It need not be one who can log in."`
	Role []string      `short:"r" placeholder:"ROLE" help:"A role. Repeat it for more."`
	For  time.Duration `default:"720h" placeholder:"720h" help:"How long it is good."`
	Name string        `help:"What it is for, as the list shows it."`
	JWT  bool          `name:"jwt" help:"A JSON Web Token, which every service with the keys can verify by itself; it is in no list."`
	JSON bool          `name:"json" help:"Print it as JSON."`

	Issuer   string `placeholder:"NAME" help:"With --jwt: who issues tokens, as the servers' --issuer."`
	Audience string `placeholder:"NAME" help:"With --jwt: whom tokens are for, as the servers' --audience."`

	keysFlag
}

// Help is the long help with examples.
func (*authTokenMakeCmd) Help() string {
	return `Examples:

  everywire auth token make backup --role reader --name 'nightly backup' --keys keys.json
  everywire auth token make partner --for 8760h --jwt --keys keys.json

The token is on standard output, and cannot be shown again. Servers that share the keys and the register
take it at once.`
}

// A tokenDoc is a token that was made, for programs.
type tokenDoc struct {
	Token   string    `json:"token,omitempty"`
	ID      string    `json:"id"`
	User    string    `json:"user"`
	Name    string    `json:"name,omitempty"`
	Roles   []string  `json:"roles"`
	Created time.Time `json:"created,omitzero"`
	Expires time.Time `json:"expires"`
	Used    time.Time `json:"used,omitzero"`
}

// Run makes a token.
func (c *authTokenMakeCmd) Run(a *app) error {
	switch {
	case c.JWT && c.Name != "":
		return usagef("--name is for API tokens: a JSON Web Token is in no list")
	case !c.JWT && (c.Issuer != "" || c.Audience != ""):
		return usagef("--issuer and --audience are for --jwt")
	case c.For <= 0:
		return usagef("--for %v: want more than nothing", c.For)
	}
	issuer, err := c.openIssuer(token.Config{Issuer: c.Issuer, Audience: c.Audience})
	if err != nil {
		return err
	}
	doc, err := c.make(issuer)
	if errors.Is(err, token.ErrInvalid) {
		return usageError{err}
	}
	if err != nil {
		return err
	}
	if c.JSON {
		return writeJSON(a.stdout, doc)
	}
	fmt.Fprintln(a.stdout, doc.Token)
	fmt.Fprintf(a.stderr, "the token %s of %s is good until %s UTC\n", doc.ID, doc.User, stamp(doc.Expires))
	return nil
}

func (c *authTokenMakeCmd) make(issuer *token.Issuer) (doc tokenDoc, err error) {
	doc = tokenDoc{User: c.User, Name: c.Name, Roles: append([]string{}, c.Role...)}
	if c.JWT {
		var claims token.Claims
		doc.Token, claims, err = issuer.Make(token.Spec{Subject: c.User, Roles: c.Role, TTL: c.For})
		doc.ID, doc.Expires = claims.ID, claims.Expires
		return doc, err
	}
	var made token.APIToken
	doc.Token, made, err = issuer.MakeAPI(token.APISpec{Name: c.Name, User: c.User, Roles: c.Role, TTL: c.For})
	doc.ID, doc.Created, doc.Expires = made.ID, made.Created, made.Expires
	return doc, err
}

type authTokenDecodeCmd struct {
	Keys     string `placeholder:"FILE" help:"Verify it with these keys, too."`
	Register string `placeholder:"FILE" help:"The file of API tokens and revocations (default beside the keys, with .register at its end)."`
	Issuer   string `placeholder:"NAME" help:"Who must have issued it, as the servers' --issuer."`
	Audience string `placeholder:"NAME" help:"Whom it must be for, as the servers' --audience."`
	JSON     bool   `name:"json" help:"Print it as JSON."`
}

// Help is the long help with examples.
func (*authTokenDecodeCmd) Help() string {
	return `Examples:

  everywire auth token decode <token.txt
  everywire auth token decode --keys keys.json <token.txt

The token is the first line of standard input. What a token says of itself proves nothing: only --keys
tells whether it is good. The exit status is 1 if it is not.`
}

// A decodedDoc is what is told of a token.
type decodedDoc struct {
	Header   json.RawMessage `json:"header,omitempty"`
	Claims   json.RawMessage `json:"claims,omitempty"`
	API      *tokenDoc       `json:"api,omitempty"`
	Verified string          `json:"verified"` // yes, no, or not tried
	Why      string          `json:"why,omitempty"`
}

// Run shows a token.
func (c *authTokenDecodeCmd) Run(a *app) error {
	if c.Keys == "" && (c.Register != "" || c.Issuer != "" || c.Audience != "") {
		return usagef("--register, --issuer and --audience are for --keys")
	}
	text, err := a.readSecret("token", false)
	if err != nil {
		return err
	}
	doc, claims, err := c.decode(text)
	if err != nil {
		return err
	}
	if c.JSON {
		err = writeJSON(a.stdout, doc)
	} else {
		err = doc.print(a, claims)
	}
	if err == nil && doc.Verified == "no" {
		err = fmt.Errorf("the token is not good: %s", doc.Why)
	}
	return err
}

// decode finds out about a token all that can be: an API token says nothing itself.
func (c *authTokenDecodeCmd) decode(text string) (doc decodedDoc, claims token.Claims, err error) {
	doc.Verified = "not tried"
	if c.Keys != "" {
		issuer, err := (&keysFlag{c.Keys, c.Register}).openIssuer(token.Config{Issuer: c.Issuer, Audience: c.Audience})
		if err != nil {
			return doc, claims, err
		}
		doc.Verified = "yes"
		if claims, err = issuer.Verify(text); err != nil {
			doc.Verified, doc.Why = "no", whyNot(err)
		}
	}
	if strings.HasPrefix(text, "ewt_") {
		if c.Keys == "" {
			return doc, claims, usagef("an API token says nothing itself: --keys FILE shows what the register says")
		}
		if doc.Verified == "yes" {
			doc.API = &tokenDoc{ID: claims.ID, User: claims.Subject, Name: claims.Name, Roles: claims.Roles, Created: claims.IssuedAt, Expires: claims.Expires}
		}
		return doc, claims, nil
	}
	says, err := token.Decode(text)
	if err != nil {
		return doc, claims, fmt.Errorf("this is no token of the service: %s", whyNot(err))
	}
	doc.Header, doc.Claims = says.Header, says.Body
	return doc, says.Claims, nil
}

// whyNot is the reason why a token was refused, for its owner.
func whyNot(err error) string {
	var refused *token.Error
	if errors.As(err, &refused) {
		return refused.Reason.String() + ": " + refused.Detail
	}
	return err.Error()
}

func (d *decodedDoc) print(a *app, c token.Claims) error {
	verified := d.Verified
	if d.Verified == "not tried" {
		verified += ": give --keys FILE"
	}
	rows := [][]string{
		{"user", orDash(c.Subject)}, {"roles", orDash(strings.Join(c.Roles, ", "))}, {"id", orDash(c.ID)},
		{"made", stamp(c.IssuedAt)}, {"expires", stamp(c.Expires)},
		{"issuer", orDash(c.Issuer)}, {"audience", orDash(strings.Join(c.Audience, ", "))},
		{"signed", orDash(strings.TrimSpace(string(c.Alg) + " " + c.KeyID))}, {"good", verified},
	}
	if d.API == nil && d.Claims == nil {
		rows = rows[len(rows)-1:]
	}
	for i := range rows { // claims are anybody's text
		rows[i][1] = oneLine(errors.New(rows[i][1]))
	}
	return authTable(a.stdout, []string{"CLAIM", "VALUE"}, rows)
}

type authTokenListCmd struct {
	JSON bool `name:"json" help:"Print the tokens as JSON."`

	keysFlag
}

// Run lists API tokens.
func (c *authTokenListCmd) Run(a *app) error {
	issuer, err := c.openIssuer(token.Config{})
	if err != nil {
		return err
	}
	docs, rows := []tokenDoc{}, [][]string(nil)
	for _, t := range issuer.APITokens() {
		docs = append(docs, tokenDoc{ID: t.ID, User: t.User, Name: t.Name, Roles: append([]string{}, t.Roles...), Created: t.Created, Expires: t.Expires, Used: t.LastUsed})
		rows = append(rows, []string{t.ID, t.User, orDash(strings.Join(t.Roles, ":")), minute(t.Expires), minute(t.LastUsed), orDash(t.Name)})
	}
	if c.JSON {
		return writeJSON(a.stdout, docs)
	}
	return authTable(a.stdout, []string{"ID", "USER", "ROLES", "EXPIRES (UTC)", "LAST USED", "NAME"}, rows)
}

type authTokenRevokeCmd struct {
	IDs []string `arg:"" optional:"" name:"id" help:"Ids of tokens, as list, decode and the servers' logs show them."`

	keysFlag
}

// Help is the long help with examples.
func (*authTokenRevokeCmd) Help() string {
	return `Examples:

  everywire auth token revoke 2f1c9a52-6f0e-4b0b-8f0e-0d6f0c2b9a11 --keys keys.json
  everywire auth token revoke --keys keys.json <token.txt        # the token itself

Servers that share the register refuse the token within a second.`
}

// Run revokes.
func (c *authTokenRevokeCmd) Run(a *app) error {
	for _, id := range c.IDs {
		if _, err := uuid.Parse(id); err != nil || len(id) != 36 {
			return usagef("%q is no id of a token: a token itself is given on standard input", id)
		}
	}
	issuer, err := c.openIssuer(token.Config{})
	if err != nil {
		return err
	}
	expires := time.Time{} // not known of an id alone
	if len(c.IDs) == 0 {
		text, err := a.readSecret("token", false)
		if err != nil {
			return err
		}
		claims, err := issuer.Verify(text)
		if err != nil {
			return fmt.Errorf("the token is not good anyway: %s", whyNot(err))
		}
		c.IDs, expires = []string{claims.ID}, claims.Expires
	}
	for _, id := range c.IDs {
		err := issuer.DeleteAPI(id)
		if errors.Is(err, token.ErrNotFound) { // then it is not one of the list
			err = issuer.RevokeID(id, expires)
		}
		if err != nil {
			return err
		}
		fmt.Fprintf(a.stdout, "revoked %s\n", id)
	}
	return nil
}
