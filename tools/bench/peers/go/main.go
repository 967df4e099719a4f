// Go's net/http: a goroutine for each connection.
//
//	main HOST PORT
package main

import (
	"encoding/xml"
	"io"
	"log"
	"math/rand"
	"net/http"
	"os"
	"strings"
)

var pictures = []string{"iterative", "forking", "threaded", "epoll"}

func constant(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		io.WriteString(w, body)
	}
}

// redirect sets the header by hand, for http.Redirect adds a page.
func redirect(w http.ResponseWriter, r *http.Request) {
	picture := pictures[rand.Intn(len(pictures))]
	w.Header().Set("Location", "/pictures/"+picture+".svg")
	w.WriteHeader(http.StatusFound)
}

func echo(w http.ResponseWriter, r *http.Request) {
	var body strings.Builder
	body.WriteString("<http_test>")
	if values, ok := r.URL.Query()["value"]; ok {
		body.WriteString("<value>")
		xml.EscapeText(&body, []byte(values[0]))
		body.WriteString("</value>")
	} else {
		body.WriteString("<error>no value specified</error>")
	}
	body.WriteString("</http_test>")
	w.Header().Set("Content-Type", "text/xml")
	io.WriteString(w, body.String())
}

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: main HOST PORT")
	}
	http.HandleFunc("/answer", constant("42"))
	http.HandleFunc("/hello", constant("Hello, World!"))
	http.HandleFunc("/redirect", redirect)
	http.HandleFunc("/echo", echo)
	log.Fatal(http.ListenAndServe(os.Args[1]+":"+os.Args[2], nil))
}
