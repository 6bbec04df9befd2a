/** Answers the server's questions with the callbacks that `connect` was given. */
import { isObject } from '../protocol/json-rpc';
import type {
  ClientCapabilities,
  CreateMessageRequestParams,
  CreateMessageResult,
  ElicitRequestParams,
  ElicitResult,
  Root,
} from '../protocol/types';

/** Who answers what. */
export interface Callbacks {
  /** Answers as the user would: a form (`params.requestedSchema`) or a page to open (`params.url`). */
  onElicit?: (params: ElicitRequestParams) => ElicitResult | Promise<ElicitResult>;
  /** Answers as the client's model would. */
  onSample?: (params: CreateMessageRequestParams) => CreateMessageResult | Promise<CreateMessageResult>;
  /** The client's roots. */
  onListRoots?: () => Root[] | Promise<Root[]>;
}

/** What a client with these callbacks can be asked. */
export function capabilitiesOf({ onElicit, onSample, onListRoots }: Callbacks): ClientCapabilities {
  return {
    ...(onElicit && { elicitation: { form: {}, url: {} } }),
    ...(onSample && { sampling: { tools: {} } }),
    ...(onListRoots && { roots: {} }),
  };
}

/** The server asks what nobody here answers. */
export class NoCallbackError extends Error {
  override readonly name = 'NoCallbackError';
}

/** The result for one question. @throws {NoCallbackError} without its callback; whatever the callback throws. */
export async function answer(callbacks: Callbacks, method: string, params: unknown): Promise<object> {
  switch (method) {
    case 'elicitation/create':
      return given(callbacks, 'onElicit', method)(params as ElicitRequestParams);
    case 'sampling/createMessage':
      return given(callbacks, 'onSample', method)(params as CreateMessageRequestParams);
    case 'roots/list':
      return { roots: await given(callbacks, 'onListRoots', method)() };
    default:
      throw new NoCallbackError(`The server sent ${method}, which is no question to a client`);
  }
}

function given<Name extends keyof Callbacks>(
  callbacks: Callbacks,
  name: Name,
  method: string,
): NonNullable<Callbacks[Name]> {
  const callback = callbacks[name];
  if (callback === undefined)
    throw new NoCallbackError(`The server sent ${method}, and connect() was given no ${name}`);
  return callback;
}

/** What a modern request is sent again with. @throws as {@link answer} */
export async function answerAll(
  callbacks: Callbacks,
  { inputRequests, requestState }: Record<string, unknown>,
): Promise<Record<string, unknown>> {
  const questions = Object.entries(isObject(inputRequests) ? inputRequests : {});
  const answers = await Promise.all(
    questions.map(async ([key, question]) => {
      const { method, params } = question as { method: string; params?: unknown };
      return [key, await answer(callbacks, method, params)] as const;
    }),
  );
  return {
    ...(questions.length > 0 ? { inputResponses: Object.fromEntries(answers) } : undefined),
    ...(requestState === undefined ? undefined : { requestState }),
  };
}
