package app

import (
	"testing"
	"time"
)

// ProbeAtOnce lets the tries of a self-check follow each other without a pause.
func ProbeAtOnce(t *testing.T) {
	old := probePauses
	probePauses = make([]time.Duration, len(old))
	t.Cleanup(func() { probePauses = old })
}
