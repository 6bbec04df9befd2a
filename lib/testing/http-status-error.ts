/** An HTTP answer that is no success. */

/** What HTTP said: thrown as it is where the body is no JSON-RPC error, else the `cause` of the `McpError`. */
export class HttpStatusError extends Error {
  override readonly name = 'HttpStatusError';
  constructor(
    readonly status: number,
    /** By lower-case name. */
    readonly headers: Readonly<Record<string, string>>,
    /** As text. */
    readonly body: string,
  ) {
    super(`HTTP ${status}${body === '' ? '' : `: ${body.length > 200 ? `${body.slice(0, 200)}…` : body}`}`);
  }
}
