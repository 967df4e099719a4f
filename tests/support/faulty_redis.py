"""A proxy before a real Redis; a test can make it misbehave."""

import select
import socket
import threading
import time

# What the proxy does with a reply, `faulty.mode`:
PASS = "passes it on"
DELAY = "passes it on after faulty.seconds"
DRIP = "passes on a byte of it every faulty.seconds"
SILENT = "swallows it"
CUT = "passes on half of it and closes the connection"
GARBAGE = "sends bytes that are not the Redis protocol"
WRONG_TYPE = "sends a well-formed reply to another question"
HUGE_STRING = "announces a string of 2 GB and goes on sending it"
RESET = "resets the connection"


class FaultyRedis:
    """Listens on a port of its own; `address` is for --redis.

    Replies pass as they come, or suffer `mode`, which may be changed at any
    time; commands always pass, so Redis carries them out.
    """

    def __init__(self, port):
        self.mode = PASS
        self.seconds = 0.0
        self.accepted = 0       # connections
        self._port = port
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self._closed = threading.Event()
        self.address = "127.0.0.1:%d" % self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                peer, _ = self._listener.accept()
            except OSError:
                return
            self.accepted += 1
            threading.Thread(target=self._run, args=(peer,),
                             daemon=True).start()

    def _run(self, peer):
        with peer, socket.socket() as redis:
            try:
                redis.connect(("127.0.0.1", self._port))
                self._relay(peer, redis)
            except OSError:
                pass                    # either side has gone: so do we

    def _relay(self, peer, redis):
        while not self._closed.is_set():
            for ready in select.select([peer, redis], [], [], 0.2)[0]:
                data = ready.recv(65536)
                if not data:
                    return
                if ready is peer:
                    redis.sendall(data)
                elif not self._reply(peer, data):
                    return

    def _reply(self, peer, data):
        """Do to a reply what `mode` says; False to close the connection."""
        mode = self.mode
        if mode == DELAY:
            time.sleep(self.seconds)
        elif mode == DRIP:
            for byte in data:
                peer.sendall(bytes([byte]))
                time.sleep(self.seconds)
            return True
        elif mode == SILENT:
            return True
        elif mode == CUT:
            # No more than part of the first line: two short replies may arrive
            # together, and half of both can be all of the first.
            peer.sendall(data[:min(len(data) // 2, data.find(b"\r\n"))])
            return False
        elif mode == GARBAGE:
            data = b"\x00\xffHTTP/1.1 200 OK\r\n\r\n"
        elif mode == WRONG_TYPE:
            data = b"*2\r\n:1\r\n*0\r\n" * max(1, data.count(b"\r\n:"))
        elif mode == HUGE_STRING:
            peer.sendall(b"$2147483647\r\n")
            while not self._closed.is_set():
                peer.sendall(b"x" * 65536)      # until the server closes
        elif mode == RESET:
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                            b"\x01\x00\x00\x00\x00\x00\x00\x00")
            return False
        peer.sendall(data)
        return True

    def close(self):
        """Listen no more and let go of every connection."""
        self._closed.set()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
