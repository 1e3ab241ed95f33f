/** Thrown where the program waits, when it is asked to stop. */
export class Stopped extends Error {
  override readonly name = "Stopped";
}

/**
 * An AbortSignal that fires at the first Ctrl-C or SIGTERM, so that the program can stop cleanly; the second one ends it at once.
 * The library installs no signal handlers: that is for the program to decide.
 */
export function stopSignals(onFirst: () => void): AbortSignal {
  const controller = new AbortController();
  const stop = () => {
    if (controller.signal.aborted) process.exit(130);
    onFirst();
    controller.abort(new Stopped("stopped by a signal"));
  };
  process.on("SIGINT", stop);
  process.on("SIGTERM", stop);
  return controller.signal;
}
