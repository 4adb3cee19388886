// Package reproduce holds five published comparisons of REST with RPC as
// experiments that can be run again: what each measured and found, the plans
// that measure the same here, and the claims that its headlines make.
//
// An article has experiments, each a plan of the lab with a record of its own.
// Its rows say which figure of which experiment stands beside which published
// one; its claims are ratios, and each is answered in a sentence that the
// interval of our ratio supports. Reports are made from the records alone.
package reproduce
