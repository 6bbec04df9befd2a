/** Traces and measures every request, by OpenTelemetry's conventions for MCP. */
import { context as contextApi, metrics, propagation, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import type { Attributes, Histogram, Link, MeterProvider, Span, TracerProvider } from '@opentelemetry/api';
import type { CallContext } from '../call-context';
import type { Context } from '../context';
import type { RequestObserver } from '../core';
import { ErrorCode, McpError } from '../protocol/errors';
import { isObject } from '../protocol/json-rpc';

/** Options of {@link openTelemetry}. */
export interface OpenTelemetryOptions {
  /** Makes the spans. @default the global one of `@opentelemetry/api` */
  tracerProvider?: TracerProvider;
  /** Makes the measurements. @default the global one of `@opentelemetry/api` */
  meterProvider?: MeterProvider;
}

const scope = 'express-mcp';

/** Seconds, as the conventions advise for `mcp.server.operation.duration`. */
const durationBuckets = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300];

/**
 * Make an observer that traces and measures every request. The caller's span (`traceparent` in `_meta`) is the parent,
 * and the span that is active here (the HTTP server's, say) is linked; without a caller's span the active one is the parent.
 * Neither arguments nor results are recorded.
 *
 * @example
 * const server = new McpServer({ name: 'weather', version: '1.0.0' }, { observer: openTelemetry() });
 * @see https://github.com/open-telemetry/semantic-conventions-genai/blob/main/docs/gen-ai/mcp.md
 */
export function openTelemetry({ tracerProvider, meterProvider }: OpenTelemetryOptions = {}): RequestObserver {
  const tracer = (tracerProvider ?? trace).getTracer(scope);
  const durations = (meterProvider ?? metrics).getMeter(scope).createHistogram('mcp.server.operation.duration', {
    description: 'How long a request took, until its result was made',
    unit: 's',
    advice: { explicitBucketBoundaries: durationBuckets },
  });

  return {
    async run(context, next) {
      const startedAt = performance.now();
      const ambient = contextApi.active();
      const caller = propagation.extract(ambient, context.meta);
      const attributes = requestAttributes(context);
      const span = tracer.startSpan(
        context.method,
        { kind: SpanKind.SERVER, attributes, links: linksTo(ambient, caller) },
        caller,
      );
      let failure: Failure | undefined;
      try {
        const result = await contextApi.with(trace.setSpan(caller, span), next);
        failure = failureOfResult(result);
        return result;
      } catch (error) {
        failure = failureOfError(error, span);
        throw error;
      } finally {
        end(span, durations, context, failure, (performance.now() - startedAt) / 1_000);
      }
    },
  };
}

function requestAttributes({ method, revision, transport, requestId, sessionId }: Context): Attributes {
  return {
    'mcp.method.name': method,
    'mcp.protocol.version': revision,
    'jsonrpc.request.id': String(requestId),
    ...(sessionId === undefined ? undefined : { 'mcp.session.id': sessionId }),
    ...(method === 'tools/call' ? { 'gen_ai.operation.name': 'execute_tool' } : undefined),
    ...(transport === 'http' ? { 'network.transport': 'tcp', 'network.protocol.name': 'http' } : undefined),
    ...(transport === 'stdio' ? { 'network.transport': 'pipe' } : undefined),
  };
}

/** The transport's span, where the caller's is the parent instead. */
function linksTo(ambient: ReturnType<typeof contextApi.active>, caller: ReturnType<typeof contextApi.active>): Link[] {
  const transportSpan = trace.getSpanContext(ambient);
  const callersSpan = trace.getSpanContext(caller);
  return transportSpan === undefined || transportSpan === callersSpan ? [] : [{ context: transportSpan }];
}

/** How a request failed, in words of low cardinality. */
interface Failure {
  readonly type: string;
  readonly code?: number;
  readonly message?: string;
}

function failureOfResult(result: unknown): Failure | undefined {
  return isObject(result) && result.isError === true ? { type: 'tool_error' } : undefined;
}

function failureOfError(error: unknown, span: Span): Failure {
  const code = error instanceof McpError ? error.code : ErrorCode.InternalError;
  // What the caller is told may be told here; the rest is recorded as the fault that it is.
  if (error instanceof McpError) return { type: String(code), code, message: error.message };
  if (error instanceof Error) span.recordException(error);
  return { type: String(code), code };
}

function end(span: Span, durations: Histogram, context: Context, failure: Failure | undefined, seconds: number): void {
  const { method, revision } = context;
  // Known only now, and only where it exists: an invented name must not become a name of spans.
  const target = targetAttributes(method, (context as CallContext).target?.name);
  const name = target['gen_ai.tool.name'] ?? target['gen_ai.prompt.name'];
  if (name !== undefined) span.updateName(`${method} ${name}`);
  const outcome: Attributes = {
    ...(failure === undefined ? undefined : { 'error.type': failure.type }),
    ...(failure?.code === undefined ? undefined : { 'rpc.response.status_code': String(failure.code) }),
  };
  span.setAttributes({ ...target, ...outcome });
  if (failure !== undefined) span.setStatus({ code: SpanStatusCode.ERROR, message: failure.message });
  span.end();
  const { 'mcp.resource.uri': _, ...lowCardinality } = target;
  durations.record(seconds, {
    'mcp.method.name': method,
    'mcp.protocol.version': revision,
    ...lowCardinality,
    ...outcome,
  });
}

function targetAttributes(method: string, target: string | undefined): Record<string, string> {
  if (target === undefined) return {};
  if (method === 'tools/call') return { 'gen_ai.tool.name': target };
  return method === 'prompts/get' ? { 'gen_ai.prompt.name': target } : { 'mcp.resource.uri': target };
}
