// Package stream multiplexes calls over one connection. It knows frames, not
// protocols: a protocol tells it where a frame ends, which call a reply frame is
// for, and what to do with a request frame. It knows nothing of what is in them.
//
// # What a protocol gives
//
// A [Framer] for each connection, on both sides: it finds the next frame in the
// bytes that have arrived.
//
// On the client a [ClientSession] for each connection, which says what a frame is
// for, and an [Exchange] for each call, which appends the request and reads the
// reply. [Client.Do] and [Client.Send] run on the caller's goroutine. Reaching a
// server that is not there yet is the protocol's: it calls Do inside
// rpc.Outgoing.Reach, because a call fails with the *rpc.DialError of Dial as it
// is.
//
// On the server a [ServerSession] for each connection, which turns request
// frames into [Task]s. The engine decides on which goroutine a task runs and
// when; its reply is what it appends to the buffer that it is given.
//
// # What the engine promises
//
//   - What one Append, Run or Refuse appended is written as one unit: frames of
//     other calls never come between.
//   - Frames reach Route and Receive in the order in which they arrived, one at a
//     time for each connection. These two must not block, run no user code, and
//     keep no reference to the frame: the bytes move when the next read needs room.
//   - A frame longer than the limit is refused before memory is reserved for it.
//   - Buffers are pooled; those above 64 KiB are not kept.
//   - A connection that breaks fails its calls with Unavailable, and the message
//     says whether the request may have run. Nothing is resynchronised: a peer
//     that sends what is not a frame loses the connection.
//
// # How it works inside
//
// Nothing of this shows outside, so that it can change. Each connection has one
// goroutine that reads. Writing is combined: whoever finds no write under way
// writes all that is queued, others append and leave. A writer that cannot
// finish within a tick hands the rest to a goroutine, so that a caller is not
// held by a peer that does not read. The queue is bounded in bytes, and callers
// wait for room. On the server each task has a goroutine; their number for each
// connection is bounded, and reading stops when the bound is reached.
package stream
