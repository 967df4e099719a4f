// node's own http module; one process with one event loop.
//
//     node server.js HOST PORT

'use strict';

const http = require('node:http');

const pictures = ['iterative', 'forking', 'threaded', 'epoll'];
const quoted = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

function send(res, status, headers, body) {
  res.writeHead(status, { ...headers, 'Content-Length': Buffer.byteLength(body) });
  res.end(body);
}

function redirect(res) {
  const picture = pictures[Math.floor(Math.random() * pictures.length)];
  send(res, 302, { Location: `/pictures/${picture}.svg` }, '');
}

function echo(res, query) {
  const value = new URLSearchParams(query).get('value');
  const content = value === null
    ? '<error>no value specified</error>'
    : `<value>${value.replace(/[&<>]/g, (c) => quoted[c])}</value>`;
  send(res, 200, { 'Content-Type': 'text/xml' }, `<http_test>${content}</http_test>`);
}

function handle(req, res) {
  const [path, query] = req.url.split('?', 2);
  switch (path) {
    case '/answer':
      return send(res, 200, { 'Content-Type': 'text/plain' }, '42');
    case '/hello':
      return send(res, 200, { 'Content-Type': 'text/plain' }, 'Hello, World!');
    case '/redirect':
      return redirect(res);
    case '/echo':
      return echo(res, query);
    default:
      return send(res, 404, { 'Content-Type': 'text/plain' }, 'not found');
  }
}

// After five seconds, its own value, a server that is behind closes connections whose next
// request it has not read yet. nginx waits for 65 seconds, too.
http.createServer({ keepAliveTimeout: 65000 }, handle).listen({
  host: process.argv[2], port: Number(process.argv[3]), backlog: 4096,
});
