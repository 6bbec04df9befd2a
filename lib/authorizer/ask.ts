/** A handler's questions, written once for both eras. */
import type { Ask, CallContext } from '../call-context';
import type { ElicitAnswer, ElicitPage } from '../context';
import { missingCapability } from '../call-context';
import { McpError, ToolError } from '../protocol/errors';
import { isObject } from '../protocol/json-rpc';
import type { ClientFeature } from '../protocol/revisions';
import { describeIssues } from '../protocol/schema';
import { parseCreateMessageResult, parseElicitResult, parseListRootsResult } from '../protocol/params';
import type { ClientCapabilities, ElicitRequestParams, InputRequest } from '../protocol/types';
import { createForm } from './form';
import type { Form } from './form';
import { askClient, UnansweredError } from './parked';
import { samplingFeature, samplingFor } from './sampling';
import { InputRequiredStop, reservedPrefix, roundsOf } from './rounds';

const required: Record<ClientFeature, { capabilities: ClientCapabilities; words: string }> = {
  'elicitation.form': { capabilities: { elicitation: { form: {} } }, words: 'elicitation (form mode)' },
  'elicitation.url': { capabilities: { elicitation: { url: {} } }, words: 'elicitation (URL mode)' },
  sampling: { capabilities: { sampling: {} }, words: 'sampling' },
  'sampling.tools': { capabilities: { sampling: { tools: {} } }, words: 'sampling with tools' },
  roots: { capabilities: { roots: {} }, words: 'roots' },
};

/** Has this client declared that it can be asked this, in a revision that has it? */
export function canAsk({ requestMeta }: CallContext, feature: ClientFeature): boolean {
  const { revision, clientCapabilities } = requestMeta;
  if (!revision.clientFeatures.has(feature)) return false;
  const { elicitation, sampling, roots } = clientCapabilities;
  switch (feature) {
    case 'elicitation.form':
      // client/elicitation, "Capabilities": an empty object means form mode.
      return isObject(elicitation) && (isObject(elicitation.form) || Object.keys(elicitation).length === 0);
    case 'elicitation.url':
      return isObject(elicitation) && isObject(elicitation.url);
    case 'sampling':
      return isObject(sampling);
    case 'sampling.tools':
      return isObject(sampling) && isObject(sampling.tools);
    case 'roots':
      return isObject(roots);
  }
}

/** The questions of handlers. */
export const ask: Ask = {
  async elicit(context, key, question) {
    const given: unknown = question;
    if (!isObject(given) || (given.url === undefined && given.schema === undefined))
      throw new TypeError(
        'elicit(key, question): the key is a string of your choice, the question has a schema or a url',
      );
    if ('url' in question) {
      const request = () => ({ method: 'elicitation/create' as const, params: pageParams(context, question) });
      return put(context, key, 'elicitation.url', request, parseElicitResult) as Promise<ElicitAnswer<unknown>>;
    }
    const { revision } = context.requestMeta;
    const form = () => createForm(question.schema, revision, `elicit("${key}")`);
    const mode = revision.forms === 'full' ? { mode: 'form' as const } : undefined;
    const request = () => ({
      method: 'elicitation/create' as const,
      params: { ...mode, message: question.message, requestedSchema: form().requestedSchema },
    });
    return put(context, key, 'elicitation.form', request, (answer) => parseFormAnswer(form(), answer));
  },

  async sample(context, key, params) {
    const request = () => ({ method: 'sampling/createMessage' as const, params: samplingFor(params, context) });
    return put(context, key, samplingFeature(params), request, parseCreateMessageResult);
  },

  async listRoots(context, key) {
    return put(context, key, 'roots', () => ({ method: 'roots/list', params: {} }), parseListRootsResult);
  },

  async once(context, key, fn) {
    return roundsOf(context).once(key, fn);
  },
};

/** What is wrong with an answer, for the one who must answer again. */
class BadAnswerError extends Error {
  override readonly name = 'BadAnswerError';
}

