"""Lengths, codings and chunks."""

from tests.blackbox.compliance.make import (CHUNKED, Case, EMPTY, FIVE, FORM, OTHER,
    chunks, get, head, last, post, refused, served, sign, signed_in_chunks, smuggle,
    waits)

LENGTHS = {
    "RFC9112-6.1-CL-NON-NUMERIC": Case(
        "letters", post(b"Content-Length: abc"), refused(), "9112, 6.3"),
    "RFC9112-6.1-CL-PLUS-SIGN": Case(
        "a plus sign", post(b"Content-Length: +5", body=b"hello"), refused(),
        "9110, 8.6"),
    "COMP-POST-CL-BODY": Case(
        "content as long as the length says",
        sign(b"Content-Length: %d" % len(FORM), body=FORM), served(303), "9112, 6.2"),
    "COMP-POST-CL-ZERO": Case(
        "no content and a length of 0", post(b"Content-Length: 0"),
        served(405), "9112, 6.2", "POST to a page that takes none"),
    "COMP-POST-NO-CL-NO-TE": Case(
        "no content and no length", post(), served(405), "9112, 6.3",
        "POST to a page that takes none"),
    "COMP-POST-CL-UNDERSEND": Case(
        "less content than the length says", post(b"Content-Length: 10", body=b"hello"),
        waits(), "9112, 8"),
    "COMP-GET-WITH-CL-BODY": Case(
        "GET with content", get(FIVE) + b"hello", served(), "9110, 9.3.1",
        "content of GET, HEAD and OPTIONS"),
    "SMUG-HEAD-CL-BODY": Case(
        "HEAD with content", head(b"HEAD /answer HTTP/1.1", FIVE) + b"hello",
        served(), "9110, 9.3.2", "content of GET, HEAD and OPTIONS"),
    "SMUG-OPTIONS-CL-BODY": Case(
        "OPTIONS with content", head(b"OPTIONS /answer HTTP/1.1", FIVE) + b"hello",
        served(204), "9110, 9.3.7", "content of GET, HEAD and OPTIONS"),
    "SMUG-GET-CL-BODY-DESYNC": Case(
        "the content of GET is no request",
        get(b"Content-Length: %d" % len(OTHER)) + OTHER, served(), "9110, 9.3.1",
        "content of GET, HEAD and OPTIONS"),
    "SMUG-GET-CL-PREFIX-DESYNC": Case(
        "the content of GET is no beginning of a request",
        get(b"Content-Length: %d" % len(OTHER[:-2])) + OTHER, served(), "9110, 9.3.1",
        "content of GET, HEAD and OPTIONS"),
    "SMUG-OPTIONS-CL-BODY-DESYNC": Case(
        "the content of OPTIONS is no request",
        head(b"OPTIONS /answer HTTP/1.1", b"Content-Length: %d" % len(OTHER)) + OTHER,
        served(204), "9110, 9.3.7", "content of GET, HEAD and OPTIONS"),
    "SMUG-CL0-BODY-POISON": Case(
        "a byte after content of length 0 starts the next request",
        post(b"Content-Length: 0", body=b"X"), served(405, then=501), "9112, 6.2",
        "POST to a page that takes none"),
    "MAL-CL-OVERFLOW": Case(
        "a number beyond 64 bits", post(b"Content-Length: 99999999999999999999"),
        refused(413), "9110, 8.6", "more than a limit"),
    "MAL-POST-CL-HUGE-NO-BODY": Case(
        "more content than any page takes", post(b"Content-Length: 999999999"),
        refused(413), "9110, 15.5.14", "more than a limit"),
    "MAL-CL-EMPTY": Case(
        "an empty value", post(b"Content-Length: "), refused(), "9110, 8.6"),
    "MAL-CL-TAB-BEFORE-VALUE": Case(
        "a tab before the number", post(b"Content-Length:\t5", body=b"hello"),
        served(405), "9110, 5.5", "white space around a value"),
    "SMUG-CL-EXTRA-LEADING-SP": Case(
        "two spaces before the number", post(b"Content-Length:  5", body=b"hello"),
        served(405), "9110, 5.5", "white space around a value"),
    "SMUG-CL-TRAILING-SPACE": Case(
        "a space after the number", post(b"Content-Length: 5 ", body=b"hello"),
        served(405), "9110, 5.5", "white space around a value"),
    "SMUG-CL-LEADING-ZEROS": Case(
        "zeros before the number", post(b"Content-Length: 005", body=b"hello"),
        served(405), "9110, 8.6", "zeros before a number"),
    "SMUG-CL-DOUBLE-ZERO": Case(
        "two zeros", post(b"Content-Length: 00"), served(405), "9110, 8.6",
        "zeros before a number"),
    "SMUG-CL-LEADING-ZEROS-OCTAL": Case(
        "a zero before the number does not make it octal",
        post(b"Content-Length: 0200", body=200 * b"A"), served(405), "9110, 8.6",
        "zeros before a number"),
    "SMUG-CL-NEGATIVE": Case(
        "a negative number", post(b"Content-Length: -1"), refused(), "9110, 8.6"),
    "SMUG-CL-NEGATIVE-ZERO": Case(
        "a sign before zero", post(b"Content-Length: -0"), refused(), "9110, 8.6"),
    "SMUG-CL-OCTAL": Case(
        "an octal number", post(b"Content-Length: 0o5", body=b"hello"), refused(),
        "9110, 8.6"),
    "SMUG-CL-HEX-PREFIX": Case(
        "a hexadecimal number", post(b"Content-Length: 0x5", body=b"hello"),
        refused(), "9110, 8.6"),
    "SMUG-CL-UNDERSCORE": Case(
        "an underscore in the number", post(b"Content-Length: 1_0",
                                            body=b"helloworld"),
        refused(), "9110, 8.6"),
    "SMUG-CL-INTERNAL-SPACE": Case(
        "a space in the number", post(b"Content-Length: 1 0", body=b"hello12345"),
        refused(), "9110, 8.6"),
    "SMUG-DUPLICATE-CL": Case(
        "two lengths", post(FIVE, b"Content-Length: 10", body=b"helloworld"),
        refused(), "9112, 6.3"),
    "SMUG-CL-COMMA-DIFFERENT": Case(
        "a list of two lengths", post(b"Content-Length: 5, 10", body=b"hello"),
        refused(), "9112, 6.3"),
    "SMUG-CL-COMMA-SAME": Case(
        "a list of the same length", post(b"Content-Length: 5, 5", body=b"hello"),
        refused(), "9110, 8.6"),
    "SMUG-CL-COMMA-TRIPLE": Case(
        "a list of three", post(b"Content-Length: 5, 5, 5", body=b"hello"),
        refused(), "9110, 8.6"),
    "SMUG-DUPLICATE-CL-SMUGGLED-GET": Case(
        "two lengths, between which there is a request",
        smuggle(b"Content-Length: 4", b"Content-Length: LENGTH", before=b"PING"),
        refused(), "9112, 6.3"),
    "NORM-UNDERSCORE-CL": Case(
        "a name with an underscore is another name",
        post(b"Content-Length: 11", b"Content_Length: 99", body=b"hello world"),
        served(405), "9110, 5.1"),
    "NORM-SP-BEFORE-COLON-CL": Case(
        "a space before the colon of a length",
        post(b"Content-Length: 11", b"Content-Length : 5", body=b"hello world"),
        refused(), "9112, 5.1"),
    "NORM-TAB-IN-NAME": Case(
        "a tab in the name",
        post(b"Content-Length: 11", b"Content\tLength: 99", body=b"hello world"),
        refused(), "9110, 5.1"),
    "COMP-NO-1XX-HTTP10": Case(
        "no interim answer to HTTP/1.0",
        sign(b"Expect: 100-continue", b"Content-Length: %d" % len(FORM), body=FORM,
             version=b"1.0"), last(303), "9110, 15.2"),
    "SMUG-EXPECT-100-CL": Case(
        "content sent without waiting for the 100",
        sign(b"Content-Length: %d" % len(FORM), b"Expect: 100-continue", body=FORM),
        served(303), "9110, 10.1.1"),
    "SMUG-EXPECT-100-CL-DESYNC": Case(
        "that content is no request",
        post(b"Content-Length: %d" % len(OTHER), b"Expect: 100-continue", body=OTHER),
        served(405), "9110, 10.1.1", "POST to a page that takes none"),
}

