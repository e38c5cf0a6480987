package bus_test

import (
	"log/slog"
	"testing"

	"a2aserve/impl/driver/drivertest"
	"a2aserve/impl/driver/drivertest/plain"
	"a2aserve/impl/turn"
)

// TestSuite: an agent whose turns run beside its handlers, and one whose turns run inside
// them, are the same to the server.
func TestSuite(t *testing.T) {
	for name, nested := range map[string]bool{"beside": false, "nested": true} {
		t.Run(name, func(t *testing.T) {
			drivertest.Suite(t, drivertest.Subject{
				New: func(t *testing.T, files string) turn.Driver {
					d := plain.New(plain.Options{Nested: nested, Files: files, Logger: slog.New(slog.DiscardHandler)})
					t.Cleanup(d.Close)
					return d
				},
				Except: map[string]string{"rest": "an agent in process is always there"},
			})
		})
	}
}
