package token

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/everywire/everywire/service/auth/internal/safefile"
)

// An entry is a line of the register's file, with one change: a revocation, an API
// token, its use or its end.
type entry struct {
	Revoke string `json:"revoke,omitempty"`
	Until  int64  `json:"until,omitempty"`

	Token *tokenEntry `json:"token,omitempty"`

	Used string `json:"used,omitempty"`
	At   int64  `json:"at,omitempty"`

	Delete string `json:"delete,omitempty"`
}

type tokenEntry struct {
	ID       string   `json:"id"`
	Name     string   `json:"name,omitempty"`
	User     string   `json:"user"`
	Roles    []string `json:"roles,omitempty"`
	Created  int64    `json:"created"`
	Expires  int64    `json:"expires"`
	LastUsed int64    `json:"lastUsed,omitempty"`
	Hash     string   `json:"sha256"`
}

func newEntry(e *apiEntry) entry {
	t := &tokenEntry{ID: e.ID, Name: e.Name, User: e.User, Roles: e.Roles, Created: e.Created.Unix(), Expires: e.Expires.Unix(),
		Hash: base64.RawURLEncoding.EncodeToString(e.hash[:])}
	if !e.LastUsed.IsZero() {
		t.LastUsed = e.LastUsed.Unix()
	}
	return entry{Token: t}
}

// apply makes the change of an entry. The caller has the lock.
func (r *Register) apply(e entry) error {
	switch {
	case e.Revoke != "":
		r.gone[e.Revoke] = max(r.gone[e.Revoke], e.Until)
	case e.Token != nil:
		hash, err := base64.RawURLEncoding.Strict().DecodeString(e.Token.Hash)
		if err != nil || len(hash) != sha256.Size || e.Token.ID == "" || e.Token.User == "" {
			return errors.New("an API token without an id, a user or a hash")
		}
		t := &apiEntry{APIToken: APIToken{ID: e.Token.ID, Name: e.Token.Name, User: e.Token.User, Roles: e.Token.Roles,
			Created: unix(e.Token.Created), Expires: unix(e.Token.Expires)}, hash: [sha256.Size]byte(hash)}
		if e.Token.LastUsed != 0 {
			t.LastUsed = unix(e.Token.LastUsed)
		}
		r.tokens[t.hash], r.byID[t.ID] = t, t
	case e.Used != "":
		if t := r.byID[e.Used]; t != nil {
			t.LastUsed = unix(e.At)
		}
	case e.Delete != "":
		if t := r.byID[e.Delete]; t != nil {
			delete(r.tokens, t.hash)
			delete(r.byID, e.Delete)
		}
	default:
		return errors.New("an entry that changes nothing")
	}
	return nil
}

func unix(seconds int64) time.Time { return time.Unix(seconds, 0).UTC() }

// The first line of the file is registerHead with an id, which is another one each
// time that the file is written anew: an inode's number may come back, and its size.
const (
	registerHead   = `{"everywire":"token register","version":1,"id":"`
	registerIDLen  = 32 // hex digits
	registerHeadAt = len(registerHead) + registerIDLen + len("\"}\n")
)

func newRegisterHead() string {
	id := make([]byte, registerIDLen/2)
	_, _ = rand.Read(id) // it never fails, says its documentation
	return registerHead + hex.EncodeToString(id) + "\"}\n"
}

// maxRegisterFile bounds what is read of the file.
const maxRegisterFile = 1 << 30

// A registerFile is the file of a register: lines that are only ever added, so that
// a revocation costs one of them and not all; and once most of them are of the past,
// it is written anew. Several processes may have it open.
type registerFile struct {
	path   string
	watch  *safefile.Watch
	logger *slog.Logger
	said   string // the error that was logged last

	head  string // the first line that was read; "" if there was none
	size  int64  // how much of it was read: whole lines
	lines int
}

// OpenRegister opens a register in a file, which is made by the first change.
func OpenRegister(path string, logger *slog.Logger) (*Register, error) {
	if logger == nil {
		logger = slog.Default()
	}
	r := NewRegister()
	r.file = &registerFile{path: path, watch: safefile.NewWatch(path), logger: logger}
	if err := r.file.read(r); err != nil {
		return nil, fmt.Errorf("token: %w", err)
	}
	return r, nil
}

