"""What a guest does: reads the page, signs it."""

import dataclasses
import html
import re
from urllib.parse import quote_from_bytes

URLENCODED = ("Content-Type", "application/x-www-form-urlencoded")
PLACEHOLDERS = ["GUEST_REMARKS", "VISITOR_COUNT", "MESSAGE", "GUEST_NAME",
                "GUEST_TEXT", "SERVER"]
_PLACEHOLDER = re.compile(r"\$(" + "|".join(PLACEHOLDERS) + r")\$")


def encode(text):
    """Text (or bytes) as the value of an urlencoded field."""
    data = text if isinstance(text, bytes) else text.encode()
    return quote_from_bytes(data, safe="").replace("%20", "+")


def form(name, remark):
    """The body that a browser sends for the guestbook's form."""
    return f"guest-name={encode(name)}&guest-remarks={encode(remark)}".encode()


@dataclasses.dataclass
class Page:
    """What stands in the placeholders of a guestbook page."""

    remarks: list       # as the reader sees them, newest first
    raw_remarks: str    # the same as HTML
    visitors: int
    message: str        # the sentence, "" if there is none
    kind: str           # "ok", "error" or ""
    name: str           # what the form is filled in with
    text: str
    server: str


def read_page(template, text):
    """Take a page apart along its template.

    Everything that is no placeholder must stand there as in the template;
    AssertionError if not.
    """
    pattern, seen = "", set()
    for i, part in enumerate(_PLACEHOLDER.split(template)):
        if i % 2 == 0:
            pattern += re.escape(part)
        elif part in seen:
            pattern += f"(?P={part})"
        else:
            seen.add(part)
            pattern += f"(?P<{part}>.*)"
    match = re.fullmatch(pattern, text, re.DOTALL)
    assert match, f"this is not the template, filled in:\n{text}"
    values = match.groupdict()
    raw = values["GUEST_REMARKS"]
    items = re.findall(r"<li>(.*?)</li>", raw, re.DOTALL)
    assert not re.sub(r"<li>.*?</li>", "", raw, flags=re.DOTALL).strip()
    message = re.fullmatch(
        r'(?:<p class="message (ok|error)" role="status">(.+)</p>)?',
        values["MESSAGE"], re.DOTALL)
    assert message, values["MESSAGE"]
    return Page(
        remarks=[html.unescape(item) for item in items], raw_remarks=raw,
        visitors=int(values["VISITOR_COUNT"]), message=message[2] or "",
        kind=message[1] or "", name=html.unescape(values["GUEST_NAME"]),
        text=html.unescape(values["GUEST_TEXT"]), server=values["SERVER"])


class Guest:
    """A guest of one server: `template` is the text of the site's template."""

    def __init__(self, server, template):
        self.server = server
        self.template = template

    def read(self, query="", status=200):
        """Fetch the page and take it apart."""
        response = self.server.request("/guestbook" + query)
        assert response.status == status
        return read_page(self.template, response.text)

    def post(self, body, fields=(URLENCODED,)):
        """Send a form as it is."""
        return self.server.request("/guestbook", "POST", fields, body)

    def sign(self, name, remark):
        """Fill in the form and send it."""
        return self.post(form(name, remark))

    def refused(self, name, remark):
        """Sign so that it is refused; return the page that says why."""
        response = self.sign(name, remark)
        assert response.status == 400
        page = read_page(self.template, response.text)
        assert page.kind == "error"
        return page
