/** The package entry `express-mcp/testing`: a client for the tests of your own server. */
export { connect } from './connect';
export type { ConnectOptions, ConnectTarget } from './connect';
export type { CallOptions, Progress } from './conversation';
export { HttpStatusError } from './http-status-error';
export type { Listening, ServerDescription, TestClient } from './test-client';
