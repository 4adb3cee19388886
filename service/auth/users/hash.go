package users

import (
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/crypto/argon2"
)

// Hash is the form of a password's hash.
type Hash uint8

const (
	// Argon2id is RFC 9106's, written as a PHC string.
	Argon2id Hash = iota
	// PBKDF2 is that of the published services: PBKDF2-HMAC-SHA256 with 4096
	// iterations, 32 bytes as lowercase hex, and the name followed by the password
	// as the salt.
	PBKDF2
)

func (h Hash) String() string {
	if h == PBKDF2 {
		return "pbkdf2"
	}
	return "argon2id"
}

const (
	pbkdf2Iterations = 4096
	hashLen          = 32
	saltLen          = 16
)

// Bounds of the parameters that a file may ask for: one line of it must not take
// the machine.
const (
	maxMemory  = 1 << 20 // KiB
	maxTime    = 64
	maxThreads = 64
)

func (a Argon2) check() error {
	if a.Threads < 1 || a.Threads > maxThreads || a.Time < 1 || a.Time > maxTime ||
		a.Memory < 8*uint32(a.Threads) || a.Memory > maxMemory {
		return fmt.Errorf("users: argon2id with m=%d,t=%d,p=%d: threads must be 1 to %d, passes 1 to %d, memory 8 KiB a thread to %d KiB",
			a.Memory, a.Time, a.Threads, maxThreads, maxTime, maxMemory)
	}
	return nil
}

// A form is what determines the work of a hash.
type form struct {
	hash   Hash
	argon2 Argon2 // of Argon2id
}

// A digest is a hash with what is needed to compute it again.
type digest struct {
	form form
	salt []byte // of Argon2id
	sum  []byte
}

// compute hashes a password in a form. A nil salt is for PBKDF2, whose salt is
// the name and the password.
func (f form) compute(name, password string, salt []byte) []byte {
	if f.hash == PBKDF2 {
		sum, err := pbkdf2.Key(sha256.New, password, []byte(name+password), pbkdf2Iterations, hashLen)
		if err != nil { // only in FIPS mode, which refuses short salts
			return nil
		}
		return sum
	}
	return argon2.IDKey([]byte(password), salt, f.argon2.Time, f.argon2.Memory, f.argon2.Threads, hashLen)
}

// newDigest hashes a new password.
func (f form) newDigest(name, password string) *digest {
	d := &digest{form: f}
	if f.hash == Argon2id {
		d.salt = newSalt()
	}
	d.sum = f.compute(name, password, d.salt)
	return d
}

func newSalt() []byte {
	salt := make([]byte, saltLen)
	_, _ = rand.Read(salt) // it never fails, says its documentation
	return salt
}

func (d *digest) equal(sum []byte) bool {
	return len(sum) > 0 && subtle.ConstantTimeCompare(d.sum, sum) == 1
}

const phcPrefix = "$argon2id$v=19$"

var phcEncoding = base64.RawStdEncoding.Strict()

// String is what stands in the file.
func (d *digest) String() string {
	if d == nil {
		return ""
	}
	if d.form.hash == PBKDF2 {
		return hex.EncodeToString(d.sum)
	}
	a := d.form.argon2
	return fmt.Sprintf("%sm=%d,t=%d,p=%d$%s$%s", phcPrefix, a.Memory, a.Time, a.Threads,
		phcEncoding.EncodeToString(d.salt), phcEncoding.EncodeToString(d.sum))
}

// parseDigest reads what stands in the file; "" is no password, a nil digest. Its
// errors do not show the text, which may be a password.
func parseDigest(s string) (*digest, error) {
	switch {
	case s == "":
		return nil, nil //nolint:nilnil // an account without a password has no digest
	case strings.HasPrefix(s, "$"):
		return parsePHC(s)
	}
	sum, err := hex.DecodeString(s)
	if err != nil || len(sum) != hashLen || s != strings.ToLower(s) {
		return nil, errors.New("the password is neither an argon2id hash nor 64 lowercase hex digits of PBKDF2; a password itself cannot stand here")
	}
	return &digest{form: form{hash: PBKDF2}, sum: sum}, nil
}

func parsePHC(s string) (*digest, error) {
	rest, ok := strings.CutPrefix(s, phcPrefix)
	if !ok {
		return nil, fmt.Errorf("the hash is of another kind than %q", phcPrefix)
	}
	parts := strings.Split(rest, "$")
	if len(parts) != 3 {
		return nil, fmt.Errorf("the argon2id hash has %d parts after its version, not parameters, salt and sum", len(parts))
	}
	a, err := parseParameters(parts[0])
	if err != nil {
		return nil, err
	}
	salt, saltErr := phcEncoding.DecodeString(parts[1])
	sum, sumErr := phcEncoding.DecodeString(parts[2])
	if saltErr != nil || sumErr != nil || len(salt) < 8 || len(salt) > 64 || len(sum) != hashLen {
		return nil, fmt.Errorf("the argon2id hash needs a salt of 8 to 64 bytes and a sum of %d, both in base64 without padding", hashLen)
	}
	return &digest{form: form{hash: Argon2id, argon2: a}, salt: salt, sum: sum}, nil
}

func parseParameters(s string) (a Argon2, err error) {
	var values [3]uint64
	fields := strings.Split(s, ",")
	for i, key := range [...]string{"m=", "t=", "p="} {
		text, found := "", false
		if i < len(fields) && len(fields) == len(values) {
			text, found = strings.CutPrefix(fields[i], key)
		}
		if values[i], err = strconv.ParseUint(text, 10, 31); err != nil || !found || strconv.FormatUint(values[i], 10) != text {
			return a, errors.New("the argon2id hash has other parameters than m=,t=,p=")
		}
	}
	if values[2] > maxThreads {
		return a, fmt.Errorf("the argon2id hash has %d threads, and may have %d", values[2], maxThreads)
	}
	a = Argon2{Memory: uint32(values[0]), Time: uint32(values[1]), Threads: uint8(values[2])} //nolint:gosec // parsed within 31 bits, and bounded above
	return a, a.check()
}
