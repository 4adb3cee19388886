package plan

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func valid() *Plan {
	return &Plan{
		Service: "arith", Arms: []Arm{{Name: "a"}, {Name: "b"}, {Name: "c"}}, Baseline: "a",
		Callers: []int{1, 32}, Blocks: 10, Warmup: 50 * time.Millisecond, Measure: 450 * time.Millisecond, Seed: 7,
	}
}

func TestCheck(t *testing.T) {
	if err := valid().Check(); err != nil {
		t.Error(err)
	}
	for want, spoil := range map[string]func(*Plan){
		`two arms are named "a"`:  func(p *Plan) { p.Arms[2].Name = "a" },
		"no arms":                 func(p *Plan) { p.Arms = nil },
		`the baseline "x"`:        func(p *Plan) { p.Baseline = "x" },
		"0 blocks":                func(p *Plan) { p.Blocks = 0 },
		"callers are []":          func(p *Plan) { p.Callers = nil },
		"callers are [1 0]":       func(p *Plan) { p.Callers = []int{1, 0} },
		"measured time is 0s":     func(p *Plan) { p.Measure = 0 },
		`link "x" is there twice`: func(p *Plan) { p.Links = []string{"x", Loopback, "x"} },
		`link "" is there twice`:  func(p *Plan) { p.Links = []string{""} },
	} {
		p := valid()
		spoil(p)
		if err := p.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q in it", err, want)
		}
	}
}

// The order of a block depends on the seed and the block, and on nothing else:
// a plan that is run again is run in the same order.
func TestOrder(t *testing.T) {
	p, orders := valid(), map[string]bool{}
	for block := range 50 {
		order := p.Order(block)
		if again := valid().Order(block); !slices.Equal(order, again) {
			t.Errorf("block %d: %v, and then %v", block, order, again)
		}
		if sorted := slices.Sorted(slices.Values(order)); !slices.Equal(sorted, []int{0, 1, 2}) {
			t.Errorf("block %d: %v is no permutation", block, order)
		}
		orders[string([]byte{byte(order[0]), byte(order[1])})] = true
	}
	if len(orders) != 6 {
		t.Errorf("50 blocks have %d of 6 orders", len(orders))
	}
}

// With links every arm has a turn over each of them; one link alone changes
// nothing in the order.
func TestTurns(t *testing.T) {
	p := valid()
	p.Links = []string{"london"}
	if got, want := p.Order(3), valid().Order(3); !slices.Equal(got, want) {
		t.Errorf("with one link %v, without %v", got, want)
	}
	p.Links = []string{Loopback, "london"}
	turns := map[string]bool{}
	for _, i := range p.Order(0) {
		arm, link := p.Turn(i)
		turns[arm.Name+" "+link] = true
	}
	if len(turns) != 6 || !turns["a loopback"] || !turns["c london"] {
		t.Errorf("the turns are %v", turns)
	}
	if got, want := p.Duration(0), 2*valid().Duration(0); got != want {
		t.Errorf("takes %v, want %v", got, want)
	}
	if got := valid().Networks(); !slices.Equal(got, []string{Loopback}) {
		t.Errorf("a plan without links has %v", got)
	}
}

func TestDuration(t *testing.T) {
	if got, want := valid().Duration(100*time.Millisecond), 30*1100*time.Millisecond; got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	if p := valid(); p.Arm("b") != &p.Arms[1] || p.Arm("x") != nil {
		t.Error("Arm finds another arm")
	}
}
