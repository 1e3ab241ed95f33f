import { countsByStep, type LiveCounts, liveSteps } from "../client/live-steps.ts";
import { CLIENT_READER, type ReadableClient } from "../client/run-handle.ts";

/** What one queue holds of one step or action, over all processes. */
export interface QueueFigures extends Readonly<LiveCounts> {
  readonly queue: string;
  /** Empty for control nodes. */
  readonly step: string;
}

/** Asks the database; the time that takes is bounded, whatever the tables hold. */
export async function queueFigures(client: ReadableClient): Promise<QueueFigures[]> {
  const rows = await liveSteps(client[CLIENT_READER]);
  return countsByStep(rows).map(({ step, ...figures }) => ({ ...figures, step: step ?? "" }));
}
