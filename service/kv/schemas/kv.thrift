// io.grpc.KeyValueService, as the codecs thrift and thrift-compact of everywire write its messages.

namespace * io.grpc

// A time: seconds since 1970, in UTC.
struct Timestamp {
  1: i64 seconds
  2: i32 nanos // from there on, 0 to 999999999
}

// A duration.
struct Duration {
  1: i64 seconds
  2: i32 nanos // with the sign of the seconds
}

struct CreateRequest {
  1: binary key
  2: binary value
  // How long the key is there; without one, until it is deleted.
  3: optional Duration ttl
}

struct CreateResponse {
  // The value's version.
  1: i64 version
}

struct RetrieveRequest {
  1: binary key
}

struct RetrieveResponse {
  1: binary value
  // The number of the change that stored the value. No other value of the store has it.
  2: i64 version
  // When the key will be gone, if it has a time to live.
  3: optional Timestamp expires
}

struct UpdateRequest {
  1: binary key
  2: binary value
  // Versions in quotes, with commas between, or *: change only a value that has one of them.
  3: optional string if_match
  // Change only the value that has this version.
  4: optional i64 if_version
  // How long the key is there from now on; without one, until it is deleted.
  5: optional Duration ttl
}

struct UpdateResponse {
  // The new value's version.
  1: i64 version
}

struct DeleteRequest {
  1: binary key
  // Versions in quotes, with commas between, or *: remove only a value that has one of them.
  2: optional string if_match
  // Remove only the value that has this version.
  3: optional i64 if_version
}

struct DeleteResponse {
}

struct ScanRequest {
  // Only keys that begin with it; empty for all.
  1: binary prefix
  // Only keys that sort after this one: the last key of the page before.
  2: binary after
  // How many keys at most; 0 for all.
  3: i64 limit
  // Leave out the values.
  4: bool keys_only
}

struct Entry {
  1: binary key
  2: binary value
  3: i64 version
  4: optional Timestamp expires
}

struct WatchRequest {
  // Only keys that begin with it; empty for all.
  1: binary prefix
  // Begin with the change that followed this version. The last changes are kept, at least those of the last moments.
  2: optional i64 after
  // Leave out the values.
  3: bool keys_only
}

struct Event {
  // create, update, delete or expire.
  1: string kind
  2: binary key
  // The new value; none when the key is gone.
  3: binary value
  // The number of the change, and the new value's version.
  4: i64 version
  // When the key will be gone, if it has a time to live.
  5: optional Timestamp expires
}

service KeyValueService {
  // Stores a value under a key that is not there yet.
  CreateResponse Create(1: CreateRequest request)
  // Returns a key's value.
  RetrieveResponse Retrieve(1: RetrieveRequest request)
  // Replaces the value of a key that is there.
  UpdateResponse Update(1: UpdateRequest request)
  // Removes a key. A key that is not there is no error.
  DeleteResponse Delete(1: DeleteRequest request)
  // Lists the keys that begin with a prefix, in order, as they were at one moment.
  // Scan (server streaming) takes ScanRequest and gives Entry; Thrift has no streams.
  // Tells of every change of a key that begins with a prefix, as it happens.
  // Watch (server streaming) takes WatchRequest and gives Event; Thrift has no streams.
}
