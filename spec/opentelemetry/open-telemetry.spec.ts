/** Spans and measurements, with the real SDK of OpenTelemetry in memory. */
import { context as contextApi, propagation, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { allowAll, McpError, McpServer, ToolError } from 'express-mcp';
import { openTelemetry } from 'express-mcp/opentelemetry';

const spans = new InMemorySpanExporter();
const tracerProvider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] });
const measurements = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
const reader = new PeriodicExportingMetricReader({ exporter: measurements, exportIntervalMillis: 3_600_000 });
const meterProvider = new MeterProvider({ readers: [reader] });

beforeAll(() => {
  contextApi.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
});
afterAll(async () => {
  await Promise.all([tracerProvider.shutdown(), meterProvider.shutdown()]);
  contextApi.disable();
  propagation.disable();
});
beforeEach(() => spans.reset());

function createServer(): McpServer {
  const server = new McpServer(
    { name: 'traced', version: '1' },
    {
      authorizer: allowAll,
      readAuthorizer: allowAll,
      observer: openTelemetry({ tracerProvider, meterProvider }),
      onError: () => undefined,
    },
  );
  server.registerTool('inside', {}, () => trace.getActiveSpan()?.spanContext().spanId ?? 'none');
  server.registerTool('fails', {}, () => {
    throw new ToolError('no');
  });
  server.registerTool('refuses', {}, () => {
    throw new McpError(4_711, 'not today');
  });
  server.registerTool('breaks', {}, () => {
    throw new Error('secret');
  });
  server.registerPrompt('greet', {}, () => 'Hello');
  server.registerResource('readme', 'file:///readme', {}, () => 'text');
  return server;
}

async function request(method: string, params: object, meta: object = {}): Promise<Record<string, unknown>> {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
    ...meta,
  };
  const response = await createServer().handleMessage({ jsonrpc: '2.0', id: 7, method, params: { ...params, _meta } });
  return response as unknown as Record<string, unknown>;
}

const onlySpan = () => {
  const [span, ...others] = spans.getFinishedSpans();
  expect(others).toEqual([]);
  return span!;
};

describe('a request’s span', () => {
  it('has the name, kind and attributes of the conventions', async () => {
    await request('tools/call', { name: 'inside' });
    expect(onlySpan()).toMatchObject({
      name: 'tools/call inside',
      kind: SpanKind.SERVER,
      status: { code: SpanStatusCode.UNSET },
      attributes: {
        'mcp.method.name': 'tools/call',
        'mcp.protocol.version': '2026-07-28',
        'jsonrpc.request.id': '7',
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': 'inside',
      },
    });
  });

  it('is active in the handler', async () => {
    const { result } = await request('tools/call', { name: 'inside' });
    expect(result).toMatchObject({ content: [{ text: onlySpan().spanContext().spanId }] });
  });

  it('is a child of the caller’s span, and linked to the transport’s', async () => {
    const traceId = '0af7651916cd43dd8448eb211c80319c';
    const transport = tracerProvider.getTracer('http').startSpan('POST /mcp');
    await contextApi.with(trace.setSpan(contextApi.active(), transport), () =>
      request('tools/list', {}, { traceparent: `00-${traceId}-b7ad6b7169203331-01` }),
    );
    const span = onlySpan();
    expect(span.spanContext().traceId).toBe(traceId);
    expect(span.parentSpanContext?.spanId).toBe('b7ad6b7169203331');
    expect(span.links.map((link) => link.context)).toEqual([transport.spanContext()]);
  });

  it('is a child of the transport’s where the caller has none', async () => {
    const transport = tracerProvider.getTracer('http').startSpan('POST /mcp');
    await contextApi.with(trace.setSpan(contextApi.active(), transport), () => request('tools/list', {}));
    expect(onlySpan()).toMatchObject({ links: [], parentSpanContext: { spanId: transport.spanContext().spanId } });
  });

  it.each([
    ['fails', 'tool_error', undefined, undefined],
    ['refuses', '4711', '4711', 'not today'],
    ['breaks', '-32603', '-32603', undefined],
    ['unknown', '-32602', '-32602', 'Unknown tool: unknown'],
  ])('says how a call of %s failed: %s', async (name, type, code, message) => {
    await request('tools/call', { name });
    const { status, attributes } = onlySpan();
    expect(status).toEqual({ code: SpanStatusCode.ERROR, message });
    expect(attributes['error.type']).toBe(type);
    expect(attributes['rpc.response.status_code']).toBe(code);
  });

  it('does not take its name from what does not exist', async () => {
    await request('tools/call', { name: 'invented-by-the-caller' });
    expect(onlySpan().name).toBe('tools/call');
  });

  it('names prompts and resources by their own attributes', async () => {
    await request('prompts/get', { name: 'greet' });
    await request('resources/read', { uri: 'file:///readme' });
    expect(spans.getFinishedSpans()).toMatchObject([
      { name: 'prompts/get greet', attributes: { 'gen_ai.prompt.name': 'greet' } },
      { name: 'resources/read', attributes: { 'mcp.resource.uri': 'file:///readme' } },
    ]);
  });
});

describe('a request’s measurement', () => {
  it('is its duration in seconds, by method, tool and failure', async () => {
    await request('tools/call', { name: 'inside' });
    await request('tools/call', { name: 'fails' });
    await reader.forceFlush();
    const [resource] = measurements.getMetrics().slice(-1);
    const metric = resource?.scopeMetrics[0]?.metrics[0];
    expect(metric?.descriptor).toMatchObject({ name: 'mcp.server.operation.duration', unit: 's' });
    const attributes = metric?.dataPoints.map((point) => point.attributes);
    const call = { 'mcp.method.name': 'tools/call', 'mcp.protocol.version': '2026-07-28' };
    expect(attributes).toContainEqual({ ...call, 'gen_ai.tool.name': 'inside' });
    expect(attributes).toContainEqual({ ...call, 'gen_ai.tool.name': 'fails', 'error.type': 'tool_error' });
  });
});
