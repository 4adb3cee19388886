// Package against compares what services were with what they are, and names each
// change that breaks clients made for the old ones: in every encoding, for what
// one cannot read another may. docs/spec/describe.md has the rules.
package against
