package main

import (
	"slices"
	"strings"

	"github.com/everywire/everywire/lab/plan"
	"github.com/everywire/everywire/link"
)

// linksOf makes the links of a plan from those that were asked for: their
// canonical texts, so that the same link by another name is the same link. It
// is nil for loopback alone, which needs no mention.
func linksOf(asked []string) ([]string, error) {
	var links []string
	for _, text := range asked {
		name := plan.Loopback
		if strings.TrimSpace(text) != plan.Loopback {
			spec, err := link.Parse(text)
			if err != nil {
				return nil, usagef("%w; or loopback", err)
			}
			name = spec.String()
		}
		if slices.Contains(links, name) {
			return nil, usagef("--link %s is given twice", name)
		}
		links = append(links, name)
	}
	if len(links) == 1 && links[0] == plan.Loopback {
		return nil, nil
	}
	return links, nil
}
