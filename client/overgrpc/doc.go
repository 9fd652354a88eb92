// Package overgrpc lets a client ask a Stint server over gRPC:
//
//	conn, err := grpc.NewClient("stint.internal:8082", grpc.WithTransportCredentials(creds))
//	c, err := client.New(client.Options{Carrier: overgrpc.New(conn), Failure: stint.FailAllow})
//
// It is a package of its own so that who asks over HTTP compiles no gRPC.
package overgrpc
