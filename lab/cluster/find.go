package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

var (
	// ErrNoNginx is the error where NGINX is not installed, or cannot be had at all.
	ErrNoNginx = errors.New("NGINX is not installed")
	// ErrNoStream is the error where it is, without what passes on streams.
	ErrNoStream = errors.New("NGINX is installed without its stream module")
)

// An installation is an NGINX that was found.
type installation struct {
	path    string
	version [3]int
	options map[string]string // of ./configure, "" for those without a value
}

// usual are the folders that NGINX is in where it is not on the path: an ordinary
// user's often lacks those for administrators.
var usual = []string{"/usr/sbin", "/usr/local/sbin", "/usr/local/nginx/sbin", "/opt/homebrew/bin"}

// find finds NGINX on the path, or in another folder.
func find(ctx context.Context, others []string) (*installation, error) {
	path, err := exec.LookPath("nginx")
	for _, dir := range others {
		if err == nil {
			break
		}
		path, err = exec.LookPath(filepath.Join(dir, "nginx"))
	}
	if err != nil {
		return nil, ErrNoNginx
	}
	text, err := exec.CommandContext(ctx, path, "-V").CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("cluster: %s -V: %w: %s", path, err, strings.TrimSpace(string(text)))
	}
	n, err := parseInstallation(string(text))
	if err != nil {
		return nil, fmt.Errorf("cluster: %s -V: %w", path, err)
	}
	n.path = path
	return n, nil
}

// Installed says why NGINX, with its stream module, cannot be had here; nil if it
// can.
func Installed(ctx context.Context) error {
	n, err := find(ctx, usual)
	if err != nil {
		return err
	}
	_, err = n.streamModule()
	return err
}

var versionText = regexp.MustCompile(`nginx version: [A-Za-z]+/(\d{1,5})\.(\d{1,5})\.(\d{1,5})`)

// parseInstallation reads what nginx -V says.
func parseInstallation(text string) (*installation, error) {
	m := versionText.FindStringSubmatch(text)
	if m == nil {
		return nil, fmt.Errorf("it tells no version, but %.200q", text)
	}
	n := &installation{options: map[string]string{}}
	for i := range n.version {
		n.version[i], _ = strconv.Atoi(m[i+1]) // five digits
	}
	_, arguments, _ := strings.Cut(text, "configure arguments:")
	for argument := range strings.FieldsSeq(arguments) {
		if option, ok := strings.CutPrefix(argument, "--"); ok {
			name, value, _ := strings.Cut(option, "=")
			n.options[name] = value
		}
	}
	return n, nil
}

func (n *installation) atLeast(major, minor, patch int) bool {
	for i, want := range []int{major, minor, patch} {
		if n.version[i] != want {
			return n.version[i] > want
		}
	}
	return true
}

// streamModule is the path of the module that passes on streams, "" if NGINX has
// it built in.
func (n *installation) streamModule() (string, error) {
	const file = "ngx_stream_module.so"
	if kind, ok := n.options["with-stream"]; ok && kind != "dynamic" {
		return "", nil
	}
	dirs := []string{"/usr/lib/nginx/modules", "/usr/lib64/nginx/modules", "/usr/share/nginx/modules", "/usr/local/libexec/nginx", "/etc/nginx/modules"}
	if prefix := n.options["prefix"]; prefix != "" {
		dirs = append([]string{filepath.Join(prefix, "modules")}, dirs...)
	}
	if own := n.options["modules-path"]; own != "" {
		dirs = append([]string{own}, dirs...)
	}
	for _, dir := range dirs {
		path := filepath.Join(dir, file)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && safePath.MatchString(path) {
			return path, nil
		}
	}
	return "", fmt.Errorf("%w: %s is in none of %s", ErrNoStream, file, strings.Join(dirs, ", "))
}
