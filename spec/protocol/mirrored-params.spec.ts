import { mirroredParams, mirrorMismatch } from '../../lib/protocol/mirrored-params';
import type { JsonSchema } from '../../lib/protocol/types';

const region = { type: 'string', 'x-mcp-header': 'Region' };

function object(properties: Record<string, unknown>, rest: JsonSchema = {}): JsonSchema {
  return { type: 'object', properties, ...rest };
}

// https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#schema-extension
describe('mirroredParams', () => {
  it('finds none in a schema without annotations', () => {
    expect(mirroredParams(object({ a: { type: 'string' }, b: true }))).toEqual([]);
    expect(mirroredParams({ type: 'object' })).toEqual([]);
  });

  it('gives header in lower case, path and type of each, nested ones too', () => {
    const schema = object({
      region,
      options: object({
        level: { type: 'integer', 'x-mcp-header': 'Log-Level' },
        dry: { type: 'boolean', 'x-mcp-header': "it's" },
      }),
    });
    expect(mirroredParams(schema)).toEqual([
      { header: 'mcp-param-region', path: ['region'], type: 'string' },
      { header: 'mcp-param-log-level', path: ['options', 'level'], type: 'integer' },
      { header: "mcp-param-it's", path: ['options', 'dry'], type: 'boolean' },
    ]);
  });

  it('finds properties by their own names: __proto__, constructor, a keyword, the annotation itself', () => {
    const schema = JSON.parse(
      `{"properties":{
        "__proto__":{"type":"string","x-mcp-header":"A"},
        "constructor":{"type":"string","x-mcp-header":"B"},
        "items":{"type":"string","x-mcp-header":"C"},
        "x-mcp-header":{"type":"string","x-mcp-header":"D"},
        "enum":{"type":"string","x-mcp-header":"E"}}}`,
    ) as JsonSchema;
    const paths = mirroredParams(schema).map((param) => param.path);
    expect(paths).toEqual([['__proto__'], ['constructor'], ['items'], ['x-mcp-header'], ['enum']]);
  });

  it('leaves alone an equal key in instances: default, const, enum, examples', () => {
    const data = { 'x-mcp-header': 'no token' };
    const schema = object({ a: { type: 'object', default: data, const: data, enum: [data], examples: [data] } });
    expect(mirroredParams(schema)).toEqual([]);
  });

  it('takes an annotation that is undefined for absent', () => {
    expect(mirroredParams(object({ a: { 'x-mcp-header': undefined } }))).toEqual([]);
  });

  it.each([[['string', 'null']], [['null', 'integer']]])('allows the nullable type %j', (type) => {
    const [param] = mirroredParams(object({ a: { type, 'x-mcp-header': 'A' } }));
    expect(param?.type).toBe(type.find((one) => one !== 'null'));
  });

  it.each([[''], ['a b'], ['a:b'], ['a\r\nX-Evil: 1'], ['caf\u00e9'], ['a/b'], [7], [null], [['A']]])(
    'MUST refuse the name %j, which is no token',
    (name) => {
      const schema = object({ a: { type: 'string', 'x-mcp-header': name } });
      expect(() => mirroredParams(schema)).toThrow(TypeError);
      expect(() => mirroredParams(schema)).toThrow(/^inputSchema\/properties\/a: .*token/);
    },
  );

  it('MUST refuse two names that differ in case only', () => {
    const schema = object({ region, nested: object({ other: { type: 'string', 'x-mcp-header': 'REGION' } }) });
    expect(() => mirroredParams(schema)).toThrow(
      'inputSchema/properties/nested/properties/other: "x-mcp-header" "REGION" is used twice',
    );
  });

  it.each([
    [{ type: 'number' }],
    [{ type: 'object' }],
    [{ type: 'array' }],
    [{ type: 'null' }],
    [{ type: ['string', 'integer'] }],
    [{ type: ['number', 'null'] }],
    [{}],
    [{ anyOf: [{ type: 'string' }, { type: 'null' }] }],
    [{ $ref: '#/$defs/region' }],
  ])('MUST refuse the annotation on a property of %j', (schema) => {
    expect(() => mirroredParams(object({ a: { ...schema, 'x-mcp-header': 'A' } }))).toThrow(
      /^inputSchema\/properties\/a: .*type "string", "integer" or "boolean"/,
    );
  });

  it.each<[string, JsonSchema]>([
    ['the root', { ...object({}), ...region }],
    ['items', object({ a: { type: 'array', items: region } })],
    ['properties below items', object({ a: { items: object({ region }) } })],
    ['prefixItems', object({ a: { prefixItems: [region] } })],
    ['contains', object({ a: { contains: region } })],
    ['oneOf', object({}, { oneOf: [object({ region })] })],
    ['anyOf', object({ a: { anyOf: [region] } })],
    ['allOf', object({}, { allOf: [object({ region })] })],
    ['not', object({}, { not: object({ region }) })],
    ['if', object({}, { if: object({ region }) })],
    ['then', object({}, { then: object({ region }) })],
    ['else', object({}, { else: object({ region }) })],
    ['$defs', object({ a: { $ref: '#/$defs/region' } }, { $defs: { region } })],
    ['definitions', object({}, { definitions: { region } })],
    ['patternProperties', object({}, { patternProperties: { '^r': region } })],
    ['additionalProperties', object({}, { additionalProperties: region })],
    ['unevaluatedProperties', object({}, { unevaluatedProperties: region })],
    ['propertyNames', object({}, { propertyNames: region })],
    ['dependentSchemas', object({}, { dependentSchemas: { a: object({ region }) } })],
    ['an unknown keyword', object({}, { 'x-other': { region } })],
  ])('MUST refuse the annotation in %s, where no chain of "properties" leads', (_, schema) => {
    expect(() => mirroredParams(schema)).toThrow(TypeError);
    expect(() => mirroredParams(schema)).toThrow(/^inputSchema.*"properties" keywords alone/);
  });
});

