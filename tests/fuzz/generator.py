"""The requests of differential.py: the same seed makes the same ones."""

import itertools
import random

NEXT = b"GET /next HTTP/1.1\r\nHost: a\r\n\r\n"


class Generator:
    """Makes requests; the same seed makes the same ones."""

    METHODS = [b"GET"] * 6 + [b"HEAD", b"POST", b"POST", b"OPTIONS", b"PUT",
                              b"DELETE", b"PATCH", b"BREW"]
    NAMES = [b"Accept", b"User-Agent", b"Cookie", b"X-Test", b"Content-Type",
             b"Range", b"If-None-Match", b"Connection"]
    CONNECTION = [b"close", b"keep-alive", b"Keep-Alive, x", b"x, close",
                  b"keep-alive, close", b"upgrade"]
    HOSTS = [b"a"] * 40 + [b"a:80", b"[::1]", b"a:b", b"a:1:2", b"a:99999", b"[",
                           b"]", b"[::1", b"::1", b"%zz", b"%41", b""]
    LENGTHS = [b"0", b"3", b"5", b"05", b"+5", b"-1", b"5 ", b"5, 5", b"5,6",
               b"0x5", b"5.0", b"", b"99999999999999999999", b"70000", b"5;",
               b"5 5", b"\x0b5", b"5\x00", b"5\t"]
    VERSIONS = [b"1.1"] * 30 + [b"1.0"] * 8 + [b"1.7", b"2.0"]
    CODINGS = [b"chunked", b"Chunked", b" chunked", b"chunked ",
               b"gzip, chunked", b"chunked, gzip", b"chunked, chunked",
               b"identity", b"gzip", b"xchunked", b"chunked;x", b'"chunked"',
               b"\x0bchunked", b",chunked", b"chunked,", b""]
    SIZES = [b"5", b"05", b"5 ", b" 5", b"5;x", b"5;", b"5;x=\"y\"", b"+5",
             b"0x5", b"5\n", b"G0", b"", b"ffffffffffffffff", b"5;\x00",
             b"10000000000000005", b"11170", b"5\r", b"5;\xe9", b"\xb05",
             b"5 ;x", b"5\t;x", b"5; x = y", b"5;x=\"y;\\\"\"", b"5;x=\"",
             b"5;x ", b"5;x=", b"5;x y", b"\xb05", b"\xff5"]
    BODIES = [b"hello", b"5\r\nhello\n0\r\n\r\n", b"5\r\nhelloX\r\n0\r\n\r\n",
              b"5\r\nhello\r\n0\r\nX: y\r\n\r\n", b"5\r\nhello\r\n0\n\n",
              b"5\r\nhello\r\n0\r\n y\r\n\r\n", b"0\r\n\r\n",
              b"5\r\nhello\r\n0\r\nX: y\r\n z\r\n\r\n", b"5\r\nhello\r\n0\r\nX : y\r\n\r\n",
              b"5\r\nhello\r\n0\r\nX\r\n\r\n",
              b"5\r\nhello\r\n0\r\nTransfer-Encoding: gzip\r\n\r\n",
              b"5\r\nhello\r\n0\r\nContent-Length: x\r\n\r\n",
              b"5\r\nhello\r\n0\r\nConnection: close\r\n\r\n"]
    INTERESTING = [0, 9, 10, 11, 13, 32, 33, 34, 35, 43, 44, 45, 47, 48, 58, 59, 64, 127, 128, 255]

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.hosts = itertools.cycle(self.HOSTS)  # each as often as it stands

    def text(self, alphabet, most):
        return bytes(self.random.choice(alphabet) for _ in range(self.random.randint(0, most)))

    def target(self, method):
        if method == b"OPTIONS" and self.random.random() < 0.5:
            return b"*"
        path = b"/" + self.text(b"abcxyz019-._~%/!$&'()*+,;=:@", 12)
        if self.random.random() < 0.3:
            path += b"?" + self.text(b"abc=&%19/?", 10)
        return path if self.random.random() > 0.06 else b"http://example.org" + path

    def chunks(self, data):
        """The data in chunks of random sizes, with all that may be there."""
        pick, out = self.random.choice, b""
        while data:
            n = self.random.randint(1, len(data))
            out += pick([b"%x", b"%X", b"%04x"]) % n
            out += pick([b"", b"", b";x", b";a=b"]) + b"\r\n" + data[:n] + b"\r\n"
            data = data[n:]
        return out + b"0\r\n" + pick([b"", b"", b"X: y\r\n"]) + b"\r\n"

    def valid(self):
        """A request that RFC 9112 allows, perhaps with another behind it."""
        pick, chance = self.random.choice, self.random.random
        method = pick(self.METHODS)
        minor = 1 if chance() < 0.85 else 0
        fields = [] if minor == 0 and chance() < 0.5 else \
            [b"Host: " + pick([b"a", b"example.org", b"localhost:8000",
                               b"[::1]:80", b""])]
        for _ in range(self.random.randint(0, 4)):
            name = pick(self.NAMES)
            value = pick(self.CONNECTION) if name == b"Connection" else \
                self.text(b"abcdefgh ,;=/\"*0123456789-\t\xc3\xa9", 20)
            fields.append(pick([name, name.lower()]) + b":" +
                          pick([b" ", b"", b"\t", b"  "]) + value + pick([b"", b"", b" "]))
        body = b""
        if chance() < (0.9 if method in (b"POST", b"PUT") else 0.15):
            data = self.text(b"abc\r\n =&%0", 40)
            if minor == 1 and chance() < 0.5:
                fields.append(b"Transfer-Encoding: chunked")
                body = self.chunks(data)
            else:
                fields.append(b"Content-Length: %d" % len(data))
                body = data
        self.random.shuffle(fields)
        end = b"\r\n" if chance() < 0.95 else b"\n"
        return (pick([b""] * 50 + [b"\r\n"]) + method + b" " +
                self.target(method) + b" HTTP/1.%d" % minor + end +
                b"".join(field + end for field in fields) + end + body + pick([b"", b"", NEXT]))

    def mutated(self):
        """A valid request with one to three changes."""
        message = bytearray(self.valid())
        for _ in range(self.random.randint(1, 3)):
            at = self.random.randrange(len(message) + 1)
            byte = self.random.choice(self.INTERESTING + [self.random.randrange(256)])
            kind = self.random.random()
            if kind < 0.3:
                message[at:at + 1] = bytes([byte])
            elif kind < 0.55:
                message[at:at] = bytes([byte])
            elif kind < 0.8:
                del message[at:at + self.random.choice([1, 1, 1, 2, 5])]
            elif kind < 0.92:
                start = self.random.randrange(len(message) + 1)
                message[at:at] = message[start:start + 20]
            else:
                del message[at:]
        return bytes(message)

    def ambiguous(self):
        """A POST whose end depends on who reads it."""
        pick, chance = self.random.choice, self.random.random
        fields = [b"Host: " + next(self.hosts)]
        for _ in range(pick([0, 1, 1, 2])):
            fields.append(pick([b"Content-Length", b"content-length",
                                b"Content-Length ", b"Content_Length"]) +
                          pick([b": ", b":"]) + pick(self.LENGTHS))
        for _ in range(pick([0, 1, 1, 2])):
            fields.append(pick([b"Transfer-Encoding", b"transfer-encoding", b"Transfer-Encoding",
                                pick([b"Transfer-Encoding\t", b"Transfer-Encoding-"])]) +
                          pick([b": ", b":", b":\t"]) + pick(self.CODINGS))
        for field in (b"Host: b", b"Host: a", b"X: y\r\n Content-Length: 5",
                      b"Expect: 100-continue", b"Expect: 200-ok"):
            if chance() < 0.05:
                fields.append(field)
        self.random.shuffle(fields)
        head = (b"POST / HTTP/%b\r\n" % pick(self.VERSIONS) +
                b"".join(field + b"\r\n" for field in fields) + b"\r\n")
        if chance() < 0.15:
            return head + pick(self.SIZES)  # the rest is to come
        body = pick(self.BODIES + [pick(self.SIZES) + b"\r\nhello\r\n0\r\n\r\n"] * 6)
        return head + body + NEXT

    def requests(self, count):
        """Return `count` requests, the three sorts in turn."""
        sorts = itertools.cycle([self.valid, self.mutated, self.ambiguous])
        return [next(sorts)() for _ in range(count)]
