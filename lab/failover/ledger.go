package failover

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// A ledger is a file of the calls that a replica has begun: a line each. What was
// written there stays, however the replica ends.
type ledger struct{ file *os.File }

func openLedger(path string) (*ledger, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	return &ledger{f}, nil
}

// began writes a line, at once and in one piece.
func (l *ledger) began(id int64) error {
	if _, err := fmt.Fprintf(l.file, "%d\n", id); err != nil {
		return status.Errorf(codes.Internal, "the ledger: %v", err)
	}
	return nil
}

func (l *ledger) close() error { return l.file.Close() }

// readLedger counts how often each call has begun there.
func readLedger(path string, runs map[int64]int) (calls int64, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		id, err := strconv.ParseInt(strings.TrimSuffix(line, "\n"), 10, 64)
		if err != nil || !strings.HasSuffix(line, "\n") {
			return 0, fmt.Errorf("failover: the ledger %s has the line %.100q", path, line)
		}
		runs[id]++
		calls++
	}
	return calls, nil
}
