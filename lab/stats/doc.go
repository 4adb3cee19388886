// Package stats turns the record of a run into numbers that hold. It reads
// records only; all its functions are pure.
//
// What it does, and why:
//
//   - Arms are compared block by block. A block holds one trial of each arm,
//     close in time, so what slows the machine slows both; their ratio keeps
//     what differs between the arms. A block counts for a pair of arms only if
//     both trials ran and neither is void.
//   - The figure of a comparison is the median of the blocks' ratios. Its
//     interval consists of two of the ratios themselves (order statistics), so
//     it assumes nothing about the shape of the noise. Coverage is exact and at
//     least [Level]; with fewer than six blocks there is no such interval.
//   - An arm is called different only if a sign test rejects, at [Alpha], that
//     the median ratio lies within [Band] of 1, after Holm's correction over
//     all arms that are compared under that load. The family is the plan's: it
//     does not depend on the data. It holds the wires and the references, not
//     the baseline, not the floor (ping), about which nothing is claimed, and
//     not the second run of the baseline: that one is a check on the machine,
//     whose answer is known, not a question to be answered.
//   - Intervals hold one by one; only "different" is corrected for the number
//     of arms. The correction is per load, not over all loads.
//   - Latencies of all blocks are pooled before a percentile is taken, and a
//     percentile needs enough samples beyond it; see [Percentile].
package stats
