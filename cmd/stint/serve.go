package main

import (
	"github.com/spf13/cobra"

	"github.com/stint-dev/stint/config"
)

// serveFlags are what the command line says about a server. A nil pointer leaves
// it to the file.
type serveFlags struct {
	config                           string
	gateway, http, grpc, resp, admin *string
	store                            *string
}

func newServe(p process) *cobra.Command {
	var f serveFlags
	var gateway, http, grpc, resp, admin, store string
	cmd := &cobra.Command{
		Use:   "serve -c FILE",
		Short: "limit the rate of an API: as its gateway, or as a service that others ask",
		Long: `serve starts the gateway in front of the upstream of the rules file, the decision
service where the file or a flag gives it an address, and the admin listener with
/healthz, /readyz, /metrics and a status page.

The file is read again when it changes and on SIGHUP; counts go on, and a bad
file changes nothing. SIGINT and SIGTERM drain: requests under way are answered.
A second one ends the process at once.`,
		Example: "  stint serve -c examples/quickstart.yaml",
		Args:    count(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			given := func(name string, value *string) *string {
				if cmd.Flags().Changed(name) {
					return value
				}
				return nil
			}
			f.gateway, f.http, f.grpc, f.resp = given("gateway", &gateway), given("http", &http), given("grpc", &grpc), given("resp", &resp)
			f.admin, f.store = given("admin", &admin), given("store", &store)
			return p.serve(cmd.Context(), f)
		},
	}
	configFlag(cmd, &f.config)
	cmd.Flags().StringVar(&gateway, "gateway", "", "listen here instead of where the file says, such as :8080")
	cmd.Flags().StringVar(&http, "http", "", "the `address` of the decision service over HTTP instead of the file's, such as 127.0.0.1:8081; \"\" is off")
	cmd.Flags().StringVar(&grpc, "grpc", "", "the `address` of the decision service over gRPC, with Envoy's; \"\" is off")
	cmd.Flags().StringVar(&resp, "resp", "", "the `address` of CL.THROTTLE over the protocol of Redis; \"\" is off")
	cmd.Flags().StringVar(&admin, "admin", "", "the admin `address` instead of the file's; \"\" is off")
	cmd.Flags().StringVar(&store, "store", "", "keep counts here instead of where the file says: memory, or a `URL` such as redis://127.0.0.1:6379")
	return cmd
}

// settings are those of the file with the flags over them.
func (f *serveFlags) settings(file *config.File) (config.Listen, config.Store, error) {
	listen, store := file.Listen, file.Store
	for _, one := range []struct {
		flag  string
		given *string
		to    *string
	}{
		{"gateway", f.gateway, &listen.Gateway},
		{"http", f.http, &listen.HTTP},
		{"grpc", f.grpc, &listen.GRPC},
		{"resp", f.resp, &listen.RESP},
		{"admin", f.admin, &listen.Admin},
	} {
		if one.given == nil {
			continue
		}
		var err error
		if *one.to, err = config.ParseAddress(*one.given); err != nil {
			return listen, store, usagef("--%s %v", one.flag, err)
		}
	}
	if f.store != nil {
		given, err := config.ParseStore(*f.store)
		if err == nil {
			err = checkStore(given)
		}
		if err != nil {
			return listen, store, usagef("--store %v", err)
		}
		store = withOptions(given, store)
	}
	return listen, store, nil
}

// withOptions is the store that a flag names, with the file's options for it.
func withOptions(given, file config.Store) config.Store {
	redis := given.Redis
	if redis != nil && file.Redis != nil {
		options := *file.Redis
		options.URL = redis.URL
		redis = &options
	}
	file.Redis = redis
	return file
}
