/** The default store. */
import { MemorySessionStore } from 'express-mcp';
import { describeSessionStore } from '../support/session-store-contract';

describeSessionStore('MemorySessionStore', async () => ({ store: new MemorySessionStore() }));
