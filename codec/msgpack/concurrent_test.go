package msgpack

import (
	"sync"
	"testing"
)

// Plans are made once, also by several goroutines at the same time.
func TestConcurrentFirstUse(t *testing.T) {
	type inner struct {
		Text string `wire:"1"`
	}
	type fresh struct {
		Inner []inner `wire:"1"`
		Self  *fresh  `wire:"2"`
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			data, err := Codec{}.Append(nil, &fresh{Inner: []inner{{Text: "x"}}, Self: &fresh{}})
			if err != nil {
				t.Error(err)
			}
			var out fresh
			if err := (Codec{}).Decode(data, &out); err != nil || len(out.Inner) != 1 || out.Self == nil {
				t.Errorf("got %+v, %v", out, err)
			}
		})
	}
	wg.Wait()
}
