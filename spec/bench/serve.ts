/** The measured process: starts one server on a free loopback port, then answers questions about itself. */
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { Session } from 'node:inspector/promises';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { Adapter, BenchServer, Order, Question } from './bench-server';

// Nothing outlives the process that measures.
process.on('disconnect', () => process.exit());

async function serve({ name, settings }: Order): Promise<void> {
  // By name, so that no server pays for the imports of another.
  const { createBenchServer } = (await import(`./servers/${name}.js`)) as Adapter;
  const server = await createBenchServer(settings);
  const http = createServer(server.listener);
  // Connections wait for their turn.
  http.keepAliveTimeout = 0;
  http.listen({ port: 0, host: '127.0.0.1', backlog: 2_048 }, () => {
    const { port } = http.address() as AddressInfo;
    process.on(
      'message',
      (question: Question) => void answer(server, http, question).then((answer) => process.send!(answer)),
    );
    process.send!(port);
  });
}

async function answer(server: BenchServer, http: Server, question: Question): Promise<number> {
  switch (question.what) {
    case 'cpu': {
      const { user, system } = process.cpuUsage();
      return user + system;
    }
    case 'heap':
      return liveBytes(http, question.connections);
    case 'announce':
      server.announce!(question.frame);
      return 0;
    case 'startProfile':
      return startProfile();
    case 'stopProfile':
      return stopProfile(question.file);
  }
}

/** More than one collection, with the event loop between: what is finalized frees more. */
async function liveBytes(http: Server, connections: number): Promise<number> {
  // A connection that the other side has closed weighs until this side has noticed.
  const count = promisify(http.getConnections.bind(http));
  while ((await count()) !== connections) await setImmediate();
  for (let count = 0; count < 4; count += 1) {
    globalThis.gc!();
    await setImmediate();
  }
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

const inspector = new Session();

async function startProfile(): Promise<number> {
  inspector.connect();
  await inspector.post('Profiler.enable');
  await inspector.post('Profiler.setSamplingInterval', { interval: 200 });
  await inspector.post('Profiler.start');
  return 0;
}

async function stopProfile(file: string): Promise<number> {
  const { profile } = await inspector.post('Profiler.stop');
  writeFileSync(file, JSON.stringify(profile));
  inspector.disconnect();
  return 0;
}

process.once('message', (order: Order) => void serve(order));
