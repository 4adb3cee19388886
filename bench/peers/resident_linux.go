package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// resident returns the bytes of memory that this process has in use: VmRSS.
func resident() (int64, error) {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	for line := range bytes.Lines(text) {
		if value, ok := bytes.CutPrefix(line, []byte("VmRSS:")); ok {
			kib, err := strconv.ParseInt(string(bytes.TrimSpace(bytes.TrimSuffix(bytes.TrimSpace(value), []byte("kB")))), 10, 64)
			return kib << 10, err
		}
	}
	return 0, fmt.Errorf("/proc/self/status does not tell VmRSS")
}

// checkFiles says whether the process may open so many more files. The Go
// runtime has raised the soft limit to the hard one already.
func checkFiles(n int) error {
	const others = 100 // what a process has open anyhow, generously
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return err
	}
	if limit.Cur < limit.Max {
		limit.Cur = limit.Max
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
			return err
		}
	}
	if limit.Cur < uint64(n+others) {
		return fmt.Errorf("%d connections need as many open files and %d are allowed: raise the hard limit (ulimit -Hn) or ask for fewer (-idle-connections)", n, limit.Cur)
	}
	return nil
}
