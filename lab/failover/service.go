package failover

import (
	"context"
	"strconv"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
)

// The methods' full names: one that may run twice, and one that must not.
const (
	read  = "failover.Work/Read"
	write = "failover.Work/Write"
)

// idKey is the metadata that tells calls apart; attempts of one have it in common.
const idKey = "x-call-id"

// workTime is how long a call takes, so that some are under way when a replica goes.
const workTime = 2 * time.Millisecond

type request struct {
	_ struct{} `wire:"name=failover.Request"`
}

type reply struct {
	_       struct{} `wire:"name=failover.Reply"`
	Replica int      `wire:"1"`
}

// register adds the service of a replica. began is told of each call whose handler
// has begun, before it does anything; it may be nil if the service is only described.
func register(reg *everywire.Registry, replica int, began func(id int64) error) {
	work := func(ctx context.Context, _ *request) (*reply, error) {
		text := metadata.ValueFromIncomingContext(ctx, idKey)
		if len(text) != 1 {
			return nil, status.Errorf(codes.InvalidArgument, "the call has the metadata %s %q, want one number", idKey, text)
		}
		id, err := strconv.ParseInt(text[0], 10, 64)
		if err != nil {
			return nil, status.Errorf(codes.InvalidArgument, "the call's %s is %q, want a number", idKey, text[0])
		}
		if err := began(id); err != nil {
			return nil, err
		}
		timer := time.NewTimer(workTime)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return nil, status.FromContextError(ctx.Err()).Err()
		}
		return &reply{Replica: replica}, nil
	}
	everywire.Handle(reg, read, work, everywire.WithIdempotency(everywire.NoSideEffects), everywire.WithRoute("GET", "/work", ""))
	everywire.Handle(reg, write, work, everywire.WithRoute("POST", "/work", "*"))
}
