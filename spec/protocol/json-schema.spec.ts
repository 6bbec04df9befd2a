/** Plain JSON Schemas: which dialects, how arguments are checked against them, and that nothing of them stays behind. */
import { createServer as createHttpServer } from 'node:http';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { compileArgumentsSchema, compileSchema, describeIssues } from '../../lib/protocol/schema';
import type { CompiledSchema, Schema } from '../../lib/protocol/schema';
import type { JsonSchema } from '../../lib/protocol/types';

const compile = (json: JsonSchema) => compileSchema(json, 'input', 'tool "x"');

/** What is wrong with `value`; undefined when nothing is. */
async function faults({ validate }: CompiledSchema, value: unknown): Promise<string | undefined> {
  const result = await validate(value);
  return result.issues && describeIssues(result.issues);
}

describe('a plain JSON Schema', () => {
  it('is published as it is', () => {
    const json = { type: 'object', properties: { a: { type: 'string', 'x-own': 1 } }, $defs: {} } as const;
    expect(compile(json).json).toEqual(json);
  });

  it('leaves the value that passes it as it is', async () => {
    const value = { a: 'x', more: [1] };
    const result = await compile({ type: 'object', properties: { a: { type: 'string', default: 'y' } } }).validate(
      value,
    );
    expect(result).toEqual({ value });
    expect('value' in result && result.value).toBe(value);
  });

  it('names each field that is wrong, by its path', async () => {
    const schema = compile({
      type: 'object',
      properties: {
        n: { type: 'integer', minimum: 1 },
        size: { enum: ['s', 'm'] },
        'a/b~c': { type: 'string' },
        list: { type: 'array', items: { type: 'object', properties: { id: { type: 'string' } } } },
      },
      required: ['name'],
      additionalProperties: false,
    });
    const text = await faults(schema, { n: 0, size: 'xl', 'a/b~c': 1, list: [{ id: 1 }], extra: 1 });
    expect(text?.split('\n').sort()).toEqual([
      'a/b~c: must be string',
      'list.0.id: must be string',
      'must NOT have additional properties: "extra"',
      "must have required property 'name'",
      'n: must be >= 1',
      'size: must be equal to one of the allowed values: ["s","m"]',
    ]);
  });

  it('names twenty faults and counts the rest', async () => {
    const schema = compile({ type: 'array', items: { type: 'string' } });
    const text = await faults(
      schema,
      Array.from({ length: 1_000 }, () => 5),
    );
    expect(text?.split('\n')).toHaveLength(21);
    expect(text).toMatch(/… and 980 more$/);
  });

  // https://modelcontextprotocol.io/specification/2026-07-28/basic#implementation-requirements: MUST support 2020-12
  // for schemas without $schema, and validate by the declared or default dialect
  it('MUST be read as 2020-12 when it names no dialect', async () => {
    const json = { type: 'array', prefixItems: [{ type: 'string' }], items: false } as const;
    for (const $schema of [
      undefined,
      'https://json-schema.org/draft/2020-12/schema',
      'https://json-schema.org/draft/2020-12/schema#',
    ]) {
      const schema = compile($schema === undefined ? json : { ...json, $schema });
      expect(await faults(schema, ['x'])).toBeUndefined();
      expect(await faults(schema, [5])).toBe('0: must be string');
      expect(await faults(schema, ['x', 'y'])).toContain('must NOT have more than 1 items');
    }
  });

  it('MUST be read as draft-07 when it says so', async () => {
    for (const $schema of ['http://json-schema.org/draft-07/schema#', 'http://json-schema.org/draft-07/schema']) {
      const schema = compile({ $schema, type: 'array', items: [{ type: 'string' }], additionalItems: false });
      expect(await faults(schema, ['x'])).toBeUndefined();
      expect(await faults(schema, [5])).toBe('0: must be string');
      expect(await faults(schema, ['x', 'y'])).toContain('must NOT have more than 1 items');
    }
  });

  it.each([
    'https://json-schema.org/draft/2019-09/schema',
    'http://json-schema.org/draft-04/schema#',
    'http://json-schema.org/schema#',
    'https://example.com/own',
    '',
    7,
    null,
  ])('MUST be refused with an error that says the dialect is not supported: %j', ($schema) => {
    expect(() => compile({ $schema: $schema as string, type: 'object' })).toThrow(
      new TypeError(
        `tool "x": $schema ${JSON.stringify($schema)} is not supported; use 2020-12 (the default) or draft-07`,
      ),
    );
  });

  // https://modelcontextprotocol.io/specification/2026-07-28/basic#schema-validation
  it.each<JsonSchema>([
    { type: 'text' },
    { type: 'object', properties: [] },
    { type: 'object', required: 'a' },
    { minimum: 'x' },
    { $ref: '#/$defs/missing' },
    { properties: { a: { pattern: '(' } } },
  ])('MUST be valid: %j is refused, naming its tool', (json) => {
    expect(() => compile(json)).toThrow(/^tool "x": not a valid JSON Schema: /);
    expect(() => compile(json)).toThrow(TypeError);
  });

  it('resolves a $ref within itself, and one to its own dialect', async () => {
    const tree = compile({
      type: 'object',
      properties: { children: { type: 'array', items: { $ref: '#' } }, own: { $ref: '#/$defs/own' } },
      $defs: { own: { type: 'integer' } },
    });
    expect(await faults(tree, { children: [{ children: [], own: 1 }] })).toBeUndefined();
    expect(await faults(tree, { children: [{ own: 'x' }] })).toBe('children.0.own: must be integer');
    const meta = compile({
      type: 'object',
      properties: { s: { $ref: 'https://json-schema.org/draft/2020-12/schema' } },
    });
    expect(await faults(meta, { s: { type: 'string' } })).toBeUndefined();
    expect(await faults(meta, { s: { type: 5 } })).toContain('s.type');
  });

  // https://modelcontextprotocol.io/specification/2026-07-28/basic#ref-resolution
  it('MUST NOT be fetched from the network, and SHOULD be refused where it refers to it', async () => {
    let requests = 0;
    const host = createHttpServer((_req, res) => {
      requests += 1;
      res.end('{}');
    });
    await new Promise<void>((resolve) => host.listen(0, '127.0.0.1', resolve));
    try {
      const { port } = host.address() as { port: number };
      const $ref = `http://127.0.0.1:${port}/schema.json`;
      for (const json of [{ $ref }, { properties: { a: { $ref } } }, { $id: 'https://example.com/a', $ref: 'b' }]) {
        expect(() => compile(json)).toThrow(/^tool "x": not a valid JSON Schema: can't resolve reference/);
      }
      expect(requests).toBe(0);
    } finally {
      host.close();
    }
  });

  it('may carry the $id of another', async () => {
    const $id = 'https://example.com/same';
    const one = compile({ $id, type: 'object', properties: { a: { type: 'string' } } });
    const two = compile({ $id, type: 'object', properties: { a: { type: 'integer' } } });
    expect(await faults(one, { a: 'x' })).toBeUndefined();
    expect(await faults(two, { a: 'x' })).toBe('a: must be integer');
  });

  it('is checked for each caller on its own, even while another check is going on', async () => {
    const schema = compile({ type: 'object', required: ['a'] });
    const [first, second] = await Promise.all([faults(schema, {}), faults(schema, { a: 1 })]);
    expect(first).toContain("'a'");
    expect(second).toBeUndefined();
  });

  it('stays in memory no longer than its owner', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const kept: CompiledSchema[] = [];
    const seen = Array.from({ length: 20 }, (_, index) => {
      const json = { type: 'object', properties: { a: { enum: [`value ${index}`] } } } as const;
      const compiled = compile(json);
      if (index % 10 === 0) kept.push(compiled);
      return new WeakRef(json);
    });
    const living = () => seen.filter((ref) => ref.deref() !== undefined).length;
    // A reference that has been looked at lives to the end of its turn; the collector may want several.
    for (let turn = 0; turn < 50 && living() > kept.length; turn += 1) {
      await new Promise<void>((resolve) => setImmediate(resolve));
      collect();
    }
    expect(living()).toBe(kept.length);
  });
});

describe('arguments', () => {
  it.each<[JsonSchema | undefined, JsonSchema]>([
    [undefined, { type: 'object' }],
    [{}, { type: 'object' }],
    [{ properties: { a: {} } }, { type: 'object', properties: { a: {} } }],
    [{ oneOf: [{ required: ['a'] }] }, { type: 'object', oneOf: [{ required: ['a'] }] }],
  ])('are published as an object’s whatever the schema left out: %j', (schema, json) => {
    expect(compileArgumentsSchema(schema, 'tool "x"').json).toEqual(json);
  });

  it.each<[unknown]>([['array'], ['string'], [['object', 'null']], [['string']]])(
    'cannot be of another type: %j',
    (type) => {
      const json = JSON.stringify(type);
      expect(() => compileArgumentsSchema({ type }, 'tool "x"')).toThrow(
        new TypeError(`tool "x": arguments are an object, the schema's root is ${json}`),
      );
    },
  );

  it.each([null, true, 'string', 5, [], () => ({})])('are not described by what is no schema: %j', (schema) => {
    expect(() => compileArgumentsSchema(schema as unknown as Schema, 'tool "x"')).toThrow(
      new TypeError('tool "x": a schema must be a Standard Schema or a JSON Schema object'),
    );
  });
});