# Codings, alone and against a length

CODINGS = {
    "COMP-UNKNOWN-TE-501": Case(
        "a coding that is not chunked", post(b"Transfer-Encoding: gzip"),
        refused(400, 501), "9112, 6.3"),
    "SMUG-TE-NOT-FINAL-CHUNKED": Case(
        "chunked is not the last",
        post(b"Transfer-Encoding: chunked, gzip", body=EMPTY), refused(), "9112, 6.3"),
    "SMUG-CL-TE-BOTH": Case(
        "a length before chunked",
        post(b"Content-Length: 15", CHUNKED, body=b"5\r\nhello\r\n" + EMPTY),
        refused(), "9112, 6.1"),
    "SMUG-CLTE-PIPELINE": Case(
        "a length that is shorter than the chunks",
        post(b"Content-Length: 4", CHUNKED, body=EMPTY), refused(), "9112, 6.1"),
    "SMUG-TECL-PIPELINE": Case(
        "a length that is longer than the chunks",
        post(CHUNKED, b"Content-Length: 30", body=EMPTY), refused(), "9112, 6.1"),
    "SMUG-CLTE-CONN-CLOSE": Case(
        "a length that is as long as the chunks, first",
        post(FIVE, CHUNKED, body=EMPTY), refused(), "9112, 6.1"),
    "SMUG-TECL-CONN-CLOSE": Case(
        "a length that is as long as the chunks, last",
        post(CHUNKED, FIVE, body=EMPTY), refused(), "9112, 6.1"),
    "SMUG-CLTE-DESYNC": Case(
        "a length that is a byte longer", post(b"Content-Length: 6", CHUNKED,
                                               body=EMPTY + b"X"),
        refused(), "9112, 6.1"),
    "SMUG-TECL-DESYNC": Case(
        "a byte behind the chunks and a longer length",
        post(CHUNKED, b"Content-Length: 30", body=EMPTY + b"X"), refused(),
        "9112, 6.1"),
    "SMUG-CLTE-SMUGGLED-GET": Case(
        "a request behind the chunks", smuggle(b"Content-Length: LENGTH", CHUNKED),
        refused(), "9112, 6.1"),
    "SMUG-CLTE-SMUGGLED-HEAD": Case(
        "a HEAD behind the chunks",
        smuggle(b"Content-Length: LENGTH", CHUNKED,
                other=OTHER.replace(b"GET", b"HEAD")),
        refused(), "9112, 6.1"),
    "SMUG-CLTE-SMUGGLED-GET-CL-PLUS": Case(
        "the same, the length with a sign",
        smuggle(b"Content-Length: LENGTH", CHUNKED, length=b"+%d"), refused(),
        "9112, 6.1"),
    "SMUG-CLTE-SMUGGLED-GET-CL-NON-NUMERIC": Case(
        "the same, the length with a letter",
        smuggle(b"Content-Length: LENGTH", CHUNKED, length=b"%dx"), refused(),
        "9112, 6.1"),
    "SMUG-CLTE-SMUGGLED-GET-TE-OBS-FOLD": Case(
        "the same, chunked on a folded line",
        smuggle(b"Transfer-Encoding:\r\n chunked", b"Content-Length: LENGTH"),
        refused(), "9112, 5.2"),
    "SMUG-CLTE-SMUGGLED-GET-TE-TRAILING-SPACE": Case(
        "the same, a space behind chunked",
        smuggle(b"Content-Length: LENGTH", CHUNKED + b" "), refused(), "9112, 6.1"),
    "SMUG-CLTE-SMUGGLED-GET-TE-LEADING-COMMA": Case(
        "the same, a comma before chunked",
        smuggle(b"Content-Length: LENGTH", b"Transfer-Encoding: , chunked"),
        refused(), "9112, 6.1"),
    "SMUG-CLTE-SMUGGLED-GET-TE-CASE-MISMATCH": Case(
        "the same, chunked with a capital",
        smuggle(b"Content-Length: LENGTH", b"Transfer-Encoding: Chunked"), refused(),
        "9112, 6.1"),
    "SMUG-TECL-SMUGGLED-GET": Case(
        "a request behind the chunks, the length last",
        smuggle(CHUNKED, b"Content-Length: LENGTH"), refused(), "9112, 6.1"),
    "SMUG-TE-DUPLICATE-HEADERS-SMUGGLED-GET": Case(
        "the same, with two codings",
        smuggle(CHUNKED, b"Transfer-Encoding: identity", b"Content-Length: LENGTH"),
        refused(), "9112, 6.1"),
    "SMUG-OPTIONS-TE-OBS-FOLD": Case(
        "the same for OPTIONS, chunked on a folded line",
        head(b"OPTIONS /answer HTTP/1.1", b"Transfer-Encoding:\r\n chunked", FIVE)
        + b"hello", refused(), "9112, 5.2"),
    "SMUG-TE-DUPLICATE-HEADERS": Case(
        "two codings and a length",
        post(CHUNKED, b"Transfer-Encoding: identity", FIVE, body=b"hello"),
        refused(), "9112, 6.1"),
    "SMUG-TE-HTTP10": Case(
        "chunked in HTTP/1.0",
        post(CHUNKED, FIVE, body=b"hello", line=b"POST /answer HTTP/1.0"), refused(),
        "9112, 6.1"),
    "SMUG-TE-OBS-FOLD": Case(
        "chunked on a folded line",
        post(b"Transfer-Encoding:\r\n chunked", FIVE, body=b"hello"), refused(),
        "9112, 5.2"),
    "SMUG-TE-SP-BEFORE-COLON": Case(
        "a space before the colon",
        post(b"Transfer-Encoding : chunked", FIVE, body=b"hello"), refused(),
        "9112, 5.1"),
    **{name: Case(what, post(b"Transfer-Encoding:" + value, FIVE, body=b"hello"),
                  refused(), "9112, 6.1")
       for name, what, value in [
           ("SMUG-TE-XCHUNKED", "not quite chunked", b" xchunked"),
           ("SMUG-TE-TRAILING-SPACE", "a space behind chunked", b" chunked "),
           ("SMUG-TE-TAB-BEFORE-VALUE", "a tab before chunked", b"\tchunked"),
           ("SMUG-TE-DOUBLE-CHUNKED", "chunked twice", b" chunked, chunked"),
           ("SMUG-TE-CASE-MISMATCH", "chunked with a capital", b" Chunked"),
           ("SMUG-TE-LEADING-COMMA", "a comma before chunked", b" , chunked"),
           ("SMUG-TE-TRAILING-COMMA", "a comma behind chunked", b" chunked,"),
           ("SMUG-TE-EMPTY-VALUE", "an empty value", b" "),
           ("SMUG-TE-IDENTITY", "identity, which is no longer a coding", b" identity"),
           ("SMUG-TE-VTAB", "a vertical tab before chunked", b" \x0bchunked"),
           ("SMUG-TE-FORMFEED", "a form feed before chunked", b" \x0cchunked"),
           ("SMUG-TE-NULL", "NUL behind chunked", b" chunked\0"),
           ("SMUG-CHUNKED-WITH-PARAMS", "chunked with a parameter",
            b" chunked;ext=val")]},
    "SMUG-TRANSFER_ENCODING": Case(
        "a name with an underscore is another name",
        post(b"Transfer_Encoding: chunked", FIVE, body=b"hello"), served(405),
        "9110, 5.1", "unknown fields"),
    "NORM-UNDERSCORE-TE": Case(
        "the same with more content",
        post(b"Content-Length: 11", b"Transfer_Encoding: chunked",
             body=b"hello world"), served(405), "9110, 5.1"),
    "NORM-CASE-TE": Case(
        "the name in capitals is the same name",
        post(b"Content-Length: 11", b"TRANSFER-ENCODING: chunked",
             body=b"hello world"), refused(), "9110, 5.1"),
}

