/** One TypeScript program over the sources as the project compiles them, for specs that ask the compiler. */
import path from 'node:path';
import ts from 'typescript';

/** The repository. */
export const root = path.join(__dirname, '../..');

/** The compiler options of `tsconfig.json`. */
export function compilerOptions(): ts.CompilerOptions {
  const file = path.join(root, 'tsconfig.json');
  const { config, error } = ts.readConfigFile(file, (name) => ts.sys.readFile(name));
  if (error) throw new Error(ts.flattenDiagnosticMessageText(error.messageText, '\n'));
  const parsed = ts.parseJsonConfigFileContent({ ...config, files: [], include: [] }, ts.sys, root);
  return { ...parsed.options, noEmit: true };
}

/** A program over `files`; those in `virtual` (absolute path to text) need not exist on disk. */
export function createProgram(files: readonly string[], virtual: ReadonlyMap<string, string> = new Map()): ts.Program {
  const options = compilerOptions();
  const host = ts.createCompilerHost(options, true);
  const { fileExists, readFile } = host;
  host.fileExists = (name) => virtual.has(name) || fileExists(name);
  host.readFile = (name) => virtual.get(name) ?? readFile(name);
  const { getSourceFile } = host;
  host.getSourceFile = (name, languageVersion, ...rest) => {
    const text = virtual.get(name);
    return text === undefined
      ? getSourceFile(name, languageVersion, ...rest)
      : ts.createSourceFile(name, text, languageVersion, true);
  };
  return ts.createProgram([...files, ...virtual.keys()], options, host);
}

/** A diagnostic as `file:line message`, the file relative to the repository. */
export function describeDiagnostic({ file, start, messageText }: ts.Diagnostic): string {
  const message = ts.flattenDiagnosticMessageText(messageText, '\n');
  if (!file || start === undefined) return message;
  const { line } = file.getLineAndCharacterOfPosition(start);
  return `${path.relative(root, file.fileName)}:${line + 1} ${message}`;
}
