package run

import (
	"runtime"
	"time"

	"github.com/everywire/everywire/lab/proc"
	"github.com/everywire/everywire/lab/record"
)

// Machine describes the machine, and the cores that [Run] pins the ends to.
// What the system does not tell stays empty.
func Machine() record.Machine {
	server, client := proc.Split(proc.Cores())
	return record.Machine{
		OS:          runtime.GOOS,
		Arch:        runtime.GOARCH,
		Kernel:      kernel(),
		CPU:         cpuModel(),
		Cores:       runtime.NumCPU(),
		ServerCores: proc.FormatCores(server),
		ClientCores: proc.FormatCores(client),
	}
}

// Stolen is the CPU time that a hypervisor has taken so far, summed over all cores; 0
// if it does not tell.
func Stolen() time.Duration { return machineTime().stolen }

// cpuTime is time of all cores so far: what processes and the kernel had, and what a
// hypervisor took. Zeros are for systems that do not tell.
type cpuTime struct{ busy, stolen time.Duration }
