/** A stream of what is typed; process.stdin fits. */
export interface Keyboard {
  on(event: "data", listener: (chunk: unknown) => void): unknown;
  off(event: "data", listener: (chunk: unknown) => void): unknown;
  resume(): unknown;
  pause(): unknown;
}

/**
 * Resolves when a line is entered. At the end of the input (`< /dev/null`) it goes on waiting.
 *
 * @throws the signal's reason when it fires
 */
export function waitForEnter(keyboard: Keyboard, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (then: () => void) => {
      keyboard.off("data", read);
      keyboard.pause();
      signal.removeEventListener("abort", stop);
      then();
    };
    const read = (chunk: unknown) => {
      if (String(chunk).includes("\n")) settle(resolve);
    };
    const stop = () => settle(() => reject(signal.reason));
    if (signal.aborted) return reject(signal.reason);
    signal.addEventListener("abort", stop);
    keyboard.on("data", read);
    keyboard.resume();
  });
}
