package token

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/everywire/everywire/service/auth/internal/safefile"
)

const (
	keysVersion  = 1
	maxKeysFile  = 1 << 20
	maxKeys      = 1000
	keepsAfter   = 24 * time.Hour // how long a key that verifies nothing more stays in the file
	keysFileHint = "it must be readable by its owner alone: chmod 600"
)

// fileOfKeys is the file of keys.
type fileOfKeys struct {
	Version int         `json:"version"`
	Keys    []keyRecord `json:"keys"`
}

type keyRecord struct {
	ID      string    `json:"kid"`
	Alg     Alg       `json:"alg"`
	State   State     `json:"state"`
	Created time.Time `json:"created"`
	Until   time.Time `json:"until,omitzero"`
	Secret  string    `json:"secret"` // base64url; of EdDSA the seed
}

// CreateKeys makes a file with one new key. The file must not be there yet.
func CreateKeys(path string, alg Alg) (*Keys, error) {
	unlock, err := safefile.Lock(path)
	if err != nil {
		return nil, fmt.Errorf("token: %w", err)
	}
	defer unlock()
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("token: %s is there already: rotate its keys instead", path)
	}
	first, err := NewKey(alg)
	if err != nil {
		return nil, fmt.Errorf("token: %w", err)
	}
	k := &Keys{path: path, watch: safefile.NewWatch(path)}
	if err := k.store([]*Key{first}); err != nil {
		return nil, err
	}
	return k, nil
}

// LoadKeys reads a file of keys. It is read again when it has changed; if it is
// broken then, the keys that it had before stay.
func LoadKeys(path string) (*Keys, error) {
	k := &Keys{path: path, watch: safefile.NewWatch(path)}
	set, err := k.read()
	if err != nil {
		return nil, fmt.Errorf("token: %w", err)
	}
	k.set.Store(set)
	return k, nil
}

func (k *Keys) read() (*keySet, error) {
	data, info, err := safefile.Read(k.path, maxKeysFile)
	if err != nil {
		k.watch.Saw(nil)
		return nil, err
	}
	k.watch.Saw(info)
	if !safefile.Private(info) {
		return nil, fmt.Errorf("%s has the permissions %04o: %s", k.path, info.Mode().Perm(), keysFileHint)
	}
	set, err := parseKeys(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", k.path, err)
	}
	return set, nil
}

// validID is what an id may be that is read: nothing that could be more than a name.
var validID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

func parseKeys(data []byte) (*keySet, error) {
	var f fileOfKeys
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&f); err != nil {
		return nil, notKeys(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the keys")
	}
	switch {
	case f.Version != keysVersion:
		return nil, fmt.Errorf("it has version %d, and this program knows %d only", f.Version, keysVersion)
	case len(f.Keys) == 0:
		return nil, errors.New("it has no keys")
	case len(f.Keys) > maxKeys:
		return nil, fmt.Errorf("it has %d keys, and may have %d", len(f.Keys), maxKeys)
	}
	all := make([]*Key, 0, len(f.Keys))
	for n, r := range f.Keys {
		k, err := r.key()
		if err != nil {
			return nil, fmt.Errorf("key %d: %w", n+1, err)
		}
		all = append(all, k)
	}
	return newKeySet(all)
}

// notKeys says what is wrong with the file's JSON. What json's errors quote may be a
// secret that stands in the wrong place.
func notKeys(err error) error {
	var (
		syntax  *json.SyntaxError
		kind    *json.UnmarshalTypeError
		instant *time.ParseError
	)
	switch {
	case errors.As(err, &syntax):
		return fmt.Errorf("it is not JSON, from byte %d on", syntax.Offset)
	case errors.As(err, &kind):
		return fmt.Errorf("its member %s has a value of the wrong kind", shown(kind.Field))
	case errors.As(err, &instant):
		return errors.New("a time in it is not of the form 2006-01-02T15:04:05Z")
	}
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		name, _ = strconv.Unquote(name) // it is quoted
		return fmt.Errorf("it has an unknown field %s", shown(name))
	}
	return errors.New("it ends too early, or is not what a file of keys is")
}

// shown is a text of the file, if it is too short for a secret.
func shown(text string) string {
	if len(text) > minSecret/2 {
		return fmt.Sprintf("(%d bytes that may be a secret)", len(text))
	}
	return strconv.Quote(text)
}

func (r keyRecord) key() (*Key, error) {
	switch {
	case !validID.MatchString(r.ID):
		return nil, errors.New("its kid must be 1 to 64 letters, digits, - and _")
	case r.State != Active && r.State != Retired:
		return nil, fmt.Errorf("its state is %s, and must be %s or %s", shown(string(r.State)), Active, Retired)
	case r.State == Retired && r.Until.IsZero():
		return nil, errors.New("it is retired, and does not say until when it verifies")
	}
	secret, err := base64.RawURLEncoding.Strict().DecodeString(r.Secret)
	if err != nil {
		return nil, errors.New("its secret is not base64url without padding")
	}
	if r.Alg == HS256 && len(secret) < minSecret {
		return nil, fmt.Errorf("its secret has %d bytes, and must have %d", len(secret), minSecret)
	}
	k, err := newKey(r.ID, r.Alg, secret)
	if err != nil {
		return nil, err
	}
	k.State, k.Created, k.Until = r.State, r.Created, r.Until
	return k, nil
}

