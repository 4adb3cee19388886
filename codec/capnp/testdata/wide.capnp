# wide.Wides, as the codec capnp of everywire writes its messages.
@0xf733d08262bc6705;

# wide.Wides:
#   Echo takes Wide and gives Wide.

struct Duration @0x8e2d86d37885d035 {
  seconds @0 :Int64;
  nanos @1 :Int32;
  # With the sign of the seconds.
}

struct OptionalBool @0xc16bcf8013010e3b {
  value @0 :Bool;
}

struct OptionalFloat64 @0xedc21080211f7328 {
  value @0 :Float64;
}

struct OptionalInt64 @0xf8a7a6edb52aeae9 {
  value @0 :Int64;
}

struct OptionalUInt64 @0xc6ec9e0099547355 {
  value @0 :UInt64;
}

struct Timestamp @0xa0d9ed120468856b {
  seconds @0 :Int64;
  # Since 1970, in UTC.
  nanos @1 :Int32;
  # From there on, 0 to 999999999.
}

struct Part @0xc58c8b20cd48e91f {
  pageSize @0 :Int32;
  unused2 @1 :Void;
  unused3 @2 :Void;
  unused4 @3 :Void;
  unused5 @4 :Void;
  unused6 @5 :Void;
  otherName @6 :Text;
  unused8 @7 :Void;
  unused9 @8 :Void;
  unused10 @9 :Void;
  unused11 @10 :Void;
  unused12 @11 :Void;
  unused13 @12 :Void;
  unused14 @13 :Void;
  unused15 @14 :Void;
  unused16 @15 :Void;
  unused17 @16 :Void;
  unused18 @17 :Void;
  unused19 @18 :Void;
  labels @19 :List(LabelsEntry);
  unused21 @20 :Void;
  unused22 @21 :Void;
  unused23 @22 :Void;
  unused24 @23 :Void;
  unused25 @24 :Void;
  unused26 @25 :Void;
  unused27 @26 :Void;
  unused28 @27 :Void;
  unused29 @28 :Void;
  unused30 @29 :Void;
  unused31 @30 :Void;
  unused32 @31 :Void;
  unused33 @32 :Void;
  unused34 @33 :Void;
  unused35 @34 :Void;
  unused36 @35 :Void;
  unused37 @36 :Void;
  unused38 @37 :Void;
  unused39 @38 :Void;
  unused40 @39 :Void;
  unused41 @40 :Void;
  unused42 @41 :Void;
  unused43 @42 :Void;
  unused44 @43 :Void;
  unused45 @44 :Void;
  unused46 @45 :Void;
  unused47 @46 :Void;
  unused48 @47 :Void;
  unused49 @48 :Void;
  unused50 @49 :Void;
  unused51 @50 :Void;
  unused52 @51 :Void;
  unused53 @52 :Void;
  unused54 @53 :Void;
  unused55 @54 :Void;
  unused56 @55 :Void;
  unused57 @56 :Void;
  unused58 @57 :Void;
  unused59 @58 :Void;
  unused60 @59 :Void;
  unused61 @60 :Void;
  unused62 @61 :Void;
  unused63 @62 :Void;
  unused64 @63 :Void;
  unused65 @64 :Void;
  unused66 @65 :Void;
  unused67 @66 :Void;
  unused68 @67 :Void;
  unused69 @68 :Void;
  unused70 @69 :Void;
  unused71 @70 :Void;
  unused72 @71 :Void;
  unused73 @72 :Void;
  unused74 @73 :Void;
  unused75 @74 :Void;
  unused76 @75 :Void;
  unused77 @76 :Void;
  unused78 @77 :Void;
  unused79 @78 :Void;
  unused80 @79 :Void;
  unused81 @80 :Void;
  unused82 @81 :Void;
  unused83 @82 :Void;
  unused84 @83 :Void;
  unused85 @84 :Void;
  unused86 @85 :Void;
  unused87 @86 :Void;
  unused88 @87 :Void;
  unused89 @88 :Void;
  unused90 @89 :Void;
  unused91 @90 :Void;
  unused92 @91 :Void;
  unused93 @92 :Void;
  unused94 @93 :Void;
  unused95 @94 :Void;
  unused96 @95 :Void;
  unused97 @96 :Void;
  unused98 @97 :Void;
  unused99 @98 :Void;
  whole @99 :Wide;

