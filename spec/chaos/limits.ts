/** The times of the chaos, known to nodes and to those who judge them. */

export const secret = 'a secret of the nodes in the chaos, 32 bytes and more';

export const chaosLimits = {
  /** A question that nobody answers is a denial after this. */
  elicitationTimeoutMs: 4_000,
  commandTimeoutMs: 700,
  retryMs: 200,
  /** Whatever happens: a call is over after this. Longer than a dead node's sign of life, a question and a paused Redis. */
  callTimeoutMs: 20_000,
};
