// node's cluster module: a primary process that accepts, and workers, each the
// server of ../node, to which it hands connections in turn.
//
//     node cluster.js HOST PORT WORKERS

'use strict';

const cluster = require('node:cluster');
const path = require('node:path');

cluster.setupPrimary({
  exec: path.join(__dirname, '..', 'node', 'server.js'),
  args: process.argv.slice(2, 4),
});
for (let i = 0; i < Number(process.argv[4]); i += 1) {
  cluster.fork();
}
