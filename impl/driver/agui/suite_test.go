package agui_test

import (
	"testing"

	"a2aserve/impl/driver/drivertest"
	"a2aserve/impl/turn"
)

// TestSuite leaves out what AG-UI has no means for: an agent cannot ask for an
// authorisation (authorisation), cannot decline a message or report an error that it
// survives (failures), and makes no chunks of artifacts, only pieces of text that the
// server gathers as it likes (chunks). What of the last two applies is in TestEnds and
// TestAnswerInPieces.
func TestSuite(t *testing.T) {
	drivertest.Suite(t, func(t *testing.T) turn.Driver {
		return newAgent(t, nil).driver(t, nil)
	}, "authorisation", "failures", "chunks")
}
