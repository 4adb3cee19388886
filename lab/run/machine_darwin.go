package run

import "golang.org/x/sys/unix"

func kernel() string {
	s, _ := unix.Sysctl("kern.osrelease") // empty if it does not tell
	return s
}

func cpuModel() string {
	s, _ := unix.Sysctl("machdep.cpu.brand_string")
	return s
}

func machineTime() cpuTime { return cpuTime{} }
