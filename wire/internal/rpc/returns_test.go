package rpc

import (
	"runtime"
	"testing"
)

func TestReturns(t *testing.T) {
	if !Returns(func() {}) {
		t.Error("a function that returns did not")
	}
	if Returns(runtime.Goexit) {
		t.Error("a function that ended its goroutine returned")
	}
	func() {
		defer func() {
			if p := recover(); p != "mine" {
				t.Errorf("the caller recovers %v", p)
			}
		}()
		Returns(func() { panic("mine") })
		t.Error("a panic was lost")
	}()
}
