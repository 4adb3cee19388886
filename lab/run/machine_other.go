//go:build !linux && !darwin

package run

import "os"

func kernel() string { return "" }

// cpuModel is what Windows puts into the environment.
func cpuModel() string { return os.Getenv("PROCESSOR_IDENTIFIER") }

func machineTime() cpuTime { return cpuTime{} }
