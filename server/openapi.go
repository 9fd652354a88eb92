package server

import (
	_ "embed"
	"net/http"
)

//go:embed openapi.json
var openAPI []byte

func serveOpenAPI(w http.ResponseWriter, r *http.Request) {
	send(w, r, message{status: http.StatusOK, contentType: "application/json", body: openAPI})
}
