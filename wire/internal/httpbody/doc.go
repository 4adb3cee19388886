// Package httpbody reads and writes bodies for the wires on HTTP: within
// limits, and in the content codings gzip, br and zstd of RFC 9110, section
// 8.4 (RFC 1952, RFC 7932, RFC 8878).
//
// A limit holds for what a body is when decoded. A decoder stops just past it,
// so a small body that would become a huge one costs no more memory than an
// honest one. Windows are bounded, too: 8 MiB for zstd (RFC 9659) and 16 MiB
// for br (RFC 7932, section 9.1).
package httpbody
