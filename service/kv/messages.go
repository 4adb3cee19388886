package kv

import "time"

// The full names of the methods.
const (
	Create   = "io.grpc.KeyValueService/Create"
	Retrieve = "io.grpc.KeyValueService/Retrieve"
	Update   = "io.grpc.KeyValueService/Update"
	Delete   = "io.grpc.KeyValueService/Delete"
	Scan     = "io.grpc.KeyValueService/Scan"
	Watch    = "io.grpc.KeyValueService/Watch"
)

// CreateRequest asks for a new key.
type CreateRequest struct {
	_     struct{}       `wire:"name=io.grpc.CreateRequest"`
	Key   []byte         `wire:"1"`
	Value []byte         `wire:"2"`
	TTL   *time.Duration `wire:"3" doc:"How long the key is there; without one, until it is deleted."`
}

// CreateResponse says that the key is there.
type CreateResponse struct {
	_       struct{} `wire:"name=io.grpc.CreateResponse"`
	Version int64    `wire:"1" http:"etag" doc:"The value's version."`
}

// RetrieveRequest asks for a key's value.
type RetrieveRequest struct {
	_   struct{} `wire:"name=io.grpc.RetrieveRequest"`
	Key []byte   `wire:"1"`
}

// RetrieveResponse is the value.
type RetrieveResponse struct {
	_       struct{}   `wire:"name=io.grpc.RetrieveResponse"`
	Value   []byte     `wire:"1"`
	Version int64      `wire:"2" http:"etag" doc:"The number of the change that stored the value. No other value of the store has it."`
	Expires *time.Time `wire:"3" doc:"When the key will be gone, if it has a time to live."`
}

// UpdateRequest asks for a new value of a key that is there.
type UpdateRequest struct {
	_         struct{}       `wire:"name=io.grpc.UpdateRequest"`
	Key       []byte         `wire:"1"`
	Value     []byte         `wire:"2"`
	IfMatch   *string        `wire:"3" http:"header=If-Match" doc:"Versions in quotes, with commas between, or *: change only a value that has one of them."`
	IfVersion *int64         `wire:"4" doc:"Change only the value that has this version."`
	TTL       *time.Duration `wire:"5" doc:"How long the key is there from now on; without one, until it is deleted."`
}

// UpdateResponse says that the value is stored.
type UpdateResponse struct {
	_       struct{} `wire:"name=io.grpc.UpdateResponse"`
	Version int64    `wire:"1" http:"etag" doc:"The new value's version."`
}

// DeleteRequest asks that a key be gone.
type DeleteRequest struct {
	_         struct{} `wire:"name=io.grpc.DeleteRequest"`
	Key       []byte   `wire:"1"`
	IfMatch   *string  `wire:"2" http:"header=If-Match" doc:"Versions in quotes, with commas between, or *: remove only a value that has one of them."`
	IfVersion *int64   `wire:"3" doc:"Remove only the value that has this version."`
}

// DeleteResponse says that it is.
type DeleteResponse struct {
	_ struct{} `wire:"name=io.grpc.DeleteResponse"`
}

// ScanRequest asks for the keys that begin with a prefix.
type ScanRequest struct {
	_        struct{} `wire:"name=io.grpc.ScanRequest"`
	Prefix   []byte   `wire:"1" doc:"Only keys that begin with it; empty for all."`
	After    []byte   `wire:"2" doc:"Only keys that sort after this one: the last key of the page before."`
	Limit    int64    `wire:"3" doc:"How many keys at most; 0 for all."`
	KeysOnly bool     `wire:"4" doc:"Leave out the values."`
}

// An Entry is a key with its value, as a scan finds it.
type Entry struct {
	_       struct{}   `wire:"name=io.grpc.Entry"`
	Key     []byte     `wire:"1"`
	Value   []byte     `wire:"2"`
	Version int64      `wire:"3"`
	Expires *time.Time `wire:"4"`
}

// WatchRequest asks for what changes from now on, or from a version on.
type WatchRequest struct {
	_        struct{} `wire:"name=io.grpc.WatchRequest"`
	Prefix   []byte   `wire:"1" doc:"Only keys that begin with it; empty for all."`
	After    *int64   `wire:"2" doc:"Begin with the change that followed this version. The last changes are kept, at least those of the last moments."`
	KeysOnly bool     `wire:"3" doc:"Leave out the values."`
}

// An Event is one change of one key.
type Event struct {
	_       struct{}   `wire:"name=io.grpc.Event"`
	Kind    string     `wire:"1" doc:"create, update, delete or expire."`
	Key     []byte     `wire:"2"`
	Value   []byte     `wire:"3" doc:"The new value; none when the key is gone."`
	Version int64      `wire:"4" doc:"The number of the change, and the new value's version."`
	Expires *time.Time `wire:"5" doc:"When the key will be gone, if it has a time to live."`
}
