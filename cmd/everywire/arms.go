package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/everywire/everywire/codec/raw"
	"github.com/everywire/everywire/lab/plan"
	"github.com/everywire/everywire/lab/ref"
	"github.com/everywire/everywire/wire"
)

// classicArms are what compare measures unless told otherwise: the wires that
// the published comparisons used, the references beside them, and a bare
// socket.
var classicArms = []string{
	"rest", "rest?reconnect", "jsonrpc+http", "jsonrpc+tcp", "msgpackrpc+tcp", "grpc", "grpc?codec=json",
	ref.NetHTTP, ref.GRPCGo, ref.JRPC2, ref.Ping,
}

// typedArms are those of a payload whose type was inferred: nobody generated code
// for it.
var typedArms = replaced(classicArms, ref.GRPCGo, ref.GRPCGoOurProtobuf)

// kvArms measure encoders more than wires, as the article on gRPC with JSON did. The
// command's other encoders come to them.
var kvArms = []string{
	"grpc", "grpc?codec=json", "grpc?bytes=array&codec=json", "grpc?codec=msgpack", "grpc?codec=cbor",
	"rest", "jsonrpc+tcp", "msgpackrpc+tcp", ref.GRPCGo,
}

func replaced(names []string, old, by string) []string {
	all := slices.Clone(names)
	all[slices.Index(all, old)] = by
	return all
}

// defaultArms are what is measured of a plan unless told otherwise.
func defaultArms(service string, typed bool) []string {
	switch {
	case service == "kv":
		all := slices.Clone(kvArms)
		for _, c := range codecs() {
			if c.Name() != (raw.Codec{}).Name() { // it has no form for a key and a value
				all = append(all, "grpc?codec="+c.Name())
			}
		}
		return all
	case typed:
		return typedArms
	}
	return classicArms
}

// besides says which wire each reference stands beside.
var besides = map[string]string{
	ref.NetHTTP: "rest", ref.NetHTTPOurJSON: "rest", ref.GRPCGo: "grpc", ref.GRPCGoOurProtobuf: "grpc", ref.JRPC2: "jsonrpc+tcp",
}

// again is added to the baseline's name for its second run.
const again = " (again)"

// armsOf makes the arms of the given names, which are targets without an
// address or names of references, and the second run of the baseline.
func armsOf(names []string, baseline, usual string) ([]plan.Arm, string, error) {
	var arms []plan.Arm
	count := map[string]int{}
	for _, name := range names {
		arm, err := armOf(strings.TrimSpace(name))
		if err != nil {
			return nil, "", err
		}
		if count[arm.Name]++; count[arm.Name] > 1 {
			arm.Name = fmt.Sprintf("%s (%d)", arm.Name, count[arm.Name])
		}
		arms = append(arms, arm)
	}
	for i, a := range arms {
		if a.Beside != "" && !slices.ContainsFunc(arms, func(b plan.Arm) bool { return b.Name == a.Beside }) {
			arms[i].Beside = ""
		}
	}
	base, err := baselineOf(arms, baseline, usual)
	if err != nil {
		return nil, "", err
	}
	second := *base
	second.Name, second.Again, second.Beside = base.Name+again, true, ""
	return append(arms, second), base.Name, nil
}

func armOf(name string) (plan.Arm, error) {
	switch {
	case name == ref.Ping:
		return plan.Arm{Name: name, Kind: plan.Ping, Target: name}, nil
	case slices.Contains(ref.Names(), name):
		return plan.Arm{Name: name, Kind: plan.Reference, Target: name, Beside: besides[name]}, nil
	}
	shape, err := wire.ParseShape(name)
	if err != nil {
		return plan.Arm{}, fmt.Errorf("%w; the references are %s", err, strings.Join(ref.Names(), ", "))
	}
	switch {
	case shape.Wire == "any":
		return plan.Arm{}, usagef("%s: any is every wire: name those to measure", name)
	case shape.Transport == "h3":
		return plan.Arm{}, usagef("%s: compare measures TCP; HTTP/3 is over UDP", name)
	case shape.Transport == "unix":
		return plan.Arm{}, usagef("%s: compare measures TCP; a unix socket crosses no network", name)
	}
	arm := plan.Arm{Name: shape.String(), Kind: plan.Wire, Target: shape.String()}
	if codec, codecName := codecOf(arm); codec == nil {
		var known []string
		for _, c := range knownCodecs() {
			known = append(known, c.Name())
		}
		return plan.Arm{}, usagef("%s: there is no codec %q: it is one of %s", name, codecName, strings.Join(known, ", "))
	}
	return arm, nil
}

// baselineOf finds the arm that ratios are against: the one asked for, else
// the usual one, else the first that is not the bare socket.
func baselineOf(arms []plan.Arm, asked, usual string) (*plan.Arm, error) {
	for _, name := range []string{asked, usual} {
		if i := slices.IndexFunc(arms, func(a plan.Arm) bool { return a.Name == name }); i >= 0 {
			return &arms[i], nil
		}
		if name == asked && asked != "" {
			return nil, usagef("the baseline %q is not among the arms", asked)
		}
	}
	for i := range arms {
		if arms[i].Kind != plan.Ping {
			return &arms[i], nil
		}
	}
	return nil, usagef("nothing to compare: name wires such as rest, jsonrpc+tcp, grpc")
}
