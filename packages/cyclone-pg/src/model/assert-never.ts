/** For the end of a `switch` over a union: compiles only if every case was handled, and throws on data from elsewhere. */
export function assertNever(value: never): never {
  throw new TypeError(`Unexpected value: ${JSON.stringify(value)}`);
}
