// Shows which of the seven servers answers. The page itself is the same file
// for all of them, so ask for a small answer and read its Server header,
// such as "zerohttpd/2.0 (epoll)".
"use strict";

async function showServer() {
    const response = await fetch("/answer",
                                 { method: "HEAD", cache: "no-store" });
    const server = response.headers.get("Server") || "";
    const [, name] = server.match(/^zerohttpd\/\S+ \((\w+)\)/) || [];
    if (!name)
        return; // a proxy put its own name there: the text in the page holds

    const strong = document.createElement("strong");
    strong.textContent = name;
    document.getElementById("which").replaceChildren(
        "The server that answers you here: ", strong);

    for (const card of document.querySelectorAll("[data-server]"))
        if (card.dataset.server === name)
            card.setAttribute("aria-current", "true");
}

showServer().catch(() => {}); // no answer: the text in the page holds as well
