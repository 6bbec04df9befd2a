/** Reads a Server-Sent Events body, message by message. */
import { createParser } from 'eventsource-parser';
import type { JsonRpcMessage } from '../protocol/types';

/** Longest event that is read, in characters. */
const maxEventLength = 64 * 1024 * 1024;

/** The messages of a stream, in order, until it ends. Leaving the loop cancels the body. */
export async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<JsonRpcMessage, void> {
  let messages: JsonRpcMessage[] = [];
  let failure: Error | undefined;
  const parser = createParser({
    maxBufferSize: maxEventLength,
    onEvent({ data }) {
      // Without data: a place to resume from, nothing to read.
      if (data !== '') messages.push(JSON.parse(data) as JsonRpcMessage);
    },
    onError(error) {
      failure = error;
    },
  });
  const decoder = new TextDecoder('utf-8', { fatal: true });
  for await (const chunk of body as unknown as AsyncIterable<Uint8Array>) {
    parser.feed(decoder.decode(chunk, { stream: true }));
    if (failure !== undefined) throw failure;
    const ready = messages;
    messages = [];
    yield* ready;
  }
}
