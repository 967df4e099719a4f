// Asks the backend for each page, in the words of a server that blocks.
package main

import (
	"io"
	"log"
	"net/http"
	"os"
)

func main() {
	backend := "http://127.0.0.1:" + os.Args[2] + "/"
	http.HandleFunc("/", func(page http.ResponseWriter, _ *http.Request) {
		reply, err := http.Get(backend) // the goroutine waits here, without a thread of its own
		if err != nil {
			http.Error(page, err.Error(), http.StatusBadGateway)
			return
		}
		defer reply.Body.Close()
		if _, err := io.Copy(page, reply.Body); err != nil {
			log.Print(err)
		}
	})
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Args[1], nil))
}
