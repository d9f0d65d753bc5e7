package ws

import (
	"testing"
	"unsafe"
)

// A node holds very many sessions at rest. The allocator has a class of 576 bytes; the next one
// is 640.
func TestSessionIsSmall(t *testing.T) {
	t.Parallel()
	if size := unsafe.Sizeof(session{}); size > 576 {
		t.Errorf("a session has %d bytes", size)
	}
}