async function parseFormAnswer(form: Form, answer: unknown): Promise<ElicitAnswer<unknown>> {
  const { action, content } = parseElicitResult(answer);
  if (action !== 'accept') return { action };
  const result = await form.validate(content ?? {});
  if (result.issues !== undefined) throw new BadAnswerError(describeIssues(result.issues));
  return { action, content: result.value as never };
}

function pageParams(context: CallContext, { message, url, elicitationId }: ElicitPage): ElicitRequestParams {
  if (!URL.canParse(url)) throw new TypeError(`elicit: url must be an absolute URL, got ${JSON.stringify(url)}`);
  if (!context.requestMeta.revision.urlElicitationCallbacks) return { mode: 'url', message, url };
  const { session } = context.caller;
  // Any other would be nobody's when the user is done.
  if (elicitationId !== undefined && session?.isElicitationId(elicitationId) === false)
    throw new TypeError('elicit: elicitationId must be one of createElicitationId() of a call of the same client');
  return { mode: 'url', message, url, elicitationId: elicitationId ?? context.createElicitationId() };
}

/** Put one question, in the way of the call's era. `request` is made only when it is put. */
async function put<T>(
  context: CallContext,
  key: string,
  feature: ClientFeature,
  request: () => InputRequest,
  parse: (answer: unknown) => T | Promise<T>,
): Promise<T> {
  if (typeof key !== 'string' || key === '' || key.startsWith(reservedPrefix)) {
    throw new TypeError(
      `A question needs a key of its own that does not start with "${reservedPrefix}", got ${JSON.stringify(key)}`,
    );
  }
  return context.era === 'legacy'
    ? putLegacy(context, feature, request, parse)
    : putModern(context, key, feature, request, parse);
}

async function putLegacy<T>(
  context: CallContext,
  feature: ClientFeature,
  request: () => InputRequest,
  parse: (answer: unknown) => T | Promise<T>,
): Promise<T> {
  if (!canAsk(context, feature)) throw new ToolError(`This needs a client that supports ${required[feature].words}`);
  let answer;
  try {
    answer = await askClient(context, request());
  } catch (error) {
    if (error instanceof UnansweredError) throw new ToolError(error.message, { cause: error });
    throw error;
  }
  try {
    return await parse(answer);
  } catch (error) {
    if (error instanceof BadAnswerError || error instanceof McpError)
      throw new ToolError(`The answer does not fit the question: ${error.message}`, { cause: error });
    throw error;
  }
}

async function putModern<T>(
  context: CallContext,
  key: string,
  feature: ClientFeature,
  request: () => InputRequest,
  parse: (answer: unknown) => T | Promise<T>,
): Promise<T> {
  const rounds = roundsOf(context);
  if (rounds.asked.has(key))
    throw new TypeError(`The question "${key}" is open already; every question of a call needs a key of its own`);
  const answer = rounds.answer(key);
  if (answer !== undefined) {
    try {
      return await parse(answer);
    } catch (error) {
      // An answer that does not fit is asked for again; one that is no answer at all is the client's fault.
      if (!(error instanceof BadAnswerError)) throw error;
      rounds.forget(key);
    }
  }
  if (!canAsk(context, feature)) {
    const error = lacking([feature]);
    rounds.missing.set(error, feature);
    throw error;
  }
  rounds.asked.set(key, request());
  // What cannot be asked beside it fails first: nobody is asked in vain.
  await new Promise((resolve) => setImmediate(resolve));
  throw new InputRequiredStop();
}

/** -32021 for all of these. */
export function lacking(features: Iterable<ClientFeature>): McpError {
  const all = [...new Set(features)].map((feature) => required[feature]);
  const capabilities: Record<string, object> = {};
  for (const one of all)
    for (const [name, modes] of Object.entries(one.capabilities))
      capabilities[name] = { ...capabilities[name], ...(modes as object) };
  return missingCapability(capabilities, all.map(({ words }) => words).join(' and '));
}
