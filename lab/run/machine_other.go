//go:build !linux && !darwin

package run

import (
	"os"
	"time"
)

func kernel() string { return "" }

// cpuModel is what Windows puts into the environment.
func cpuModel() string { return os.Getenv("PROCESSOR_IDENTIFIER") }

func stolen() time.Duration { return 0 }
