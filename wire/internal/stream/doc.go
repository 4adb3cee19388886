// Package stream multiplexes calls over one connection, in both directions. It
// knows frames, not protocols: a protocol tells it where a frame ends, what the
// frame is for, and what to do with a request. It knows nothing of what is in
// them.
//
// # What a protocol gives
//
// A [Session] for each connection, at either end: it finds frames in the bytes
// that have arrived and says what each is for. A [Task] for each request of the
// peer, an [Exchange] for each call of this end. [Client.Do], [Conn.Do] and the
// methods of a [Stream] run on their caller's goroutine. Reaching a server that
// is not there yet is the protocol's: it calls Do inside rpc.Outgoing.Reach.
//
// # What the engine promises
//
//   - What one Append, Run or Refuse appended is written as one unit: frames of
//     other calls never come between.
//   - Frames reach Receive in the order in which they arrived, one at a time for
//     each connection.
//   - A frame longer than the limit is refused before memory is reserved for it.
//   - The work is linear in the bytes that arrive, however they are cut.
//   - While a call is pending, a stream is open or a write blocks, somebody
//     reads. Two ends that both write and nothing else do not deadlock.
//   - Buffers are pooled; those above 256 KiB are not kept. Queues are bounded in
//     bytes, and callers wait for room: back-pressure reaches them.
//   - A connection that breaks fails its calls with a [BrokenError], which says
//     whether the request may have run. Those that have not, or may run twice,
//     are made again on a new connection. Nothing is resynchronised: a peer that
//     sends what is not a frame loses the connection.
//
// # Why it is built as it is
//
// A call costs two system calls at each end, and a wake-up of the other process.
// What a goroutine hop costs on top, when one goroutine hands the bytes to
// another one that must be woken, is more than everything else that a call does:
// parsing, encoding, looking up. So the common path has none.
//
// The client has no reading goroutine while calls are pending. A caller that
// waits takes the lead (lead.go): it reads the socket itself, gives other
// callers their replies, and passes the lead on when its own has come. A lone
// caller writes, reads and returns as on a bare socket. Writing is combined
// (writer.go): whoever finds no write under way writes all that is queued,
// others append and leave; with several calls in flight the writer yields once
// before it writes, and one system call carries the requests of all.
//
// The server runs a handler on the goroutine that reads, and the replies to all
// requests that one read brought go out in one write. That is safe while
// handlers are short. So each kind of task has a [Pace], and those that are slow
// on average get goroutines; and one that is slow this time loses the reading
// to another goroutine (task.go, takeOver), as does one that calls back over its
// own connection and waits. The task keeps its buffer, the new reader gets a new
// one with what is unread, and a generation number tells the old reader, when
// its task returns, that it reads no more.
//
// All that could go wrong is rare and may be found late: a handler that takes
// long, a write that the peer does not take, a leading caller whose context
// ends. A timer, a deadline or a hook on a context for each call would cost more
// than the call, so none is set. One watch for all connections of a client or
// server (watch.go) looks every millisecond at those that are at work, and
// sleeps when none is. It makes a slow handler's connection readable again; it
// asks a goroutine back that is stuck in a write, by a write deadline in the
// past, and lets another one finish it; it interrupts a leader whose context has
// ended, by a read deadline in the past, and the lead passes on with whatever
// part of a frame has come; it gives a client's connection on which nobody waits
// a standby reader, which sees the peer's FIN. Only net.Conn is assumed. A
// connection that cannot go on writing after a deadline, as one of TLS, is
// always written to by a goroutine of its own.
//
// The designs that were rejected are in docs/rfc/0005.
package stream
