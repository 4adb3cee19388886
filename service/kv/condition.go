package kv

import (
	"slices"
	"strconv"
	"strings"
)

// A condition says which versions a change is for; the zero value is any.
type condition struct {
	given    bool
	versions []int64
}

func (c condition) holds(version int64) bool {
	return !c.given || slices.Contains(c.versions, version)
}

// conditionOf reads a request's fields. Of two conditions both must hold.
func conditionOf(ifMatch *string, ifVersion *int64) (condition, error) {
	var c condition
	if ifMatch != nil {
		c = tags(*ifMatch)
	}
	if ifVersion != nil {
		if *ifVersion < 1 {
			return c, violation("if_version", "%d is no version: they begin at 1", *ifVersion)
		}
		if c.holds(*ifVersion) {
			c = condition{given: true, versions: []int64{*ifVersion}}
		} else {
			c = condition{given: true}
		}
	}
	return c, nil
}

// tags reads entity tags as RFC 9110 has them in section 13.1.1. A weak tag, or
// one that the store never made, is no version's, but the list may have others.
func tags(list string) condition {
	c := condition{given: true}
	for tag := range strings.SplitSeq(list, ",") {
		tag = strings.TrimSpace(tag)
		if tag == "*" {
			return condition{}
		}
		if len(tag) < 3 || tag[0] != '"' || tag[len(tag)-1] != '"' {
			continue
		}
		digits := tag[1 : len(tag)-1]
		if n, err := strconv.ParseInt(digits, 10, 64); err == nil && strconv.FormatInt(n, 10) == digits {
			c.versions = append(c.versions, n)
		}
	}
	return c
}
