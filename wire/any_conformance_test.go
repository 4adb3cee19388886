package wire_test

import (
	"testing"

	"github.com/everywire/everywire/wire/wiretest"
)

// Every wire does the same where it shares its port with the others.
func TestConformanceOnOnePort(t *testing.T) {
	for _, shape := range []string{
		"rest",
		"jsonrpc+tcp",
		"jsonrpc+ws",
		"msgpackrpc+tcp?meta=on",
		"msgpackrpc+unix?meta=on",
		"grpc",
		"connect",
	} {
		t.Run(shape, func(t *testing.T) { wiretest.RunShared(t, shape) })
	}
}
