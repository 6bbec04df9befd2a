/** `express-mcp/opentelemetry`: a span and a measurement for every request. */
export { openTelemetry } from './open-telemetry';
export type { OpenTelemetryOptions } from './open-telemetry';
