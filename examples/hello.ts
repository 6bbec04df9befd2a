// node -r esbuild-register examples/hello.ts
/** A server with two tools. It needs no login and no authorizer as long as only this machine calls. */
import express from 'express';
import { McpServer, mcpRouter, ToolError } from 'express-mcp';
import * as z from 'zod';

const port = Number(process.env.PORT ?? 3000);
const url = `http://127.0.0.1:${port}/mcp`;
const weather = new Map(Object.entries({ Paris: 'sunny, 24 °C', London: 'rain, 15 °C', Oslo: 'snow, -3 °C' }));

const server = new McpServer({ name: 'hello', version: '1.0.0' });

const echo = server.registerTool(
  'echo',
  { description: 'Say it back', inputSchema: z.object({ text: z.string() }) },
  ({ text }) => text,
);

const getWeather = server.registerTool(
  'get_weather',
  { description: 'Current weather of a city', inputSchema: z.object({ city: z.string() }) },
  ({ city }) => {
    const found = weather.get(city);
    // The model reads this, and can try again with a city that is known.
    if (found === undefined) throw new ToolError(`No weather for ${city}; try ${[...weather.keys()].join(', ')}`);
    return `${city}: ${found}`;
  },
);

const app = express();
app.use('/mcp', mcpRouter(server));
app.listen(port, '127.0.0.1', (error) => {
  if (error) {
    process.exitCode = 1;
    return console.error(`${error.message}\nAnother port: PORT=3001 npm start`);
  }
  console.log(`MCP endpoint: ${url}\nTools: ${echo.name}, ${getWeather.name}\n`);
  console.log(`Call one:\n\n${curl(getWeather.name, { city: 'Paris' })}\n`);
  console.log('Only this machine is served until you decide who may call: new McpServer(…, { authorizer }).');
});

/** A call of 2026-07-28 for the command line: all it needs is in the one request. */
function curl(name: string, args: object): string {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'curl', version: '1.0.0' },
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args, _meta } };
  const headers = {
    'Content-Type': 'application/json',
    Accept: 'application/json, text/event-stream',
    'MCP-Protocol-Version': '2026-07-28',
    'Mcp-Method': body.method,
    'Mcp-Name': name,
  };
  const lines = Object.entries(headers).map(([header, value]) => `  -H '${header}: ${value}'`);
  return [`curl -sS ${url}`, ...lines, `  -d '${JSON.stringify(body)}'`].join(' \\\n');
}
