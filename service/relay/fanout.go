package relay

import (
	"context"
	"sync"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/service/sample"
)

// parts asks for the three parts at once, and merges them. The first that fails
// ends the others, for without it there is no reply; it is the one that is told.
func (r *relay) parts(ctx context.Context, _ *Request) (*sample.SampleData, error) {
	asking, cancel := context.WithCancel(outgoing(ctx))
	defer cancel()
	var (
		all     sample.SampleData
		running sync.WaitGroup
		once    sync.Once
		err     error
	)
	ask := func(method string, part func() error) {
		running.Go(func() {
			if failed := part(); failed != nil {
				once.Do(func() {
					err = r.failed(ctx, method, failed)
					cancel()
				})
			}
		})
	}
	ask(sample.GetID, func() error {
		part, err := everywire.Call[sample.SampleID](asking, r.upstream, sample.GetID, &sample.Empty{})
		if err == nil {
			all.ID = part.ID
		}
		return err
	})
	ask(sample.GetName, func() error {
		part, err := everywire.Call[sample.SampleName](asking, r.upstream, sample.GetName, &sample.Empty{})
		if err == nil {
			all.Name = part.Name
		}
		return err
	})
	ask(sample.GetPassion, func() error {
		part, err := everywire.Call[sample.SamplePassion](asking, r.upstream, sample.GetPassion, &sample.Empty{})
		if err == nil {
			all.EnjoysCoding = part.EnjoysCoding
		}
		return err
	})
	running.Wait()
	if err != nil {
		return nil, err
	}
	return &all, nil
}
