package http1

import (
	"net/http"
	"sync/atomic"
	"time"
)

// A dateLine is the Date field as it is during one second.
type dateLine struct {
	second int64
	text   string
}

var dates atomic.Pointer[dateLine]

// appendDate appends the Date field (RFC 9110, section 6.6.1).
func appendDate(dst []byte, now time.Time) []byte {
	d := dates.Load()
	if d == nil || d.second != now.Unix() {
		d = &dateLine{now.Unix(), "Date: " + now.UTC().Format(http.TimeFormat) + "\r\n"}
		dates.Store(d)
	}
	return append(dst, d.text...)
}
