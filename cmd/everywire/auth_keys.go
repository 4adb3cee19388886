package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/everywire/everywire/service/auth/token"
)

type authKeysCmd struct {
	New    authKeysNewCmd    `cmd:"" help:"Make a file with a first key."`
	Rotate authKeysRotateCmd `cmd:"" help:"Make a new key that signs from now on."`
	List   authKeysListCmd   `cmd:"" help:"List the keys, without their secrets."`
	Remove authKeysRemoveCmd `cmd:"" help:"Remove a retired key at once, with all its tokens: for one that others know."`
}

// keyFile names the keys.
type keyFile struct {
	Keys string `required:"" placeholder:"FILE" help:"The file of the keys that sign tokens."`
}

type authKeysNewCmd struct {
	Alg string `default:"HS256" enum:"HS256,EdDSA" help:"HS256: who can verify can sign; EdDSA: Ed25519."`

	keyFile
}

// Help is the long help with examples.
func (*authKeysNewCmd) Help() string {
	return `Examples:

  everywire auth keys new --keys keys.json
  everywire auth keys new --alg EdDSA --keys keys.json

The file can be read by its owner alone; servers refuse one that others can read.`
}

// Run makes the file.
func (c *authKeysNewCmd) Run(a *app) error {
	keys, err := token.CreateKeys(c.Keys, token.Alg(c.Alg))
	if err != nil {
		return err
	}
	k := keys.List()[0]
	fmt.Fprintf(a.stdout, "made %s with the key %s (%s)\n", c.Keys, k.ID, k.Alg)
	return nil
}

type authKeysRotateCmd struct {
	Alg  string        `default:"same" enum:"same,HS256,EdDSA" help:"The new key's algorithm: same, HS256 or EdDSA."`
	Keep time.Duration `default:"24h" placeholder:"24h" help:"How long the key that signed until now verifies at least; no less than the servers' --ttl. Tokens that live longer are known to the file."`

	keyFile
}

// Help is the long help with examples.
func (*authKeysRotateCmd) Help() string {
	return `Examples:

  everywire auth keys rotate --keys keys.json
  everywire auth keys rotate --alg EdDSA --keys keys.json

Servers sign with the new key within a second; tokens of the old one stay good until they expire. If the
old key may be known to others, remove it afterwards: everywire auth keys remove ID --keys keys.json`
}

// Run rotates.
func (c *authKeysRotateCmd) Run(a *app) error {
	if c.Keep < 0 {
		return usagef("--keep %v: want 0s or more", c.Keep)
	}
	keys, err := loadKeys(c.Keys)
	if err != nil {
		return err
	}
	alg := token.Alg(c.Alg)
	if c.Alg == "same" {
		for _, k := range keys.List() {
			if k.State == token.Active {
				alg = k.Alg
			}
		}
	}
	k, err := keys.Rotate(alg, c.Keep)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "the key %s (%s) signs from now on\n", k.ID, k.Alg)
	return nil
}

type authKeysListCmd struct {
	JSON bool `name:"json" help:"Print the keys as JSON."`

	keyFile
}

// A keyDoc is a key for programs, without its secret.
type keyDoc struct {
	ID      string      `json:"id"`
	Alg     token.Alg   `json:"alg"`
	State   token.State `json:"state"`
	Created time.Time   `json:"created"`
	Until   time.Time   `json:"until,omitzero"`
}

// Run lists keys.
func (c *authKeysListCmd) Run(a *app) error {
	keys, err := loadKeys(c.Keys)
	if err != nil {
		return err
	}
	docs, rows := []keyDoc{}, [][]string(nil)
	for _, k := range keys.List() {
		docs = append(docs, keyDoc{k.ID, k.Alg, k.State, k.Created, k.Until})
		rows = append(rows, []string{k.ID, string(k.Alg), string(k.State), minute(k.Created), minute(k.Until)})
	}
	if c.JSON {
		return writeJSON(a.stdout, docs)
	}
	return authTable(a.stdout, []string{"KEY", "ALGORITHM", "STATE", "MADE (UTC)", "VERIFIES UNTIL"}, rows)
}

type authKeysRemoveCmd struct {
	ID string `arg:"" help:"The key's id."`

	keyFile
}

// Run removes a key.
func (c *authKeysRemoveCmd) Run(a *app) error {
	keys, err := loadKeys(c.Keys)
	if err != nil {
		return err
	}
	if err := keys.Remove(c.ID); err != nil {
		if errors.Is(err, token.ErrNotFound) {
			return fmt.Errorf("there is no key %q: everywire auth keys list shows them", c.ID)
		}
		return err
	}
	fmt.Fprintf(a.stdout, "removed %s: its tokens are no good any more\n", c.ID)
	return nil
}
