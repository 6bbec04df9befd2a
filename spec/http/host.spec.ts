/** What counts as this machine. */
import { isLoopbackAddress, isLoopbackHost, parseHost } from '../../lib/http/host';

describe('parseHost', () => {
  it.each([
    ['mcp.example', { name: 'mcp.example' }],
    ['MCP.Example:8443', { name: 'mcp.example', port: '8443' }],
    ['mcp.example.', { name: 'mcp.example' }],
    ['mcp.example.:80', { name: 'mcp.example', port: '80' }],
    ['my_service:65535', { name: 'my_service', port: '65535' }],
    ['[2001:DB8::1]:3000', { name: '[2001:db8::1]', port: '3000' }],
    ['[::1]', { name: '[::1]' }],
  ])('takes %p apart', (host, expected) => {
    expect(parseHost(host)).toEqual(expected);
  });

  it.each([
    '',
    '.',
    ':3000',
    'a:b:c',
    'mcp.example:',
    'mcp.example:65536',
    'mcp.example:-1',
    'mcp.example..',
    '[::1',
    '::1',
    '[::1]x',
    '[]',
    'user@mcp.example',
    'mcp.example/path',
    'https://mcp.example',
    'a, b',
    ' mcp.example',
    '*',
    '*.example',
    'bücher.example',
    'mcp.example\n',
  ])('refuses %p', (host) => {
    expect(parseHost(host)).toBeUndefined();
  });
});

describe('isLoopbackHost', () => {
  it.each([
    'localhost',
    'localhost:3000',
    'LOCALHOST:3000',
    'localhost.',
    '127.0.0.1',
    '127.0.0.1:3000',
    '127.255.0.9',
    '[::1]',
    '[::1]:3000',
  ])('holds for %p', (host) => {
    expect(isLoopbackHost(host)).toBe(true);
  });

  it.each([
    undefined,
    '',
    'evil.example',
    'localhost.evil.example',
    'evil.localhost',
    '127.0.0.1.evil.example',
    '127.evil.example',
    '127.1',
    '127.0.0.01',
    '127.0.0.256',
    '128.0.0.1',
    '0.0.0.0',
    '2130706433',
    '[::]',
    '[::1',
    '[::1]evil',
    'a:b:c',
  ])('does not hold for %p', (host) => {
    expect(isLoopbackHost(host)).toBe(false);
  });
});

describe('isLoopbackAddress', () => {
  it.each(['127.0.0.1', '127.9.9.9', '::1', '::ffff:127.0.0.1'])('holds for %p', (address) => {
    expect(isLoopbackAddress(address)).toBe(true);
  });

  it.each([undefined, '', '192.0.2.1', '::', '0.0.0.0', '::ffff:192.0.2.127', '2001:db8::1'])(
    'does not hold for %p',
    (address) => {
      expect(isLoopbackAddress(address)).toBe(false);
    },
  );
});
