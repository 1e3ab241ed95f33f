import { InvalidOptionError } from "../errors/invalid-option-error.ts";

/** By its looks: a signal of another realm will do. */
export function isSignal(value: unknown): value is AbortSignal {
  const { aborted, addEventListener } = (value ?? {}) as Partial<AbortSignal>;
  return typeof aborted === "boolean" && typeof addEventListener === "function";
}

/** @throws InvalidOptionError (`CYCLONE_INVALID_OPTION`) */
export function checkSignal(signal: unknown, method: string): AbortSignal | undefined {
  if (signal === undefined || isSignal(signal)) return signal;
  throw new InvalidOptionError(
    "signal",
    `signal of ${method} must be an AbortSignal, such as AbortSignal.timeout(5_000) or a controller's signal`,
  );
}