  struct LabelsEntry @0xf33688ae270e4c87 {
    key @0 :Text;
    value @1 :Text;
  }
}

struct Nothing @0xd45504c8b0d7008e {
}

struct Wide @0x893fba7c291dd519 {
  flag @0 :Bool;
  flagP @1 :OptionalBool;
  flags @2 :List(Bool);
  flagMap @3 :List(FlagMapEntry);
  tiny @4 :Int32;
  short @5 :Int32;
  word @6 :Int32;
  long @7 :Int64;
  number @8 :Int64;
  longP @9 :OptionalInt64;
  words @10 :List(Int32);
  longs @11 :List(Int64);
  numbers @12 :List(Int64);
  longMap @13 :List(LongMapEntry);
  shortMap @14 :List(ShortMapEntry);
  uTiny @15 :UInt32;
  uShort @16 :UInt32;
  uWord @17 :UInt32;
  uLong @18 :UInt64;
  uNumber @19 :UInt64;
  uLongP @20 :OptionalUInt64;
  uWords @21 :List(UInt32);
  uLongs @22 :List(UInt64);
  uLongMap @23 :List(ULongMapEntry);
  uShortMap @24 :List(UShortMapEntry);
  unused26 @25 :Void;
  unused27 @26 :Void;
  unused28 @27 :Void;
  unused29 @28 :Void;
  single @29 :Float32;
  real @30 :Float64;
  realP @31 :OptionalFloat64;
  singles @32 :List(Float32);
  reals @33 :List(Float64);
  realMap @34 :List(RealMapEntry);
  singleMap @35 :List(SingleMapEntry);
  unused37 @36 :Void;
  unused38 @37 :Void;
  unused39 @38 :Void;
  text @39 :Text;
  # The text.
  # It may have */ in it.
  textP @40 :Text;
  texts @41 :List(Text);
  textMap @42 :List(TextMapEntry);
  addr @43 :Text;
  addrP @44 :Text;
  addrs @45 :List(Text);
  addrMap @46 :List(AddrMapEntry);
  data @47 :Data;
  dataP @48 :Data;
  blobs @49 :List(Data);
  blobMap @50 :List(BlobMapEntry);
  unused52 @51 :Void;
  unused53 @52 :Void;
  unused54 @53 :Void;
  unused55 @54 :Void;
  unused56 @55 :Void;
  unused57 @56 :Void;
  unused58 @57 :Void;
  unused59 @58 :Void;
  instant @59 :Timestamp;
  instantP @60 :Timestamp;
  instants @61 :List(Timestamp);
  timeMap @62 :List(TimeMapEntry);
  span @63 :Duration;
  spanP @64 :Duration;
  spans @65 :List(Duration);
  spanMap @66 :List(SpanMapEntry);
  unused68 @67 :Void;
  unused69 @68 :Void;
  part @69 :Part;
  partP @70 :Part;
  parts @71 :List(Part);
  partPs @72 :List(Part);
  partMap @73 :List(PartMapEntry);
  partPMap @74 :List(PartPMapEntry);
  unused76 @75 :Void;
  unused77 @76 :Void;
  unused78 @77 :Void;
  unused79 @78 :Void;
  any @79 :Text;  # JSON
  doc @80 :Text;  # JSON
  docP @81 :Text;  # JSON
  anys @82 :List(Text);  # JSON
  docs @83 :List(Text);  # JSON
  anyMap @84 :List(AnyMapEntry);  # JSON
  docPMap @85 :List(DocPMapEntry);  # JSON
  unused87 @86 :Void;
  unused88 @87 :Void;
  unused89 @88 :Void;
  self @89 :Wide;
  selves @90 :List(Wide);
  nothing @91 :Nothing;
  nothings @92 :List(Nothing);
  unused94 @93 :Void;
  unused95 @94 :Void;
  unused96 @95 :Void;
  unused97 @96 :Void;
  unused98 @97 :Void;
  unused99 @98 :Void;
  unused100 @99 :Void;
  unused101 @100 :Void;
  unused102 @101 :Void;
  unused103 @102 :Void;
  unused104 @103 :Void;
  unused105 @104 :Void;
  unused106 @105 :Void;
  unused107 @106 :Void;
  unused108 @107 :Void;
  unused109 @108 :Void;
  unused110 @109 :Void;
  unused111 @110 :Void;
  unused112 @111 :Void;
  unused113 @112 :Void;
  unused114 @113 :Void;
  unused115 @114 :Void;
  unused116 @115 :Void;
  unused117 @116 :Void;
  unused118 @117 :Void;
  unused119 @118 :Void;
  unused120 @119 :Void;
  unused121 @120 :Void;
  unused122 @121 :Void;
  unused123 @122 :Void;
  unused124 @123 :Void;
  unused125 @124 :Void;
  unused126 @125 :Void;
  unused127 @126 :Void;
  unused128 @127 :Void;
  unused129 @128 :Void;
  unused130 @129 :Void;
  unused131 @130 :Void;
  unused132 @131 :Void;
  unused133 @132 :Void;
  unused134 @133 :Void;
  unused135 @134 :Void;
  unused136 @135 :Void;
  unused137 @136 :Void;
  unused138 @137 :Void;
  unused139 @138 :Void;
  unused140 @139 :Void;
  unused141 @140 :Void;
  unused142 @141 :Void;
  unused143 @142 :Void;
  unused144 @143 :Void;
  unused145 @144 :Void;
  unused146 @145 :Void;
  unused147 @146 :Void;
  unused148 @147 :Void;
  unused149 @148 :Void;
  unused150 @149 :Void;
  unused151 @150 :Void;
  unused152 @151 :Void;
  unused153 @152 :Void;
  unused154 @153 :Void;
  unused155 @154 :Void;
  unused156 @155 :Void;
  unused157 @156 :Void;
  unused158 @157 :Void;
  unused159 @158 :Void;
  unused160 @159 :Void;
  unused161 @160 :Void;
  unused162 @161 :Void;
  unused163 @162 :Void;
  unused164 @163 :Void;
  unused165 @164 :Void;
  unused166 @165 :Void;
  unused167 @166 :Void;
  unused168 @167 :Void;
  unused169 @168 :Void;
  unused170 @169 :Void;
  unused171 @170 :Void;
  unused172 @171 :Void;
  unused173 @172 :Void;
  unused174 @173 :Void;
  unused175 @174 :Void;
  unused176 @175 :Void;
  unused177 @176 :Void;
  unused178 @177 :Void;
  unused179 @178 :Void;
  unused180 @179 :Void;
  unused181 @180 :Void;
  unused182 @181 :Void;
  unused183 @182 :Void;
  unused184 @183 :Void;
  unused185 @184 :Void;
  unused186 @185 :Void;
  unused187 @186 :Void;
  unused188 @187 :Void;
  unused189 @188 :Void;
  unused190 @189 :Void;
  unused191 @190 :Void;
  unused192 @191 :Void;
  unused193 @192 :Void;
  unused194 @193 :Void;
  unused195 @194 :Void;
  unused196 @195 :Void;
  unused197 @196 :Void;
  unused198 @197 :Void;
  unused199 @198 :Void;
  unused200 @199 :Void;
  unused201 @200 :Void;
  unused202 @201 :Void;
  unused203 @202 :Void;
  unused204 @203 :Void;
  unused205 @204 :Void;
  unused206 @205 :Void;
  unused207 @206 :Void;
  unused208 @207 :Void;
  unused209 @208 :Void;
  unused210 @209 :Void;
  unused211 @210 :Void;
  unused212 @211 :Void;
  unused213 @212 :Void;
  unused214 @213 :Void;
  unused215 @214 :Void;
  unused216 @215 :Void;
  unused217 @216 :Void;
  unused218 @217 :Void;
  unused219 @218 :Void;
  unused220 @219 :Void;
  unused221 @220 :Void;
  unused222 @221 :Void;
  unused223 @222 :Void;
  unused224 @223 :Void;
  unused225 @224 :Void;
  unused226 @225 :Void;
  unused227 @226 :Void;
  unused228 @227 :Void;
  unused229 @228 :Void;
  unused230 @229 :Void;
  unused231 @230 :Void;
  unused232 @231 :Void;
  unused233 @232 :Void;
  unused234 @233 :Void;
  unused235 @234 :Void;
  unused236 @235 :Void;
  unused237 @236 :Void;
  unused238 @237 :Void;
  unused239 @238 :Void;
  unused240 @239 :Void;
  unused241 @240 :Void;
  unused242 @241 :Void;
  unused243 @242 :Void;
  unused244 @243 :Void;
  unused245 @244 :Void;
  unused246 @245 :Void;
  unused247 @246 :Void;
  unused248 @247 :Void;
  unused249 @248 :Void;
  unused250 @249 :Void;
  unused251 @250 :Void;
  unused252 @251 :Void;
  unused253 @252 :Void;
  unused254 @253 :Void;
  unused255 @254 :Void;
  unused256 @255 :Void;
  unused257 @256 :Void;
  unused258 @257 :Void;
  unused259 @258 :Void;
  unused260 @259 :Void;
  unused261 @260 :Void;
  unused262 @261 :Void;
  unused263 @262 :Void;
  unused264 @263 :Void;
  unused265 @264 :Void;
  unused266 @265 :Void;
  unused267 @266 :Void;
  unused268 @267 :Void;
  unused269 @268 :Void;
  unused270 @269 :Void;
  unused271 @270 :Void;
  unused272 @271 :Void;
  unused273 @272 :Void;
  unused274 @273 :Void;
  unused275 @274 :Void;
  unused276 @275 :Void;
  unused277 @276 :Void;
  unused278 @277 :Void;
  unused279 @278 :Void;
  unused280 @279 :Void;
  unused281 @280 :Void;
  unused282 @281 :Void;
  unused283 @282 :Void;
  unused284 @283 :Void;
  unused285 @284 :Void;
  unused286 @285 :Void;
  unused287 @286 :Void;
  unused288 @287 :Void;
  unused289 @288 :Void;
  unused290 @289 :Void;
  unused291 @290 :Void;
  unused292 @291 :Void;
  unused293 @292 :Void;
  unused294 @293 :Void;
  unused295 @294 :Void;
  unused296 @295 :Void;
  unused297 @296 :Void;
  unused298 @297 :Void;
  unused299 @298 :Void;
  last @299 :Text;

