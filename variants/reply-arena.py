"""Replies that fill more than one block of the arena, and small ones again."""

REMARK = "\N{SNOWMAN}" * 1000       # the longest: 3,000 bytes
COUNT = 25                          # of these: more than two blocks


def check(server):
    for _ in range(COUNT):
        signed = server.sign("Arena", REMARK)
        assert signed.status == 303
    for _ in range(3):
        page = server.request("/guestbook")
        assert page.status == 200
        assert page.text.count(REMARK) >= COUNT
