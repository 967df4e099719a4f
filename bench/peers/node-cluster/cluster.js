// node's cluster module: a primary process that accepts, and workers, each the
// server of ../node, to which it hands connections in turn.
//
//     node cluster.js PORT WORKERS

'use strict';

const cluster = require('node:cluster');
const path = require('node:path');

cluster.setupPrimary({
  exec: path.join(__dirname, '..', 'node', 'server.js'),
  args: [process.argv[2]],
});
for (let i = 0; i < Number(process.argv[3]); i += 1) {
  cluster.fork();
}
