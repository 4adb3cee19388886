package disk

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire/internal/needs"
	"github.com/everywire/everywire/service/kv"
)

// tmpfsEnv is set in a process that may mount.
const tmpfsEnv = "KV_DISK_MAY_MOUNT"

// smallDisk mounts a file system of a few megabytes, or lets the test run again
// in a process that may, and returns "" when that is done.
func smallDisk(t *testing.T, size string) string {
	dir := t.TempDir()
	err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size)
	if err == nil {
		t.Cleanup(func() {
			if err := syscall.Unmount(dir, 0); err != nil {
				t.Error(err)
			}
		})
		return dir
	}
	if os.Getenv(tmpfsEnv) == "" {
		cmd := exec.Command("unshare", "--map-root-user", "--mount", os.Args[0], "-test.run", "^"+t.Name()+"$", "-test.v")
		cmd.Env = append(os.Environ(), tmpfsEnv+"=yes")
		out, unshareErr := cmd.CombinedOutput()
		if strings.Contains(string(out), "--- PASS") || strings.Contains(string(out), "--- FAIL") {
			if unshareErr != nil {
				t.Errorf("as another user's root: %v\n%s", unshareErr, out)
			}
			return ""
		}
		err = errors.Join(err, fmt.Errorf("%w: %s", unshareErr, out))
	}
	needs.Missing(t, fmt.Sprintf("a small disk cannot be mounted, so nobody looks what happens when it is full: %v", err))
	return ""
}

// A disk without room takes no more, and says so; what is there stays, and can be
// read; when there is room again the store goes on.
func TestFullDisk(t *testing.T) {
	root := smallDisk(t, "4m")
	if root == "" {
		return
	}
	other := filepath.Join(root, "other")
	if err := os.WriteFile(other, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(root, "store")
	s := open(t, dir)
	value := func(i int) string { return strings.Repeat(fmt.Sprint("value ", i, " "), 4000) }
	fill := func() (n int) {
		t.Helper()
		for ; ; n++ {
			_, err := s.Create(t.Context(), &kv.CreateRequest{Key: fmt.Append(nil, n), Value: []byte(value(n))})
			if status.Code(err) == codes.AlreadyExists {
				continue
			}
			if err == nil {
				continue
			}
			isDiskFull(t, err, strconv.Itoa(n))
			return n
		}
	}
	intact := func(n int) {
		t.Helper()
		for i := range n {
			if got := get(t, s, strconv.Itoa(i)); got != value(i) {
				t.Errorf("%d is %.20q of %d bytes", i, got, len(got))
			}
		}
		if _, err := s.Retrieve(t.Context(), &kv.RetrieveRequest{Key: fmt.Append(nil, n)}); status.Code(err) != codes.NotFound {
			t.Errorf("what was refused: %v", err)
		}
	}
	n := fill()
	if n < 10 {
		t.Fatalf("only %d values fit", n)
	}
	intact(n)
	// Trying again changes little: pages that the failed commit gave back may be
	// room for one more.
	again := fill()
	if again < n || again > n+2 {
		t.Errorf("%d values fit, then %d", n, again)
	}
	n = again

	// The same after it was opened again, full as it is.
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir)
	intact(n)
	fill()

	// With a little room keys can be deleted, and theirs is used again. Without
	// any it depends on what stands beside them: that is written anew.
	if err := os.Truncate(other, 768<<10); err != nil {
		t.Fatal(err)
	}
	for i := n - 4; i < n; i++ {
		if _, err := s.Delete(t.Context(), &kv.DeleteRequest{Key: fmt.Append(nil, i)}); err != nil {
			t.Fatalf("delete with a little room: %v", err)
		}
	}
	intact(n - 4)
	create(t, s, "small", "fits")
	before := fill()

	// Somebody else makes room.
	if err := os.Remove(other); err != nil {
		t.Fatal(err)
	}
	after := fill()
	if after <= before {
		t.Errorf("%d values fit with a megabyte more, %d without", after, before)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir)
	intact(after)
}

// fileLimitEnv has the folder in the environment of the process whose files must
// not grow.
const fileLimitEnv = "KV_DISK_FILE_LIMIT_DIR"

// A process that may not make its files larger is one whose disk is full: what
// fits is stored later, too.
func TestFileLimit(t *testing.T) {
	if dir := os.Getenv(fileLimitEnv); dir != "" {
		underFileLimit(t, dir)
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run", "^TestFileLimit$") // the limit is of a process
	cmd.Env = append(os.Environ(), fileLimitEnv+"="+t.TempDir())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func underFileLimit(t *testing.T, dir string) {
	s := open(t, dir)
	create(t, s, "before", "value")
	info, err := os.Stat(filepath.Join(dir, FileName))
	if err != nil {
		t.Fatal(err)
	}
	limit := syscall.Rlimit{Cur: uint64(info.Size()), Max: uint64(info.Size())}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	_, err = s.Create(t.Context(), &kv.CreateRequest{Key: []byte("large"), Value: make([]byte, 1<<20)})
	if code, text := status.Code(err), fmt.Sprint(err); code != codes.ResourceExhausted || !strings.Contains(text, "file too large") {
		t.Fatalf("a value that does not fit: %v", err)
	}
	create(t, s, "after", "fits")
	if got := get(t, s, "before") + get(t, s, "after"); got != "valuefits" {
		t.Errorf("found %q", got)
	}
}

func isDiskFull(t *testing.T, err error, key string) {
	t.Helper()
	if status.Code(err) != codes.ResourceExhausted || !strings.Contains(err.Error(), "no space left") {
		t.Fatalf("a full disk is %v", err)
	}
	reason, resource := "", ""
	for _, d := range status.Convert(err).Details() {
		switch d := d.(type) {
		case *errdetails.ErrorInfo:
			reason = d.GetReason()
		case *errdetails.ResourceInfo:
			resource = d.GetResourceName()
		}
	}
	if reason != kv.ReasonDiskFull || resource != key {
		t.Errorf("details %q and %q: %v", reason, resource, err)
	}
}
