// Package sample is a service that takes some time and then answers with fixed
// data: the second of the two services in the "relay" article, which measured how
// services had better call each other. Its .proto file has no package, and so its
// names have none: "SampleDataService/GetSampleData".
package sample

import (
	"context"
	"time"

	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
)

// The methods' full names. The last three give the parts of what the first gives:
// the article's second variant asks for them at once and merges the replies.
const (
	GetSampleData = "SampleDataService/GetSampleData"
	GetID         = "SampleDataService/GetId"
	GetName       = "SampleDataService/GetName"
	GetPassion    = "SampleDataService/GetPassion"
)

// DefaultDelay is how long the article's service takes to answer.
const DefaultDelay = 10 * time.Millisecond

// Empty asks for all there is.
type Empty struct {
	_ struct{} `wire:"name=Empty"`
}

// SampleData is the whole of the data.
type SampleData struct { //nolint:revive // the article's name, as those below go with it
	_            struct{} `wire:"name=SampleData"`
	ID           int32    `wire:"1"`
	Name         string   `wire:"2"`
	EnjoysCoding bool     `wire:"3"`
}

// The parts have the numbers that they have in the whole, which is what they are
// merged into.
type (
	// SampleID is the part that GetID gives.
	SampleID struct { //nolint:revive // see SampleData
		_  struct{} `wire:"name=SampleId"`
		ID int32    `wire:"1"`
	}
	// SampleName is the part that GetName gives.
	SampleName struct { //nolint:revive // see SampleData
		_    struct{} `wire:"name=SampleName"`
		Name string   `wire:"2"`
	}
	// SamplePassion is the part that GetPassion gives.
	SamplePassion struct { //nolint:revive // see SampleData
		_            struct{} `wire:"name=SamplePassion"`
		EnjoysCoding bool     `wire:"3"`
	}
)

// Data is what the service answers.
func Data() SampleData { return SampleData{ID: 1, Name: "Ada Lovelace", EnjoysCoding: true} }

// Options set up the service.
type Options struct {
	// Delay is how long every method takes; 0: it answers at once. The article has
	// [DefaultDelay].
	Delay time.Duration
}

// Register adds the service to reg.
func Register(reg *everywire.Registry, o Options) {
	all := Data()
	handle(reg, GetSampleData, "/", "Gives all of the data, after a while.", o.Delay, all)
	handle(reg, GetID, "/id", "Gives the id alone, after a while.", o.Delay, SampleID{ID: all.ID})
	handle(reg, GetName, "/name", "Gives the name alone, after a while.", o.Delay, SampleName{Name: all.Name})
	handle(reg, GetPassion, "/passion", "Tells alone whether coding is enjoyed, after a while.", o.Delay, SamplePassion{EnjoysCoding: all.EnjoysCoding})
}

func handle[Out any](reg *everywire.Registry, name, path, doc string, delay time.Duration, reply Out) {
	everywire.Handle(reg, name, func(ctx context.Context, _ *Empty) (*Out, error) {
		if err := wait(ctx, delay); err != nil {
			return nil, err
		}
		out := reply // each caller gets its own
		return &out, nil
	},
		everywire.WithDoc(doc),
		everywire.WithIdempotency(everywire.NoSideEffects),
		everywire.WithRoute("GET", path, ""))
}

// wait waits for the delay, or until the caller has no more use for the reply.
func wait(ctx context.Context, delay time.Duration) error {
	if delay <= 0 {
		return nil
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	}
}