// read takes over what was added to the file, or all of it if it is another file
// than before. A last line without an end is one that a crash has cut off, or that
// is just being written.
func (f *registerFile) read(r *Register) error {
	data, info, err := safefile.Read(f.path, maxRegisterFile)
	if errors.Is(err, fs.ErrNotExist) {
		f.watch.Saw(nil)
		if f.head != "" {
			return fmt.Errorf("%s is there no more", f.path)
		}
		return nil
	}
	if err != nil {
		return err
	}
	f.watch.Saw(info)
	if !safefile.Private(info) {
		return fmt.Errorf("%s has the permissions %04o: %s", f.path, info.Mode().Perm(), keysFileHint)
	}
	whole := data[:bytes.LastIndexByte(data, '\n')+1]
	fresh := r
	from, lines := f.size, f.lines
	head := string(whole[:min(len(whole), registerHeadAt)])
	another := head != f.head || int64(len(whole)) < f.size
	if another {
		fresh, from, lines = NewRegister(), 0, 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if lines, err = fresh.take(whole[from:], lines); err != nil {
		return fmt.Errorf("%s:%d: %w", f.path, lines, err)
	}
	if another {
		r.gone, r.tokens, r.byID, r.prune = fresh.gone, fresh.tokens, fresh.byID, fresh.prune
	}
	f.head, f.size, f.lines = head, int64(len(whole)), lines
	return nil
}

// take applies lines, and counts them.
func (r *Register) take(data []byte, lines int) (int, error) {
	for line := range bytes.Lines(data) {
		lines++
		if lines == 1 {
			if id, ok := strings.CutPrefix(string(line), registerHead); !ok || len(id) != registerIDLen+len("\"}\n") {
				return lines, errors.New("the file is no register of tokens, or of another version")
			}
			continue
		}
		var e entry
		d := json.NewDecoder(bytes.NewReader(line))
		d.DisallowUnknownFields()
		if err := d.Decode(&e); err != nil {
			return lines, err
		}
		if err := r.apply(e); err != nil {
			return lines, err
		}
	}
	return lines, nil
}

func (f *registerFile) reload(r *Register) {
	err := f.read(r)
	if err == nil {
		f.said = ""
	} else if err.Error() != f.said {
		f.said = err.Error()
		f.logger.Error("a register of tokens cannot be read: what was revoked before stays so", slog.Any("error", err))
	}
}

// begin keeps other processes' changes out, and takes over those that were made.
func (f *registerFile) begin(r *Register) (unlock func(), err error) {
	unlock, err = safefile.Lock(f.path)
	if err != nil {
		return nil, err
	}
	if f.watch.Differs() {
		if err := f.read(r); err != nil {
			unlock()
			return nil, err
		}
	}
	return unlock, nil
}

// append adds a line to the file.
func (f *registerFile) append(r *Register, e entry, now time.Time) error {
	if f.head == "" || f.lines > 2*(len(r.gone)+len(r.byID))+r.spare {
		if err := f.rewrite(r, now); err != nil {
			return err
		}
	}
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(f.path, os.O_WRONLY, 0) //nolint:gosec // the user names the file
	if err != nil {
		return err
	}
	err = f.write(file, append(line, '\n'), e.Used == "")
	return errors.Join(err, file.Close())
}

// write puts a line after the whole ones. When a token was used last may be lost by
// a crash; nothing else may.
func (f *registerFile) write(file *os.File, line []byte, sync bool) error {
	if err := file.Truncate(f.size); err != nil { // of a line that was cut off
		return err
	}
	if _, err := file.WriteAt(line, f.size); err != nil {
		return err
	}
	if sync {
		if err := file.Sync(); err != nil {
			return err
		}
	}
	info, err := file.Stat()
	if err != nil {
		return err
	}
	f.watch.Saw(info)
	f.size, f.lines = f.size+int64(len(line)), f.lines+1
	return nil
}

// rewrite makes the file anew, with what still counts.
func (f *registerFile) rewrite(r *Register, now time.Time) error {
	r.mu.Lock()
	r.forget(now)
	r.mu.Unlock()
	var b bytes.Buffer
	head := newRegisterHead()
	b.WriteString(head)
	lines := 1
	enc := json.NewEncoder(&b)
	put := func(e entry) error {
		lines++
		return enc.Encode(e)
	}
	for id, until := range r.gone {
		if err := put(entry{Revoke: id, Until: until}); err != nil {
			return err
		}
	}
	for _, t := range r.byID {
		if err := put(newEntry(t)); err != nil {
			return err
		}
	}
	if err := safefile.Write(f.path, b.Bytes()); err != nil {
		return err
	}
	info, err := os.Stat(f.path)
	if err != nil {
		return err
	}
	f.watch.Saw(info)
	f.head, f.size, f.lines = head, int64(b.Len()), lines
	return nil
}
