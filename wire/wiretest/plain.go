package wiretest

import "time"

// The messages of probe.proto as plain structs. They are written by hand, not
// made from the .proto, since the point is that both descriptions agree.

// RunRequest is data to send back, and instructions.
type RunRequest struct {
	Name            string             `wire:"1"`
	Payload         []byte             `wire:"2"`
	Numbers         []int64            `wire:"3"`
	Big             int64              `wire:"4"`
	Ubig            uint64             `wire:"5"`
	Ratio           float64            `wire:"6"`
	Flag            bool               `wire:"7"`
	Labels          map[string]string  `wire:"8"`
	Maybe           *int32             `wire:"9"`
	At              *time.Time         `wire:"10"`
	Wait            *time.Duration     `wire:"11"`
	Code            uint32             `wire:"12"`
	Message         string             `wire:"13"`
	Details         []*Detail          `wire:"14"`
	Header          map[string]*Values `wire:"15"`
	Trailer         map[string]*Values `wire:"16"`
	Panic           bool               `wire:"17"`
	Tree            *Node              `wire:"18"`
	SendHeaderTwice bool               `wire:"19"`
	Last            bool               `wire:"20"`
}

// GetRequest is what fits into a path and a query.
type GetRequest struct {
	Name    string  `wire:"1"`
	Numbers []int64 `wire:"2"`
	Flag    bool    `wire:"3"`
	Big     int64   `wire:"4"`
	Tree    *Node   `wire:"5"`
}

// RunReply is the request's data and what the handler saw.
type RunReply struct {
	Name           string             `wire:"1"`
	Payload        []byte             `wire:"2"`
	Numbers        []int64            `wire:"3"`
	Big            int64              `wire:"4"`
	Ubig           uint64             `wire:"5"`
	Ratio          float64            `wire:"6"`
	Flag           bool               `wire:"7"`
	Labels         map[string]string  `wire:"8"`
	Maybe          *int32             `wire:"9"`
	At             *time.Time         `wire:"10"`
	Tree           *Node              `wire:"18"`
	Metadata       map[string]*Values `wire:"21"`
	DeadlineMs     int64              `wire:"22"`
	PeerAuth       string             `wire:"23"`
	Method         string             `wire:"24"`
	SetHeaderError string             `wire:"25"`
}

// Detail is a reason for an error.
type Detail struct {
	Reason string `wire:"1"`
	Domain string `wire:"2"`
}

// Values are the values of one metadata key.
type Values struct {
	Values [][]byte `wire:"1"`
}

// Node is a tree of any depth.
type Node struct {
	Label    string  `wire:"1"`
	Children []*Node `wire:"2"`
}
