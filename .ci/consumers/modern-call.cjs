// One `tools/call` of revision 2026-07-28, as a message and as the fetch options that carry it.
'use strict';

const protocolVersion = '2026-07-28';

exports.modernCall = function modernCall(name, args) {
  return {
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: {
      name,
      arguments: args,
      _meta: {
        'io.modelcontextprotocol/protocolVersion': protocolVersion,
        'io.modelcontextprotocol/clientInfo': { name: 'consumer', version: '1.0.0' },
        'io.modelcontextprotocol/clientCapabilities': {},
      },
    },
  };
};

exports.fetchOptions = function fetchOptions(message) {
  return {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
      'MCP-Protocol-Version': protocolVersion,
      'Mcp-Method': message.method,
      'Mcp-Name': message.params.name,
    },
    body: JSON.stringify(message),
  };
};
