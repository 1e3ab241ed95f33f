const ordinaryHasInstance = Function.prototype[Symbol.hasInstance];

/**
 * Gives an error class its name and makes `instanceof` see it over copies of the package: two copies in one process (two
 * versions in a tree of dependencies, a bundle beside a module) have two classes, but one registered symbol.
 * A subclass made elsewhere keeps the ordinary `instanceof`.
 */
export function markError(target: { readonly prototype: Error }, name: string): void {
  const mark = Symbol.for(`cyclone-pg.error.${name}`);
  Object.defineProperty(target.prototype, "name", { value: name, configurable: true, writable: true });
  Object.defineProperty(target.prototype, mark, { value: true });
  Object.defineProperty(target, Symbol.hasInstance, {
    value(this: unknown, value: unknown): boolean {
      return this === target ? carries(value, mark) : ordinaryHasInstance.call(this as Function, value);
    },
  });
}

function carries(value: unknown, mark: symbol): boolean {
  if (typeof value !== "object" || value === null) return false;
  try {
    return mark in value;
  } catch {
    return false; // a Proxy whose trap throws, or a revoked one
  }
}
