//go:build !unix

package cluster

import "os/exec"

// supported says whether NGINX can be run on this system: it has no processes that
// are told things by signals, which NGINX for it does without.
const supported = false

func ownGroup(*exec.Cmd) {}

func killGroup(int) {}

type guard struct{}

func newGuard(string) (*guard, error) { return nil, ErrNoNginx }

func (*guard) release() error { return nil }
