package token

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/everywire/everywire/service/auth/internal/safefile"
)

// An Alg is an algorithm of signatures, by its name in a token's header.
type Alg string

// The algorithms.
const (
	HS256 Alg = "HS256" // HMAC with SHA-256: who can verify can sign
	EdDSA Alg = "EdDSA" // Ed25519
)

// A State says what a key is for.
type State string

// The states.
const (
	Active  State = "active"  // signs and verifies; one key is
	Retired State = "retired" // verifies, until the last token that it signed is gone
)

// minSecret is the shortest secret of HS256 (RFC 7518, section 3.2).
const minSecret = 32

// A Key signs tokens with one algorithm, and verifies those with this one only.
type Key struct {
	ID      string
	Alg     Alg
	State   State
	Created time.Time
	// Until is when the last token of a retired key will be gone. Of an active key
	// it is when the last of those will be that live longer than usual; else zero.
	Until time.Time

	secret []byte // HS256: the secret; EdDSA: the seed
	sign   any    // what package jwt wants: a secret, or an ed25519.PrivateKey
	verify any    // a secret, or an ed25519.PublicKey
	method jwt.SigningMethod
	header string // that of all tokens of the key, encoded
}

// NewKey makes a key of random bits.
func NewKey(alg Alg) (*Key, error) {
	secret, id := make([]byte, minSecret), make([]byte, 8)
	_, _ = rand.Read(secret) // it never fails, says its documentation
	_, _ = rand.Read(id)
	return newKey(hex.EncodeToString(id), alg, secret)
}

// newKey makes a key of its secret; an empty id is that of the key of tokens that
// name none.
func newKey(id string, alg Alg, secret []byte) (*Key, error) {
	k := &Key{ID: id, Alg: alg, State: Active, Created: time.Now().UTC().Truncate(time.Second), secret: slices.Clone(secret)}
	switch alg {
	case HS256:
		k.method, k.sign, k.verify = jwt.SigningMethodHS256, k.secret, k.secret
	case EdDSA:
		if len(secret) != ed25519.SeedSize {
			return nil, fmt.Errorf("an EdDSA key has a seed of %d bytes, not of %d", ed25519.SeedSize, len(secret))
		}
		private := ed25519.NewKeyFromSeed(secret)
		k.method, k.sign, k.verify = jwt.SigningMethodEdDSA, private, private.Public()
	default:
		return nil, fmt.Errorf("there is no algorithm %s: it must be %s or %s", shown(string(alg)), HS256, EdDSA)
	}
	k.header = encodeHeader(alg, id)
	return k, nil
}

func encodeHeader(alg Alg, id string) string {
	text := `{"alg":"` + string(alg) + `",`
	if id != "" {
		text += `"kid":"` + id + `",`
	}
	return base64.RawURLEncoding.EncodeToString([]byte(text + `"typ":"JWT"}`))
}

// Keys are an issuer's keys, in a file or in memory.
type Keys struct {
	path  string // "": in memory
	watch *safefile.Watch

	set  atomic.Pointer[keySet]
	mu   sync.Mutex // of changes
	said string     // the error that was logged last
}

// A keySet is never changed.
type keySet struct {
	all      []*Key
	byID     map[string]*Key
	byHeader map[string]*Key // by the header that all tokens of the key have
	active   *Key
}

func newKeySet(all []*Key) (*keySet, error) {
	s := &keySet{all: all, byID: map[string]*Key{}, byHeader: map[string]*Key{}}
	for _, k := range all {
		if s.byID[k.ID] != nil {
			return nil, fmt.Errorf("two keys have the id %q", k.ID)
		}
		s.byID[k.ID], s.byHeader[k.header] = k, k
		if k.State == Active {
			if s.active != nil {
				return nil, fmt.Errorf("the keys %q and %q are both active", s.active.ID, k.ID)
			}
			s.active = k
		}
	}
	if s.active == nil && len(all) > 0 {
		return nil, errors.New("no key is active")
	}
	return s, nil
}

// NewKeys makes a set of one key in memory, for tests and for services that live
// no longer than their tokens.
func NewKeys(first *Key) (*Keys, error) {
	set, err := newKeySet([]*Key{first})
	if err != nil {
		return nil, err
	}
	k := &Keys{}
	k.set.Store(set)
	return k, nil
}

// List returns the keys, the newest first. Their secrets cannot be seen.
func (k *Keys) List() []Key {
	var all []Key
	for _, key := range k.set.Load().all {
		all = append(all, Key{ID: key.ID, Alg: key.Alg, State: key.State, Created: key.Created, Until: key.Until})
	}
	slices.SortStableFunc(all, func(a, b Key) int { return b.Created.Compare(a.Created) })
	return all
}
