package load

import (
	"fmt"

	"github.com/everywire/everywire/service/relay"
	"github.com/everywire/everywire/service/sample"
)

// Relay asks a service for what it asks another for.
func Relay() Workload { return relayed{} }

type relayed struct{}

func (relayed) Caller(uint64, int) Caller { return new(relayCaller) }

type relayCaller struct {
	in  relay.Request
	out sample.SampleData
}

func (c *relayCaller) Next() (path string, in, out any) {
	c.out = sample.SampleData{}
	return "/" + relay.Get, &c.in, &c.out
}

func (c *relayCaller) Check() string {
	if want := sample.Data(); c.out != want {
		return fmt.Sprintf("got %+v, want %+v", c.out, want)
	}
	return ""
}
