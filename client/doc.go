// Package client asks a Stint server. A [Client] is a [stint.Decider]: a program
// that embeds rules asks a server instead by changing the line that makes its
// decider, and the decisions it gets are those of the server, whole.
//
//	c, err := client.New(client.Options{
//		URL:     "http://stint.internal:8081",
//		Fields:  []stint.Field{{Kind: stint.FieldHeader, Name: "X-Api-Key"}},
//		Failure: stint.FailAllow,
//	})
//	limit, err := httplimit.New(httplimit.Options{Decider: c})
//
// Limits inside a service are asked by the names of their rules, with
// [Client.Check] and [Client.Refund].
//
// A check is sent once. One whose answer does not come in time may have been
// counted, so it is never sent again; what happens instead is Options.Failure.
package client
