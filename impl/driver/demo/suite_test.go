package demo

import (
	"log/slog"
	"testing"

	"a2aserve/impl/driver/drivertest"
	"a2aserve/impl/turn"
)

func TestSuite(t *testing.T) {
	const noCommand = "the demo agent has no such command; package plain's on the same bus has"
	drivertest.Suite(t, drivertest.Subject{
		New: func(t *testing.T, files string) turn.Driver {
			d := New(Options{FileBaseDir: files, Logger: slog.New(slog.DiscardHandler)})
			t.Cleanup(d.Close)
			return d
		},
		Except: map[string]string{
			"rest":             "an agent in process is always there",
			"cancel/submitted": noCommand, "stop/submitted": noCommand,
			"cancel/in a tool": noCommand, "stop/in a tool": noCommand,
			"cancel/answered": noCommand, "stop/answered": noCommand,
			"crash": noCommand, "isolation/crash": noCommand,
			"garbage": noCommand, "memory": noCommand,
		},
	})
}
