/** A door between two sides of a test: one waits, the other opens. */
export interface Latch<T = void> {
  /** Resolves once it is open. */
  readonly opened: Promise<T>;
  readonly isOpen: boolean;
  open(value: T): void;
}

export function latch<T = void>(): Latch<T> {
  let isOpen = false;
  let resolve: (value: T) => void = () => {};
  const opened = new Promise<T>((settle) => {
    resolve = settle;
  });
  return {
    opened,
    get isOpen() {
      return isOpen;
    },
    open: (value) => {
      isOpen = true;
      resolve(value);
    },
  };
}