describe('mirrorMismatch', () => {
  const params = mirroredParams(
    object({
      region,
      level: { type: 'integer', 'x-mcp-header': 'Level' },
      dry: { type: 'boolean', 'x-mcp-header': 'Dry' },
      deep: object({ name: { type: 'string', 'x-mcp-header': 'Name' } }),
    }),
  );
  function mismatch(args: Record<string, unknown>, headers: NodeJS.Dict<string | string[]>): string | undefined {
    return mirrorMismatch(params, args, headers);
  }

  // https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#server-behavior-for-custom-headers
  it.each([[{}], [{ region: null }], [{ deep: null }], [{ deep: {} }], [{ region: undefined }]])(
    'MUST NOT expect a header for %j',
    (args) => {
      expect(mismatch(args, {})).toBeUndefined();
    },
  );

  it.each([
    [{}, 'us-west1'],
    [{ region: null }, 'null'],
    [{}, ''],
  ])('refuses a header that claims a value when the arguments are %j', (args, value) => {
    expect(mismatch(args, { 'mcp-param-region': value })).toMatch(
      /^Header mcp-param-region, argument region: .*no arg/,
    );
  });

  it('MUST refuse a value without its header', () => {
    expect(mismatch({ region: 'x' }, {})).toMatch(/^Header mcp-param-region, argument region: .*missing/);
    expect(mismatch({ region: '' }, {})).toMatch(/missing/);
    expect(mismatch({ deep: { name: 'x' } }, {})).toMatch(/^Header mcp-param-name, argument deep\.name/);
  });

  it('MUST compare a string exactly, after decoding', () => {
    expect(mismatch({ region: 'Hello' }, { 'mcp-param-region': 'Hello' })).toBeUndefined();
    expect(mismatch({ region: 'Hello' }, { 'mcp-param-region': '=?base64?SGVsbG8=?=' })).toBeUndefined();
    expect(mismatch({ region: '=?base64?SGVsbG8=' }, { 'mcp-param-region': '=?base64?SGVsbG8=' })).toBeUndefined();
    expect(mismatch({ region: 'Hello' }, { 'mcp-param-region': 'hello' })).toMatch(/differ/);
    expect(mismatch({ region: '42' }, { 'mcp-param-region': '42.0' })).toMatch(/differ/);
  });

  it.each([['=?base64?SGVsbG8?='], ['=?base64?SGVs!!!bG8=?='], ['Hell\u00f6']])(
    'MUST refuse the header %j',
    (value) => {
      expect(mismatch({ region: 'Hello' }, { 'mcp-param-region': value })).toMatch(/invalid/);
    },
  );

  it.each([[''], ['=?base64??=']])('takes %j for the empty string', (value) => {
    expect(mismatch({ region: '' }, { 'mcp-param-region': value })).toBeUndefined();
  });

  it.each([
    [42, '42'],
    [42, '42.0'],
    [42, '=?base64?NDI=?='],
    [-7, '-7.00'],
    [0, '-0'],
    [42_000_000, '4.2e+07'],
    [Number.MAX_SAFE_INTEGER, '9007199254740991'],
    [Number.MIN_SAFE_INTEGER, '-9007199254740991'],
  ])('SHOULD take the integer %j and the header %j for equal', (level, value) => {
    expect(mismatch({ level }, { 'mcp-param-level': value })).toBeUndefined();
  });

  it.each([
    [42, '43'],
    [42, ''],
    [42, ' 42'],
    [42, '0x2a'],
    [42, '42n'],
    [42, '42.'],
    [42, '42.00000000000000000001'],
    [42, '42, 42'],
    [0, ''],
    [0, 'null'],
    [9_007_199_254_740_991, '9007199254740990.9'],
    [9_007_199_254_740_991, '9.0071992547409909e15'],
  ])('takes the integer %j and the header %j for different', (level, value) => {
    expect(mismatch({ level }, { 'mcp-param-level': value })).toMatch(/differ/);
  });

  it('MUST refuse an integer outside the safe range, where JSON has rounded it already', () => {
    expect(mismatch({ level: 2 ** 53 }, { 'mcp-param-level': String(2 ** 53) })).toMatch(/safe range/);
    expect(mismatch({ level: 1e300 }, { 'mcp-param-level': '1e+300' })).toMatch(/safe range/);
  });

  it('compares booleans in lower case', () => {
    expect(mismatch({ dry: true }, { 'mcp-param-dry': 'true' })).toBeUndefined();
    expect(mismatch({ dry: false }, { 'mcp-param-dry': 'false' })).toBeUndefined();
    expect(mismatch({ dry: true }, { 'mcp-param-dry': 'True' })).toMatch(/differ/);
    expect(mismatch({ dry: true }, { 'mcp-param-dry': '1' })).toMatch(/differ/);
  });

  it('leaves a value of another primitive type, mirrored as it is, to the schema', () => {
    expect(mismatch({ level: '42' }, { 'mcp-param-level': '42' })).toBeUndefined();
    expect(mismatch({ level: 1.5 }, { 'mcp-param-level': '1.5' })).toBeUndefined();
  });

  it.each([[['us-west1']], [{ toString: 'us-west1' }]])('refuses %j, which no header can mirror', (value) => {
    expect(mismatch({ region: value }, { 'mcp-param-region': 'us-west1' })).toMatch(/differ/);
    expect(mismatch({ region: value }, {})).toMatch(/missing/);
  });

  it('takes identical lines for one, and refuses different ones', () => {
    expect(mismatch({ region: 'a' }, { 'mcp-param-region': ['a', 'a'] })).toBeUndefined();
    expect(mismatch({ region: 'a' }, { 'mcp-param-region': ['a', 'b'] })).toMatch(/more than one/);
    expect(mismatch({ region: 'a' }, { 'mcp-param-region': ['b', 'b'] })).toMatch(/differ/);
    expect(mismatch({ region: 'a' }, { 'mcp-param-region': 'a, b' })).toMatch(/differ/);
  });

  it('ignores headers that mirror nothing', () => {
    expect(mismatch({}, { 'mcp-param-zzz': 'caf\u00e9' })).toBeUndefined();
  });

  it('reads own properties only', () => {
    const odd = mirroredParams(
      JSON.parse(
        `{"properties":{
          "__proto__":{"type":"string","x-mcp-header":"A"},
          "constructor":{"properties":{"name":{"type":"string","x-mcp-header":"B"}}},
          "list":{"properties":{"length":{"type":"integer","x-mcp-header":"C"}}},
          "text":{"properties":{"length":{"type":"integer","x-mcp-header":"D"}}}}}`,
      ) as JsonSchema,
    );
    expect(mirrorMismatch(odd, { list: [1], text: 'x' }, {})).toBeUndefined();
    const args = JSON.parse('{"__proto__":"own"}') as Record<string, unknown>;
    expect(mirrorMismatch(odd, args, { 'mcp-param-a': 'own' })).toBeUndefined();
    expect(mirrorMismatch(odd, args, {})).toMatch(/missing/);
  });
});
