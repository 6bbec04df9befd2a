// node -r esbuild-register examples/client.ts
/** A client: connects to a running examples/hello.ts (or to the URL given), lists its tools and calls one. */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

const url = process.argv[2] ?? `http://127.0.0.1:${process.env.PORT ?? 3000}/mcp`;

async function main(): Promise<void> {
  // 'auto' asks for 2026-07-28 and falls back to initialize where the server is older.
  const client = new Client({ name: 'client', version: '1.0.0' }, { versionNegotiation: { mode: 'auto' } });
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  console.log(`${url} speaks ${client.getNegotiatedProtocolVersion()}`);

  const { tools } = await client.listTools();
  for (const { name, description } of tools) console.log(`- ${name}: ${description}`);

  const { content } = await client.callTool({ name: 'get_weather', arguments: { city: 'Oslo' } });
  for (const block of content) if (block.type === 'text') console.log(block.text);
  await client.close();
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
