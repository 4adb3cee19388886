package proc

import (
	"fmt"
	"strconv"
	"strings"
)

// Split divides cores into halves for the server and the client, so that a
// closed loop's two ends do not take CPU time from each other. The client has
// the middle one of an odd number: a generator that is too slow measures
// itself. With fewer than two cores both halves are empty: nothing is pinned.
func Split(cores []int) (server, client []int) {
	if len(cores) < 2 {
		return nil, nil
	}
	half := len(cores) / 2
	return cores[:half], cores[half:]
}

// FormatCores writes core numbers as ranges: "0-3,8". They must be sorted.
func FormatCores(cores []int) string {
	var parts []string
	for i := 0; i < len(cores); {
		j := i
		for j+1 < len(cores) && cores[j+1] == cores[j]+1 {
			j++
		}
		if i == j {
			parts = append(parts, strconv.Itoa(cores[i]))
		} else {
			parts = append(parts, fmt.Sprintf("%d-%d", cores[i], cores[j]))
		}
		i = j + 1
	}
	return strings.Join(parts, ",")
}
