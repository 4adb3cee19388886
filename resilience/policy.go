package resilience

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/everywire/everywire"
)

// A Policy says what a [Guard] does. Its zero value retries with the defaults.
type Policy struct {
	// Methods describes the methods of plain services, so that it is known which
	// may run twice: the registry that wire.WithMethods takes. Generated methods
	// are known without it. It may be nil.
	Methods *everywire.Registry
	// Default are the rules of all methods but those of PerMethod, whose keys are
	// names such as "arith.Arith/Sum".
	Default   Rules
	PerMethod map[string]Rules
	// Budget bounds what retries and hedges add to the load of a server in
	// trouble.
	Budget Budget
	// Breaker is the circuit breaker; nil is none.
	Breaker *Breaker
	// Margin is what a handler keeps of its caller's deadline: calls that it makes
	// end so much earlier. It is kept in handlers only, that is with a context that
	// comes from one.
	Margin time.Duration
	// OnAttempt is told how each attempt ended; see [Log]. It must not block.
	OnAttempt func(ctx context.Context, a Attempt)
}

// Rules say how calls of a method are made. Fields that are zero have the
// defaults.
type Rules struct {
	// Attempts is how often a call is sent at most, the first time included: 4 by
	// default, and at most 100. With 1 no call is sent again.
	Attempts int
	// Backoff is the longest wait before the second attempt, 50 ms by default.
	// It doubles with each attempt, up to MaxBackoff, 2 s by default. The wait is
	// a random time between half of that and the whole.
	Backoff, MaxBackoff time.Duration
	// AttemptTimeout bounds one attempt of a unary call. An attempt that it ends
	// is retried if the method may run twice. There is none by default.
	AttemptTimeout time.Duration
	// HedgeAfter sends another attempt when the first has brought no reply for so
	// long, and so on until Attempts are under way; the first reply counts. It is
	// for unary methods that may run twice, and has no effect on others. There is
	// none by default.
	HedgeAfter time.Duration
	// Codes are worth another attempt: Unavailable by default. So is, whatever
	// they are, ResourceExhausted if the server says when.
	Codes []codes.Code
	// WaitForReady makes calls wait for a server that cannot be reached, until
	// their context ends. The call option of the same name has the last word.
	WaitForReady bool
}

// A Budget is a bucket of tokens, as gRPC's retryThrottling: each failure takes
// one away, each success adds Ratio, and nothing is sent again while there are
// no more than half of Tokens. A hedge takes one as well.
type Budget struct {
	// Tokens is how many the bucket holds, 100 by default. Below zero there is no
	// bound.
	Tokens int
	// Ratio is what a success adds, 0.1 by default.
	Ratio float64
}

// A Breaker is a circuit breaker. While it is closed calls are made and
// counted; it opens when too many fail, and calls fail at once without being
// sent; after a time it is half open, and lets a few through that decide.
type Breaker struct {
	// PerMethod has a breaker for each method; without it one is for the target.
	PerMethod bool
	// Window is how long an outcome counts, 10 s by default.
	Window time.Duration
	// MinCalls is how many calls within the window can open it, 20 by default,
	// and Ratio the part of them that must have failed, 0.5 by default.
	MinCalls int
	Ratio    float64
	// OpenFor is how long it stays open, 5 s by default.
	OpenFor time.Duration
	// Probes is how many calls are let through at a time when it is half open,
	// and must succeed to close it; 1 by default. When none has ended for OpenFor
	// as many others are let through.
	Probes int
	// Fails reports whether an error of an attempt is the server's failure. By
	// default Unavailable and DeadlineExceeded are. An error that is not counts as
	// a success; one that is Canceled, as nothing.
	Fails func(error) bool
	// OnChange is told when a breaker changes its state, in the order of the
	// changes. It must neither block nor call. The name is that of the target or
	// the method.
	OnChange func(name string, from, to State)
}

// maxAttempts bounds Rules.Attempts: more only multiply a load.
const maxAttempts = 100

func (r *Rules) withDefaults() (*Rules, error) {
	d := *r
	switch {
	case d.Attempts < 0 || d.Attempts > maxAttempts:
		return nil, fmt.Errorf("Attempts is %d: it is 1 to %d", d.Attempts, maxAttempts)
	case d.Backoff < 0 || d.MaxBackoff < 0 || d.AttemptTimeout < 0 || d.HedgeAfter < 0:
		return nil, errors.New("a time is negative")
	case slices.Contains(d.Codes, codes.OK):
		return nil, errors.New("Codes has OK, which is no failure")
	}
	or(&d.Attempts, 4)
	or(&d.Backoff, 50*time.Millisecond)
	or(&d.MaxBackoff, max(2*time.Second, d.Backoff))
	if d.MaxBackoff < d.Backoff {
		return nil, fmt.Errorf("MaxBackoff %v is shorter than Backoff %v", d.MaxBackoff, d.Backoff)
	}
	if d.Codes == nil {
		d.Codes = []codes.Code{codes.Unavailable}
	}
	return &d, nil
}

func (b *Breaker) withDefaults() (*Breaker, error) {
	d := *b
	if d.Window < 0 || d.OpenFor < 0 || d.MinCalls < 0 || d.Probes < 0 || !(d.Ratio >= 0 && d.Ratio <= 1) {
		return nil, errors.New("a number is negative, or Ratio is over 1")
	}
	or(&d.Window, 10*time.Second)
	or(&d.MinCalls, 20)
	or(&d.Ratio, 0.5)
	or(&d.OpenFor, 5*time.Second)
	or(&d.Probes, 1)
	if d.Fails == nil {
		d.Fails = serverFails
	}
	return &d, nil
}

// or sets a field that is zero.
func or[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
