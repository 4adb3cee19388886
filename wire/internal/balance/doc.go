// Package balance spreads the calls of one client over several addresses, for every
// wire that does not do it itself: it makes a connection of the wire for each
// address, and chooses one for each call.
//
// # What it promises
//
//   - Calls take the addresses that can be reached in turn, one call each.
//   - An address that cannot be reached is left out, and tried again after pauses
//     that grow to a second, whether or not there are calls. No call waits for it
//     while another can be reached, neither where connections are refused nor where
//     nobody answers.
//   - A call that surely did not run, because its server could not be reached or was
//     shutting down, is made at the next address at once, at each at most once. Every
//     other failure is the caller's to know: everywire.MayHaveRun tells about it, and
//     package resilience may repeat it.
//   - A stream stays at the address where it began.
//   - A name stands for all addresses that it has. It is looked up again when one of
//     them cannot be reached; an address that a name has lost gets no new calls, and
//     its connection is closed when the last call has ended.
//
// # How
//
// A wire's connection dials when a call needs it, and cannot be asked whether it could.
// So the first connection to an address is made here, by a goroutine that tries until
// it can; then calls go there, and the wire, when it dials, is given that connection if
// it is fresh. From then on failures tell: a call that finds nobody takes its address
// out, and the goroutine begins again. While there is another address, an attempt to
// dial on behalf of a call is given up after [maxWait], for a host that is gone says
// nothing.
package balance
