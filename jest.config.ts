/**
 * How the specs run.
 *
 * @jest-config-loader esbuild-register
 */
import type { Config } from 'jest';

const config: Config = {
  testEnvironment: 'node',
  roots: ['<rootDir>/spec'],
  testMatch: ['**/*.spec.ts'],
  transform: { '^.+\\.ts$': ['ts-jest', { diagnostics: false }] },
  // The sources by the names that users import.
  moduleNameMapper: {
    '^express-mcp$': '<rootDir>/lib/index.ts',
    '^express-mcp/(redis|stdio|testing|opentelemetry)$': '<rootDir>/lib/$1/index.ts',
  },
  testTimeout: 15_000,
  maxWorkers: 2,
};

export default config;
