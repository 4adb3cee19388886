// The messages of this package, as codec/thrift writes them.

struct Text {
  1: string text
}

struct Data {
  1: binary data
}

struct Sum {
  1: list<i64> numbers
}

struct Point {
  1: double x
  2: double y
}

struct Ten {
  1: i64 id
  2: string name
  3: string email
  4: i32 age
  5: bool active
  6: double score
  7: i64 flags
  8: list<string> tags
  9: optional i64 parent
  10: Point location
}
