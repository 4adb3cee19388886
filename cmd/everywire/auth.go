package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/everywire/everywire/service/auth/token"
	"github.com/everywire/everywire/service/auth/users"
)

type authCmd struct {
	User  authUserCmd  `cmd:"" help:"The accounts: add, list, set, remove, row."`
	Token authTokenCmd `cmd:"" help:"Tokens: make, decode, list, revoke."`
	Keys  authKeysCmd  `cmd:"" help:"The keys that sign tokens: new, rotate, list, remove."`
}

// Help is the long help with examples.
func (*authCmd) Help() string {
	return `The authentication service needs accounts and keys. From nothing to a login:

  everywire auth keys new --keys keys.json
  everywire auth user add ada --role admin --users users.csv
  everywire serve auth --users users.csv --keys keys.json --on any://localhost:8080
  curl localhost:8080/api/v2/authentication --json '{"username":"ada","password":"…"}'

Passwords, claims and tokens are asked for, or read from standard input or a file; they never stand on
the command line, where every user of the machine sees them.`
}

// usersFlag names the accounts.
type usersFlag struct {
	Users string `required:"" placeholder:"FILE|DIR" help:"The accounts: a file that ends in .csv or .db (a database), or a folder that has users.csv or users.db."`
}

// usersPath is the file that --users means.
func usersPath(named string) string {
	if info, err := os.Stat(named); err != nil || !info.IsDir() {
		return named
	}
	if file := filepath.Join(named, "users.csv"); exists(file) {
		return file
	}
	return filepath.Join(named, "users.db")
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return !errors.Is(err, fs.ErrNotExist)
}

// openUsers opens the accounts; those that have to be there must.
func openUsers(named string, there bool, o users.Options) (*users.Store, error) {
	file := usersPath(named)
	if ext := filepath.Ext(file); ext != ".csv" && ext != ".db" {
		return nil, usagef("--users %s: want a file that ends in .csv or .db, or a folder", named)
	}
	if there && !exists(file) {
		return nil, fmt.Errorf("there are no users yet in %s: make one by everywire auth user add NAME --users %s", file, named)
	}
	s, err := users.Open(file, o)
	if errors.Is(err, users.ErrInUse) {
		err = fmt.Errorf("%w: a database has one process; stop the server first, or keep users in a .csv file, which servers read again when it has changed", err)
	}
	return s, err
}

// keysFlag names the keys, and the register of API tokens and revocations.
type keysFlag struct {
	Keys     string `required:"" placeholder:"FILE" help:"The file of the keys that sign tokens."`
	Register string `placeholder:"FILE" help:"The file of API tokens and revocations (default beside the keys, with .register at its end)."`
}

func (f *keysFlag) registerPath() string {
	if f.Register != "" {
		return f.Register
	}
	return strings.TrimSuffix(f.Keys, filepath.Ext(f.Keys)) + ".register"
}

// loadKeys reads the keys.
func loadKeys(file string) (*token.Keys, error) {
	keys, err := token.LoadKeys(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there are no keys in %s: make the first by everywire auth keys new --keys %s", file, file)
	}
	return keys, err
}

// authTable prints rows under headings.
func authTable(w io.Writer, head []string, rows [][]string) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, strings.Join(head, "\t"))
	for _, row := range rows {
		fmt.Fprintln(t, strings.Join(row, "\t"))
	}
	return t.Flush()
}

// stamp is a time in a table; zero is a dash.
func stamp(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format(time.DateTime)
}

// minute is a time in a table with many columns.
func minute(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format("2006-01-02 15:04")
}

// orDash is a text in a table.
func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
