package resilience_test

import (
	"log/slog"
	"testing"

	"go.uber.org/goleak"
)

// quiet keeps the log of connections that break out of the tests' output.
var quiet = slog.New(slog.DiscardHandler)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
