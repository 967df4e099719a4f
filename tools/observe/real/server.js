// Asks the backend for each page, or computes for 20 ms. One thread runs all of it; the
// function of a client stands still at `await`, and the loop runs those of the others.
const http = require("node:http");
const [port, backend] = process.argv.slice(2).map(Number);

const ask = () => new Promise((resolve, reject) => {
    http.get({ host: "127.0.0.1", port: backend, agent: false }, (reply) => {
        const parts = [];
        reply.on("data", (part) => parts.push(part));
        reply.on("end", () => resolve(Buffer.concat(parts)));
        reply.on("error", reject);
    }).on("error", reject);
});

function compute() {
    const end = performance.now() + 20;
    while (performance.now() < end);
    return Buffer.from("computed\n");
}

http.createServer(async (request, response) => {
    try {
        response.end(request.url === "/compute" ? compute() : await ask());
    } catch (error) {
        response.writeHead(502).end(`${error.message}\n`);
    }
}).listen(port, "127.0.0.1");
