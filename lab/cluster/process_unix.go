//go:build unix

package cluster

import (
	"errors"
	"fmt"
	"io"
	"os/exec"
	"syscall"
)

// supported says whether NGINX can be run on this system.
const supported = true

// ownGroup makes a process the first of a group: what a terminal sends to this
// program's group is not for it, and all of its children can be ended at once.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// killGroup ends a process and its children, of which there may be none any more.
func killGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) }

// A guard ends NGINX and removes its folder if this process ends without having
// done so, however it ends: it is killed, a test is interrupted. It is a shell that
// waits for the end of its input, which the system brings about.
type guard struct {
	cmd   *exec.Cmd
	input io.WriteCloser
}

// guardScript gets the folder. Told that all is done, it ends; else NGINX has five
// seconds, and takes its pid file away when it ends.
const guardScript = `
trap '' HUP INT TERM
read -r done && exit 0
if pid=$(cat "$1/nginx.pid" 2>/dev/null) && [ -n "$pid" ]; then
	kill -TERM "$pid" 2>/dev/null
	i=0
	while [ -e "$1/nginx.pid" ] && [ $i -lt 50 ]; do sleep 0.1; i=$((i+1)); done
	kill -KILL "-$pid" 2>/dev/null
fi
rm -rf -- "$1"
`

func newGuard(dir string) (*guard, error) {
	cmd := exec.Command("/bin/sh", "-c", guardScript, "everywire-nginx-guard", dir) //nolint:gosec,noctx // a path that was made here; and it outlives every context
	ownGroup(cmd)
	input, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("cluster: the guard of NGINX did not start: %w", err)
	}
	return &guard{cmd, input}, nil
}

// release tells the guard that there is nothing left to do, and reaps it.
func (g *guard) release() error {
	_, err := io.WriteString(g.input, "done\n")
	return errors.Join(err, g.input.Close(), g.cmd.Wait())
}
