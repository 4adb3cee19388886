//go:build !linux

package cluster

import (
	"context"
	"errors"
	"time"
)

// CPU is known on Linux only.
func (*Nginx) CPU() (time.Duration, error) {
	return 0, errors.New("cluster: the CPU time of NGINX is known on Linux only")
}

func (*Nginx) workers() ([]int, error) { return nil, nil }

// retired cannot wait for what cannot be seen: a call that comes right after may
// still go to an old backend.
func (*Nginx) retired(context.Context, []int) error { return nil }
