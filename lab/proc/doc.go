// Package proc runs the two ends of a trial in processes of their own and
// talks to them.
//
// A child is the same program started again with a hidden subcommand. It is
// spoken to over its standard input and output, one JSON object a line:
//
//	{"n":1,"op":"serve","arg":{…}}    a request
//	{"n":1,"ok":{…}}                  its reply, or
//	{"n":1,"error":"text"}            its failure
//
// There is one request at a time; n counts up and the reply repeats it, so that
// whatever else a child prints is not taken for a reply. The operation "usage"
// is answered by every child: {"cpu_ns":…}, the user and system CPU time of
// its process so far. All others are the caller's.
//
// A child on another machine is spoken to over a connection, see [Agent], which
// passes on the same lines.
//
// A child ends when its standard input does. The system closes that when the
// parent ends, however it ends, so no child outlives its parent.
package proc

import "encoding/json"

// maxLine bounds one line in bytes: a payload in base64 must fit.
const maxLine = 128 << 20

type request struct {
	N   int64           `json:"n"`
	Op  string          `json:"op"`
	Arg json.RawMessage `json:"arg,omitempty"`
}

type reply struct {
	N     int64           `json:"n"`
	OK    json.RawMessage `json:"ok,omitempty"`
	Error string          `json:"error,omitempty"`
}

// usage is the reply to the operation "usage".
type usage struct {
	CPU int64 `json:"cpu_ns"`
}

const usageOp = "usage"
