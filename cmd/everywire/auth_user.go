package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/everywire/everywire/service/auth/users"
)

type authUserCmd struct {
	Add    authUserAddCmd    `cmd:"" help:"Add an account; its password is asked for."`
	List   authUserListCmd   `cmd:"" help:"List the accounts."`
	Set    authUserSetCmd    `cmd:"" help:"Change an account: its password, roles, claims, or whether it may log in."`
	Remove authUserRemoveCmd `cmd:"" help:"Remove an account. Its tokens stay good until they expire."`
	Row    authUserRowCmd    `cmd:"" help:"Print an account as a row of a users.csv file."`
}

// passwordFlags say what passwords are taken, and how they are kept.
type passwordFlags struct {
	MinPassword int    `default:"8" placeholder:"8" help:"How many bytes a password must have."`
	Hash        string `default:"argon2id" enum:"argon2id,pbkdf2" help:"How it is kept: argon2id, or pbkdf2 as the published services did, which is weak."`
}

func (f *passwordFlags) options() users.Options {
	o := users.Options{MinPassword: f.MinPassword}
	if f.Hash == users.PBKDF2.String() {
		o.Hash = users.PBKDF2
	}
	return o
}

// accountFlags are what an account has beside its password.
type accountFlags struct {
	Role   []string `short:"r" placeholder:"ROLE" help:"A role. Repeat it for more."`
	Claims string   `placeholder:"FILE" help:"A file with claims, one a line: each is as good as a password."`
}

// claims reads the file of claims.
func (f *accountFlags) claims() ([]string, error) {
	text, err := os.ReadFile(f.Claims)
	if err != nil {
		return nil, usagef("--claims: %w", err)
	}
	var all []string
	for line := range bytes.Lines(text) {
		if claim := strings.TrimSpace(string(line)); claim != "" {
			all = append(all, claim)
		}
	}
	return all, nil
}

// usageOf turns errors about what was asked for into those of usage.
func usageOf(err error) error {
	if errors.Is(err, users.ErrInvalid) {
		return usageError{err}
	}
	return err
}

type authUserAddCmd struct {
	Name       string `arg:"" help:"The user's name."`
	NoPassword bool   `help:"Without a password: the account is logged in to by claims alone."`
	Disabled   bool   `help:"It may not log in yet."`

	usersFlag
	accountFlags
	passwordFlags
}

// Help is the long help with examples.
func (*authUserAddCmd) Help() string {
	return `Examples:

  everywire auth user add ada --users users.csv                  # asks for the password
  everywire auth user add ada --role admin --role staff --users users.csv <password.txt
  everywire auth user add robot --no-password --claims claims.txt --users ./accounts

Servers take the account at once; those with a .db file must be stopped first.`
}

// Run adds an account.
func (c *authUserAddCmd) Run(a *app) (err error) {
	u := users.User{Name: c.Name, Enabled: !c.Disabled, Roles: c.Role}
	if c.Claims != "" {
		if u.Claims, err = c.claims(); err != nil {
			return err
		}
	}
	if c.NoPassword && len(u.Claims) == 0 {
		return usagef("an account without a password needs claims: name their file by --claims FILE")
	}
	s, err := openUsers(c.Users, false, c.options())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if _, there := s.Get(c.Name); there {
		return fmt.Errorf("there is a user %q already: everywire auth user set changes accounts", c.Name)
	}
	password := ""
	if !c.NoPassword {
		if password, err = a.readSecret("password", true); err != nil {
			return err
		}
	}
	if err := s.Put(a.ctx, u, password); err != nil {
		return usageOf(err)
	}
	fmt.Fprintf(a.stdout, "added %s\n", c.Name)
	return nil
}

type authUserListCmd struct {
	JSON bool `name:"json" help:"Print the accounts as JSON."`

	usersFlag
}

// A userDoc is an account for programs. Hashes and claims are not in it.
type userDoc struct {
	Name    string   `json:"name"`
	Enabled bool     `json:"enabled"`
	Roles   []string `json:"roles"`
	Hash    string   `json:"hash"` // "" if there is no password
	Claims  int      `json:"claims"`
}

