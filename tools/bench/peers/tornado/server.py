"""Tornado: coroutines on one event loop a process.

    server.py HOST PORT WORKERS
"""

import os
import random
import signal
import sys

import tornado.escape
import tornado.httpserver
import tornado.ioloop
import tornado.netutil
import tornado.web

PICTURES = ["iterative", "forking", "threaded", "epoll"]


class Constant(tornado.web.RequestHandler):
    def initialize(self, body):
        self.body = body

    def get(self):
        self.set_header("Content-Type", "text/plain")
        self.write(self.body)


class Redirect(tornado.web.RequestHandler):
    def get(self):
        self.redirect(f"/pictures/{random.choice(PICTURES)}.svg")


class Echo(tornado.web.RequestHandler):
    def get(self):
        value = self.get_query_argument("value", None, strip=False)
        content = "<error>no value specified</error>" if value is None \
            else f"<value>{tornado.escape.xhtml_escape(value)}</value>"
        self.set_header("Content-Type", "text/xml")
        self.write(f"<http_test>{content}</http_test>")


def fork_workers(workers):
    """Fork workers - 1 copies of this process, which SIGTERM ends with it."""
    children = []
    for _ in range(workers - 1):
        pid = os.fork()
        if pid == 0:
            return
        children.append(pid)

    def end(signum, frame):
        for pid in children:
            os.kill(pid, signum)
        sys.exit()

    signal.signal(signal.SIGTERM, end)


def main():
    host, port, workers = sys.argv[1:]
    sockets = tornado.netutil.bind_sockets(int(port), host, backlog=4096)
    fork_workers(int(workers))
    application = tornado.web.Application([
        ("/answer", Constant, {"body": "42"}),
        ("/hello", Constant, {"body": "Hello, World!"}),
        ("/redirect", Redirect),
        ("/echo", Echo),
    ], log_function=lambda handler: None)   # no access log
    tornado.httpserver.HTTPServer(application).add_sockets(sockets)
    tornado.ioloop.IOLoop.current().start()


if __name__ == "__main__":
    main()
