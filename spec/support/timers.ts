/** Watches the timers that are set and not cleared. */

interface TimerWatch {
  /** Delays, in milliseconds, of those that are still to come. */
  pending(): number[];
  restore(): void;
}

/** Watch every `setTimeout` and `setInterval` from now on. */
export function watchTimers(): TimerWatch {
  const delays = new Map<unknown, number>();
  const { setTimeout: realTimeout, setInterval: realInterval } = globalThis;
  const spies = [
    jest.spyOn(globalThis, 'setTimeout').mockImplementation(((
      run: (...args: unknown[]) => void,
      ms = 0,
      ...args: unknown[]
    ) => {
      const timer = realTimeout(() => {
        delays.delete(timer);
        run(...args);
      }, ms);
      delays.set(timer, ms);
      return timer;
    }) as typeof setTimeout),
    jest.spyOn(globalThis, 'setInterval').mockImplementation(((run: () => void, ms = 0, ...args: []) => {
      const timer = realInterval(run, ms, ...args);
      delays.set(timer, ms);
      return timer;
    }) as typeof setInterval),
  ];
  for (const name of ['clearTimeout', 'clearInterval'] as const) {
    const real = globalThis[name];
    const spy = jest.spyOn(globalThis, name).mockImplementation((timer) => {
      delays.delete(timer);
      real(timer);
    });
    spies.push(spy as never);
  }
  return { pending: () => [...delays.values()], restore: () => spies.forEach((spy) => spy.mockRestore()) };
}
