// wide.Wides, as the codecs thrift and thrift-compact of everywire write its messages.

namespace * wide

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

struct Part {
  1: i32 page_size
  7: string other_name
  20: map<string, string> labels
  100: optional Wide whole
}

struct Nothing {
}

struct Wide {
  1: bool flag
  2: optional bool flag_p
  3: list<bool> flags
  4: map<bool, i32> flag_map // -128 to 127
  5: i32 tiny // -128 to 127
  6: i32 short // -32768 to 32767
  7: i32 word
  8: i64 long
  9: i64 number
  10: optional i64 long_p
  11: list<i32> words
  12: list<i64> longs
  13: list<i64> numbers
  14: map<i64, i32> long_map
  15: map<i32, i64> short_map
  16: i64 u_tiny // 0 to 255
  17: i64 u_short // 0 to 65535
  18: i64 u_word // 0 to 4294967295
  19: i64 u_long // unsigned, in two's complement
  20: i64 u_number // unsigned, in two's complement
  21: optional i64 u_long_p // unsigned, in two's complement
  22: list<i64> u_words // 0 to 4294967295
  23: list<i64> u_longs // unsigned, in two's complement
  24: map<i64, bool> u_long_map // keys are unsigned, in two's complement
  25: map<i64, i64> u_short_map // 0 to 255
  30: double single // of 32 bits
  31: double real
  32: optional double real_p
  33: list<double> singles // of 32 bits
  34: list<double> reals
  35: map<string, double> real_map
  36: map<i64, double> single_map // of 32 bits
  // The text.
  // It may have */ in it.
  40: string text
  41: optional string text_p
  42: list<string> texts
  43: map<string, string> text_map
  44: string addr
  45: optional string addr_p
  46: list<string> addrs
  47: map<string, string> addr_map
  48: binary data
  49: optional binary data_p
  50: list<binary> blobs
  51: map<string, binary> blob_map
  60: Timestamp instant
  61: optional Timestamp instant_p
  62: list<Timestamp> instants
  63: map<string, Timestamp> time_map
  64: Duration span
  65: optional Duration span_p
  66: list<Duration> spans
  67: map<i32, Duration> span_map
  70: Part part
  71: optional Part part_p
  72: list<Part> parts
  73: list<Part> part_ps
  74: map<string, Part> part_map
  75: map<i64, Part> part_p_map
  80: string any // JSON
  81: string doc // JSON
  82: optional string doc_p // JSON
  83: list<string> anys // JSON
  84: list<string> docs // JSON
  85: map<string, string> any_map // JSON
  86: map<bool, string> doc_p_map // JSON
  90: optional Wide self_
  91: list<Wide> selves
  92: Nothing nothing
  93: list<Nothing> nothings
  300: string last
}

service Wides {
  Wide Echo(1: Wide request)
}
