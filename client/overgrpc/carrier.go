package overgrpc

import (
	"context"
	"fmt"
	"net/http"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/stint-dev/stint/client"
)

// Carrier brings questions over one connection of gRPC. Make one with New.
type Carrier struct{ conn grpc.ClientConnInterface }

var _ client.Carrier = (*Carrier)(nil)

// New returns a Carrier. The connection stays the caller's, who closes it.
func New(conn grpc.ClientConnInterface) *Carrier { return &Carrier{conn: conn} }

// Ask implements [client.Carrier].
func (c *Carrier) Ask(ctx context.Context, q client.Question) (string, error) {
	method := "/stint.v1.Decisions/Check"
	if q.Method == client.Refund {
		method = "/stint.v1.Decisions/Refund"
	}
	var answer wrapperspb.BytesValue
	err := c.conn.Invoke(ctx, method, &wrapperspb.BytesValue{Value: q.Text}, &answer)
	switch {
	case err == nil:
		return string(answer.GetValue()), nil
	case status.Code(err) == codes.InvalidArgument:
		return "", &client.Error{Status: http.StatusBadRequest, Detail: status.Convert(err).Message()}
	}
	return "", fmt.Errorf("ask the server: %w", err)
}
