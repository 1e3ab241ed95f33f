export interface LongTimeout {
  clear(): void;
}

const STEP_MS = 2 ** 31 - 1;

/** A timer without the limit of `setTimeout`, which fires at once beyond 24.8 days. */
export function setLongTimeout(run: () => void, delayMs: number): LongTimeout {
  let timer: NodeJS.Timeout;
  const arm = (leftMs: number): void => {
    timer = leftMs <= STEP_MS ? setTimeout(run, leftMs) : setTimeout(() => arm(leftMs - STEP_MS), STEP_MS);
  };
  arm(delayMs);
  return { clear: () => clearTimeout(timer) };
}

/** Resolves after so long, however long, or when the signal fires; never rejects. */
export function longDelay(delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted === true) return resolve();
    const end = (): void => {
      timeout.clear();
      signal?.removeEventListener("abort", end);
      resolve();
    };
    const timeout = setLongTimeout(end, delayMs);
    signal?.addEventListener("abort", end, { once: true });
    return undefined;
  });
}
