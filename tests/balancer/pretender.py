"""An instance that does with each request what a test wants."""

import socketserver
import threading

ANSWER = (b"HTTP/1.1 200 OK\r\nServer: pretender\r\nContent-Length: 2\r\n"
          b"Connection: close\r\n\r\n42")


class Pretender:
    """Listens on `port`. Health checks get ANSWER. Of each other request, the
    method goes into `seen` and X-Forwarded-For into `clients`; `act` returns
    the bytes to send before the connection is closed."""

    host, down = "127.0.0.1", False

    def __init__(self, name, act=lambda: ANSWER):
        self.name, self.act, self.seen, self.clients = name, act, [], []
        outer = self

        class Handler(socketserver.StreamRequestHandler):
            """Reads one request."""

            def handle(self):
                outer.serve(self.rfile, self.wfile)

        self._server = socketserver.ThreadingTCPServer(
            (self.host, 0), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.02,),
                         daemon=True).start()

    def serve(self, rfile, wfile):
        """Serve one connection: one request."""
        line, fields = rfile.readline(), {}
        for field in iter(rfile.readline, b"\r\n"):
            if not field:
                return          # a connection without a request
            name, _, value = field.decode().partition(":")
            fields[name.lower()] = value.strip()
        rfile.read(int(fields.get("content-length", 0)))
        if fields["host"] == "balancer":
            wfile.write(ANSWER)
            return
        self.clients.append(fields["x-forwarded-for"])
        self.seen.append(line.split()[0].decode())
        wfile.write(self.act())

    def close(self):
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()
