package binding

import (
	"context"
	"errors"
	"net/http"

	"a2aserve/gen/a2a"
	"a2aserve/gen/op"
	"a2aserve/gen/rest"
	"a2aserve/impl/wire"

	"github.com/go-chi/chi/v5"
)

// generated mounts the generated server. Its own ways of answering errors are all replaced;
// none should ever be needed, since requests reach it read and routed.
func (h *Handler) generated() http.Handler {
	fail := func(w http.ResponseWriter, r *http.Request, err error) {
		h.fail(reply{w, r, wire.REST, nil}, (&a2a.Error{Type: a2a.InternalError}).Because(err))
	}
	lost := func(w http.ResponseWriter, r *http.Request) { fail(w, r, errLost) }
	router := chi.NewRouter()
	router.NotFound(lost)
	router.MethodNotAllowed(lost)
	server := rest.NewStrictHandlerWithOptions(strict{}, nil, rest.StrictHTTPServerOptions{RequestErrorHandlerFunc: fail, ResponseErrorHandlerFunc: fail})
	return rest.HandlerWithOptions(server, rest.ChiServerOptions{BaseRouter: router, ErrorHandlerFunc: fail})
}

var errLost = errors.New("the operation table and the generated server disagree")

// read is a request on its way through the generated server: it is every operation's
// response too, because the answer depends on nothing but the operation.
type read struct {
	h  *Handler
	to reply
	op *op.Operation
	in any

	stream *following // what the operation has opened
}

type readKey struct{}

// visit is where the generated server has brought the request to its operation.
func (x *read) visit() error {
	x.stream = x.h.answer(x.to, x.op, x.in)
	return nil // what went wrong has been answered
}

// from finds the request that the context carries past the generated server.
func from(ctx context.Context) *read { return ctx.Value(readKey{}).(*read) }

// strict is the generated interface. An operation that a new specification adds does not
// compile until it is here.
type strict struct{}

var _ rest.StrictServerInterface = strict{}

func (strict) SendMessage(ctx context.Context, _ rest.SendMessageRequestObject) (rest.SendMessageResponseObject, error) {
	return from(ctx), nil
}

func (strict) SendStreamingMessage(ctx context.Context, _ rest.SendStreamingMessageRequestObject) (rest.SendStreamingMessageResponseObject, error) {
	return from(ctx), nil
}

func (strict) GetTask(ctx context.Context, _ rest.GetTaskRequestObject) (rest.GetTaskResponseObject, error) {
	return from(ctx), nil
}

func (strict) ListTasks(ctx context.Context, _ rest.ListTasksRequestObject) (rest.ListTasksResponseObject, error) {
	return from(ctx), nil
}

func (strict) CancelTask(ctx context.Context, _ rest.CancelTaskRequestObject) (rest.CancelTaskResponseObject, error) {
	return from(ctx), nil
}

func (strict) SubscribeToTask(ctx context.Context, _ rest.SubscribeToTaskRequestObject) (rest.SubscribeToTaskResponseObject, error) {
	return from(ctx), nil
}

func (strict) CreateTaskPushNotificationConfig(ctx context.Context, _ rest.CreateTaskPushNotificationConfigRequestObject) (rest.CreateTaskPushNotificationConfigResponseObject, error) {
	return from(ctx), nil
}

func (strict) GetTaskPushNotificationConfig(ctx context.Context, _ rest.GetTaskPushNotificationConfigRequestObject) (rest.GetTaskPushNotificationConfigResponseObject, error) {
	return from(ctx), nil
}

func (strict) ListTaskPushNotificationConfigs(ctx context.Context, _ rest.ListTaskPushNotificationConfigsRequestObject) (rest.ListTaskPushNotificationConfigsResponseObject, error) {
	return from(ctx), nil
}

func (strict) DeleteTaskPushNotificationConfig(ctx context.Context, _ rest.DeleteTaskPushNotificationConfigRequestObject) (rest.DeleteTaskPushNotificationConfigResponseObject, error) {
	return from(ctx), nil
}

func (strict) GetExtendedAgentCard(ctx context.Context, _ rest.GetExtendedAgentCardRequestObject) (rest.GetExtendedAgentCardResponseObject, error) {
	return from(ctx), nil
}

func (x *read) VisitSendMessageResponse(http.ResponseWriter) error          { return x.visit() }
func (x *read) VisitSendStreamingMessageResponse(http.ResponseWriter) error { return x.visit() }
func (x *read) VisitGetTaskResponse(http.ResponseWriter) error              { return x.visit() }
func (x *read) VisitListTasksResponse(http.ResponseWriter) error            { return x.visit() }
func (x *read) VisitCancelTaskResponse(http.ResponseWriter) error           { return x.visit() }
func (x *read) VisitSubscribeToTaskResponse(http.ResponseWriter) error      { return x.visit() }
func (x *read) VisitCreateTaskPushNotificationConfigResponse(http.ResponseWriter) error {
	return x.visit()
}
func (x *read) VisitGetTaskPushNotificationConfigResponse(http.ResponseWriter) error {
	return x.visit()
}
func (x *read) VisitListTaskPushNotificationConfigsResponse(http.ResponseWriter) error {
	return x.visit()
}
func (x *read) VisitDeleteTaskPushNotificationConfigResponse(http.ResponseWriter) error {
	return x.visit()
}
func (x *read) VisitGetExtendedAgentCardResponse(http.ResponseWriter) error { return x.visit() }
