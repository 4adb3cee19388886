package cluster

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// safePath are paths that mean nothing else in NGINX's grammar, where a $ begins a
// variable, and that a unix socket can have (its limit is 104 bytes on some
// systems).
var safePath = regexp.MustCompile(`^/[A-Za-z0-9/_.,+@=:-]{1,90}$`)

// newFolder makes the folder that everything NGINX writes is in. Only its owner
// sees into it: there is a key.
func newFolder() (string, error) {
	dir, err := os.MkdirTemp("", "everywire-nginx-")
	if err != nil {
		return "", err
	}
	if dir, err = filepath.Abs(dir); err == nil && !safePath.MatchString(dir) {
		err = fmt.Errorf("cluster: NGINX cannot have its files in %q: set TMPDIR to a short path without spaces and the like", dir)
	}
	if err != nil {
		return "", errors.Join(err, os.RemoveAll(dir))
	}
	return dir, nil
}

// write writes a file of the folder.
func write(dir, name string, text []byte) error {
	return os.WriteFile(filepath.Join(dir, name), text, 0o600)
}

// lastWords are the end of what NGINX said, in one line.
func lastWords(dir string) string {
	const most = 2000
	var all []byte
	for _, name := range []string{"said.log", "error.log"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err == nil {
			all = append(append(all, text...), '\n')
		}
	}
	return oneLine(string(all[max(0, len(all)-most):]))
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
