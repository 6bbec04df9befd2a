/** The part of the Standard Schema and Standard JSON Schema interfaces that we use. */

/**
 * A schema of any library that implements Standard Schema and gives its JSON Schema: zod from 4.2, valibot through its
 * adapter, arktype.
 *
 * @see https://standardschema.dev
 */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
    readonly jsonSchema?:
      | {
          readonly input: (options: { target: 'draft-2020-12' }) => Record<string, unknown>;
          readonly output: (options: { target: 'draft-2020-12' }) => Record<string, unknown>;
        }
      | undefined;
  };
}

export type StandardResult<Output> =
  { readonly value: Output; readonly issues?: undefined } | { readonly issues: readonly StandardIssue[] };

/** One thing that is wrong, and where. */
export interface StandardIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** What goes into a schema. */
export type InferInput<S> = S extends StandardSchema<infer Input, unknown> ? Input : Record<string, unknown>;

/** What comes out of it. */
export type InferOutput<S> = S extends {
  readonly '~standard': { readonly types?: { readonly output: infer Output } | undefined };
}
  ? Output
  : Record<string, unknown>;
