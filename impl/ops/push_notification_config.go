package ops

import (
	"context"

	"a2aserve/gen/a2a"
	"a2aserve/gen/op"
)

// Push is not offered: the bindings refuse these operations before they are reached,
// and whoever wires them all the same gets the same refusal (A2A §3.3.4).

func noPush[T any]() (op.Encoded[T], error) {
	return op.Encoded[T]{}, &a2a.Error{Type: a2a.PushNotificationNotSupportedError}
}

// CreateTaskPushNotificationConfig refuses (A2A §3.1.7).
func (s *service) CreateTaskPushNotificationConfig(context.Context, *a2a.TaskPushNotificationConfig) (op.Encoded[a2a.TaskPushNotificationConfig], error) {
	return noPush[a2a.TaskPushNotificationConfig]()
}

// GetTaskPushNotificationConfig refuses (A2A §3.1.8).
func (s *service) GetTaskPushNotificationConfig(context.Context, *a2a.GetTaskPushNotificationConfigRequest) (op.Encoded[a2a.TaskPushNotificationConfig], error) {
	return noPush[a2a.TaskPushNotificationConfig]()
}

// ListTaskPushNotificationConfigs refuses (A2A §3.1.9).
func (s *service) ListTaskPushNotificationConfigs(context.Context, *a2a.ListTaskPushNotificationConfigsRequest) (op.Encoded[a2a.ListTaskPushNotificationConfigsResponse], error) {
	return noPush[a2a.ListTaskPushNotificationConfigsResponse]()
}

// DeleteTaskPushNotificationConfig refuses (A2A §3.1.10).
func (s *service) DeleteTaskPushNotificationConfig(context.Context, *a2a.DeleteTaskPushNotificationConfigRequest) (op.Encoded[op.Empty], error) {
	return noPush[op.Empty]()
}
