// Package arith is the smallest reference system: the sum of some integers.
// It is what the "playground" article measured.
package arith

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
)

// Sum is the method's full name.
const Sum = "arith.Arith/Sum"

// SumRequest asks for a sum.
type SumRequest struct {
	Numbers []int64 `wire:"1"`
}

// SumReply is the sum.
type SumReply struct {
	Sum int64 `wire:"1"`
}

// Register adds the service to reg. JSON-RPC peers may call it by its short
// form: method "sum", the numbers as params, the bare number as result.
func Register(reg *everywire.Registry) {
	everywire.Handle(reg, Sum, sum,
		everywire.WithDoc("Adds integers."),
		everywire.WithIdempotency(everywire.NoSideEffects),
		everywire.WithRoute("POST", "/sum", "*"),
		everywire.WithJSONRPC(everywire.JSONRPCForm{
			Name: "sum", Params: everywire.ParamsList, Field: "numbers", Result: "sum",
		}),
	)
}

// sum adds the numbers; a sum outside the 64-bit range is OutOfRange.
func sum(_ context.Context, in *SumRequest) (*SumReply, error) {
	var total int64
	for i, n := range in.Numbers {
		next := total + n
		if (n > 0) == (next < total) && n != 0 {
			return nil, status.Errorf(codes.OutOfRange, "the sum of the first %d numbers does not fit into 64 bits", i+1)
		}
		total = next
	}
	return &SumReply{Sum: total}, nil
}
