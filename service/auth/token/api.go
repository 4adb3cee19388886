package token

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
)

// An API token is for a program: opaque, and long-lived. Its text is
//
//	ewt_ and 58 characters a-z 2-7
//
// which are the base32 of 256 random bits and the CRC-32C of the prefix and these.
// The prefix and the sum are for scanners, which find a token that was published
// without asking us whether it is one.
const (
	apiPrefix = "ewt_"
	apiBits   = 32 // bytes
)

var (
	apiEncoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)
	castagnoli  = crc32.MakeTable(crc32.Castagnoli)
)

var errAPIForm = &Error{Malformed, "an API token with another length, alphabet or checksum"}
var errAPIUnknown = &Error{UnknownKey, "an API token that is not in the register"}

// An APIToken is what is known of an API token; its text is not.
type APIToken struct {
	ID      string
	Name    string // what it is for, as its owner says
	User    string
	Roles   []string
	Created time.Time
	Expires time.Time
	// LastUsed is zero if it never was. It may be a minute old.
	LastUsed time.Time
}

// An APISpec says what API token is wanted.
type APISpec struct {
	Name, User string
	Roles      []string
	TTL        time.Duration // 0: the issuer's MaxTTL
}

// MakeAPI makes an API token. Its text cannot be had again.
func (i *Issuer) MakeAPI(s APISpec) (string, APIToken, error) {
	if s.TTL == 0 {
		s.TTL = i.config.MaxTTL
	}
	switch {
	case s.TTL < time.Second || s.TTL > i.config.MaxTTL:
		return "", APIToken{}, fmt.Errorf("%w: it is to be valid for %v, and must be so for 1s to %v", ErrInvalid, s.TTL, i.config.MaxTTL)
	case s.User == "" || !utf8.ValidString(s.User) || !utf8.ValidString(s.Name) || len(s.Name) > 256:
		return "", APIToken{}, fmt.Errorf("%w: the user's name is empty, or it or the token's is not UTF-8 or too long", ErrInvalid)
	}
	random := make([]byte, apiBits)
	_, _ = rand.Read(random) // it never fails, says its documentation
	text := encodeAPI(random)
	now := i.config.Now().UTC().Truncate(time.Second)
	t := APIToken{ID: uuid.NewString(), Name: s.Name, User: s.User, Roles: s.Roles, Created: now, Expires: now.Add(s.TTL)}
	if err := i.config.Register.add(t, sha256.Sum256([]byte(text)), now); err != nil {
		return "", APIToken{}, err
	}
	return text, t, nil
}

// APITokens returns the API tokens that are not expired, the newest first.
func (i *Issuer) APITokens() []APIToken { return i.config.Register.list(i.config.Now()) }

// DeleteAPI takes an API token back.
func (i *Issuer) DeleteAPI(id string) error { return i.config.Register.remove(id, i.config.Now()) }

func encodeAPI(random []byte) string {
	sum := crc32.Update(crc32.Checksum([]byte(apiPrefix), castagnoli), castagnoli, random)
	return apiPrefix + apiEncoding.EncodeToString(binary.BigEndian.AppendUint32(bytes.Clone(random), sum))
}

// isAPI reports whether a text has the form of an API token.
func isAPI(text string) bool {
	rest, ok := strings.CutPrefix(text, apiPrefix)
	if !ok || len(rest) != apiEncoding.EncodedLen(apiBits+4) {
		return false
	}
	data, err := apiEncoding.DecodeString(rest)
	return err == nil && len(data) == apiBits+4 && encodeAPI(data[:apiBits]) == text // also its last bits
}

// verifyAPI looks an API token up by its hash: who can read the register cannot use
// what is in it, and the time of a look-up tells of the hash only.
func (i *Issuer) verifyAPI(text string) (Claims, error) {
	if !isAPI(text) {
		return Claims{}, errAPIForm
	}
	now := i.config.Now()
	t, ok := i.config.Register.find(sha256.Sum256([]byte(text)), now)
	switch {
	case !ok:
		return Claims{}, errAPIUnknown
	case !now.Before(t.Expires):
		return Claims{}, errExpired
	case i.config.Register.revoked(t.ID):
		return Claims{}, errRevoked
	}
	return Claims{ID: t.ID, Subject: t.User, Roles: t.Roles, IssuedAt: t.Created, Expires: t.Expires, API: true, Name: t.Name}, nil
}
