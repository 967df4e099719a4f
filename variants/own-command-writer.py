"""The length of a word counts bytes; a word may look like the protocol."""

REMARKS = ("*1\\r\\n$4\\r\\nPING\\r\\n", "\N{SNOWMAN}" * 999, "$-1", "x")


def check(server):
    for remark in REMARKS:
        signed = server.sign("Writer", remark)
        assert signed.status == 303
        page = server.request("/guestbook")
        assert f"<li>{remark} - Writer</li>" in page.text
