# io.grpc.KeyValueService, as the codec capnp of everywire writes its messages.
@0xe0b25d98ea281cef;

# io.grpc.KeyValueService:
#   Create takes CreateRequest and gives CreateResponse.
#     Stores a value under a key that is not there yet.
#   Retrieve takes RetrieveRequest and gives RetrieveResponse.
#     Returns a key's value.
#   Update takes UpdateRequest and gives UpdateResponse.
#     Replaces the value of a key that is there.
#   Delete takes DeleteRequest and gives DeleteResponse.
#     Removes a key. A key that is not there is no error.
#   Scan (server streaming) takes ScanRequest and gives Entry.
#     Lists the keys that begin with a prefix, in order, as they were at one moment.
#   Watch (server streaming) takes WatchRequest and gives Event.
#     Tells of every change of a key that begins with a prefix, as it happens.

struct Duration @0x8e2d86d37885d035 {
  seconds @0 :Int64;
  nanos @1 :Int32;
  # With the sign of the seconds.
}

struct OptionalInt64 @0xf8a7a6edb52aeae9 {
  value @0 :Int64;
}

struct Timestamp @0xa0d9ed120468856b {
  seconds @0 :Int64;
  # Since 1970, in UTC.
  nanos @1 :Int32;
  # From there on, 0 to 999999999.
}

struct CreateRequest @0xe33f5a0fb573af6f {
  key @0 :Data;
  value @1 :Data;
  ttl @2 :Duration;
  # How long the key is there; without one, until it is deleted.
}

struct CreateResponse @0x96163bd05486359e {
  version @0 :Int64;
  # The value's version.
}

struct RetrieveRequest @0xf4dda25557a55f19 {
  key @0 :Data;
}

struct RetrieveResponse @0xcd217609ace8f4d5 {
  value @0 :Data;
  version @1 :Int64;
  # The number of the change that stored the value. No other value of the store has it.
  expires @2 :Timestamp;
  # When the key will be gone, if it has a time to live.
}

struct UpdateRequest @0xc35db545d8273bc3 {
  key @0 :Data;
  value @1 :Data;
  ifMatch @2 :Text;
  # Versions in quotes, with commas between, or *: change only a value that has one of them.
  ifVersion @3 :OptionalInt64;
  # Change only the value that has this version.
  ttl @4 :Duration;
  # How long the key is there from now on; without one, until it is deleted.
}

struct UpdateResponse @0xf223f4a121e3cb87 {
  version @0 :Int64;
  # The new value's version.
}

struct DeleteRequest @0xec0f22b0d3e75304 {
  key @0 :Data;
  ifMatch @1 :Text;
  # Versions in quotes, with commas between, or *: remove only a value that has one of them.
  ifVersion @2 :OptionalInt64;
  # Remove only the value that has this version.
}

struct DeleteResponse @0xb754db687982d65a {
}

struct ScanRequest @0xb488e729f417f7e8 {
  prefix @0 :Data;
  # Only keys that begin with it; empty for all.
  after @1 :Data;
  # Only keys that sort after this one: the last key of the page before.
  limit @2 :Int64;
  # How many keys at most; 0 for all.
  keysOnly @3 :Bool;
  # Leave out the values.
}

struct Entry @0xb85b22122d24f522 {
  key @0 :Data;
  value @1 :Data;
  version @2 :Int64;
  expires @3 :Timestamp;
}

struct WatchRequest @0xee006efdf8c4a4d8 {
  prefix @0 :Data;
  # Only keys that begin with it; empty for all.
  after @1 :OptionalInt64;
  # Begin with the change that followed this version. The last changes are kept, at least those of the last moments.
  keysOnly @2 :Bool;
  # Leave out the values.
}

struct Event @0x8c3d35106403d494 {
  kind @0 :Text;
  # create, update, delete or expire.
  key @1 :Data;
  value @2 :Data;
  # The new value; none when the key is gone.
  version @3 :Int64;
  # The number of the change, and the new value's version.
  expires @4 :Timestamp;
  # When the key will be gone, if it has a time to live.
}