  struct FlagMapEntry @0xb718824b2bd11c94 {
    key @0 :Bool;
    value @1 :Int32;
  }

  struct LongMapEntry @0xbf810f505ecfd30d {
    key @0 :Int64;
    value @1 :Int32;
  }

  struct ShortMapEntry @0xf442909613e87d1f {
    key @0 :Int32;
    value @1 :Int64;
  }

  struct ULongMapEntry @0xc838fd439a08aeab {
    key @0 :UInt64;
    value @1 :Bool;
  }

  struct UShortMapEntry @0xde24dc0183cef552 {
    key @0 :UInt32;
    value @1 :UInt32;
  }

  struct RealMapEntry @0xf4fb797b1e49b07a {
    key @0 :Text;
    value @1 :Float64;
  }

  struct SingleMapEntry @0xbf6237d49cfdbf86 {
    key @0 :UInt32;
    value @1 :Float32;
  }

  struct TextMapEntry @0x96c3eb386d5df4e2 {
    key @0 :Text;
    value @1 :Text;
  }

  struct AddrMapEntry @0xe8627199c3029585 {
    key @0 :Text;
    value @1 :Text;
  }

  struct BlobMapEntry @0x9b3d1540cbc58b5e {
    key @0 :Text;
    value @1 :Data;
  }

  struct TimeMapEntry @0xad70fa8c5019c675 {
    key @0 :Text;
    value @1 :Timestamp;
  }

  struct SpanMapEntry @0x90efacb5fb515412 {
    key @0 :Int32;
    value @1 :Duration;
  }

  struct PartMapEntry @0xfafc3d6f5cea7c5c {
    key @0 :Text;
    value @1 :Part;
  }

  struct PartPMapEntry @0xc79a3d8f9913cbbc {
    key @0 :Int64;
    value @1 :Part;
  }

  struct AnyMapEntry @0xb05e42f4b62a7302 {
    key @0 :Text;
    value @1 :Text;  # JSON
  }

  struct DocPMapEntry @0xc92a75b72769b70c {
    key @0 :Bool;
    value @1 :Text;  # JSON
  }
}
