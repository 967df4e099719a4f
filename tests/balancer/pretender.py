"""An instance that does with each request what a test wants."""

import socketserver
import threading

ANSWER = (b"HTTP/1.1 200 OK\r\nServer: pretender\r\nContent-Length: 2\r\n"
          b"Connection: close\r\n\r\n42")


class Pretender:
    """Listens on `port`. Good health checks get ANSWER; each other request is
    noted in `seen` by its method and passed to `act`, which returns the bytes
    to send before the connection is closed."""

    host, down = "127.0.0.1", False

    def __init__(self, name, act=lambda: ANSWER):
        self.name, self.act, self.seen = name, act, []
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
        line, length, check = rfile.readline(), 0, False
        for field in iter(rfile.readline, b"\r\n"):
            if not field:
                return          # a connection without a request
            name, _, value = field.lower().partition(b":")
            length = int(value) if name == b"content-length" else length
            check = check or name == b"host" and value.strip() == b"balancer"
        rfile.read(length)
        if check:
            wfile.write(ANSWER)
            return
        self.seen.append(line.split()[0].decode())
        wfile.write(self.act())

    def close(self):
        """Listen no more."""
        self._server.shutdown()
        self._server.server_close()
