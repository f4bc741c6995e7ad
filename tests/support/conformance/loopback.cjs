// Loaded into the conformance suite before its own code: its servers would listen on all interfaces of the machine.
//
// The hook sits where Node binds, not at `listen`: a host given there is looked up first, and the suite reads the port
// in the same turn. It has no documented name, so that another Node than the pinned one is refused where it lacks it.
'use strict';

const { Server } = require('node:net');

const bind = Server.prototype._listen2;
if (typeof bind !== 'function') {
  throw new Error('this Node binds in another way: the servers of the suite would not stay on loopback');
}

Server.prototype._listen2 = function (address, port, family, ...rest) {
  const isPipe = port === -1;
  return isPipe ? bind.call(this, address, port, family, ...rest) : bind.call(this, '127.0.0.1', port, 4, ...rest);
};
