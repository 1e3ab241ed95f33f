import { claimSteps } from "./claim/claim-steps.ts";
import { completeOwnRow } from "./complete/complete-own-row.ts";
import { completeSteps } from "./complete/complete-steps.ts";
import { lookUpCompletion } from "./complete/look-up-completion.ts";
import { discardSteps } from "./fail/discard-steps.ts";
import { releaseSteps } from "./fail/release-steps.ts";
import { readLostLeases } from "./lease/read-lost-leases.ts";
import { renewLeases } from "./lease/renew-leases.ts";
import { reportProgress } from "./lease/report-progress.ts";
import { notify } from "./notify/notify.ts";
import { findClaiming } from "./queue/find-claiming.ts";
import { listQueues } from "./queue/list-queues.ts";
import { pauseQueue } from "./queue/pause-queue.ts";
import { resumeQueue } from "./queue/resume-queue.ts";
import { countLiveSteps } from "./read/count-live-steps.ts";
import { countRecentRuns } from "./read/count-recent-runs.ts";
import { findEndedRuns } from "./read/find-ended-runs.ts";
import { listRuns } from "./read/list-runs.ts";
import { listUnsuccessfulRuns } from "./read/list-unsuccessful-runs.ts";
import { readAttempts } from "./read/read-attempts.ts";
import { readEdges } from "./read/read-edges.ts";
import { readInstallation } from "./read/read-installation.ts";
import { readNode } from "./read/read-node.ts";
import { readNodes } from "./read/read-nodes.ts";
import { readRun } from "./read/read-run.ts";
import type { Statement } from "./statement.ts";
import { endRuns } from "./steer/end-runs.ts";
import { findOverdueRuns } from "./steer/find-overdue-runs.ts";
import { findUncountedNodes } from "./steer/find-uncounted-nodes.ts";
import { retryRun } from "./steer/retry-run.ts";
import { findKeyedRuns } from "./submit/find-keyed-runs.ts";
import { submitKeyedRuns } from "./submit/submit-keyed-runs.ts";
import { submitRuns } from "./submit/submit-runs.ts";
import { findExhaustedSteps } from "./sweep/find-exhausted-steps.ts";
import { findSuspects } from "./sweep/find-suspects.ts";
import { findUnactivatedSteps } from "./sweep/find-unactivated-steps.ts";
import { look } from "./sweep/look.ts";
import { promoteSteps } from "./sweep/promote-steps.ts";
import { reclaimSteps } from "./sweep/reclaim-steps.ts";
import { trimRuns } from "./sweep/trim-runs.ts";
import { trimRunsByOwnRetention } from "./sweep/trim-runs-by-own-retention.ts";
import { advanceTime } from "./testing/advance-time.ts";
import { readStartedRuns } from "./testing/read-started-runs.ts";

/** Every statement of the engine, so that tests can visit each. */
// Each has parameters of its own; the list only hands statements together with their samples.
// oxlint-disable-next-line typescript/no-explicit-any -- parameters are inputs: only any takes all statements
export const catalog: readonly Statement<any, unknown>[] = [
  submitRuns,
  submitKeyedRuns,
  findKeyedRuns,
  claimSteps,
  completeSteps,
  completeOwnRow,
  lookUpCompletion,
  releaseSteps,
  discardSteps,
  renewLeases,
  reportProgress,
  notify,
  look,
  promoteSteps,
  reclaimSteps,
  findExhaustedSteps,
  findUnactivatedSteps,
  findSuspects,
  findEndedRuns,
  readRun,
  readNodes,
  readEdges,
  readNode,
  readAttempts,
  listRuns,
  listUnsuccessfulRuns,
  countLiveSteps,
  countRecentRuns,
  pauseQueue,
  resumeQueue,
  findClaiming,
  listQueues,
  readInstallation,
  readLostLeases,
  endRuns,
  retryRun,
  findUncountedNodes,
  findOverdueRuns,
  trimRuns,
  trimRunsByOwnRetention,
  advanceTime,
  readStartedRuns,
];
