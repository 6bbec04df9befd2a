/** The package entry `express-mcp/stdio`: the same server over standard input and output. */
export { serveStdio } from './serve-stdio';
export type { StdioOptions, StdioServer } from './serve-stdio';
