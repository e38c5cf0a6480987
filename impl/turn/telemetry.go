package turn

import "a2aserve/gen/event"

// Telemetry is read and, for the time being, goes nowhere: it is never stored, and only
// readers that activate the extension are to see it.

func (b *batch) telemetryToolInvoke(event.ToolInvoke) {}

func (b *batch) telemetryThinking(event.ThinkingStep) {}

func (b *batch) telemetrySubagentStarted(event.SubagentStarted) {}

func (b *batch) telemetrySubagentIteration(event.SubagentIteration) {}

func (b *batch) telemetrySubagentComplete(event.SubagentComplete) {}
