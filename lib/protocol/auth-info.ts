/** Who a request comes from, once somebody has verified it. */

/** A verified caller. */
export interface AuthInfo {
  /** Identifies the caller; never empty. Sessions, parked calls and approvals are bound to it. */
  principal: string;
  /** What the token allows, as its issuer names it. */
  scopes: readonly string[];
  /** When the token ends, in seconds since the epoch, as a JWT's `exp`; absent when it does not end by itself. */
  expiresAt?: number;
  /** What else is known of the caller, untouched by this package. */
  claims?: Record<string, unknown>;
}
