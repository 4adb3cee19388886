package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// byteSize is a number of bytes, written as 4194304, 4MiB or 4MB.
type byteSize int

var byteUnits = []struct {
	suffix string
	n      float64
}{
	{"GiB", 1 << 30},
	{"MiB", 1 << 20},
	{"KiB", 1 << 10},
	{"GB", 1e9},
	{"MB", 1e6},
	{"kB", 1e3},
	{"KB", 1e3},
	{"B", 1},
	{"", 1},
}

// UnmarshalText reads a flag's value.
func (b *byteSize) UnmarshalText(text []byte) error {
	n, err := parseSize(string(text), math.MaxInt32, "2GiB")
	*b = byteSize(n)
	return err
}

// storeSize is one that need not fit into a message.
type storeSize int64

// UnmarshalText reads a flag's value.
func (b *storeSize) UnmarshalText(text []byte) error {
	n, err := parseSize(string(text), 1<<40, "1024GiB")
	*b = storeSize(n)
	return err
}

func parseSize(text string, most float64, mostText string) (int64, error) {
	s := strings.TrimSpace(text)
	for _, u := range byteUnits {
		number, ok := strings.CutSuffix(s, u.suffix)
		if !ok {
			continue
		}
		n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if err != nil || n <= 0 || n*u.n > most {
			break
		}
		return int64(n * u.n), nil
	}
	return 0, fmt.Errorf("%q is not a size: write it as 8MiB, 500KB or in bytes, up to %s", s, mostText)
}

// String writes the size in the largest unit of 1024 that it fills.
func (b byteSize) String() string {
	for _, u := range byteUnits[:3] {
		if n := float64(b) / u.n; n >= 1 {
			return strconv.FormatFloat(math.Round(n*10)/10, 'f', -1, 64) + " " + u.suffix
		}
	}
	return fmt.Sprintf("%d B", int(b))
}