// store writes the keys, if there is a file, and then puts them into force.
func (k *Keys) store(all []*Key) error {
	set, err := newKeySet(all)
	if err != nil {
		return fmt.Errorf("token: %w", err)
	}
	if k.path != "" {
		f := fileOfKeys{Version: keysVersion}
		for _, key := range all {
			f.Keys = append(f.Keys, keyRecord{ID: key.ID, Alg: key.Alg, State: key.State, Created: key.Created, Until: key.Until,
				Secret: base64.RawURLEncoding.EncodeToString(key.secret)})
		}
		data, err := json.MarshalIndent(f, "", "  ")
		if err == nil {
			err = safefile.Write(k.path, append(data, '\n'))
		}
		if err != nil {
			return fmt.Errorf("token: %w", err)
		}
		info, err := os.Stat(k.path)
		if err != nil {
			return fmt.Errorf("token: %w", err)
		}
		k.watch.Saw(info)
	}
	k.set.Store(set)
	return nil
}

// current is the set in force, read again if its file has changed.
func (k *Keys) current(logger *slog.Logger) *keySet {
	if k.watch != nil && k.watch.Changed() {
		k.reload(logger)
	}
	return k.set.Load()
}

// reload takes over what others have made of the file.
func (k *Keys) reload(logger *slog.Logger) {
	if !k.mu.TryLock() { // somebody is at it
		return
	}
	defer k.mu.Unlock()
	set, err := k.read()
	if err == nil {
		k.set.Store(set)
		k.said = ""
	} else if err.Error() != k.said {
		k.said = err.Error()
		logger.Error("a file of keys cannot be used: what it held before stays in force", slog.Any("error", err))
	}
}

// edit changes the keys, after what others have changed in the file.
func (k *Keys) edit(edit func(all []*Key) ([]*Key, error)) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.path != "" {
		unlock, err := safefile.Lock(k.path)
		if err != nil {
			return fmt.Errorf("token: %w", err)
		}
		defer unlock()
		if k.watch.Differs() {
			set, err := k.read()
			if err != nil {
				return fmt.Errorf("token: %w", err)
			}
			k.set.Store(set)
		}
	}
	all, err := edit(slices.Clone(k.set.Load().all))
	if err != nil || all == nil {
		return err
	}
	return k.store(all)
}

// Rotate makes a new key that signs from now on. The one that did verifies for as
// long as its tokens may live: for ttl, that of the issuers that use the keys, or
// longer if a token was made that lives longer. Keys whose time is over by a day
// are removed.
func (k *Keys) Rotate(alg Alg, ttl time.Duration) (Key, error) {
	next, err := NewKey(alg)
	if err != nil {
		return Key{}, fmt.Errorf("token: %w", err)
	}
	err = k.edit(func(all []*Key) ([]*Key, error) {
		now := time.Now().UTC().Truncate(time.Second)
		all = slices.DeleteFunc(all, func(key *Key) bool { return key.State == Retired && key.Until.Add(keepsAfter).Before(now) })
		for n, key := range all {
			if key.State == Active {
				old := *key
				old.State = Retired
				if until := now.Add(ttl); until.After(old.Until) {
					old.Until = until
				}
				all[n] = &old
			}
		}
		return append(all, next), nil
	})
	return Key{ID: next.ID, Alg: next.Alg, State: next.State, Created: next.Created}, err
}

// Remove removes a retired key at once, with all its tokens: for one that has
// become known to others. Rotate first if it is the active one.
func (k *Keys) Remove(id string) error {
	return k.edit(func(all []*Key) ([]*Key, error) {
		n := slices.IndexFunc(all, func(key *Key) bool { return key.ID == id })
		if n < 0 {
			return nil, ErrNotFound
		}
		if all[n].State == Active {
			return nil, fmt.Errorf("token: the key %q is the active one: rotate first", id)
		}
		return slices.Delete(all, n, n+1), nil
	})
}

// outlive notes that a key has signed a token that lives until then. It is on the
// disk before the token is handed out, so that no rotation forgets it.
func (k *Keys) outlive(id string, until time.Time) error {
	if key := k.set.Load().byID[id]; key != nil && !key.Until.Before(until) {
		return nil
	}
	return k.edit(func(all []*Key) ([]*Key, error) {
		n := slices.IndexFunc(all, func(key *Key) bool { return key.ID == id })
		if n < 0 {
			return nil, ErrNotFound
		}
		noted := *all[n]
		noted.Until = until
		all[n] = &noted
		return all, nil
	})
}