# Chunks

CHUNKS = {
    "COMP-CHUNKED-BODY": Case(
        "one chunk", signed_in_chunks(), served(303), "9112, 7.1"),
    "COMP-CHUNKED-MULTI": Case(
        "two chunks",
        sign(CHUNKED, body=b"5\r\n%b\r\n%x\r\n%b\r\n" % (
            FORM[:5], len(FORM) - 5, FORM[5:]) + EMPTY), served(303), "9112, 7.1"),
    "COMP-CHUNKED-EMPTY": Case(
        "the last chunk only", chunks(EMPTY), served(405), "9112, 7.1",
        "POST to a page that takes none"),
    "COMP-CHUNKED-NO-FINAL": Case(
        "no last chunk", chunks(b"5\r\nhello\r\n"), waits(), "9112, 8"),
    "COMP-CHUNKED-EXTENSION": Case(
        "an extension", signed_in_chunks(b"%x;ext=value" % len(FORM)), served(303),
        "9112, 7.1.1"),
    "COMP-CHUNKED-TRAILER-VALID": Case(
        "a trailer", signed_in_chunks(end=b"0\r\nX-Checksum: abc\r\n\r\n"),
        served(303), "9112, 7.1.2"),
    "COMP-CHUNKED-HEX-UPPERCASE": Case(
        "a size in capitals",
        sign(CHUNKED, body=b"A\r\n%b\r\n%x\r\n%b\r\n" % (
            FORM[:10], len(FORM) - 10, FORM[10:]) + EMPTY), served(303), "9112, 7.1"),
    **{name: Case(f"a trailer that belongs in the head: {line.decode()}",
                  signed_in_chunks(end=b"0\r\n" + line + b"\r\n\r\n"), served(303),
                  "9110, 6.5.1", "trailers")
       for name, line in [
           ("SMUG-TRAILER-CL", b"Content-Length: 50"),
           ("SMUG-TRAILER-TE", b"Transfer-Encoding: chunked"),
           ("SMUG-TRAILER-HOST", b"Host: evil.example.com"),
           ("SMUG-TRAILER-AUTH", b"Authorization: Bearer evil"),
           ("SMUG-TRAILER-CONTENT-TYPE", b"Content-Type: text/evil")]},
    **{name: Case(what, chunks(data), refused(), section)
       for name, what, data, section in [
           ("SMUG-CHUNK-BARE-SEMICOLON", "a semicolon without extension",
            b"5;\r\nhello\r\n" + EMPTY, "9112, 7.1.1"),
           ("SMUG-CHUNK-EXT-INVALID-TOKEN", "a bracket in an extension's name",
            b"5;bad[=x\r\nhello\r\n" + EMPTY, "9112, 7.1.1"),
           ("SMUG-CHUNK-EXT-CTRL", "NUL in an extension",
            b"5;\0ext\r\nhello\r\n" + EMPTY, "9112, 7.1.1"),
           ("SMUG-CHUNK-EXT-CR", "CR alone in an extension",
            b"5;a\rX\r\nhello\r\n" + EMPTY, "9112, 7.1.1"),
           ("SMUG-CHUNK-EXT-LF", "LF alone ends a size line with extension",
            b"5;\nhello\r\n" + EMPTY, "9112, 7.1.1"),
           ("SMUG-CHUNK-UNDERSCORE", "an underscore in a size",
            b"1_0\r\nhello world!!!!!\r\n" + EMPTY, "9112, 7.1"),
           ("SMUG-CHUNK-HEX-PREFIX", "0x before a size",
            b"0x5\r\nhello\r\n" + EMPTY, "9112, 7.1"),
           ("SMUG-CHUNK-SIZE-PLUS", "a sign before a size",
            b"+5\r\nhello\r\n" + EMPTY, "9112, 7.1"),
           ("SMUG-CHUNK-NEGATIVE", "a negative size",
            b"-1\r\nhello\r\n" + EMPTY, "9112, 7.1"),
           ("SMUG-CHUNK-LEADING-SP", "a space before a size",
            b" 5\r\nhello\r\n" + EMPTY, "9112, 7.1"),
           ("SMUG-CHUNK-SIZE-TRAILING-OWS", "a space behind a size",
            b"5 \r\nhello\r\n" + EMPTY, "9112, 7.1"),
           ("SMUG-CHUNK-MISSING-TRAILING-CRLF", "data without its line end",
            b"5\r\nhello" + EMPTY, "9112, 7.1"),
           ("SMUG-CHUNK-SPILL", "more data than its size",
            b"5\r\nhello!!\r\n" + EMPTY, "9112, 7.1"),
           ("SMUG-CHUNK-LF-TERM", "LF alone ends the data",
            b"5\r\nhello\n" + EMPTY, "9112, 7.1"),
           ("SMUG-CHUNK-LF-TRAILER", "LF alone ends the trailers",
            b"5\r\nhello\r\n0\r\n\n", "9112, 7.1"),
           ("SMUG-CHUNK-BARE-CR-TERM", "CR alone ends a size line",
            b"5\rhello\r\n" + EMPTY, "9112, 2.2"),
           ("SMUG-CHUNK-INVALID-SIZE-DESYNC", "a sign before the size of the last",
            b"+0\r\n\r\nX", "9112, 7.1")]},
    "MAL-CHUNK-SIZE-OVERFLOW": Case(
        "a size beyond 64 bits", chunks(b"FFFFFFFFFFFFFFFF0\r\nhello\r\n" + EMPTY),
        refused(413), "9112, 7.1", "more than a limit"),
    "MAL-CHUNK-EXT-64K": Case(
        "an extension of 64 KB",
        chunks(b"5;ext=" + 65_536 * b"a" + b"\r\nhello\r\n" + EMPTY), refused(413),
        "9112, 7.1.1", "more than a limit"),
}
