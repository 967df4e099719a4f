// Deno's own server behind `deno serve`, one event loop. (--parallel would make
// several, and then SIGTERM does not always end it.)
//
//     deno serve --host HOST --port PORT server.js

const pictures = ["iterative", "forking", "threaded", "epoll"];
const quoted = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };
const plain = { "Content-Type": "text/plain" };

function redirect() {
  const picture = pictures[Math.floor(Math.random() * pictures.length)];
  const headers = { Location: `/pictures/${picture}.svg` };
  return new Response(null, { status: 302, headers });
}

function echo(url) {
  const value = url.searchParams.get("value");
  const content = value === null
    ? "<error>no value specified</error>"
    : `<value>${value.replace(/[&<>]/g, (c) => quoted[c])}</value>`;
  const headers = { "Content-Type": "text/xml" };
  return new Response(`<http_test>${content}</http_test>`, { headers });
}

export default {
  fetch(request) {
    const url = new URL(request.url);
    switch (url.pathname) {
      case "/answer":
        return new Response("42", { headers: plain });
      case "/hello":
        return new Response("Hello, World!", { headers: plain });
      case "/redirect":
        return redirect();
      case "/echo":
        return echo(url);
      default:
        return new Response("not found", { status: 404, headers: plain });
    }
  },
};