// Run lists accounts.
func (c *authUserListCmd) Run(a *app) (err error) {
	s, err := openUsers(c.Users, true, users.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	docs, rows := []userDoc{}, [][]string(nil)
	for _, u := range s.List() {
		d := userDoc{Name: u.Name, Enabled: u.Enabled, Roles: append([]string{}, u.Roles...), Claims: len(u.Claims)}
		if u.HasPassword {
			d.Hash = u.Hash.String()
		}
		may := "yes"
		if !d.Enabled {
			may = "no"
		}
		docs = append(docs, d)
		rows = append(rows, []string{d.Name, may, orDash(strings.Join(d.Roles, ":")), orDash(d.Hash), strconv.Itoa(d.Claims)})
	}
	if c.JSON {
		return writeJSON(a.stdout, docs)
	}
	return authTable(a.stdout, []string{"NAME", "ENABLED", "ROLES", "PASSWORD", "CLAIMS"}, rows)
}

type authUserSetCmd struct {
	Name     string `arg:"" help:"The user's name."`
	Password bool   `help:"Give it a new password, which is asked for."`
	NoRoles  bool   `help:"Take all its roles away."`
	NoClaims bool   `help:"Take all its claims away."`
	Enable   bool   `help:"Let it log in."`
	Disable  bool   `help:"Do not let it log in. Its tokens stay good until they expire, or are revoked."`

	usersFlag
	accountFlags
	passwordFlags
}

// Help is the long help with examples.
func (*authUserSetCmd) Help() string {
	return `Examples:

  everywire auth user set ada --password --users users.csv
  everywire auth user set ada --role staff --users users.csv     # instead of those that it had
  everywire auth user set ada --disable --users users.csv

A token that was issued keeps its roles until it expires.`
}

func (c *authUserSetCmd) check() error {
	switch {
	case c.Enable && c.Disable:
		return usagef("--enable and --disable: one or the other")
	case c.NoRoles && len(c.Role) > 0:
		return usagef("--role and --no-roles: one or the other")
	case c.NoClaims && c.Claims != "":
		return usagef("--claims and --no-claims: one or the other")
	case !c.Password && !c.Enable && !c.Disable && !c.NoRoles && !c.NoClaims && len(c.Role) == 0 && c.Claims == "":
		return usagef("set what? Give --password, --role, --no-roles, --claims, --no-claims, --enable or --disable")
	}
	return nil
}

// Run changes an account.
func (c *authUserSetCmd) Run(a *app) (err error) {
	if err := c.check(); err != nil {
		return err
	}
	s, err := openUsers(c.Users, true, c.options())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	u, there := s.Get(c.Name)
	if !there {
		return fmt.Errorf("there is no user %q in %s", c.Name, c.Users)
	}
	u.Enabled = (u.Enabled || c.Enable) && !c.Disable
	if len(c.Role) > 0 || c.NoRoles {
		u.Roles = c.Role
	}
	switch {
	case c.NoClaims:
		u.Claims = nil
	case c.Claims != "":
		if u.Claims, err = c.claims(); err != nil {
			return err
		}
	}
	password := ""
	if c.Password {
		if password, err = a.readSecret("new password", true); err != nil {
			return err
		}
	}
	if err := s.Put(a.ctx, u, password); err != nil {
		return usageOf(err)
	}
	fmt.Fprintf(a.stdout, "changed %s\n", c.Name)
	return nil
}

type authUserRemoveCmd struct {
	Name string `arg:"" help:"The user's name."`

	usersFlag
}

// Run removes an account.
func (c *authUserRemoveCmd) Run(a *app) (err error) {
	s, err := openUsers(c.Users, true, users.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	err = s.Delete(c.Name)
	if errors.Is(err, users.ErrNotFound) {
		return fmt.Errorf("there is no user %q in %s", c.Name, c.Users)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "removed %s\n", c.Name)
	return nil
}

type authUserRowCmd struct {
	Name     string `arg:"" help:"The user's name."`
	Disabled bool   `help:"It may not log in."`

	accountFlags
	passwordFlags
}

// Help is the long help with examples.
func (*authUserRowCmd) Help() string {
	return `Examples:

  everywire auth user row ada --role admin >>users.csv
  everywire auth user row test --hash pbkdf2 --min-password 6  # as the published services' tool

The file's first line is username,password,enabled,roles and, with claims, claim1,claim2 and so on.`
}

// Run prints a row.
func (c *authUserRowCmd) Run(a *app) (err error) {
	u := users.User{Name: c.Name, Enabled: !c.Disabled, Roles: c.Role}
	if c.Claims != "" {
		if u.Claims, err = c.claims(); err != nil {
			return err
		}
	}
	password, err := a.readSecret("password", true)
	if err != nil {
		return err
	}
	row, err := users.Row(u, password, c.options())
	if err != nil {
		return usageOf(err)
	}
	fmt.Fprintln(a.stdout, row)
	return nil
}
