# The messages of this package, as codec/capnp writes them.
@0xb2b3b0b0c5a5d001;

using Go = import "/go.capnp";
$Go.package("benchcapnp");
$Go.import("benchcapnp");

struct TextMessage @0xb2b3b0b0c5a5d002 {
  text @0 :Text;
}

struct DataMessage @0xb2b3b0b0c5a5d003 {
  data @0 :Data;
}

struct Sum @0xb2b3b0b0c5a5d004 {
  numbers @0 :List(Int64);
}

struct Point @0xb2b3b0b0c5a5d005 {
  x @0 :Float64;
  y @1 :Float64;
}

struct OptionalInt64 @0xb2b3b0b0c5a5d006 {
  value @0 :Int64;
}

struct Ten @0xb2b3b0b0c5a5d007 {
  id @0 :Int64;
  name @1 :Text;
  email @2 :Text;
  age @3 :Int32;
  active @4 :Bool;
  score @5 :Float64;
  flags @6 :UInt32;
  tags @7 :List(Text);
  parent @8 :OptionalInt64;
  location @9 :Point;
}
