package run

import (
	"context"
	"errors"

	"github.com/everywire/everywire/lab/plan"
)

func startNginx(_ context.Context, _ plan.Arm, _ Endpoint, _ []int) (balancer, Endpoint, error) {
	return nil, Endpoint{}, errors.New("not yet")
}
