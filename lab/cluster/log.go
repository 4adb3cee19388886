package cluster

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
)

// An Entry is a line of NGINX's access log: a call, or a connection of a stream,
// that is over.
type Entry struct {
	// Backends are those that it was passed on to: one, or more if it could not be
	// passed on to the first, or none if there was none that could be tried.
	Backends []string
	// Status is what NGINX answered; of a stream 200, or what is like it in HTTP.
	Status string
}

// parseEntry reads a line of the format backends: $upstream_addr|$status.
func parseEntry(line string) (Entry, error) {
	addrs, status, ok := strings.Cut(line, "|")
	if !ok || status == "" || strings.Contains(status, "|") {
		return Entry{}, fmt.Errorf("cluster: the access log has the line %.200q", line)
	}
	e := Entry{Status: status}
	// Attempts have commas between them, or colons where NGINX redirected within
	// itself, which this one does not.
	for addr := range strings.SplitSeq(addrs, ", ") {
		if _, _, err := net.SplitHostPort(addr); err == nil { // else "-", or the name of all together
			e.Backends = append(e.Backends, addr)
		}
	}
	return e, nil
}

// Log are the calls, or connections of a stream, that are over. NGINX writes a
// line when it is done with one, which may be a moment after its client is; of
// a connection when it is closed. It needs [Config.Log], and may be asked for after
// Stop as well.
func (n *Nginx) Log() ([]Entry, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.conf.Log {
		return nil, errors.New("cluster: NGINX was started without an access log")
	}
	if n.logged != nil {
		return n.logged, nil
	}
	return readLog(n.conf.Dir + "/access.log")
}

// Counts is how often each backend was tried: by calls, or by connections of a
// stream, that are over. See [Nginx.Log].
func (n *Nginx) Counts() (map[string]int64, error) {
	entries, err := n.Log()
	if err != nil {
		return nil, err
	}
	counts := map[string]int64{}
	for _, e := range entries {
		for _, b := range e.Backends {
			counts[b]++
		}
	}
	return counts, nil
}

func readLog(path string) ([]Entry, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	entries := []Entry{}
	for r := bufio.NewReader(f); ; {
		line, err := r.ReadString('\n')
		if errors.Is(err, io.EOF) {
			return entries, nil // and of a line that is being written nothing
		}
		if err != nil {
			return nil, err
		}
		e, err := parseEntry(strings.TrimSuffix(line, "\n"))
		if err != nil {
			return nil, err
		}
		entries = append(entries, e)
	}
}
