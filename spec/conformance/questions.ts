/** The conformance suite's tools and prompt that need input from the client, over several rounds (SEP-2322). */
import type { Context, McpServer } from 'express-mcp';
import * as z from 'zod';

const ok = z.object({ ok: z.boolean() });
const name = z.object({ name: z.string() });

export function registerQuestions(server: McpServer): void {
  const registerQuestion = (kind: string, description: string, handler: (ctx: Context) => Promise<string>) =>
    server.registerTool(`test_input_required_result_${kind}`, { description }, (_args, ctx) => handler(ctx));

  registerQuestion('elicitation', 'Asks the user for a name', async (ctx) => {
    const answer = await ctx.elicit('user_name', { message: 'What is your name?', schema: name });
    return answer.action === 'accept' ? `Hello, ${answer.content.name}!` : 'Hello, whoever you are!';
  });
  registerQuestion('sampling', "Asks the client's model", async (ctx) => {
    const { content } = await ctx.sample('capital_question', capitalQuestion);
    return JSON.stringify(content);
  });
  registerQuestion('list_roots', "Asks for the client's roots", async (ctx) => {
    const { roots } = await ctx.listRoots('client_roots');
    return roots.map(({ uri }) => uri).join('\n');
  });
  registerQuestion('request_state', 'Asks for a confirmation', async (ctx) => {
    const { action } = await ctx.elicit('confirm', { message: 'Please confirm', schema: ok });
    return `state-ok: ${action}`;
  });
  registerQuestion('multiple_inputs', 'Asks three questions at once', async (ctx) => {
    const answers = await Promise.all([
      ctx.elicit('user_name', { message: 'What is your name?', schema: name }),
      ctx.sample('greeting', {
        messages: [{ role: 'user', content: { type: 'text', text: 'Say hello' } }],
        maxTokens: 50,
      }),
      ctx.listRoots('client_roots'),
    ]);
    return JSON.stringify(answers);
  });
  registerQuestion('multi_round', 'Asks one question after the other', async (ctx) => {
    const first = await ctx.elicit('step1', { message: 'Step 1: What is your name?', schema: name });
    const color = z.object({ color: z.string() });
    const second = await ctx.elicit('step2', { message: 'Step 2: What is your favorite color?', schema: color });
    return JSON.stringify([first.content, second.content]);
  });
  registerQuestion('tampered_state', 'Asks for a confirmation; forged state is refused', async (ctx) => {
    const { action } = await ctx.elicit('confirm', { message: 'Please confirm', schema: ok });
    return action;
  });
  registerQuestion('capabilities', 'Asks only what the client can be asked', async (ctx) => {
    const { elicitation, sampling } = ctx.clientCapabilities;
    const [answer, sampled] = await Promise.all([
      elicitation && ctx.elicit('user_name', { message: 'What is your name?', schema: name }),
      sampling && ctx.sample('capital_question', capitalQuestion),
    ]);
    return JSON.stringify([answer, sampled]);
  });

  server.registerPrompt(
    'test_input_required_result_prompt',
    { description: 'Asks the user before it is written' },
    async (_args, ctx) => {
      const schema = z.object({ context: z.string() });
      const answer = await ctx.elicit('user_context', { message: 'What context should the prompt use?', schema });
      return `Context: ${answer.action === 'accept' ? answer.content.context : 'none'}`;
    },
  );
}

const capitalQuestion = {
  messages: [{ role: 'user' as const, content: { type: 'text' as const, text: 'What is the capital of France?' } }],
  maxTokens: 100,
};
