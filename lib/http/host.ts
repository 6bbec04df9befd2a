/** Addresses and Host headers, and which of them mean this machine. */
import { isIPv4 } from 'node:net';

/** A Host header in its two parts. */
export interface Host {
  /** In lower case, without a trailing dot; an IPv6 address keeps its brackets. */
  name: string;
  /** As written; absent when the header has none. */
  port?: string;
}

const HOST = /^(\[[\da-f:.]+\]|[\w.-]*?[\w-])\.?(?::(\d{1,5}))?$/i;

/** Take a Host header apart; nothing when it is not a name or address with an optional port. */
export function parseHost(host: string): Host | undefined {
  const [, name, port] = HOST.exec(host) ?? [];
  if (name === undefined || Number(port ?? 0) > 65_535) return undefined;
  return port === undefined ? { name: name.toLowerCase() } : { name: name.toLowerCase(), port };
}

/**
 * Tell whether a Host header names this machine: `localhost`, an address of 127.0.0.0/8 in its four numbers, or `[::1]`,
 * with any port. A trailing dot (`localhost.`) makes no difference.
 */
export function isLoopbackHost(host: string | undefined): boolean {
  const name = host === undefined ? undefined : parseHost(host)?.name;
  return name !== undefined && (name === 'localhost' || name === '[::1]' || (name.startsWith('127.') && isIPv4(name)));
}

/** Tell whether a socket's address is loopback, IPv4 inside IPv6 too. */
export function isLoopbackAddress(address: string | undefined): boolean {
  return (
    address !== undefined && (address.startsWith('127.') || address === '::1' || address.startsWith('::ffff:127.'))
  );
}
